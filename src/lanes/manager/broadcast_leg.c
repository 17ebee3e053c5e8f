/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Requests of libscoll. Room for the parts of all answers is posted before one
 * is sent. The manager is the root of its requests and never a member: what
 * others send to it is refused.
 */
#include <errno.h>
#include <stdlib.h>
#include <utlist.h>

#include "lanes/manager/broadcast_internal.h"

#define TREE       SCOLL_TREE_KNOMIAL(4)
#define GRACE_MS   1000 /* beyond a node's patience */
#define CHUNK_MAX  128  /* nodes of a group of the moment */
#define CHUNK_MIN  16   /* before the command goes beside it */
#define INLINE_MAX 2048 /* bytes of a command that need not */

/* --- a leg --- */

void leg_destroy(struct leg *leg)
{
	buffers_free(leg->buffers);
	free(leg);
}

/* NULL, and errno. */
static scoll_request_t *request_new(struct leg *leg, scoll_group_t *group,
				    const uint64_t *nids, size_t count,
				    unsigned int flags)
{
	const struct collective *collective = leg->collective;
	bool is_bulk = (flags & LEG_BULK) != 0;
	const struct writer *payload =
		is_bulk ? &collective->bulk_payload : &collective->payload;
	const struct iovec *bulk = is_bulk ? &collective->bulk : NULL;
	unsigned int scoll_flags = flags & LEG_OWN ? SCOLL_LAST : 0;
	scoll_duration_t timeout =
		((scoll_duration_t)collective->parcel.patience_ms + GRACE_MS) *
		1000000;

	if (payload->size > SCOLL_BCAST_MAX) {
		errno = EMSGSIZE;
		return NULL;
	}
	if (nids == NULL)
		return scoll_bcast_new(group, payload->data, (int)payload->size,
				       bulk, is_bulk, scoll_flags, timeout,
				       leg);
	return scoll_bcast_new_subset(group, nids, (int)count, payload->data,
				      (int)payload->size, bulk, is_bulk,
				      scoll_flags, timeout, leg);
}

int leg_start(struct collective *collective, scoll_group_t *group,
	      const uint64_t *nids, size_t count, unsigned int flags)
{
	struct leg *leg = calloc(1, sizeof(*leg));
	int result;

	if (leg == NULL)
		return -ENOMEM;
	leg->collective = collective;
	leg->request = request_new(leg, group, nids, count, flags);
	if (leg->request == NULL) {
		result = -errno;
		leg_destroy(leg);
		return result;
	}
	result = buffers_post(leg->request, &collective->parcel, &leg->buffers);
	if (result == 0)
		result = scoll_bcast_send(leg->request);
	if (result < 0) {
		scoll_request_free(leg->request);
		leg_destroy(leg);
		return result;
	}
	if (flags & LEG_OWN)
		leg->own_group = group;
	collective->owner->counters.bulk_count += (flags & LEG_BULK) != 0;
	DL_APPEND(collective->legs, leg);
	return 0;
}

/* --- groups of the moment --- */

static void made(int status, scoll_group_t *group, const void *private_data)
{
	scoll_group_t **slot = (scoll_group_t **)private_data;

	*slot = group;
}

int moment_create(struct broadcasts *broadcasts, const uint64_t *nids,
		  size_t count, scoll_tree_type_t tree,
		  scoll_group_t **ret_group)
{
	static const scoll_tag_t tag;
	scoll_target_t *targets = calloc(count, sizeof(*targets));
	scoll_group_t *group = NULL;
	int result = -ENOMEM;

	for (size_t i = 0; targets != NULL && i < count; i++)
		targets[i] = (scoll_target_t){ nids[i], &tag, 1 };
	if (targets != NULL)
		result = scoll_group_create(broadcasts->scoll, PARCEL_SERVICE,
					    NULL, targets, (int)count, tree,
					    false, made, &group);
	free(targets);
	if (result == 0) {
		broadcasts->counters.made_count++;
		*ret_group = group;
	}
	return result;
}

bool collective_prefers_bulk(const struct collective *collective)
{
	return collective->payload.size > INLINE_MAX;
}

static int leg_of_moment(struct collective *collective, const uint64_t *nids,
			 size_t count, unsigned int flags)
{
	scoll_group_t *group;
	int result = moment_create(collective->owner, nids, count,
				   collective->is_flat ? SCOLL_TREE_FLAT : TREE,
				   &group);

	if (result < 0)
		return result;
	result = leg_start(collective, group, NULL, count, flags | LEG_OWN);
	if (result < 0)
		scoll_group_destroy(group);
	return result;
}

int collective_scatter(struct collective *collective)
{
	unsigned int flags = collective_prefers_bulk(collective) ? LEG_BULK : 0;
	size_t chunk = CHUNK_MAX, at = 0;
	int result = 0;

	while (at < collective->count) {
		size_t count = collective->count - at < chunk
				       ? collective->count - at
				       : chunk;

		result = leg_of_moment(collective, collective->nids + at, count,
				       flags);
		if (result == 0) {
			at += count;
		} else if (result != -EMSGSIZE || (count == 1 && flags != 0)) {
			break;
		} else if (count > CHUNK_MIN || flags != 0) {
			chunk = (count + 1) / 2;
		} else {
			flags = LEG_BULK;
			chunk = CHUNK_MAX;
		}
	}
	if (at == 0)
		return result;
	for (size_t i = at; i < collective->count; i++)
		collective_failure_add(collective, collective->nids[i], result);
	collective->is_begun = true;
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
	struct leg *leg = reply->srp_request->srq_private;
	struct buffer *buffer = reply->srp_private;
	struct collective *collective = leg->collective;

	if (reply->srp_buf == NULL)
		return;
	DL_DELETE(leg->buffers, buffer);
	if (reply->srp_status < 0 || reply->srp_len == 0 ||
	    collective->is_cancelled) {
		free(buffer);
		return;
	}
	buffer->size = reply->srp_len;
	DL_APPEND(collective->parts, buffer);
	collective_ready(collective);
}

static void post_reply(scoll_request_t *request)
{
	struct leg *leg = request->srq_private;
	struct collective *collective = leg->collective;
	struct scoll_failure failure;
	uint64_t cursor = 0;

	while (scoll_request_failure_next(request, &cursor, &failure) > 0)
		collective_failure_add(collective, failure.nid, failure.status);
	if (leg->own_group != NULL)
		scoll_group_destroy(leg->own_group);
	DL_DELETE(collective->legs, leg);
	leg_destroy(leg);
	collective_settle(collective);
}

const struct scoll_service_ops broadcast_service_ops = {
	.size = sizeof(broadcast_service_ops),
	.pre_request = pre_request,
	.incoming_request = incoming_request,
	.incoming_reply = incoming_reply,
	.post_reply = post_reply,
};
