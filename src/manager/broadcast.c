/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Calls: one for each collective of the seam, from its start until its end was
 * handed out. A call has legs, which are requests of libscoll: one over a named
 * group, or some over groups of the moment. What comes of them is kept until
 * broadcasts_settle(), so that no event comes from within a call of the seam.
 */
#include "manager/broadcast.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <utlist.h>

#include "manager/broadcast_internal.h"

/* --- calls --- */

/* Legs are left only when libscoll is no more. */
static void call_destroy(struct call *call)
{
	struct leg *leg, *next;

	call->owner->counters.call_count--;
	DL_DELETE2(call->owner->all, call, all_prev, all_next);
	DL_FOREACH_SAFE (call->legs, leg, next)
		leg_destroy(leg);
	buffers_free(call->parts);
	writer_fini(&call->payload);
	writer_fini(&call->bulk_payload);
	free(call->command);
	free(call->nids);
	free(call->failures);
	free(call);
}

void call_ready(struct call *call)
{
	if (call->is_ready || call->is_cancelled)
		return;
	call->is_ready = true;
	DL_APPEND(call->owner->ready, call);
}

void call_settle(struct call *call)
{
	if (call->legs != NULL || !call->is_begun)
		return;
	if (!call->is_cancelled)
		call_ready(call);
	else if (!call->is_told)
		call_destroy(call);
}

void call_fail(struct call *call, int result)
{
	call->result = result;
	call->is_begun = true;
	call_settle(call);
}

void call_failure_add(struct call *call, uint64_t nid, int status)
{
	if (call->failure_count == call->failure_capacity) {
		size_t capacity = call->failure_capacity * 2 + 8;
		struct collective_failure *failures = reallocarray(
			call->failures, capacity, sizeof(*failures));

		if (failures == NULL) {
			call->result = -ENOMEM;
			return;
		}
		call->failures = failures;
		call->failure_capacity = capacity;
	}
	call->failures[call->failure_count++] =
		(struct collective_failure){ .nid = nid, .status = status };
}

/* What is sent, with the command in it and beside it. */
static int call_encode(struct call *call, const struct parcel *parcel)
{
	struct parcel beside = *parcel;
	int result;

	call->command = malloc(parcel->command_size);
	if (call->command == NULL)
		return -ENOMEM;
	memcpy(call->command, parcel->command, parcel->command_size);
	call->bulk = (struct iovec){ call->command, parcel->command_size };
	call->parcel = *parcel;
	call->parcel.command = call->command;
	beside.is_bulk = true;
	result = parcel_encode(&call->parcel, &call->payload);
	return result < 0 ? result
			  : parcel_encode(&beside, &call->bulk_payload);
}

static int call_create(struct broadcasts *broadcasts,
		       const struct collective_request *request,
		       struct call **ret_call)
{
	struct call *call = calloc(1, sizeof(*call));
	int result;

	if (call == NULL)
		return -ENOMEM;
	call->owner = broadcasts;
	broadcasts->counters.call_count++;
	DL_APPEND2(broadcasts->all, call, all_prev, all_next);
	call->id = request->id;
	call->is_flat = request->is_flat;
	call->count = request->count;
	call->nids = calloc(request->count, sizeof(*call->nids));
	result = call->nids == NULL ? -ENOMEM
				    : call_encode(call, &request->parcel);
	if (result < 0) {
		call_destroy(call);
		return result;
	}
	memcpy(call->nids, request->nids, call->count * sizeof(*call->nids));
	*ret_call = call;
	return 0;
}

static struct call *call_find(const struct broadcasts *broadcasts, uint64_t id)
{
	struct call *call;

	HASH_FIND(hh, broadcasts->calls, &id, sizeof(id), call);
	return call;
}

/* --- the seam --- */

static int start(void *ctx, const struct collective_request *request)
{
	struct broadcasts *broadcasts = ctx;
	bool is_named = request->group != 0 && !request->is_flat;
	struct team *team = NULL;
	struct call *call;
	int result;

	if (request->count == 0)
		return -EINVAL;
	result = call_create(broadcasts, request, &call);
	if (result < 0)
		return result;
	HASH_ADD(hh, broadcasts->calls, id, sizeof(call->id), call);
	if (!hash_was_added(call)) {
		call_destroy(call);
		return -ENOMEM;
	}
	if (is_named)
		team = team_get(broadcasts, request->group);
	result = team != NULL ? team_serve(team, call) : call_scatter(call);
	if (result == 0)
		return 0;
	HASH_DEL(broadcasts->calls, call);
	call_destroy(call);
	return result;
}

static void cancel(void *ctx, uint64_t id)
{
	struct broadcasts *broadcasts = ctx;
	struct call *call = call_find(broadcasts, id);
	struct leg *leg;

	if (call == NULL)
		return;
	HASH_DEL(broadcasts->calls, call);
	call->is_cancelled = true;
	if (call->team != NULL)
		DL_DELETE(call->team->waiting, call);
	if (call->is_ready)
		DL_DELETE(broadcasts->ready, call);
	call->team = NULL;
	call->is_ready = false;
	call->is_begun = true;
	DL_FOREACH (call->legs, leg)
		scoll_bcast_abort(leg->request);
	call_settle(call);
}

static void address(void *ctx, uint64_t nid, const void *bytes, size_t size)
{
	struct broadcasts *broadcasts = ctx;
	struct place *place;
	enum scoll_liveness news = SCOLL_REBOOTED;

	HASH_FIND(hh, broadcasts->places, &nid, sizeof(nid), place);
	if (size > COLLECTIVE_ADDRESS_MAX || (place == NULL && size == 0))
		return;
	if (size == 0) {
		HASH_DEL(broadcasts->places, place);
		free(place);
		news = SCOLL_DEAD;
	} else if (place == NULL) {
		place = calloc(1, sizeof(*place));
		if (place == NULL)
			return; /* it cannot be reached */
		place->nid = nid;
		HASH_ADD(hh, broadcasts->places, nid, sizeof(nid), place);
		if (!hash_was_added(place)) {
			free(place);
			return;
		}
		news = SCOLL_ALIVE;
	}
	teams_mark(broadcasts, nid, size == 0);
	/* What cannot be reached fails as such. */
	(void)scoll_peer_address(broadcasts->scoll, nid, bytes, size);
	(void)scoll_peer_set(broadcasts->scoll, nid, news);
}

static void group_drop(void *ctx, uint64_t group)
{
	struct broadcasts *broadcasts = ctx;
	struct team *team;

	HASH_FIND(hh, broadcasts->teams, &group, sizeof(group), team);
	if (team != NULL)
		team_drop(team);
}

static void counters(void *ctx, struct collective_counters *ret_counters)
{
	const struct broadcasts *broadcasts = ctx;

	*ret_counters = broadcasts->counters;
}

static const struct collective_ops ops = {
	.start = start,
	.cancel = cancel,
	.address = address,
	.group_drop = group_drop,
	.counters = counters,
};

struct collective_seam broadcasts_seam(struct broadcasts *broadcasts)
{
	return (struct collective_seam){ .ops = &ops, .ctx = broadcasts };
}

/* --- what has come --- */

static void hand_out(struct broadcasts *broadcasts, struct call *call)
{
	call->is_told = true;
	while (call->parts != NULL && !call->is_cancelled) {
		struct buffer *buffer = call->parts;

		DL_DELETE(call->parts, buffer);
		broadcasts->events->part(broadcasts->ctx, call->id,
					 buffer->bytes, buffer->size);
		free(buffer);
	}
	call->is_told = false;
	if (!call->is_begun || call->legs != NULL)
		return;
	if (!call->is_cancelled) {
		HASH_DEL(broadcasts->calls, call);
		broadcasts->events->ended(broadcasts->ctx, call->id,
					  call->result, call->failures,
					  call->failure_count);
	}
	call_destroy(call);
}

void broadcasts_settle(struct broadcasts *broadcasts)
{
	while (broadcasts->ready != NULL) {
		struct call *call = broadcasts->ready;

		DL_DELETE(broadcasts->ready, call);
		call->is_ready = false;
		hand_out(broadcasts, call);
	}
}

/* --- the whole --- */

int broadcasts_create(scoll_t *scoll, const struct broadcast_events *events,
		      void *ctx, struct broadcasts **ret_broadcasts)
{
	struct broadcasts *broadcasts = calloc(1, sizeof(*broadcasts));
	int result;

	if (broadcasts == NULL)
		return -ENOMEM;
	broadcasts->scoll = scoll;
	broadcasts->events = events;
	broadcasts->ctx = ctx;
	result = scoll_service_register(scoll, PARCEL_SERVICE,
					&broadcast_service_ops, broadcasts);
	if (result < 0) {
		free(broadcasts);
		return result;
	}
	*ret_broadcasts = broadcasts;
	return 0;
}

void broadcasts_destroy(struct broadcasts *broadcasts)
{
	struct place *place, *next_place;

	if (broadcasts == NULL)
		return;
	teams_fini(broadcasts);
	HASH_CLEAR(hh, broadcasts->calls);
	while (broadcasts->all != NULL)
		call_destroy(broadcasts->all);
	HASH_ITER (hh, broadcasts->places, place, next_place) {
		HASH_DEL(broadcasts->places, place);
		free(place);
	}
	free(broadcasts);
}

const struct collective_counters *broadcasts_counters(
	const struct broadcasts *broadcasts)
{
	return &broadcasts->counters;
}
