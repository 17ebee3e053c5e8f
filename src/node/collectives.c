/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A *visit* is a collective that goes through this node, from pre_request until
 * its answer has left. The agent gathers; here is only what libscoll wants of a
 * service: room for the answers of the nodes below, posted before anything is
 * passed on, and each part of ours kept until it has left. A part for which our
 * parent has no room is left out: the manager asks those who are in it again.
 *
 * Who sent it is not believed, but for its size: the guard verifies the command.
 */
#include "node/collectives.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <utlist.h>

#include "base/bytes.h"
#include "base/hash.h"
#include "manager/wire/buffer.h"
#include "manager/wire/nid.h"
#include "node/agent/agent.h"

struct visit {
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
	struct visit *visits;
	uint64_t id_last;
};

/* --- visits --- */

static void visit_destroy(struct visit *visit)
{
	HASH_DEL(visit->owner->visits, visit);
	buffers_free(visit->posted);
	buffers_free(visit->sent);
	free(visit->bulk);
	free(visit);
}

static struct visit *visit_create(struct collectives *collectives,
				  scoll_request_t *request)
{
	struct visit *visit = calloc(1, sizeof(*visit));

	if (visit == NULL)
		return NULL;
	visit->owner = collectives;
	visit->id = ++collectives->id_last;
	visit->request = request;
	HASH_ADD(hh, collectives->visits, id, sizeof(visit->id), visit);
	if (!hash_was_added(visit)) {
		free(visit);
		return NULL;
	}
	request->srq_private = visit;
	return visit;
}

static int bulk_prepare(struct visit *visit)
{
	scoll_request_t *request = visit->request;
	size_t size = request->srq_bulk_len;

	if (size == 0)
		return 0;
	visit->bulk = buffer_create(size);
	if (visit->bulk == NULL)
		return -ENOMEM;
	visit->iov = (struct iovec){ visit->bulk->bytes, size };
	request->srq_bulk_iovs = &visit->iov;
	request->srq_bulk_niov = 1;
	return 0;
}

/* --- callbacks --- */

static int pre_request(scoll_request_t *request)
{
	struct collectives *collectives = scoll_request_service(request);
	struct parcel parcel;
	struct visit *visit;
	int result;

	if (scoll_request_root(request) != NID_MANAGER)
		return -EPERM;
	if (parcel_decode(request->srq_buf, (size_t)request->srq_len, &parcel) <
		    0 ||
	    parcel.is_bulk != (request->srq_bulk_len > 0))
		return -EBADMSG;
	if (request->srq_bulk_len > FRAME_SIZE_MAX)
		return -EMSGSIZE;
	if (HASH_COUNT(collectives->visits) >= COLLECTIVES_MAX)
		return -EBUSY;
	visit = visit_create(collectives, request);
	if (visit == NULL)
		return -ENOMEM;
	result = buffers_post(request, &parcel, &visit->posted);
	if (result == 0)
		result = bulk_prepare(visit);
	if (result < 0)
		visit_destroy(visit);
	return result;
}

static int incoming_request(scoll_request_t *request,
			    const scoll_target_t *target)
{
	struct visit *visit = request->srq_private;
	struct collectives *collectives = visit->owner;

	visit->is_failed = request->srq_bulk_status < 0;
	if (!visit->is_failed)
		collectives->events->received(
			collectives->ctx, visit->id, request->srq_buf,
			(size_t)request->srq_len,
			visit->bulk != NULL ? visit->bulk->bytes : NULL,
			request->srq_bulk_len);
	return 0;
}

static void incoming_reply(scoll_reply_t *reply)
{
	struct visit *visit = reply->srp_request->srq_private;
	struct collectives *collectives = visit->owner;
	struct buffer *buffer = reply->srp_private;

	if (reply->srp_buf == NULL)
		return;
	if (reply->srp_status == 0 && reply->srp_len > 0 && !visit->is_failed)
		collectives->events->gathered(collectives->ctx, visit->id,
					      buffer->bytes, reply->srp_len);
	DL_DELETE(visit->posted, buffer);
	free(buffer);
}

static void post_reply(scoll_request_t *request)
{
	struct visit *visit = request->srq_private;
	struct collectives *collectives = visit->owner;

	buffers_free(take_ptr(visit->posted));
	collectives->events->closed(collectives->ctx, visit->id);
}

static void reply_out(scoll_request_t *request)
{
	visit_destroy(request->srq_private);
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

void collectives_gathered(struct collectives *collectives, uint64_t collective,
			  const void *bytes, size_t size, bool is_last)
{
	struct buffer *buffer = NULL;
	struct visit *visit;
	int result;

	HASH_FIND(hh, collectives->visits, &collective, sizeof(collective),
		  visit);
	if (visit == NULL)
		return;
	if (size > 0)
		buffer = buffer_create(size);
	if (buffer != NULL)
		memcpy(buffer->bytes, bytes, size);
	else
		size = 0; /* without memory nothing is known of those in it */
	if (is_last)
		result = scoll_reply(visit->request,
				     buffer != NULL ? buffer->bytes : NULL,
				     size);
	else
		result = buffer == NULL ? -ENOMEM
					: scoll_reply_part(visit->request,
							   buffer->bytes, size);
	if (result == 0 && buffer != NULL)
		DL_APPEND(visit->sent, buffer);
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
	struct visit *visit, *next;

	if (collectives == NULL)
		return;
	HASH_ITER (hh, collectives->visits, visit, next)
		visit_destroy(visit);
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
	return HASH_COUNT(collectives->visits);
}

static void agent_received(void *ctx, uint64_t collective, const void *payload,
			   size_t size, const void *bulk, size_t bulk_size)
{
	agent_collective_received(ctx, collective, payload, size, bulk,
				  bulk_size);
}

static void agent_gathered(void *ctx, uint64_t collective, const void *bytes,
			   size_t size)
{
	agent_collective_gathered(ctx, collective, bytes, size);
}

static void agent_closed(void *ctx, uint64_t collective)
{
	agent_collective_closed(ctx, collective);
}

const struct collectives_events collectives_agent_events = {
	.received = agent_received,
	.gathered = agent_gathered,
	.closed = agent_closed,
};
