/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What the files of the core know of each other.
 *
 * A *bcast* is a request at this member, the root's or another one's. It goes
 * through phases; what happens in one is in the comment of the enum. Whatever
 * comes in (an end of a transfer, a message, a returned callback, a deadline)
 * changes the bcast and touches it; scoll_core_run(), with which every way into
 * the core ends, settles those that were touched: it finds out what can go on.
 *
 * An *action* is something that the transport was asked for. It waits when the
 * transport is full, is tried again a few times when it fails here, and ends
 * exactly once, never from inside action_start().
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
#define POOL_CLASSES    22                  /* up to 128 MiB are kept */
#define ACTION_TRIES    4                   /* of a transfer that fails here */
#define BULK_READS      4                   /* segments under way */
#define RETRY_PARTS     8                   /* tried again after R / 8 */
#define FAILURES_INLINE 2
#define ACTION_CLASSES  3

/* --- actions --- */

enum action_kind {
	ACTION_FORWARD, /* the broadcast to a child */
	ACTION_POST,    /* a buffer for a part of a child's reply */
	ACTION_LEDGER,  /* a buffer for a report of a child */
	ACTION_REPLY,   /* a part of our reply */
	ACTION_REPORT,  /* a report of ours */
	ACTION_NOTICE,
	ACTION_READ,
	ACTION_REFUSAL,
};

enum action_state {
	ACTION_IDLE,
	ACTION_WAITING,   /* for room in the transport */
	ACTION_UNDER_WAY, /* the transport has it */
	ACTION_PAUSED,    /* until it is tried again */
	ACTION_BROKEN,    /* failed for good, to be told */
};

struct bcast;

struct action {
	struct transfer transfer; /* first; its kind is ours */
	struct action *prev, *next;
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

/* A buffer for one part of a child's reply. */
struct post {
	struct action action;
	struct post *next;
	struct child *child;
	void *buf;
	size_t len;
	void *private;
	size_t size; /* of the payload that came */
	uint16_t part;
	bool was_posted;
	bool is_arrived;
	uint8_t head[WIRE_REPLY_HEAD];
};

/* A buffer for one report of a child, and what it says. */
struct ledger {
	struct action action;
	struct ledger *next;
	struct child *child;
	uint16_t number;
	bool was_posted;
	uint8_t bytes[WIRE_REPORT_MAX];
};

enum child_state {
	CHILD_NEW,
	CHILD_POSTING, /* its buffers are being posted */
	CHILD_SENDING,
	CHILD_SENT,  /* the transport has the broadcast */
	CHILD_ENDED, /* its outcome is known; buffers may still be posted */
	CHILD_DONE,  /* its outcome was told */
};

struct child {
	const struct group_child *place;
	struct bcast *bcast;
	struct child *next_ready;
	struct action forward;
	uint8_t *head;
	struct post *posts, *posts_tail; /* by part */
	struct post *next_post;          /* the first not delivered */
	struct ledger *ledgers;
	struct notice *bulk_notice; /* under way */
	uint64_t tag;
	uint64_t bulk_told;
	uint64_t part_size;
	uint32_t counter; /* of discovery, when it was sent to */
	uint32_t failure_total;
	uint32_t failure_count; /* of those, here */
	int status;
	uint16_t post_count;
	uint16_t unposted_count; /* posts, later ledgers */
	uint16_t active_count;   /* posts and ledgers not idle */
	uint16_t arrived_count;
	uint16_t last_part;
	uint8_t type; /* enum scoll_error_type */
	uint8_t state;
	bool has_last; /* its last part is here */
	bool is_ready; /* in the list of those with something to deliver */
};

/* A part of our reply, or a report. */
struct out {
	struct action action;
	struct out *next;
	const void *buf;
	size_t len;
	uint16_t part;
	bool is_report;
	uint8_t head[WIRE_REPLY_HEAD];
};

/* Bulk ready, abort, reports wanted. */
struct notice {
	struct action action;
	struct child *child;
	enum wire_kind kind;
	size_t size;
	uint8_t bytes[WIRE_NOTICE_MAX];
};

/* An error reply of the library to a message that became no request. */
struct refusal {
	struct action action;
	scoll_nid_t to;
	uint64_t tag;
	uint8_t head[WIRE_REPLY_HEAD];
};

struct bulk_read {
	struct action action;
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

enum phase {
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
	uint32_t room_size;
	uint16_t room_count;

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
	uint64_t bulk_ns;    /* for each level */
	uint64_t due_ns;
	uint32_t heap_index; /* 0: not there */
	/* When the children's time began; PARKED for a view: until when. */
	uint64_t started_ns;
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
	bool is_told : 1; /* incoming_request has returned */
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
	uint64_t bulk_there;
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
	struct replay *replay;
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
	/* For the transport; broadcasts first. */
	struct action *waiting[ACTION_CLASSES];
	uint64_t waiting_until_ns;
	uint32_t held_count;   /* bcasts in PHASE_HELD */
	struct action *paused; /* by time */
	struct action *broken;
	uint32_t loose_count; /* actions of no bcast that are not idle */
	struct early *early;  /* EARLY_MAX, or NULL */
	uint32_t early_next;
	uint64_t epoch; /* of discovery, as we have seen it */
	bool is_stopped;

	struct pool_block *pool[POOL_CLASSES];
	uint64_t pool_kept; /* bytes */
	/* Tests: the k-th allocation from now on fails; 0: none does. */
	uint64_t fail_at;
	struct scoll_stats stats;
};

/* --- pool.c: the one way to memory in the data path --- */

/* Not initialised. NULL: memory is out. */
void *scoll_core_alloc(struct scoll_core *core, size_t size);
/* All zero. */
void *scoll_core_zalloc(struct scoll_core *core, size_t size);
/* NULL is allowed. */
void scoll_core_release(struct scoll_core *core, void *block);
void scoll_core_pool_fini(struct scoll_core *core);

/* --- timer.c: due_ns of bcasts, and who is there by name --- */

/* Room for one more in the heap and in the table. -ENOMEM. */
int bcast_index_reserve(struct scoll_core *core);
void bcast_index_fini(struct scoll_core *core);
/* DEADLINE_NONE: not at all. */
void bcast_due_set(struct bcast *bcast, uint64_t due_ns);
/* The first one; NULL. */
struct bcast *bcast_due_first(const struct scoll_core *core);
void bcast_enter(struct bcast *bcast);
void bcast_leave(struct bcast *bcast);
struct bcast *bcast_find(const struct scoll_core *core, scoll_nid_t root,
			 uint64_t nonce, uint64_t number);

/* --- action.c --- */

static inline bool action_is_idle(const struct action *action)
{
	return action->state == ACTION_IDLE;
}

/* It is idle. bcast may be NULL. */
void action_start(struct scoll_core *core, struct action *action,
		  struct bcast *bcast, enum action_kind kind, uint64_t now_ns);
/*
 * End it as soon as can be; its end is told. True: it is idle at once, and
 * nothing is told.
 */
bool action_cancel(struct scoll_core *core, struct action *action);
/* The transport has an end for it. */
void action_done(struct scoll_core *core, uint64_t now_ns,
		 struct action *action, int result, size_t size);
/* Those that wait, that are to be tried again, that have failed. */
void action_run(struct scoll_core *core, uint64_t now_ns);
uint64_t action_deadline_ns(const struct scoll_core *core);

/* Ends, told where the actions come from; the action is idle. */
void child_forward_begun(struct child *child, uint64_t now_ns);
void child_forward_ended(struct child *child, uint64_t now_ns, int result);
void child_post_begun(struct post *post, uint64_t now_ns);
void child_post_ended(struct post *post, uint64_t now_ns, int result,
		      size_t size);
void child_ledger_begun(struct ledger *ledger, uint64_t now_ns);
void child_ledger_ended(struct ledger *ledger, uint64_t now_ns, int result,
			size_t size);
void bcast_out_ended(struct out *out, uint64_t now_ns, int result);
void bcast_report_ended(struct out *out, uint64_t now_ns, int result);
void bcast_notice_ended(struct notice *notice, uint64_t now_ns, int result);
void bulk_read_ended(struct bulk_read *read, uint64_t now_ns, int result);

/* --- core.c --- */

/*
 * Let everything go on as far as can be. Every way into the core ends with it:
 * bcasts are freed here and nowhere else.
 */
void scoll_core_run(struct scoll_core *core, uint64_t now_ns);

/* --- request.c: phases --- */

/* -EMFILE: BCASTS_MAX; -ENOMEM. PHASE_NEW. */
int bcast_create(struct scoll_core *core, struct bcast **ret_bcast);
/* Nothing of it is under way. */
void bcast_destroy(struct bcast *bcast, uint64_t now_ns);
/*
 * Its place in the tree, with the children's array: takes references. -ENOENT,
 * -EINVAL, -ENOMEM.
 */
/* Go on as far as can be; it may be gone afterwards. */
void bcast_settle(struct bcast *bcast, uint64_t now_ns);
int bcast_seat(struct bcast *bcast, struct scoll_group *group,
	       struct choice *choice, scoll_tree_type_t tree);
/* Something about it has changed: scoll_core_run() will look. */
void bcast_touch(struct bcast *bcast);
/* L-01: after the last one; not a handle, which is its user's to give back. */
void bcast_group_end(struct bcast *bcast, uint64_t now_ns);
/* The library's reply will be this one. The first error stays. */
void bcast_error(struct bcast *bcast, int status, enum scoll_error_type type);

/* A negative errno that fits into a message. */
static inline int status_clamp(int status)
{
	return status < 0 && status >= -4095 ? status : -EIO;
}

static inline struct bcast *bcast_of(const scoll_request_t *request)
{
	return (struct bcast *)request;
}

/* --- callback.c --- */

void bcast_callback_queue(struct bcast *bcast, enum core_callback_kind kind);
void bcast_callback_returned(struct bcast *bcast, uint64_t now_ns,
			     enum core_callback_kind kind, int result);

/* --- service.c --- */

struct service *service_find(const struct scoll_core *core,
			     scoll_service_id_t id);

/* --- request_new.c, request_root.c: at the root --- */

/*
 * A root's request over the choice; without a service. flags: enum wire_flag.
 * -ENOMEM; as bcast_seat.
 */
int bcast_root_create(struct scoll_group *group, struct choice *choice,
		      uint16_t flags, struct bcast **ret_bcast);
/* Where the sender is (room for it) and, with parameters, the members. */
void bcast_addresses_fill(const struct scoll_group *group, bool has_params,
			  struct wire_bcast *wire);
/* All fields but those of addresses and body, of which sizes are there. */
void bcast_wire_fill(const struct bcast *bcast, struct wire_bcast *wire);
/* Some of its nodes may not know the group. */
bool bcast_needs_params(const struct bcast *bcast);
/* Whether it is a message; with the group's parameters in it. */
bool bcast_fits(const struct bcast *bcast, bool has_params);
/* Now, or when it may. A negative errno: as if nothing had been done. */
int bcast_root_start(struct bcast *bcast, uint64_t now_ns);
/* Whether those that were chosen live. -EHOSTDOWN; -EAGAIN: chosen anew. */
int bcast_liveness_check(struct bcast *bcast);
/* It is not sent: all children fail like this. NEW, or HELD. */
void bcast_root_fail(struct bcast *bcast, uint64_t now_ns, int status,
		     enum scoll_error_type type);
/* What its outcome says about the group. */
void bcast_root_ended(struct bcast *bcast, uint64_t now_ns);
/* The group's other requests that wait may go now. */
void bcast_release_held(struct scoll_core *core, struct scoll_group *group,
			uint64_t now_ns);

/* --- book.c: where nodes are --- */

/* The sender of a message that was verified. */
void book_hear_sender(struct scoll_core *core, const struct wire_bcast *wire);
/* A node of the group that is to be sent to. */
void book_look_up(struct scoll_core *core, const struct scoll_group *group,
		  scoll_nid_t nid);
void book_fini(struct scoll_core *core);
/*
 * Addresses for those who learn of a group of ours, as they are now. 0 also if
 * they are not shared; -ENOSPC: one is longer than WIRE_ADDRESS_MAX; -ENOMEM.
 */
int book_share(struct scoll_core *core, struct scoll_group *group);
/* Bytes of our own; 0: there is none. */
uint8_t book_own(struct scoll_core *core, uint8_t ret_bytes[WIRE_ADDRESS_MAX]);

/* --- request_receive.c --- */

void bcast_receive(struct scoll_core *core, uint64_t now_ns, const void *bytes,
		   size_t size);
/* The message that waited is looked at again. True: it waits no more. */
bool bcast_unpark(struct bcast *bcast, uint64_t now_ns);
/* It has waited long enough. */
void bcast_park_expire(struct bcast *bcast, uint64_t now_ns);
/* Error reply to a message that becomes no request. */
void bcast_refuse(struct scoll_core *core, uint64_t now_ns, scoll_nid_t to,
		  uint64_t tag, int status, enum scoll_error_type type,
		  const struct wire_failure *failure);
void bcast_refusal_ended(struct scoll_core *core, struct refusal *refusal);

/* --- request_send.c --- */

/* pre_request has accepted, or the root sends: to all children. */
void bcast_forward(struct bcast *bcast, uint64_t now_ns);
/* The head for all children, from bcast->wire. -EMSGSIZE, -ENOMEM. */
int bcast_head_make(struct bcast *bcast);

/* --- reply_in.c --- */

/* A buffer that is not posted yet. -E2BIG, -ENOMEM. */
int child_post_add(struct child *child, void *buf, size_t len, void *private);
/* There will be no reply. Ignored when the outcome is known. */
void child_fail(struct child *child, uint64_t now_ns, int status,
		enum scoll_error_type type);
/* Whether there is something to tell; puts it in the bcast's list. */
void child_check(struct child *child);
/* Take the next thing to tell. False: there is none. */
bool bcast_delivery_take(struct bcast *bcast, scoll_reply_t *ret_reply);
/* What was taken has been told. */
void bcast_delivery_done(struct bcast *bcast, const scoll_reply_t *reply);
/* Everything a child holds but its outcome. */
void child_release(struct child *child);

/* --- reply_out.c --- */

/* Start the last part, or the error. */
void bcast_reply_start(struct bcast *bcast, uint64_t now_ns);
/* The parent has posted buffers for reports. */
void bcast_reports_start(struct bcast *bcast, uint64_t now_ns, uint64_t count);
uint64_t bcast_wait_ns(const struct bcast *bcast, uint32_t depth);

/* --- notice.c --- */

/* -ENOMEM: not sent. ret_notice may be NULL. */
int bcast_notice_send(struct child *child, uint64_t now_ns, enum wire_kind kind,
		      int status, uint64_t bulk_there,
		      struct notice **ret_notice);
void bcast_notice_receive(struct scoll_core *core, uint64_t now_ns,
			  const struct wire_message *message);
/* Those that came before it. */
void bcast_early_apply(struct bcast *bcast, uint64_t now_ns);

/* --- failure.c --- */

void bcast_failure_add(struct bcast *bcast, const struct wire_failure *failure);
/* Our own node has run, or refused. */
void bcast_failure_self(struct bcast *bcast, int status,
			enum scoll_error_type type);
/* All that is known below a child is replaced by its whole subtree. */
void bcast_failure_child(struct bcast *bcast, const struct child *child,
			 int status, enum scoll_error_type type);
/* Whether a child may say this. */
bool child_may_fail(const struct child *child,
		    const struct wire_failure *failure);

/* --- timeout.c --- */

/* The next deadline of the bcast. */
void bcast_due_update(struct bcast *bcast);
/* Its deadline is here. */
void bcast_expire(struct bcast *bcast, uint64_t now_ns);
/* Discovery may have changed. */
void scoll_core_peers_check(struct scoll_core *core, uint64_t now_ns);

/* --- bulk.c --- */

/* Memory for it, with what the message says (NULL: at the root). -ENOMEM. */
int bulk_create(struct bcast *bcast, uint64_t size,
		const struct wire_bcast *wire);
/* The memory it goes to or comes from. 0 or a negative errno. */
int bulk_open(struct bcast *bcast, const struct iovec *iovs, int count);
void bulk_close(struct bcast *bcast);
void bulk_read_start(struct bcast *bcast, uint64_t now_ns);
/* The parent has so much, or (status) will have no more. */
void bulk_parent_has(struct bcast *bcast, uint64_t now_ns, uint64_t there,
		     int status);
void bulk_fail(struct bcast *bcast, uint64_t now_ns, int status);
/* It has failed, as everybody below. */
void bulk_failed(struct bcast *bcast, uint64_t now_ns);
/* Tell a child what is there, unless it knows or is being told. */
void bulk_tell(struct child *child, uint64_t now_ns);
bool bulk_is_active(const struct bcast *bcast);

/* --- abort.c --- */

/* With this errno: -ECANCELED, or -ESHUTDOWN. */
void bcast_abort(struct bcast *bcast, uint64_t now_ns, int status,
		 bool is_told_down);

/* --- populate.c --- */

/* Make a group known on these members. -ENOMEM, -EMFILE. */
int bcast_populate(struct scoll_group *group, struct choice *choice,
		   uint64_t now_ns, scoll_create_group_cb_t created,
		   const void *private);
/* Of the request that makes a group. */
/* Buffers for children that reply with nothing. -ENOMEM. */
int bcast_post_nothing(struct bcast *bcast);
/*
 * The list of members as bulk data, with the addresses of that digest (NULL:
 * with none). -ENOENT: they are not known; -ENOMEM.
 */
int bcast_list_make(struct bcast *bcast, const struct wire_digest *digest);
int bcast_populate_status(const struct bcast *bcast);
/* The library's own root request has ended. */
void bcast_populate_ended(struct bcast *bcast, uint64_t now_ns);
