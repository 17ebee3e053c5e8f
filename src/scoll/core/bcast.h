/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What a core and its requests are made of.
 *
 * A *bcast* is a request at this member, the root's or another one's. It goes
 * through phases; what happens in one is in the comment of the enum. Whatever
 * comes in (an end of a transfer, a message, a returned callback, a deadline)
 * changes the bcast and touches it; scoll_core_run(), with which every way into
 * the core ends, settles those that were touched: it finds out what can go on.
 *
 * An *action* is something that the transport was asked for. It waits when the
 * transport or its peer is full, is tried again a few times when it fails here,
 * and ends exactly once, never from inside action_start().
 */
#pragma once

#include <errno.h>
#include <string.h>

#include <utlist.h>

#include "base/bytes.h"
#include "scoll/core/core.h"
#include "scoll/core/group.h"
#include "scoll/core/replay.h"
#include "scoll/wire/wire.h"

#define BCASTS_MAX      65536 /* requests of one member at a time */
#define REFUSALS_MAX    1024  /* error replies under way without a request */
#define SERVICES_MAX    1024
#define EARLY_MAX       64 /* notices that overtook their broadcast; oldest out */
#define POOL_KEPT_MAX   (UINT64_C(8) << 20) /* bytes in free lists */
#define POOL_CLASS_MIN  6                   /* 64 bytes */
#define POOL_CLASSES    18                  /* up to 8 MiB: POOL_KEPT_MAX */
#define ACTION_TRIES    4                   /* of a transfer that fails here */
#define BULK_READS      4                   /* segments under way */
#define RETRY_PARTS     8                   /* tried again after R / 8 */
#define FAILURES_INLINE 2

/* --- actions --- */

enum action_kind {
	ACTION_FORWARD, /* the broadcast to a child */
	ACTION_POST,  /* a buffer for a part of a child's reply, or a report */
	ACTION_REPLY, /* a part of our reply, a report, or a refusal */
	ACTION_NOTICE,
	ACTION_READ,
};

/*
 * Actions that wait together while the transport is full; tried in this order.
 */
enum action_class {
	CLASS_BUFFERS, /* a transport may run out of these alone */
	CLASS_BROADCASTS,
	CLASS_OTHERS,
	CLASS_READS, /* a slow peer's: nothing else waits behind it */
	ACTION_CLASSES,
};

enum action_state {
	ACTION_IDLE,
	ACTION_WAITING,   /* the transport is full */
	ACTION_UNDER_WAY, /* the transport has it */
	ACTION_PAUSED,    /* has failed, or its peer is full: until retry_ns */
	ACTION_BROKEN,    /* failed for good: its end is reported next */
};

struct bcast;

struct scoll_action {
	struct transfer transfer; /* first; its kind is ours */
	struct scoll_action *prev, *next;
	struct bcast *bcast; /* NULL: a refusal */
	uint64_t retry_ns;
	int result;
	uint8_t state;
	uint8_t tries;
	bool is_cancelled;
};

/* --- what a bcast consists of --- */

struct service {
	struct service *next;
	struct scoll_service_ops ops;
	void *private;
	scoll_service_id_t id;
	uint32_t use_count; /* bcasts and groups of it */
};

/*
 * A buffer for one part of a child's reply, or for one report: then the buffer
 * is behind the struct, and has the whole message.
 */
struct post {
	struct scoll_action action;
	struct post *next;
	struct child *child;
	void *buf;
	size_t len;
	void *private;
	size_t size;   /* of the payload that came */
	uint16_t part; /* from WIRE_TAG_REPORT on: of a report */
	bool was_posted;
	bool is_arrived;
	uint8_t head[WIRE_REPLY_HEAD];
};

enum child_state {
	CHILD_NEW,
	CHILD_POSTING, /* its buffers are being posted */
	CHILD_SENDING,
	CHILD_SENT,  /* the transport has the broadcast */
	CHILD_ENDED, /* its outcome is known; buffers may still be posted */
	CHILD_DONE,  /* the service has its outcome */
};

struct child {
	const struct tree_child *node;
	struct bcast *bcast;
	struct child *next_ready;
	struct scoll_action forward;
	uint8_t *head;
	struct post *posts, *posts_tail; /* by part; reports are the last */
	struct post *next_post;          /* the first not delivered */
	struct notice *bulk_notice;      /* under way */
	uint64_t tag;
	uint64_t start; /* of the child, for which it was sealed */
	uint64_t bulk_announced;
	uint64_t part_size;
	uint32_t counter; /* of discovery, when it was sent to */
	uint32_t failure_total;
	uint32_t failure_count; /* of those, here */
	int status;
	uint16_t post_count;
	uint16_t unposted_count; /* of the parts, then of the reports */
	uint16_t active_count;   /* posts not idle */
	uint16_t arrived_count;
	uint16_t last_part;
	uint8_t type; /* enum scoll_error_type */
	uint8_t state;
	bool is_stale; /* refused: to be sent again, for another start */
	bool was_sent; /* or may have been */
	bool has_last; /* its last part is here */
	bool is_ready; /* in the list of those with something to deliver */
};

/*
 * A part of our reply, a report (all of it is in buf), or an error reply to a
 * message that became no request.
 */
struct out {
	struct scoll_action action;
	struct out *next;
	scoll_nid_t to;
	uint64_t tag;
	const void *buf;
	size_t len;
	uint16_t part;
	bool is_report;
	uint8_t head[WIRE_REPLY_HEAD];
};

/* Bulk ready, abort, reports wanted. */
struct notice {
	struct scoll_action action;
	struct child *child;
	enum wire_kind kind;
	size_t size;
	uint8_t bytes[WIRE_NOTICE_MAX];
};

struct bulk_read {
	struct scoll_action action;
	uint64_t offset;
	size_t size;
	bool is_done;
};

struct bulk {
	struct region region;
	struct remote_piece remote[SCOLL_BULK_IOVS_MAX]; /* the parent's */
	struct remote_piece pieces[SCOLL_BULK_IOVS_MAX]; /* ours */
	int remote_count;
	int piece_count;
	bool is_open;
	uint64_t size;
	uint64_t parent_there; /* what the parent has of it */
	uint64_t there;        /* what we have, from the start */
	uint64_t asked;
	int status;
	bool is_settled; /* all there, or there will be no more */
	int reads_active;
	struct bulk_read reads[BULK_READS];
};

enum scoll_phase {
	PHASE_NEW,    /* root: made, not sent */
	PHASE_HELD,   /* root: waits for earlier ones, or for the group */
	PHASE_PARKED, /* the message waits: for the list, or for our view */
	PHASE_PRE,    /* pre_request */
	PHASE_RUN,    /* incoming_request and the children */
	PHASE_POST,   /* post_reply */
	PHASE_REPLY,  /* the reply is given, and sent */
	PHASE_OUT,    /* reply_out */
	PHASE_GONE,   /* what is under way ends */
};

struct bcast {
	scoll_request_t public; /* first: what the service sees */
	struct scoll_core *core;
	struct bcast *prev, *next;             /* of the core */
	struct bcast *queue_prev, *queue_next; /* of those with a callback */
	struct bcast *hash_next;
	struct bcast *dirty_next;
	struct service *service; /* NULL: the library's own */
	struct scoll_group *group;
	struct group_tree *tree;
	struct child *children; /* tree->child_count */
	struct child *ready, *ready_tail;

	/* Who it is. */
	scoll_nid_t root;
	uint64_t root_nonce;
	uint64_t number;
	/* Where the reply goes. */
	scoll_nid_t parent;
	uint64_t parent_tag;
	uint32_t parent_counter;
	uint32_t reply_size_max;
	uint16_t reply_part_max;

	struct wire_bcast *wire; /* what is passed on, until it is */
	uint8_t *message;        /* PARKED: all of it */
	size_t message_size;
	uint8_t *head; /* of what is passed on, for every child */
	size_t head_size;
	uint8_t *body;
	size_t body_size;
	uint8_t *payload; /* the service's */
	struct bulk *bulk;
	uint8_t *list;             /* of the members, as it was read */
	struct iovec list_iovs[3]; /* of the addresses, and the members */
	size_t list_size;
	uint32_t list_head;
	struct addresses *addresses;

	/* The root's. */
	const void *buf;
	const struct iovec *iovs;
	int iov_count;
	scoll_create_group_cb_t created; /* of the group that this one makes */
	const void *created_private;

	uint64_t rtt_ns;
	uint64_t timeout_ns; /* P here */
	uint64_t bulk_ns;    /* for one reader of a node */
	uint64_t due_ns;
	uint32_t heap_index;      /* 0: not there */
	uint64_t started_ns;      /* when the children's time began */
	uint64_t parked_until_ns; /* PARKED for a view; 0: not for that */
	uint64_t received_ns, sent_ns, replied_ns;

	struct out last;  /* of our reply */
	struct out *outs; /* earlier parts, and reports */
	const void *reply_buf;
	size_t reply_len;
	uint32_t out_count; /* not idle */
	uint16_t part_count;

	struct wire_failure *failures;
	uint32_t failure_count;
	uint32_t failure_capacity;
	uint32_t reported_count; /* of those, in the reply's head */
	struct wire_failure inline_failures[FAILURES_INLINE];

	uint32_t children_left;
	uint32_t unsent_count; /* children that the transport has not */
	uint32_t busy_count;   /* actions that are not idle */
	uint32_t report_count; /* reports that are under way */
	int error;             /* of the library, instead of the reply */
	int abort_status;
	uint16_t flags; /* enum wire_flag */
	uint8_t error_type;
	uint8_t phase;
	uint8_t callback; /* enum core_callback_kind, when queued or called */
	uint8_t user_flags;
	uint8_t order;
	bool is_root : 1;
	bool is_queued : 1;
	bool is_called : 1;
	bool has_run : 1; /* incoming_request has returned */
	bool is_aborted : 1;
	bool has_reply : 1;
	bool is_replied : 1; /* the last part was started */
	bool is_reporting : 1;
	bool is_populating : 1; /* root, HELD: a population was started */
	bool has_params : 1;
	bool is_entered : 1;   /* in the table */
	bool is_overflown : 1; /* failures are no longer known one by one */
	bool is_dirty : 1;
	bool has_list : 1;   /* the membership's */
	bool is_stirred : 1; /* PARKED: discovery has changed */
};

/* A notice that came before its broadcast. */
struct early {
	scoll_nid_t root;
	uint64_t nonce;
	uint64_t number;
	scoll_nid_t sender;
	uint64_t amount;
	int status;
	uint8_t kind; /* enum wire_kind; 0: free */
};

struct pool_block {
	struct pool_block *next; /* when it is free */
	uint64_t class;
};

struct scoll_core {
	struct core_options options;
	uint64_t nonce;
	uint64_t next_number;
	uint64_t next_tag;
	struct service *services;
	struct group_table *groups;
	struct scoll_replay *replay;
	struct book_entry *book;

	struct bcast *bcasts;
	uint32_t bcast_count;
	struct bcast *queue; /* with a callback */
	struct bcast *called;
	scoll_reply_t reply; /* of the callback that was taken */
	scoll_target_t target;

	struct bcast **table; /* by root and number; of a power of two */
	uint32_t table_size;
	struct bcast **heap; /* from 1; by due_ns */
	uint32_t heap_size;
	uint32_t heap_capacity;

	struct bcast *dirty, *dirty_tail; /* to be settled */
	struct scoll_action *waiting[ACTION_CLASSES];
	uint64_t waiting_until_ns;
	uint32_t held_count;         /* bcasts in PHASE_HELD */
	struct scoll_action *paused; /* by time */
	struct scoll_action *broken;
	uint32_t loose_count; /* actions of no bcast that are not idle */
	struct early *early;  /* EARLY_MAX, or NULL */
	uint32_t early_next;
	uint64_t epoch; /* of discovery, as we have seen it */
	bool is_stopped;

	struct pool_block *pool[POOL_CLASSES];
	uint64_t pool_kept; /* bytes */
	struct scoll_stats stats;
};
