/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A collective is here one that goes through this node, from pre_request until
 * its answer has left. The agent gathers; here is only what libscoll wants of a
 * service: room for the answers of the nodes below, posted before anything is
 * passed on, and each part of ours kept until it has left. A part for which our
 * parent has no room is left out: the manager asks those who are in it again.
 *
 * Who sent it is not believed, but for its size: the guard verifies the command.
 */
#include "lanes/node/collectives.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <utlist.h>

#include "base/bytes.h"
#include "base/hash.h"
#include "lanes/proto/buffer.h"
#include "lanes/proto/nid.h"
#include "lanes/node/agent/agent.h"

struct collective {
	struct collectives *owner;
	uint64_t id;
	scoll_request_t *request;
	struct buffer *posted; /* for those below */
	struct buffer *sent;   /* of ours, until they have left */
	struct buffer *bulk;   /* NULL: the command is in the payload */
	struct iovec iov;
	bool is_failed; /* without its bulk data: libscoll says so for us */
	UT_hash_handle hh;
};

struct collectives {
	scoll_t *scoll;
	const struct collectives_events *events;
	void *ctx;
	struct collective *list;
	uint64_t id_last;
};

/* --- collectives --- */

static void collective_destroy(struct collective *collective)
{
	HASH_DEL(collective->owner->list, collective);
	buffers_free(collective->posted);
	buffers_free(collective->sent);
	free(collective->bulk);
	free(collective);
}

static struct collective *collective_create(struct collectives *collectives,
					    scoll_request_t *request)
{
	struct collective *collective = calloc(1, sizeof(*collective));

	if (collective == NULL)
		return NULL;
	collective->owner = collectives;
	collective->id = ++collectives->id_last;
	collective->request = request;
	HASH_ADD(hh, collectives->list, id, sizeof(collective->id), collective);
	if (!hash_was_added(collective)) {
		free(collective);
		return NULL;
	}
	request->srq_private = collective;
	return collective;
}

static int bulk_prepare(struct collective *collective)
{
	scoll_request_t *request = collective->request;
	size_t size = request->srq_bulk_len;

	if (size == 0)
		return 0;
	collective->bulk = buffer_create(size);
	if (collective->bulk == NULL)
		return -ENOMEM;
	collective->iov = (struct iovec){ collective->bulk->bytes, size };
	request->srq_bulk_iovs = &collective->iov;
	request->srq_bulk_niov = 1;
	return 0;
}

/* --- callbacks --- */

static int pre_request(scoll_request_t *request)
{
	struct collectives *collectives = scoll_request_service(request);
	struct parcel parcel;
	struct collective *collective;
	int result;

	if (scoll_request_root(request) != NID_MANAGER)
		return -EPERM;
	if (parcel_decode(request->srq_buf, (size_t)request->srq_len, &parcel) <
		    0 ||
	    parcel.is_bulk != (request->srq_bulk_len > 0))
		return -EBADMSG;
	if (request->srq_bulk_len > FRAME_SIZE_MAX)
		return -EMSGSIZE;
	if (HASH_COUNT(collectives->list) >= COLLECTIVES_MAX)
		return -EBUSY;
	collective = collective_create(collectives, request);
	if (collective == NULL)
		return -ENOMEM;
	result = buffers_post(request, &parcel, &collective->posted);
	if (result == 0)
		result = bulk_prepare(collective);
	if (result < 0)
		collective_destroy(collective);
	return result;
}

static int incoming_request(scoll_request_t *request,
			    const scoll_target_t *target)
{
	struct collective *collective = request->srq_private;
	struct collectives *collectives = collective->owner;

	collective->is_failed = request->srq_bulk_status < 0;
	if (!collective->is_failed)
		collectives->events->received(collectives->ctx, collective->id,
					      request->srq_buf,
					      (size_t)request->srq_len,
					      collective->bulk != NULL
						      ? collective->bulk->bytes
						      : NULL,
					      request->srq_bulk_len);
	return 0;
}

static void incoming_reply(scoll_reply_t *reply)
{
	struct collective *collective = reply->srp_request->srq_private;
	struct collectives *collectives = collective->owner;
	struct buffer *buffer = reply->srp_private;

	if (reply->srp_buf == NULL)
		return;
	if (reply->srp_status == 0 && reply->srp_len > 0 &&
	    !collective->is_failed)
		collectives->events->gathered(collectives->ctx, collective->id,
					      buffer->bytes, reply->srp_len);
	DL_DELETE(collective->posted, buffer);
	free(buffer);
}

static void post_reply(scoll_request_t *request)
{
	struct collective *collective = request->srq_private;
	struct collectives *collectives = collective->owner;

	buffers_free(take_ptr(collective->posted));
	collectives->events->closed(collectives->ctx, collective->id);
}

static void reply_out(scoll_request_t *request)
{
	collective_destroy(request->srq_private);
}

static const struct scoll_service_ops service_ops = {
	.size = sizeof(service_ops),
	.pre_request = pre_request,
	.incoming_request = incoming_request,
	.incoming_reply = incoming_reply,
	.post_reply = post_reply,
	.reply_out = reply_out,
};

/* --- our answer --- */

void collectives_gathered(struct collectives *collectives, uint64_t id,
			  const void *bytes, size_t size, bool is_last)
{
	struct buffer *buffer = NULL;
	struct collective *collective;
	int result;

	HASH_FIND(hh, collectives->list, &id, sizeof(id), collective);
	if (collective == NULL)
		return;
	if (size > 0)
		buffer = buffer_create(size);
	if (buffer != NULL)
		memcpy(buffer->bytes, bytes, size);
	else
		size = 0; /* without memory nothing is known of those in it */
	if (is_last)
		result = scoll_reply(collective->request,
				     buffer != NULL ? buffer->bytes : NULL,
				     size);
	else
		result = buffer == NULL ? -ENOMEM
					: scoll_reply_part(collective->request,
							   buffer->bytes, size);
	if (result == 0 && buffer != NULL)
		DL_APPEND(collective->sent, buffer);
	else
		free(buffer);
}

/*
 * Of the manager that was lost: its starts may not have risen, if its journal
 * is an old one, and what is earlier would be taken for old.
 */
void collectives_returned(struct collectives *collectives)
{
	(void)scoll_peer_set(collectives->scoll, NID_MANAGER, SCOLL_REBOOTED);
}

/* --- the whole --- */

int collectives_create(scoll_t *scoll, struct collectives **ret_collectives)
{
	struct collectives *collectives = calloc(1, sizeof(*collectives));

	if (collectives == NULL)
		return -ENOMEM;
	collectives->scoll = scoll;
	*ret_collectives = collectives;
	return 0;
}

void collectives_destroy(struct collectives *collectives)
{
	struct collective *collective, *next;

	if (collectives == NULL)
		return;
	HASH_ITER (hh, collectives->list, collective, next)
		collective_destroy(collective);
	free(collectives);
}

int collectives_serve(struct collectives *collectives,
		      const struct collectives_events *events, void *ctx)
{
	collectives->events = events;
	collectives->ctx = ctx;
	return scoll_service_register(collectives->scoll, PARCEL_SERVICE,
				      &service_ops, collectives);
}

size_t collectives_count(const struct collectives *collectives)
{
	return HASH_COUNT(collectives->list);
}

static void agent_received(void *ctx, uint64_t id, const void *payload,
			   size_t size, const void *bulk, size_t bulk_size)
{
	agent_collective_received(ctx, id, payload, size, bulk, bulk_size);
}

static void agent_gathered(void *ctx, uint64_t id, const void *bytes,
			   size_t size)
{
	agent_collective_gathered(ctx, id, bytes, size);
}

static void agent_closed(void *ctx, uint64_t id)
{
	agent_collective_closed(ctx, id);
}

const struct collectives_events collectives_agent_events = {
	.received = agent_received,
	.gathered = agent_gathered,
	.closed = agent_closed,
};
