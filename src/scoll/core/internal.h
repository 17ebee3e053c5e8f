/* SPDX-License-Identifier: BSD-3-Clause */
/* What the files of the core call of each other. */
#pragma once

#include <assert.h>

#include "scoll/core/bcast.h"

/* --- pool.c: the one way to memory in the data path --- */

/* Is this allocation to fail? Never but in tests: fail.c, test/fail.c. */
bool scoll_core_fails(const struct scoll_core *core);
/* Not initialised. NULL: memory is out. */
void *scoll_core_alloc(struct scoll_core *core, size_t size);
/* All zero. */
void *scoll_core_zalloc(struct scoll_core *core, size_t size);
/* NULL is allowed. */
void scoll_core_release(struct scoll_core *core, void *block);
void scoll_core_pool_fini(struct scoll_core *core);

/* --- timer.c: bcasts by due_ns, and by name --- */

/* Space for one more in the heap and in the table. -ENOMEM. */
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

static inline bool action_is_idle(const struct scoll_action *action)
{
	return action->state == ACTION_IDLE;
}

/* It is idle. bcast may be NULL. */
void action_start(struct scoll_core *core, struct scoll_action *action,
		  struct bcast *bcast, enum action_kind kind, uint64_t now_ns);
/*
 * End it as soon as possible; its end is reported. True: it is idle at once,
 * without a report.
 */
bool action_cancel(struct scoll_core *core, struct scoll_action *action);
/* The transport has an end for it. */
void action_done(struct scoll_core *core, uint64_t now_ns,
		 struct scoll_action *action, int result, size_t size);
/* Those that wait, that are to be tried again, that have failed. */
void action_run(struct scoll_core *core, uint64_t now_ns);
uint64_t action_deadline_ns(const struct scoll_core *core);

/* Ends, reported to the owners of the actions; the action is idle. */
void child_forward_begun(struct child *child, uint64_t now_ns);
void child_forward_ended(struct child *child, uint64_t now_ns, int result);
void child_post_begun(struct post *post, uint64_t now_ns);
void child_post_ended(struct post *post, uint64_t now_ns, int result,
		      size_t size);
void bcast_out_ended(struct out *out, uint64_t now_ns, int result);
void bcast_notice_ended(struct notice *notice, uint64_t now_ns, int result);
void bulk_read_ended(struct bulk_read *read, uint64_t now_ns, int result);

/* --- core.c --- */

/*
 * Let everything go on as far as can be. Every way into the core ends with it:
 * bcasts are freed here and nowhere else.
 */
void scoll_core_run(struct scoll_core *core, uint64_t now_ns);

/* The kind of tree that is meant, which may be the instance's. */
static inline scoll_tree_type_t tree_of(const struct scoll_core *core,
					scoll_tree_type_t tree)
{
	return tree != SCOLL_TREE_DEFAULT ? tree : core->options.tree;
}

/* --- request.c: phases --- */

/* -EMFILE: BCASTS_MAX; -ENOMEM. PHASE_NEW. */
int bcast_create(struct scoll_core *core, struct bcast **ret_bcast);
/* Nothing of it is under way. */
void bcast_destroy(struct bcast *bcast, uint64_t now_ns);
/* Go on as far as can be; it may be gone afterwards. */
void bcast_settle(struct bcast *bcast, uint64_t now_ns);
/*
 * Find its position in the tree and make the array of children: takes
 * references. -ENOENT, -EINVAL, -ENOMEM.
 */
int bcast_tree_set(struct bcast *bcast, struct scoll_group *group,
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
/* service may be NULL. */
struct group_oob service_oob(const struct service *service);

/* --- request_new.c, request_root.c: at the root --- */

/*
 * A root's request over the choice; without a service. flags: enum wire_flag.
 * -ENOMEM; as bcast_tree_set.
 */
int bcast_root_create(struct scoll_group *group, struct choice *choice,
		      uint16_t flags, struct bcast **ret_bcast);
/* The sender's address (its space) and, with parameters, the members'. */
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
/* Whether the chosen nodes are alive. -EHOSTDOWN; -EAGAIN: choose again. */
int bcast_liveness_check(struct bcast *bcast);
/* It is not sent: all children fail like this. NEW, or HELD. */
void bcast_root_fail(struct bcast *bcast, uint64_t now_ns, int status,
		     enum scoll_error_type type);
/* Who knows the group now. */
void bcast_group_learn(struct bcast *bcast);
/* The group's other requests that wait may go now. */
void bcast_release_held(struct scoll_core *core, struct scoll_group *group,
			uint64_t now_ns);

/* --- book.c: what messages say of nodes --- */

/* The sender of a message that was verified. */
void book_learn_sender(struct scoll_core *core, const struct wire_bcast *wire);
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

/* The nonce of its last known start; 0: none is known. */
uint64_t start_of(const struct scoll_core *core, scoll_nid_t nid);
/* From a sealed reply to a present request. -ENOMEM. */
int start_learn(struct scoll_core *core, scoll_nid_t nid, uint64_t nonce);
/* Whether this is our start; without an authenticator any is. */
bool start_is_ours(const struct scoll_core *core, uint64_t nonce);

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
/* It was for another start of ours: this one is ours. */
void bcast_refuse_start(struct scoll_core *core, uint64_t now_ns,
			scoll_nid_t to, uint64_t tag);

/* --- request_send.c --- */

/* pre_request has accepted, or the root sends: to all children. */
void bcast_forward(struct bcast *bcast, uint64_t now_ns);
/*
 * The child has refused it, as for another start than its present one, which
 * is known by now.
 */
void child_send_again(struct child *child, uint64_t now_ns);

/* --- reply_in.c --- */

/* A buffer that is not posted yet. -E2BIG, -ENOMEM. */
int child_post_add(struct child *child, void *buf, size_t len, void *private);
/* There will be no reply. Ignored when the outcome is known. */
void child_fail(struct child *child, uint64_t now_ns, int status,
		enum scoll_error_type type);
/* Puts it in the bcast's list if the service has to be called. */
void child_check(struct child *child);
/* Take the next reply for the service. False: there is none. */
bool bcast_delivery_take(struct bcast *bcast, scoll_reply_t *ret_reply);
/* The service has it. */
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
		      int status, uint64_t amount, struct notice **ret_notice);
void bcast_notice_receive(struct scoll_core *core, uint64_t now_ns,
			  const struct wire_message *message);
/* Those that came before it. */
void bcast_early_apply(struct bcast *bcast, uint64_t now_ns);

/* --- failure.c --- */

void bcast_failure_add(struct bcast *bcast, const struct wire_failure *failure);
/* An entry for our own node, which has the request. */
void bcast_failure_self(struct bcast *bcast, int status,
			enum scoll_error_type type);
/* Our own node has failed, after it had the request: once, the first reason. */
void bcast_fail_self(struct bcast *bcast, int status,
		     enum scoll_error_type type);
/* All that is known below a child is replaced by its whole subtree. */
void bcast_failure_child(struct bcast *bcast, const struct child *child,
			 int status, enum scoll_error_type type);
/* Whether a rank is in the subtree of a child. */
bool child_covers(const struct child *child, uint32_t rank);

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
/* There will be no more of it. */
void bulk_fail(struct bcast *bcast, uint64_t now_ns, int status);
/* It has failed: tell all below. */
void bulk_spread_failure(struct bcast *bcast, uint64_t now_ns);
/* Send a child how much is there, unless it knows or a notice is under way. */
void bulk_announce(struct child *child, uint64_t now_ns);
bool bulk_is_active(const struct bcast *bcast);

/* --- abort.c --- */

/* With this errno: -ECANCELED, or -ESHUTDOWN. */
void bcast_abort(struct bcast *bcast, uint64_t now_ns, int status,
		 bool goes_down);

/* --- populate.c --- */

/* Make a group known on these members. -ENOMEM, -EMFILE. */
int bcast_populate(struct scoll_group *group, struct choice *choice,
		   uint64_t now_ns, scoll_create_group_cb_t created,
		   const void *private);
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
