/* SPDX-License-Identifier: BSD-3-Clause */
/* Collectives, their legs and groups, as the files of broadcast.c share them. */
#pragma once

#include "base/bytes.h"
#include "base/hash.h"
#include "lanes/manager/broadcast.h"
#include "lanes/proto/buffer.h"
#include "lanes/proto/message.h"

/* A request of libscoll. */
struct leg {
	struct collective *collective;
	scoll_request_t *request;
	scoll_group_t *own_group; /* of the moment; NULL: a named one's */
	struct buffer *buffers;   /* posted */
	struct leg *prev, *next;
};

/* A collective of the seam. */
struct collective {
	struct broadcasts *owner;
	uint64_t id;
	uint64_t *nids;
	size_t count;
	bool is_flat;
	bool is_begun;             /* over when it has no legs */
	bool is_cancelled;         /* nobody wants to hear of it */
	bool is_ready;             /* in the list of those to be handed out */
	bool is_told;              /* is being handed out */
	struct named_group *named; /* in its list of those that wait */
	uint8_t *command;
	struct parcel parcel;
	struct writer payload, bulk_payload;
	struct iovec bulk;
	struct leg *legs;
	struct buffer *parts; /* to be handed out */
	struct collective_failure *failures;
	size_t failure_count, failure_capacity;
	int result;
	struct collective *prev, *next; /* of the one list that it is in */
	struct collective *all_prev, *all_next;
	UT_hash_handle hh; /* by id, unless it is cancelled */
};

/* A named group. */
struct named_group {
	struct broadcasts *owner;
	uint64_t id;
	scoll_group_t *group; /* NULL: not there */
	uint64_t *nids;       /* rising */
	size_t count;
	bool is_stale;  /* a node of it has another address */
	bool is_making; /* being populated */
	/* Collectives to go without it, since it could not be populated. */
	unsigned int scatter_count;
	bool is_dropped; /* meanwhile, and not in the hash any more */
	struct collective *waiting;
	UT_hash_handle hh; /* by id; the one that was used last is the last */
};

/* A node of which libscoll knows where it is. */
struct known_node {
	uint64_t nid;
	UT_hash_handle hh;
};

struct broadcasts {
	scoll_t *scoll;
	const struct broadcast_events *events;
	void *ctx;
	struct collective *collectives; /* by id */
	struct collective *all; /* also those that are cancelled and not over */
	struct collective *ready;
	struct named_group *named_groups;
	struct known_node *known_nodes;
	/* Also those that were dropped while they are made. */
	size_t named_group_count;
	struct collective_counters counters;
};

/* --- broadcast.c --- */

/* Legs have come or gone: it may be over. It may be freed. */
void collective_settle(struct collective *collective);
/* It was started, and fails now. It may be freed. */
void collective_fail(struct collective *collective, int result);
void collective_failure_add(struct collective *collective, uint64_t nid,
			    int status);
void collective_ready(struct collective *collective);

/* --- broadcast_leg.c --- */

extern const struct scoll_service_ops broadcast_service_ops;

enum leg_flag {
	LEG_BULK = 1 << 0, /* the command is bulk data */
	LEG_OWN = 1 << 1,  /* the group is the leg's own, and ends with it */
};

/* With what was posted for it; its request is over, or was never sent. */
void leg_destroy(struct leg *leg);
/* nids NULL: all of the group. As scoll_bcast_new() and _send(). */
int leg_start(struct collective *collective, scoll_group_t *group,
	      const uint64_t *nids, size_t count, unsigned int flags);
/* In groups of the moment. A negative errno: not begun. */
int collective_scatter(struct collective *collective);
bool collective_prefers_bulk(const struct collective *collective);
/* As scoll_group_create(), with the group at once. */
int moment_create(struct broadcasts *broadcasts, const uint64_t *nids,
		  size_t count, scoll_tree_type_t tree,
		  scoll_group_t **ret_group);

/* --- broadcast_group.c --- */

/* NULL: memory is out, or there are too many. */
struct named_group *named_group_get(struct broadcasts *broadcasts, uint64_t id);
/*
 * Send the collective over the group, when it is there. A negative errno: it
 * has not begun.
 */
int named_group_serve(struct named_group *named, struct collective *collective);
void named_group_drop(struct named_group *named);
/* The node has come, moved or gone: groups with it are made again, or tried. */
void named_groups_mark(struct broadcasts *broadcasts, uint64_t nid,
		       bool is_gone);
void named_groups_fini(struct broadcasts *broadcasts);
