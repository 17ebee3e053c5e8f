/* SPDX-License-Identifier: BSD-3-Clause */
/* Calls, their legs, and groups, as the files of broadcast.c share them. */
#pragma once

#include "base/bytes.h"
#include "base/hash.h"
#include "manager/broadcast.h"
#include "manager/wire/buffer.h"
#include "manager/wire/message.h"

/* A request of libscoll. */
struct leg {
	struct call *call;
	scoll_request_t *request;
	scoll_group_t *own_group; /* of the moment; NULL: a named one's */
	struct buffer *buffers;   /* posted */
	struct leg *prev, *next;
};

/* A collective of the seam. */
struct call {
	struct broadcasts *owner;
	uint64_t id;
	uint64_t *nids;
	size_t count;
	bool is_flat;
	bool is_begun;     /* over when it has no legs */
	bool is_cancelled; /* nobody wants to hear of it */
	bool is_ready;     /* in the list of those to be handed out */
	bool is_told;      /* is being handed out */
	struct team *team; /* in its list of those that wait */
	uint8_t *command;
	struct parcel parcel;
	struct writer payload, bulk_payload;
	struct iovec bulk;
	struct leg *legs;
	struct buffer *parts; /* to be handed out */
	struct collective_failure *failures;
	size_t failure_count, failure_capacity;
	int result;
	struct call *prev, *next; /* of the one list that it is in */
	struct call *all_prev, *all_next;
	UT_hash_handle hh; /* by id, unless it is cancelled */
};

/* A named group. */
struct team {
	struct broadcasts *owner;
	uint64_t id;
	scoll_group_t *group; /* NULL: not there */
	uint64_t *nids;       /* rising */
	size_t count;
	bool is_stale;  /* a node of it has another address */
	bool is_making; /* being populated */
	/* Calls to go without it, since it could not be populated. */
	unsigned int scatter_count;
	bool is_dropped; /* meanwhile, and not in the hash any more */
	struct call *waiting;
	UT_hash_handle hh; /* by id; the one that was used last is the last */
};

/* A node of which libscoll knows where it is. */
struct place {
	uint64_t nid;
	UT_hash_handle hh;
};

struct broadcasts {
	scoll_t *scoll;
	const struct broadcast_events *events;
	void *ctx;
	struct call *calls; /* by id */
	struct call *all;   /* also those that are cancelled and not over */
	struct call *ready;
	struct team *teams;
	struct place *places;
	size_t team_count; /* also those that were dropped while they are made */
	struct collective_counters counters;
};

/* --- broadcast.c --- */

/* Legs have come or gone: it may be over. It may be freed. */
void call_settle(struct call *call);
/* It was started, and fails now. It may be freed. */
void call_fail(struct call *call, int result);
void call_failure_add(struct call *call, uint64_t nid, int status);
void call_ready(struct call *call);

/* --- broadcast_leg.c --- */

extern const struct scoll_service_ops broadcast_service_ops;

enum leg_flag {
	LEG_BULK = 1 << 0, /* the command is bulk data */
	LEG_OWN = 1 << 1,  /* the group is the leg's own, and ends with it */
};

/* With what was posted for it; its request is over, or was never sent. */
void leg_destroy(struct leg *leg);
/* nids NULL: all of the group. As scoll_bcast_new() and _send(). */
int leg_start(struct call *call, scoll_group_t *group, const uint64_t *nids,
	      size_t count, unsigned int flags);
/* In groups of the moment. A negative errno: not begun. */
int call_scatter(struct call *call);
bool call_prefers_bulk(const struct call *call);
/* As scoll_group_create(), with the group at once. */
int moment_create(struct broadcasts *broadcasts, const uint64_t *nids,
		  size_t count, scoll_tree_type_t tree,
		  scoll_group_t **ret_group);

/* --- broadcast_group.c --- */

/* NULL: memory is out, or there are too many. */
struct team *team_get(struct broadcasts *broadcasts, uint64_t id);
/* Send the call over the group, when it is there. A negative errno: not begun. */
int team_serve(struct team *team, struct call *call);
void team_drop(struct team *team);
/* The node has come, moved or gone: groups with it are made again, or tried. */
void teams_mark(struct broadcasts *broadcasts, uint64_t nid, bool is_gone);
void teams_fini(struct broadcasts *broadcasts);
