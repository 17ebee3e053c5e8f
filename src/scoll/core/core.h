/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The collectives of one member, pure: groups, requests, replies, bulk data,
 * timeouts. The same code runs in libscoll (scoll/api adds locks, a
 * descriptor and the real transport) and, a hundred thousand times in one
 * process, in the simulator.
 *
 * Input: events of the transport and of discovery, ticks, and the calls of
 * the user, each with the time. Output: calls of the transport seam, and
 * callbacks. A callback is not called from inside: it waits in a queue until
 * the owner takes it, calls it with no lock held, and gives back what it
 * returned. Callbacks of one request are in the queue one at a time and in
 * the order of the grammar
 *
 *	[pre_request] (incoming_request | incoming_reply)* post_reply [reply_out]
 *
 * (brackets: not on the root).
 */
#pragma once

#include "base/cleanup.h"
#include "base/seam.h"
#include "scoll.h"
#include "scoll/member/discovery.h"
#include "scoll/transport/transport.h"

struct scoll_core;
struct memberships; /* interned; of one core, or shared by a simulation */
struct tree_types;

struct core_options {
	scoll_nid_t nid;
	scoll_tree_type_t tree;
	enum scoll_order order;
	uint64_t rtt_ns;
	uint64_t bulk_bandwidth; /* bytes/s */
	size_t bulk_segment;     /* bytes */
	uint64_t group_lifetime_ns;
	const struct scoll_authenticator *authenticator; /* NULL: none */
	struct transport_seam transport;
	struct discovery *discovery; /* borrowed */
	struct rng_seam rng;
	/*
	 * When this start of the node began, in us since 1970, or whatever
	 * rises from one to the next; below 2^52.
	 */
	uint64_t started_us;
	struct memberships *memberships; /* borrowed */
	scoll_permute_cb_t permute;      /* NULL: none */
	void *permute_ctx;
	const struct tree_types *tree_types; /* borrowed; NULL: built-in ones */
	/*
	 * Put the addresses that the transport has into the groups that are
	 * made; only with an authenticator.
	 */
	bool share_addresses;
	scoll_t *instance; /* what scoll_request_instance returns */
};

/*
 * Options are copied. -ENOMEM; -EINVAL: tree, order, share_addresses, or
 * started_us is 0.
 */
int scoll_core_create(const struct core_options *options,
		      struct scoll_core **ret_core);
/*
 * It is idle: see scoll_core_stop. Requests that were not sent and handles of
 * groups that were not given back go with it. NULL is allowed.
 */
void scoll_core_destroy(struct scoll_core *core);
DEFINE_AUTO(struct scoll_core, scoll_core_destroy)
/*
 * Abort everything, and answer new messages with -ESHUTDOWN. Replies that
 * services have not given yet are dropped. Callbacks and ends of transfers are
 * still to come, until the core is idle.
 */
void scoll_core_stop(struct scoll_core *core, uint64_t now_ns);
bool scoll_core_is_idle(const struct scoll_core *core);
const struct core_options *scoll_core_options(const struct scoll_core *core);

/* --- input --- */

extern const struct transport_events scoll_core_events; /* ctx: the core */
/*
 * What is due. Also to be called when discovery has changed: a core watches
 * nobody, it compares epochs.
 */
void scoll_core_tick(struct scoll_core *core, uint64_t now_ns);
/* 0 when discovery has changed since the last call. */
uint64_t scoll_core_deadline_ns(const struct scoll_core *core);
/* The same of requests and transfers alone, without idle groups. */
uint64_t scoll_core_work_deadline_ns(const struct scoll_core *core);

/* --- callbacks --- */

enum core_callback_kind {
	CORE_CALLBACK_PRE_REQUEST,
	CORE_CALLBACK_INCOMING_REQUEST,
	CORE_CALLBACK_INCOMING_REPLY,
	CORE_CALLBACK_POST_REPLY,
	CORE_CALLBACK_REPLY_OUT,
	CORE_CALLBACK_GROUP, /* scoll_create_group_cb_t */
};

struct core_callback {
	enum core_callback_kind kind;
	const struct scoll_service_ops *ops; /* of the service; NULL: GROUP */
	scoll_request_t *request;
	const scoll_target_t *target;
	scoll_reply_t *reply;
	scoll_create_group_cb_t created;
	int status;
	scoll_group_t *group;
	const void *private;
};

/* The next one; false: none. Each is given back before the next is taken. */
bool scoll_core_callback_take(struct scoll_core *core,
			      struct core_callback *ret_callback);
/* result: what it returned (0 when it returns nothing). */
void scoll_core_callback_done(struct scoll_core *core, uint64_t now_ns,
			      const struct core_callback *callback, int result);
/* Call it: what every owner does between the two, without its lock. */
int core_callback_call(const struct core_callback *callback);

/*
 * --- calls of the user ---
 *
 * As those of scoll.h with the same ending; `now_ns` where something may start.
 * Those that return a pointer there return a negative errno here. Calls that
 * return what never changes need no lock: the core has them as in scoll.h.
 */

int scoll_core_service_register(struct scoll_core *core,
				scoll_service_id_t svid,
				const struct scoll_service_ops *ops,
				void *private);
int scoll_core_service_unregister(struct scoll_core *core,
				  scoll_service_id_t svid);

/*
 * Without populate_now *ret_callback is what the owner calls next, with no
 * lock held; it is not given back. With it nothing is written, and the callback
 * comes through the queue.
 */
int scoll_core_group_create(struct scoll_core *core, uint64_t now_ns,
			    scoll_service_id_t svid, const char *name,
			    const scoll_target_t *targets, int cnt,
			    scoll_tree_type_t tree, bool populate_now,
			    scoll_create_group_cb_t cb, const void *private,
			    struct core_callback *ret_callback);
int scoll_core_oob_group_create(struct scoll_core *core,
				scoll_service_id_t svid, const char *name,
				const scoll_oobgrp_id_t *oobid,
				scoll_tree_type_t tree, const void *private,
				scoll_group_t **ret_group);
struct scoll_core *scoll_core_of_group(const scoll_group_t *group);
int scoll_core_group_keep(scoll_group_t *group);
void scoll_core_group_destroy(scoll_group_t *group, uint64_t now_ns);
/* Of the create callback that is being called. */
int scoll_core_group_failure_next(const struct scoll_core *core,
				  uint64_t *cursor,
				  struct scoll_failure *ret_failure);
/* These may ask the service of an out-of-band group, and return an errno. */
int scoll_core_group_nodes(scoll_group_t *group);
int scoll_core_group_entities(scoll_group_t *group);
int scoll_core_get_nchildren(scoll_group_t *group);
int scoll_core_get_childtree_nodes(scoll_group_t *group, int child);
int scoll_core_get_childtree_entities(scoll_group_t *group, int child);

/* Both scoll_bcast_new and scoll_bcast_new_subset. nids NULL: all members. */
int scoll_core_bcast_new(scoll_group_t *group, uint64_t now_ns,
			 const scoll_nid_t *nids, int count, const void *buf,
			 int len, const struct iovec *bulk_iovs, int niov,
			 unsigned flags, scoll_duration_t service_timeout,
			 const void *private, scoll_request_t **ret_request);
void scoll_core_request_free(scoll_request_t *request, uint64_t now_ns);
int scoll_core_reply_buffer_post(int child, void *buf, size_t len,
				 scoll_request_t *request, void *private);
int scoll_core_bcast_send(scoll_request_t *request, uint64_t now_ns);
int scoll_core_reply(scoll_request_t *request, uint64_t now_ns, const void *buf,
		     size_t len);
int scoll_core_reply_part(scoll_request_t *request, uint64_t now_ns,
			  const void *buf, size_t len);
void scoll_core_bcast_abort(scoll_request_t *request, uint64_t now_ns);

struct scoll_core *scoll_core_of_request(const scoll_request_t *request);
int scoll_core_request_status(const scoll_request_t *request);
int scoll_core_request_failure_next(const scoll_request_t *request,
				    uint64_t *cursor,
				    struct scoll_failure *ret_failure);
void scoll_core_request_times(const scoll_request_t *request,
			      struct scoll_request_times *ret_times);
void scoll_core_stats(const struct scoll_core *core,
		      struct scoll_stats *ret_stats);
