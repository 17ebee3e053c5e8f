/* SPDX-License-Identifier: BSD-3-Clause */
/* Rounds on libscoll, with their broadcasts and groups. */
#pragma once

#include "base/bytes.h"
#include "base/hash.h"
#include "lanes/manager/fanout/fanout.h"
#include "lanes/proto/buffer.h"

/* A request of libscoll, and room for the parts of its answers. */
struct round_bcast {
	struct round *round;
	scoll_request_t *request;
	scoll_group_t *own_group; /* for this only; NULL: over a named one */
	struct buffer *buffers;   /* posted */
	struct round_bcast *prev, *next;
};

/* A round: one broadcast over a named group, or some over own ones. */
struct round {
	struct rounds *owner;
	uint64_t id;
	uint64_t *nids;
	size_t count;
	bool is_begun;             /* over when it has no broadcasts */
	bool is_cancelled;         /* no events of it */
	bool is_ready;             /* in the list of those to be handed out */
	bool is_handed_out;        /* its events are being called */
	struct round_group *named; /* in its list of those that wait */
	struct parcel parcel;      /* without the command */
	struct writer payload, bulk_payload;
	struct iovec bulk;
	struct round_bcast *bcasts;
	struct buffer *parts; /* to be handed out */
	struct round_failure *failures;
	size_t failure_count, failure_capacity;
	int result;
	struct round *prev, *next; /* of the one list that it is in */
	struct round *all_prev, *all_next;
	UT_hash_handle hh; /* by id, unless it is cancelled */
};

/* A named group. */
struct round_group {
	struct rounds *owner;
	uint64_t id;
	scoll_group_t *group; /* NULL: not there */
	uint64_t *nids;       /* rising */
	size_t count;
	bool is_stale;  /* a node of it has another address */
	bool is_making; /* being populated */
	/* Rounds that go without it, since it could not be populated. */
	unsigned int scatter_count;
	bool is_dropped; /* meanwhile, and not in the hash any more */
	struct round *waiting;
	UT_hash_handle hh; /* by id; the one that was used last is the last */
};

/* A node of which libscoll knows where it is. */
struct round_node {
	uint64_t nid;
	UT_hash_handle hh;
};

struct rounds {
	scoll_t *scoll;
	const struct round_events *events;
	void *ctx;
	struct round *by_id;
	struct round *all; /* also those that are cancelled and not over */
	struct round *ready;
	struct round_group *groups;
	struct round_node *nodes;
	/* Also those that were dropped while they are made. */
	size_t group_count;
	struct round_counters counters;
};

/* Its broadcasts have changed: it may be over, and freed. */
void round_settle(struct round *round);
/* It was started, and fails now. It may be freed. */
void round_fail(struct round *round, int result);
void round_failure_add(struct round *round, uint64_t nid, int status);
void round_ready(struct round *round);

enum round_bcast_flag {
	BCAST_BULK = 1 << 0, /* the command is bulk data */
	BCAST_OWN = 1 << 1,  /* the group is its own, and ends with it */
};

/* nids NULL: all of the group. As scoll_bcast_new() and _send(). */
int round_bcast_start(struct round *round, scoll_group_t *group,
		      const uint64_t *nids, size_t count, unsigned int flags);
/* In groups for this round. A negative errno: not begun. */
int round_scatter(struct round *round);
bool round_prefers_bulk(const struct round *round);

/* --- scoll_group.c --- */

#define TREE SCOLL_TREE_KNOMIAL(4)

/* As scoll_group_create(), with the group at once. */
int round_group_create(struct rounds *rounds, const uint64_t *nids,
		       size_t count, scoll_tree_type_t tree,
		       scoll_group_t **ret_group);
/* NULL: there are too many. */
struct round_group *round_group_get(struct rounds *rounds, uint64_t id);
/*
 * Send the round over the group, when it is there. A negative errno: it
 * has not begun.
 */
int round_group_serve(struct round_group *named, struct round *round);
void round_group_drop(struct round_group *named);
/* The node has come, moved or gone: groups with it are made again, or tried. */
void round_groups_mark(struct rounds *rounds, uint64_t nid, bool is_gone);
void round_groups_fini(struct rounds *rounds);
