/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Members are driven as libscoll drives a core: after whatever comes in, its
 * callbacks are called one by one, and its next deadline is awaited. What a
 * call from outside leaves to be done is done by the next event.
 */
#include "medium.h"

#include <errno.h>
#include <stddef.h>
#include <stdlib.h>

#include "scoll/core/core.h"
#include "scoll/core/membership.h"

#define RTT_NS         1000000000 /* as a daemon has it */
#define BULK_BANDWIDTH 100000000
#define BULK_SEGMENT   524288
#define LIFETIME_NS    (UINT64_C(3600) * 1000000000)
#define STOP_TURNS     1000

struct medium {
	struct medium_options options;
	struct transport_timeline *timeline;
	struct transport_sim *network;
	struct memberships *memberships;
	struct scoll *left; /* kept, for events stay readable */
	bool is_running;
};

struct scoll {
	struct medium *medium;
	struct medium_member member;
	struct transport_sim_port *port;
	struct given *given; /* NULL: the medium's */
	struct scoll_core *core;
	struct transport_timeline_event timer, pump;
	uint64_t timer_ns;
	bool is_busy; /* its callbacks are being called */
	struct scoll *next;
};

/* --- time --- */

static uint64_t now_of(const struct medium *medium)
{
	const struct medium_options *options = &medium->options;

	if (options->now_ns != NULL)
		transport_timeline_follow(medium->timeline,
					  options->now_ns(options->ctx));
	return transport_timeline_now_ns(medium->timeline);
}

static uint64_t now(const struct scoll *scoll)
{
	return now_of(scoll->medium);
}

static void wake(struct medium *medium)
{
	if (!medium->is_running && medium->options.wake != NULL)
		medium->options.wake(medium->options.ctx);
}

static void timer_set(struct scoll *scoll)
{
	struct transport_timeline *timeline = scoll->medium->timeline;
	uint64_t deadline_ns = scoll_core_deadline_ns(scoll->core);

	if (deadline_ns == DEADLINE_NONE) {
		transport_timeline_cancel(&scoll->timer);
		return;
	}
	if (transport_timeline_waits(&scoll->timer) &&
	    scoll->timer_ns == deadline_ns)
		return;
	scoll->timer_ns = deadline_ns;
	transport_timeline_set(timeline, &scoll->timer, deadline_ns);
}

/* A call from outside: what waits is done by an event of this moment. */
static void touch(struct scoll *scoll)
{
	struct medium *medium = scoll->medium;

	if (!scoll->is_busy && !transport_timeline_waits(&scoll->pump))
		transport_timeline_set(medium->timeline, &scoll->pump,
				       now_of(medium));
	wake(medium);
}

/* The last thing of an event: it may have left afterwards. */
static void go_on(struct scoll *scoll)
{
	struct core_callback callback;

	if (scoll->is_busy)
		return;
	scoll->is_busy = true;
	while (scoll_core_callback_take(scoll->core, &callback)) {
		int result = core_callback_call(&callback);

		scoll_core_callback_done(scoll->core, now(scoll), &callback,
					 result);
	}
	scoll->is_busy = false;
	timer_set(scoll);
	scoll->member.settled(scoll->member.ctx);
}

static void tick(struct transport_timeline_event *event)
{
	struct scoll *scoll =
		(struct scoll *)((char *)event - offsetof(struct scoll, timer));

	scoll_core_tick(scoll->core, now(scoll));
	go_on(scoll);
}

static void pump(struct transport_timeline_event *event)
{
	struct scoll *scoll =
		(struct scoll *)((char *)event - offsetof(struct scoll, pump));

	go_on(scoll);
}

static void received(void *ctx, uint64_t now_ns, const void *bytes, size_t size)
{
	struct scoll *scoll = ctx;

	scoll_core_events.received(scoll->core, now_ns, bytes, size);
	go_on(scoll);
}

static void done(void *ctx, uint64_t now_ns, struct transfer *transfer,
		 int result, size_t size)
{
	struct scoll *scoll = ctx;

	scoll_core_events.done(scoll->core, now_ns, transfer, result, size);
	go_on(scoll);
}

/* --- members --- */

scoll_t *medium_join(struct medium *medium, const struct medium_member *member)
{
	static const struct transport_events events = { received, done };
	struct scoll *scoll = calloc(1, sizeof(*scoll));
	struct core_options options = {
		.nid = member->nid,
		.tree = SCOLL_TREE_KNOMIAL(4),
		.order = SCOLL_ORDER_DEPTH,
		.rtt_ns = RTT_NS,
		.bulk_bandwidth = BULK_BANDWIDTH,
		.bulk_segment = BULK_SEGMENT,
		.group_lifetime_ns = LIFETIME_NS,
		.authenticator = member->authenticator,
		.rng = member->rng,
		.started_us = member->started_us,
		.memberships = medium->memberships,
		.share_addresses = member->share_addresses,
		.instance = scoll,
	};

	if (scoll == NULL)
		abort();
	scoll->medium = medium;
	scoll->member = *member;
	scoll->timer.run = tick;
	scoll->pump.run = pump;
	scoll->port = transport_sim_open(medium->network, member->nid, &events,
					 scoll);
	options.transport = transport_sim_seam(scoll->port);
	if (medium->options.given == NULL &&
	    given_create(true, &scoll->given) < 0)
		abort();
	options.discovery = given_discovery(
		scoll->given != NULL ? scoll->given : medium->options.given);
	if (scoll_core_create(&options, &scoll->core) < 0)
		abort();
	return scoll;
}

static void callbacks_drop(struct scoll *scoll)
{
	struct core_callback callback;

	while (scoll_core_callback_take(scoll->core, &callback)) {
		bool is_refused =
			callback.kind == CORE_CALLBACK_PRE_REQUEST ||
			callback.kind == CORE_CALLBACK_INCOMING_REQUEST;

		scoll_core_callback_done(scoll->core, now(scoll), &callback,
					 is_refused ? -ECANCELED : 0);
	}
}

/* Behind a network that carries nothing any more it ends in good order. */
void medium_leave(scoll_t *scoll)
{
	struct medium *medium;
	uint64_t later_ns;

	if (scoll == NULL)
		return;
	medium = scoll->medium;
	scoll->is_busy = true; /* no callback is called any more */
	for (unsigned int turns = 0; turns < STOP_TURNS; turns++) {
		transport_sim_sever(scoll->port);
		scoll_core_stop(scoll->core, now(scoll));
		callbacks_drop(scoll);
		later_ns = scoll_core_deadline_ns(scoll->core);
		if (later_ns != DEADLINE_NONE)
			scoll_core_tick(scoll->core, later_ns);
		if (scoll_core_is_idle(scoll->core))
			break;
	}
	if (!scoll_core_is_idle(scoll->core))
		abort();
	scoll_core_destroy(take_ptr(scoll->core));
	transport_sim_close(scoll->port);
	given_destroy(take_ptr(scoll->given));
	transport_timeline_cancel(&scoll->timer);
	transport_timeline_cancel(&scoll->pump);
	scoll->next = medium->left;
	medium->left = scoll;
}

struct transport_sim_port *medium_port(const scoll_t *scoll)
{
	return scoll->port;
}

struct scoll_core *medium_core(const scoll_t *scoll)
{
	return scoll->core;
}

bool medium_is_idle(const scoll_t *scoll)
{
	struct scoll_stats stats = { .size = sizeof(stats) };

	scoll_core_stats(scoll->core, &stats);
	return stats.requests_active == 0;
}

/* --- the medium --- */

struct medium *medium_create(const struct medium_options *options)
{
	struct medium *medium = calloc(1, sizeof(*medium));

	if (medium == NULL)
		abort();
	medium->options = *options;
	medium->timeline = transport_timeline_create();
	medium->options.network.timeline = medium->timeline;
	medium->network = transport_sim_create(&medium->options.network);
	if (memberships_create(&medium->memberships) < 0)
		abort();
	return medium;
}

void medium_destroy(struct medium *medium)
{
	if (medium == NULL)
		return;
	transport_sim_destroy(medium->network);
	transport_timeline_destroy(medium->timeline);
	memberships_destroy(medium->memberships);
	while (medium->left != NULL) {
		struct scoll *scoll = medium->left;

		medium->left = scoll->next;
		free(scoll);
	}
	free(medium);
}

struct transport_sim *medium_network(struct medium *medium)
{
	return medium->network;
}

uint64_t medium_now_ns(const struct medium *medium)
{
	return now_of(medium);
}

uint64_t medium_next_ns(struct medium *medium)
{
	return transport_timeline_next_ns(medium->timeline);
}

void medium_run(struct medium *medium, uint64_t until_ns)
{
	medium->is_running = true;
	while (transport_timeline_next_ns(medium->timeline) < until_ns)
		transport_timeline_run(medium->timeline);
	medium->is_running = false;
}

/* --- scoll.h --- */

static struct scoll *of_group(const scoll_group_t *group)
{
	return scoll_core_options(scoll_core_of_group(group))->instance;
}

static struct scoll *of_request(const scoll_request_t *request)
{
	return scoll_core_options(scoll_core_of_request(request))->instance;
}

int scoll_address(scoll_t *scoll, void *ret_address, size_t *size)
{
	struct transport_seam net = transport_sim_seam(scoll->port);

	return net.ops->address_get(net.ctx, SCOLL_NID_ANY, ret_address, size);
}

int scoll_peer_address(scoll_t *scoll, scoll_nid_t nid, const void *address,
		       size_t size)
{
	struct transport_seam net = transport_sim_seam(scoll->port);

	return net.ops->address_learn(net.ctx, nid, address, size);
}

int scoll_peer_set(scoll_t *scoll, scoll_nid_t nid, enum scoll_liveness news)
{
	struct given *given = scoll->given != NULL
				      ? scoll->given
				      : scoll->medium->options.given;
	int result = given_set(given, nid, news);

	scoll_core_tick(scoll->core, now(scoll));
	touch(scoll);
	return result;
}

int scoll_service_register(scoll_t *scoll, scoll_service_id_t svid,
			   const struct scoll_service_ops *ops,
			   void *private_data)
{
	return scoll_core_service_register(scoll->core, svid, ops,
					   private_data);
}

int scoll_group_create(scoll_t *scoll, scoll_service_id_t svid,
		       const char *name, const scoll_target_t *targets, int cnt,
		       scoll_tree_type_t tree, bool populate_now,
		       scoll_create_group_cb_t cb, const void *private_data)
{
	struct core_callback callback = { 0 };
	int result =
		scoll_core_group_create(scoll->core, now(scoll), svid, name,
					targets, cnt, tree, populate_now, cb,
					private_data, &callback);

	if (result == 0 && !populate_now)
		core_callback_call(&callback);
	touch(scoll);
	return result;
}

void scoll_group_destroy(scoll_group_t *group)
{
	struct scoll *scoll = of_group(group);

	scoll_core_group_destroy(group, now(scoll));
	touch(scoll);
}

scoll_request_t *scoll_bcast_new_subset(scoll_group_t *group,
					const scoll_nid_t *nids, int count,
					const void *buf, int len,
					const struct iovec *bulk_iovs, int niov,
					unsigned flags,
					scoll_duration_t service_timeout,
					const void *private_data)
{
	struct scoll *scoll = of_group(group);
	scoll_request_t *request = NULL;
	int result =
		scoll_core_bcast_new(group, now(scoll), nids, count, buf, len,
				     bulk_iovs, niov, flags, service_timeout,
				     private_data, &request);

	if (result < 0)
		errno = -result;
	return request;
}

scoll_request_t *scoll_bcast_new(scoll_group_t *group, const void *buf, int len,
				 const struct iovec *bulk_iovs, int niov,
				 unsigned flags,
				 scoll_duration_t service_timeout,
				 const void *private_data)
{
	return scoll_bcast_new_subset(group, NULL, 0, buf, len, bulk_iovs, niov,
				      flags, service_timeout, private_data);
}

void scoll_request_free(scoll_request_t *request)
{
	struct scoll *scoll = of_request(request);

	scoll_core_request_free(request, now(scoll));
}

int scoll_reply_buffer_post(int child, void *buf, size_t len,
			    scoll_request_t *request, void *private_data)
{
	return scoll_core_reply_buffer_post(child, buf, len, request,
					    private_data);
}

int scoll_bcast_send(scoll_request_t *request)
{
	struct scoll *scoll = of_request(request);
	int result = scoll_core_bcast_send(request, now(scoll));

	touch(scoll);
	return result;
}

int scoll_reply(scoll_request_t *request, const void *buf, size_t len)
{
	struct scoll *scoll = of_request(request);
	int result = scoll_core_reply(request, now(scoll), buf, len);

	touch(scoll);
	return result;
}

int scoll_reply_part(scoll_request_t *request, const void *buf, size_t len)
{
	struct scoll *scoll = of_request(request);
	int result = scoll_core_reply_part(request, now(scoll), buf, len);

	touch(scoll);
	return result;
}

void scoll_bcast_abort(scoll_request_t *request)
{
	struct scoll *scoll = of_request(request);

	scoll_core_bcast_abort(request, now(scoll));
	touch(scoll);
}

int scoll_request_failure_next(const scoll_request_t *request, uint64_t *cursor,
			       struct scoll_failure *ret_failure)
{
	return scoll_core_request_failure_next(request, cursor, ret_failure);
}
