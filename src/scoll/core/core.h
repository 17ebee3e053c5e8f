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

#include "base/seam.h"
#include "scoll.h"
#include "scoll/member/discovery.h"
#include "scoll/transport/transport.h"

struct scoll_core;
struct memberships; /* interned; of one core, or shared by a simulation */

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
	struct memberships *memberships; /* borrowed */
	scoll_permute_cb_t permute;      /* NULL: none */
	void *permute_ctx;
	scoll_t *instance; /* what scoll_request_instance returns */
};

int scoll_core_create(const struct core_options *options,
		      struct scoll_core **ret_core);
/* All transfers have ended and all callbacks were taken: see core_stop. */
void scoll_core_destroy(struct scoll_core *core);
/* Abort everything; what is still to come is in core_is_idle. */
void scoll_core_stop(struct scoll_core *core, uint64_t now_ns);
bool scoll_core_is_idle(const struct scoll_core *core);

/* --- input --- */

extern const struct transport_events scoll_core_events; /* ctx: the core */
void scoll_core_tick(struct scoll_core *core, uint64_t now_ns);
uint64_t scoll_core_deadline_ns(const struct scoll_core *core);

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
 * scoll_core_oob_create and _bcast_new return a negative errno instead of NULL.
 */
