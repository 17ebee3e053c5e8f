/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Rounds on libscoll, each from its start until its end was handed out. Events
 * of a round are kept until rounds_settle(), so that none comes from within a
 * call of the seam.
 */
#include "lanes/manager/fanout/fanout.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <utlist.h>

#include "base/memory.h"
#include "lanes/manager/fanout/scoll_rounds.h"

#define GRACE_MS   1000 /* beyond a node's patience */
#define CHUNK_MAX  128  /* nodes of a group for one round */
#define CHUNK_MIN  16   /* before the command goes beside it */
#define INLINE_MAX 2048 /* bytes of a command that need not */

/*
 * --- broadcasts ---
 *
 * Requests of libscoll. Buffers for the parts of all answers are posted before
 * a request is sent. The manager is the root of its requests, and refuses requests of others.
 */

static void round_bcast_destroy(struct round_bcast *bcast)
{
	buffers_free(bcast->buffers);
	free(bcast);
}

/* NULL, and errno. */
static scoll_request_t *request_new(struct round_bcast *bcast,
				    scoll_group_t *group, const uint64_t *nids,
				    size_t count, unsigned int flags)
{
	const struct round *round = bcast->round;
	bool is_bulk = (flags & BCAST_BULK) != 0;
	const struct writer *payload =
		is_bulk ? &round->bulk_payload : &round->payload;
	const struct iovec *bulk = is_bulk ? &round->bulk : NULL;
	unsigned int scoll_flags = flags & BCAST_OWN ? SCOLL_LAST : 0;
	scoll_duration_t timeout =
		((scoll_duration_t)round->parcel.patience_ms + GRACE_MS) *
		1000000;

	if (payload->size > SCOLL_BCAST_MAX) {
		errno = EMSGSIZE;
		return NULL;
	}
	if (nids == NULL)
		return scoll_bcast_new(group, payload->data, (int)payload->size,
				       bulk, is_bulk, scoll_flags, timeout,
				       bcast);
	return scoll_bcast_new_subset(group, nids, (int)count, payload->data,
				      (int)payload->size, bulk, is_bulk,
				      scoll_flags, timeout, bcast);
}

int round_bcast_start(struct round *round, scoll_group_t *group,
		      const uint64_t *nids, size_t count, unsigned int flags)
{
	struct round_bcast *bcast = memory_alloc(sizeof(*bcast));
	int result;

	bcast->round = round;
	bcast->request = request_new(bcast, group, nids, count, flags);
	if (bcast->request == NULL) {
		result = memory_check(-errno);
		round_bcast_destroy(bcast);
		return result;
	}
	result = memory_check(
		buffers_post(bcast->request, &round->parcel, &bcast->buffers));
	if (result == 0)
		result = memory_check(scoll_bcast_send(bcast->request));
	if (result < 0) {
		scoll_request_free(bcast->request);
		round_bcast_destroy(bcast);
		return result;
	}
	if (flags & BCAST_OWN)
		bcast->own_group = group;
	round->owner->counters.bulk_count += (flags & BCAST_BULK) != 0;
	DL_APPEND(round->bcasts, bcast);
	return 0;
}

/* --- groups for one round --- */

bool round_prefers_bulk(const struct round *round)
{
	return round->payload.size > INLINE_MAX;
}

static int bcast_over_own(struct round *round, const uint64_t *nids,
			  size_t count, unsigned int flags)
{
	scoll_group_t *group;
	int result = round_group_create(
		round->owner, nids, count,
		round->parcel.is_separate ? SCOLL_TREE_FLAT : TREE, &group);

	if (result < 0)
		return result;
	result =
		round_bcast_start(round, group, NULL, count, flags | BCAST_OWN);
	if (result < 0)
		scoll_group_destroy(group);
	return result;
}

int round_scatter(struct round *round)
{
	unsigned int flags = round_prefers_bulk(round) ? BCAST_BULK : 0;
	size_t chunk = CHUNK_MAX, at = 0;
	int result = 0;

	while (at < round->count) {
		size_t count =
			round->count - at < chunk ? round->count - at : chunk;

		result = bcast_over_own(round, round->nids + at, count, flags);
		if (result == 0) {
			at += count;
		} else if (result != -EMSGSIZE || (count == 1 && flags != 0)) {
			break;
		} else if (count > CHUNK_MIN || flags != 0) {
			chunk = (count + 1) / 2;
		} else {
			flags = BCAST_BULK;
			chunk = CHUNK_MAX;
		}
	}
	if (at == 0)
		return result;
	for (size_t i = at; i < round->count; i++)
		round_failure_add(round, round->nids[i], result);
	round->is_begun = true;
	return 0;
}

/* --- callbacks --- */

static int pre_request(scoll_request_t *request)
{
	return -EPERM;
}

static int incoming_request(scoll_request_t *request,
			    const scoll_target_t *target)
{
	return -EPERM;
}

static void incoming_reply(scoll_reply_t *reply)
{
	struct round_bcast *bcast = reply->srp_request->srq_private;
	struct buffer *buffer = reply->srp_private;
	struct round *round = bcast->round;

	if (reply->srp_buf == NULL)
		return;
	DL_DELETE(bcast->buffers, buffer);
	if (reply->srp_status < 0 || reply->srp_len == 0 ||
	    round->is_cancelled) {
		free(buffer);
		return;
	}
	buffer->size = reply->srp_len;
	DL_APPEND(round->parts, buffer);
	round_ready(round);
}

static void post_reply(scoll_request_t *request)
{
	struct round_bcast *bcast = request->srq_private;
	struct round *round = bcast->round;
	struct scoll_failure failure;
	uint64_t cursor = 0;

	while (scoll_request_failure_next(request, &cursor, &failure) > 0)
		round_failure_add(round, failure.nid, failure.status);
	if (bcast->own_group != NULL)
		scoll_group_destroy(bcast->own_group);
	DL_DELETE(round->bcasts, bcast);
	round_bcast_destroy(bcast);
	round_settle(round);
}

static const struct scoll_service_ops rounds_service_ops = {
	.size = sizeof(rounds_service_ops),
	.pre_request = pre_request,
	.incoming_request = incoming_request,
	.incoming_reply = incoming_reply,
	.post_reply = post_reply,
};

/* --- rounds --- */

/* Broadcasts are left only when libscoll is no more. */
static void round_destroy(struct round *round)
{
	struct round_bcast *bcast, *next;

	round->owner->counters.round_count--;
	DL_DELETE2(round->owner->all, round, all_prev, all_next);
	DL_FOREACH_SAFE (round->bcasts, bcast, next)
		round_bcast_destroy(bcast);
	buffers_free(round->parts);
	writer_fini(&round->payload);
	writer_fini(&round->bulk_payload);
	free(round->nids);
	free(round->failures);
	free(round);
}

void round_ready(struct round *round)
{
	if (round->is_ready || round->is_cancelled)
		return;
	round->is_ready = true;
	DL_APPEND(round->owner->ready, round);
}

void round_settle(struct round *round)
{
	if (round->bcasts != NULL || !round->is_begun)
		return;
	if (!round->is_cancelled)
		round_ready(round);
	else if (!round->is_handed_out)
		round_destroy(round);
}

void round_fail(struct round *round, int result)
{
	round->result = result;
	round->is_begun = true;
	round_settle(round);
}

void round_failure_add(struct round *round, uint64_t nid, int status)
{
	if (round->failure_count == round->failure_capacity) {
		round->failure_capacity = round->failure_capacity * 2 + 8;
		round->failures =
			memory_resize(round->failures, round->failure_capacity,
				      sizeof(*round->failures));
	}
	round->failures[round->failure_count++] =
		(struct round_failure){ .nid = nid, .status = status };
}

/* Make the request, with the command inside or as bulk data. */
static void round_encode(struct round *round, const struct parcel *parcel)
{
	struct parcel beside = *parcel;

	round->parcel = *parcel;
	round->parcel.command = NULL;
	beside.is_bulk = true;
	memory_check(parcel_encode(parcel, &round->payload));
	memory_check(parcel_encode(&beside, &round->bulk_payload));
	/* The payload ends with the command. */
	round->bulk.iov_len = parcel->command_size;
	round->bulk.iov_base = round->payload.data + round->payload.size -
			       parcel->command_size;
}

static struct round *round_create(struct rounds *rounds,
				  const struct round_request *request)
{
	struct round *round = memory_alloc(sizeof(*round));

	round->owner = rounds;
	rounds->counters.round_count++;
	DL_APPEND2(rounds->all, round, all_prev, all_next);
	round->id = request->id;
	round->count = request->count;
	round->nids = memory_copy(request->nids,
				  request->count * sizeof(*round->nids));
	round_encode(round, &request->parcel);
	HASH_ADD(hh, rounds->by_id, id, sizeof(round->id), round);
	memory_have(round->hh.tbl);
	return round;
}

static struct round *round_find(const struct rounds *rounds, uint64_t id)
{
	struct round *round;

	HASH_FIND(hh, rounds->by_id, &id, sizeof(id), round);
	return round;
}

/* --- the seam --- */

static int start(void *ctx, const struct round_request *request)
{
	bool is_named = request->group != 0 && !request->parcel.is_separate;
	struct round_group *named = NULL;
	struct rounds *rounds = ctx;
	struct round *round;
	int result;

	if (request->count == 0)
		return -EINVAL;
	round = round_create(rounds, request);
	if (is_named)
		named = round_group_get(rounds, request->group);
	result = named != NULL ? round_group_serve(named, round)
			       : round_scatter(round);
	if (result == 0)
		return 0;
	HASH_DEL(rounds->by_id, round);
	round_destroy(round);
	return result;
}

static void cancel(void *ctx, uint64_t id)
{
	struct rounds *rounds = ctx;
	struct round *round = round_find(rounds, id);
	struct round_bcast *bcast;

	if (round == NULL)
		return;
	HASH_DEL(rounds->by_id, round);
	round->is_cancelled = true;
	if (round->named != NULL)
		DL_DELETE(round->named->waiting, round);
	if (round->is_ready)
		DL_DELETE(rounds->ready, round);
	round->named = NULL;
	round->is_ready = false;
	round->is_begun = true;
	DL_FOREACH (round->bcasts, bcast)
		scoll_bcast_abort(bcast->request);
	round_settle(round);
}

static void address(void *ctx, uint64_t nid, const void *bytes, size_t size)
{
	struct rounds *rounds = ctx;
	struct round_node *known;
	enum scoll_liveness news = SCOLL_REBOOTED;

	HASH_FIND(hh, rounds->nodes, &nid, sizeof(nid), known);
	if (size > COLLECTIVE_ADDRESS_MAX || (known == NULL && size == 0))
		return;
	if (size == 0) {
		HASH_DEL(rounds->nodes, known);
		free(known);
		news = SCOLL_DEAD;
	} else if (known == NULL) {
		known = memory_alloc(sizeof(*known));
		known->nid = nid;
		HASH_ADD(hh, rounds->nodes, nid, sizeof(nid), known);
		memory_have(known->hh.tbl);
		news = SCOLL_ALIVE;
	}
	round_groups_mark(rounds, nid, size == 0);
	/* An unreachable node fails with its own error. */
	(void)scoll_peer_address(rounds->scoll, nid, bytes, size);
	(void)scoll_peer_set(rounds->scoll, nid, news);
}

static void group_drop(void *ctx, uint64_t group)
{
	struct rounds *rounds = ctx;
	struct round_group *named;

	HASH_FIND(hh, rounds->groups, &group, sizeof(group), named);
	if (named != NULL)
		round_group_drop(named);
}

const struct round_counters *rounds_counters(const struct rounds *rounds)
{
	return &rounds->counters;
}

static const struct round_counters *counters(void *ctx)
{
	return rounds_counters(ctx);
}

static const struct round_ops ops = {
	.start = start,
	.cancel = cancel,
	.address = address,
	.group_drop = group_drop,
	.counters = counters,
};

struct round_seam rounds_seam(struct rounds *rounds)
{
	return (struct round_seam){ .ops = &ops, .ctx = rounds };
}

/* --- what has come --- */

static void hand_out(struct rounds *rounds, struct round *round)
{
	round->is_handed_out = true;
	while (round->parts != NULL && !round->is_cancelled) {
		struct buffer *buffer = round->parts;

		DL_DELETE(round->parts, buffer);
		rounds->events->part(rounds->ctx, round->id, buffer->bytes,
				     buffer->size);
		free(buffer);
	}
	round->is_handed_out = false;
	if (!round->is_begun || round->bcasts != NULL)
		return;
	if (!round->is_cancelled) {
		HASH_DEL(rounds->by_id, round);
		rounds->events->ended(rounds->ctx, round->id, round->result,
				      round->failures, round->failure_count);
	}
	round_destroy(round);
}

void rounds_settle(struct rounds *rounds)
{
	while (rounds->ready != NULL) {
		struct round *round = rounds->ready;

		DL_DELETE(rounds->ready, round);
		round->is_ready = false;
		hand_out(rounds, round);
	}
}

/* --- the whole --- */

int rounds_create(scoll_t *scoll, const struct round_events *events, void *ctx,
		  struct rounds **ret_rounds)
{
	struct rounds *rounds = memory_alloc(sizeof(*rounds));
	int result;

	rounds->scoll = scoll;
	rounds->events = events;
	rounds->ctx = ctx;
	result = scoll_service_register(scoll, PARCEL_SERVICE,
					&rounds_service_ops, rounds);
	if (result < 0) {
		free(rounds);
		return result;
	}
	*ret_rounds = rounds;
	return 0;
}

void rounds_destroy(struct rounds *rounds)
{
	struct round_node *known, *next_known;

	if (rounds == NULL)
		return;
	round_groups_fini(rounds);
	HASH_CLEAR(hh, rounds->by_id);
	while (rounds->all != NULL)
		round_destroy(rounds->all);
	HASH_ITER (hh, rounds->nodes, known, next_known) {
		HASH_DEL(rounds->nodes, known);
		free(known);
	}
	free(rounds);
}
