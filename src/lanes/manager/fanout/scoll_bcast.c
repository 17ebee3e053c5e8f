/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Requests of libscoll. Buffers for the parts of all answers are posted before
 * a request is sent. The manager is the root of its requests and never a
 * member: it refuses requests of others.
 */
#include <errno.h>
#include <stdlib.h>
#include <utlist.h>

#include "base/memory.h"
#include "lanes/manager/fanout/scoll_rounds.h"

#define TREE       SCOLL_TREE_KNOMIAL(4)
#define GRACE_MS   1000 /* beyond a node's patience */
#define CHUNK_MAX  128  /* nodes of a group for one round */
#define CHUNK_MIN  16   /* before the command goes beside it */
#define INLINE_MAX 2048 /* bytes of a command that need not */

/* --- a broadcast --- */

void round_bcast_destroy(struct round_bcast *bcast)
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

static void made(int status, scoll_group_t *group, const void *private_data)
{
	scoll_group_t **slot = (scoll_group_t **)private_data;

	*slot = group;
}

int round_group_create(struct rounds *rounds, const uint64_t *nids,
		       size_t count, scoll_tree_type_t tree,
		       scoll_group_t **ret_group)
{
	static const scoll_tag_t tag;
	_auto_(freep) scoll_target_t *targets =
		memory_array(count, sizeof(*targets));
	scoll_group_t *group = NULL;
	int result;

	for (size_t i = 0; i < count; i++)
		targets[i] = (scoll_target_t){ nids[i], &tag, 1 };
	result = memory_check(scoll_group_create(rounds->scoll, PARCEL_SERVICE,
						 NULL, targets, (int)count,
						 tree, false, made, &group));
	if (result == 0) {
		rounds->counters.made_count++;
		*ret_group = group;
	}
	return result;
}

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

const struct scoll_service_ops rounds_service_ops = {
	.size = sizeof(rounds_service_ops),
	.pre_request = pre_request,
	.incoming_request = incoming_request,
	.incoming_reply = incoming_reply,
	.post_reply = post_reply,
};
