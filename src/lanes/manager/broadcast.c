/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Collectives, each from its start until its end was handed out. A collective
 * has legs, which are requests of libscoll: one over a named group, or some
 * over groups of the moment. What comes of them is kept until
 * broadcasts_settle(), so that no event comes from within a call of the seam.
 */
#include "lanes/manager/broadcast.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <utlist.h>

#include "lanes/manager/broadcast_internal.h"

/* --- collectives --- */

/* Legs are left only when libscoll is no more. */
static void collective_destroy(struct collective *collective)
{
	struct leg *leg, *next;

	collective->owner->counters.collective_count--;
	DL_DELETE2(collective->owner->all, collective, all_prev, all_next);
	DL_FOREACH_SAFE (collective->legs, leg, next)
		leg_destroy(leg);
	buffers_free(collective->parts);
	writer_fini(&collective->payload);
	writer_fini(&collective->bulk_payload);
	free(collective->command);
	free(collective->nids);
	free(collective->failures);
	free(collective);
}

void collective_ready(struct collective *collective)
{
	if (collective->is_ready || collective->is_cancelled)
		return;
	collective->is_ready = true;
	DL_APPEND(collective->owner->ready, collective);
}

void collective_settle(struct collective *collective)
{
	if (collective->legs != NULL || !collective->is_begun)
		return;
	if (!collective->is_cancelled)
		collective_ready(collective);
	else if (!collective->is_told)
		collective_destroy(collective);
}

void collective_fail(struct collective *collective, int result)
{
	collective->result = result;
	collective->is_begun = true;
	collective_settle(collective);
}

void collective_failure_add(struct collective *collective, uint64_t nid,
			    int status)
{
	if (collective->failure_count == collective->failure_capacity) {
		size_t capacity = collective->failure_capacity * 2 + 8;
		struct collective_failure *failures = reallocarray(
			collective->failures, capacity, sizeof(*failures));

		if (failures == NULL) {
			collective->result = -ENOMEM;
			return;
		}
		collective->failures = failures;
		collective->failure_capacity = capacity;
	}
	collective->failures[collective->failure_count++] =
		(struct collective_failure){ .nid = nid, .status = status };
}

/* What is sent, with the command in it and beside it. */
static int collective_encode(struct collective *collective,
			     const struct parcel *parcel)
{
	struct parcel beside = *parcel;
	int result;

	collective->command = malloc(parcel->command_size);
	if (collective->command == NULL)
		return -ENOMEM;
	memcpy(collective->command, parcel->command, parcel->command_size);
	collective->bulk =
		(struct iovec){ collective->command, parcel->command_size };
	collective->parcel = *parcel;
	collective->parcel.command = collective->command;
	beside.is_bulk = true;
	result = parcel_encode(&collective->parcel, &collective->payload);
	return result < 0 ? result
			  : parcel_encode(&beside, &collective->bulk_payload);
}

static int collective_create(struct broadcasts *broadcasts,
			     const struct collective_request *request,
			     struct collective **ret_collective)
{
	struct collective *collective = calloc(1, sizeof(*collective));
	int result;

	if (collective == NULL)
		return -ENOMEM;
	collective->owner = broadcasts;
	broadcasts->counters.collective_count++;
	DL_APPEND2(broadcasts->all, collective, all_prev, all_next);
	collective->id = request->id;
	collective->is_flat = request->is_flat;
	collective->count = request->count;
	collective->nids = calloc(request->count, sizeof(*collective->nids));
	result = collective->nids == NULL
			 ? -ENOMEM
			 : collective_encode(collective, &request->parcel);
	if (result < 0) {
		collective_destroy(collective);
		return result;
	}
	memcpy(collective->nids, request->nids,
	       collective->count * sizeof(*collective->nids));
	*ret_collective = collective;
	return 0;
}

static struct collective *collective_find(const struct broadcasts *broadcasts,
					  uint64_t id)
{
	struct collective *collective;

	HASH_FIND(hh, broadcasts->collectives, &id, sizeof(id), collective);
	return collective;
}

/* --- the seam --- */

static int start(void *ctx, const struct collective_request *request)
{
	struct broadcasts *broadcasts = ctx;
	bool is_named = request->group != 0 && !request->is_flat;
	struct named_group *named = NULL;
	struct collective *collective;
	int result;

	if (request->count == 0)
		return -EINVAL;
	result = collective_create(broadcasts, request, &collective);
	if (result < 0)
		return result;
	HASH_ADD(hh, broadcasts->collectives, id, sizeof(collective->id),
		 collective);
	if (!hash_was_added(collective)) {
		collective_destroy(collective);
		return -ENOMEM;
	}
	if (is_named)
		named = named_group_get(broadcasts, request->group);
	result = named != NULL ? named_group_serve(named, collective)
			       : collective_scatter(collective);
	if (result == 0)
		return 0;
	HASH_DEL(broadcasts->collectives, collective);
	collective_destroy(collective);
	return result;
}

static void cancel(void *ctx, uint64_t id)
{
	struct broadcasts *broadcasts = ctx;
	struct collective *collective = collective_find(broadcasts, id);
	struct leg *leg;

	if (collective == NULL)
		return;
	HASH_DEL(broadcasts->collectives, collective);
	collective->is_cancelled = true;
	if (collective->named != NULL)
		DL_DELETE(collective->named->waiting, collective);
	if (collective->is_ready)
		DL_DELETE(broadcasts->ready, collective);
	collective->named = NULL;
	collective->is_ready = false;
	collective->is_begun = true;
	DL_FOREACH (collective->legs, leg)
		scoll_bcast_abort(leg->request);
	collective_settle(collective);
}

static void address(void *ctx, uint64_t nid, const void *bytes, size_t size)
{
	struct broadcasts *broadcasts = ctx;
	struct known_node *known;
	enum scoll_liveness news = SCOLL_REBOOTED;

	HASH_FIND(hh, broadcasts->known_nodes, &nid, sizeof(nid), known);
	if (size > COLLECTIVE_ADDRESS_MAX || (known == NULL && size == 0))
		return;
	if (size == 0) {
		HASH_DEL(broadcasts->known_nodes, known);
		free(known);
		news = SCOLL_DEAD;
	} else if (known == NULL) {
		known = calloc(1, sizeof(*known));
		if (known == NULL)
			return; /* it cannot be reached */
		known->nid = nid;
		HASH_ADD(hh, broadcasts->known_nodes, nid, sizeof(nid), known);
		if (!hash_was_added(known)) {
			free(known);
			return;
		}
		news = SCOLL_ALIVE;
	}
	named_groups_mark(broadcasts, nid, size == 0);
	/* What cannot be reached fails as such. */
	(void)scoll_peer_address(broadcasts->scoll, nid, bytes, size);
	(void)scoll_peer_set(broadcasts->scoll, nid, news);
}

static void group_drop(void *ctx, uint64_t group)
{
	struct broadcasts *broadcasts = ctx;
	struct named_group *named;

	HASH_FIND(hh, broadcasts->named_groups, &group, sizeof(group), named);
	if (named != NULL)
		named_group_drop(named);
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

static void hand_out(struct broadcasts *broadcasts,
		     struct collective *collective)
{
	collective->is_told = true;
	while (collective->parts != NULL && !collective->is_cancelled) {
		struct buffer *buffer = collective->parts;

		DL_DELETE(collective->parts, buffer);
		broadcasts->events->part(broadcasts->ctx, collective->id,
					 buffer->bytes, buffer->size);
		free(buffer);
	}
	collective->is_told = false;
	if (!collective->is_begun || collective->legs != NULL)
		return;
	if (!collective->is_cancelled) {
		HASH_DEL(broadcasts->collectives, collective);
		broadcasts->events->ended(broadcasts->ctx, collective->id,
					  collective->result,
					  collective->failures,
					  collective->failure_count);
	}
	collective_destroy(collective);
}

void broadcasts_settle(struct broadcasts *broadcasts)
{
	while (broadcasts->ready != NULL) {
		struct collective *collective = broadcasts->ready;

		DL_DELETE(broadcasts->ready, collective);
		collective->is_ready = false;
		hand_out(broadcasts, collective);
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
	struct known_node *known, *next_known;

	if (broadcasts == NULL)
		return;
	named_groups_fini(broadcasts);
	HASH_CLEAR(hh, broadcasts->collectives);
	while (broadcasts->all != NULL)
		collective_destroy(broadcasts->all);
	HASH_ITER (hh, broadcasts->known_nodes, known, next_known) {
		HASH_DEL(broadcasts->known_nodes, known);
		free(known);
	}
	free(broadcasts);
}

const struct collective_counters *broadcasts_counters(
	const struct broadcasts *broadcasts)
{
	return &broadcasts->counters;
}
