/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A round goes through this node from pre_request until its answer has left.
 * The agent combines answers; here is what libscoll wants of a service: room
 * for the answers of the nodes below, posted before anything is passed on, and
 * each part of ours kept until it has left. A part for which our parent has no
 * room is left out: the manager asks the nodes in it again.
 *
 * Nothing is believed but the size: the guard verifies the command.
 */
#include "lanes/node/fanout/fanout.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <utlist.h>

#include "base/bytes.h"
#include "base/hash.h"
#include "base/memory.h"
#include "lanes/proto/buffer.h"
#include "lanes/proto/collective.h"
#include "lanes/node/agent/agent.h"

struct node_round {
	struct node_rounds *owner;
	uint64_t id;
	scoll_request_t *request;
	struct buffer *posted; /* for those below */
	struct buffer *sent;   /* of ours, until they have left */
	struct buffer *bulk;   /* NULL: the command is in the payload */
	struct iovec iov;
	bool is_failed; /* without its bulk data: libscoll reports the failure */
	UT_hash_handle hh;
};

struct node_rounds {
	scoll_t *scoll;
	const struct node_round_events *events;
	void *ctx;
	struct node_round *list;
	size_t bulk_bytes; /* of all rounds */
	uint64_t id_last;
};

/* --- rounds --- */

static void round_destroy(struct node_round *round)
{
	HASH_DEL(round->owner->list, round);
	round->owner->bulk_bytes -= round->iov.iov_len;
	buffers_free(round->posted);
	buffers_free(round->sent);
	free(round->bulk);
	free(round);
}

static struct node_round *round_create(struct node_rounds *rounds,
				       scoll_request_t *request)
{
	struct node_round *round = memory_alloc(sizeof(*round));

	round->owner = rounds;
	round->id = ++rounds->id_last;
	round->request = request;
	HASH_ADD(hh, rounds->list, id, sizeof(round->id), round);
	memory_have(round->hh.tbl);
	request->srq_private = round;
	return round;
}

static void bulk_prepare(struct node_round *round)
{
	scoll_request_t *request = round->request;
	size_t size = request->srq_bulk_len;

	if (size == 0)
		return;
	round->bulk = buffer_create(size);
	round->iov = (struct iovec){ round->bulk->bytes, size };
	round->owner->bulk_bytes += size;
	request->srq_bulk_iovs = &round->iov;
	request->srq_bulk_niov = 1;
}

/* --- callbacks --- */

static int pre_request(scoll_request_t *request)
{
	struct node_rounds *rounds = scoll_request_service(request);
	struct parcel parcel;
	struct node_round *round;
	int result;

	if (scoll_request_root(request) != NID_MANAGER)
		return -EPERM;
	if (parcel_decode(request->srq_buf, (size_t)request->srq_len, &parcel) <
		    0 ||
	    parcel.is_bulk != (request->srq_bulk_len > 0))
		return -EBADMSG;
	if (request->srq_bulk_len > COMMAND_SIZE_MAX)
		return -EMSGSIZE;
	if (HASH_COUNT(rounds->list) >= NODE_ROUNDS_MAX ||
	    rounds->bulk_bytes + request->srq_bulk_len > NODE_BULK_MAX)
		return -EBUSY;
	round = round_create(rounds, request);
	bulk_prepare(round);
	result = memory_check(buffers_post(request, &parcel, &round->posted));
	if (result < 0)
		round_destroy(round);
	return result;
}

static int incoming_request(scoll_request_t *request,
			    const scoll_target_t *target)
{
	struct node_round *round = request->srq_private;
	struct node_rounds *rounds = round->owner;

	round->is_failed = request->srq_bulk_status < 0;
	if (!round->is_failed)
		rounds->events->command(
			rounds->ctx, round->id, request->srq_buf,
			(size_t)request->srq_len,
			round->bulk != NULL ? round->bulk->bytes : NULL,
			request->srq_bulk_len);
	return 0;
}

static void incoming_reply(scoll_reply_t *reply)
{
	struct node_round *round = reply->srp_request->srq_private;
	struct node_rounds *rounds = round->owner;
	struct buffer *buffer = reply->srp_private;

	if (reply->srp_buf == NULL)
		return;
	if (reply->srp_status == 0 && reply->srp_len > 0 && !round->is_failed)
		rounds->events->part(rounds->ctx, round->id, buffer->bytes,
				     reply->srp_len);
	DL_DELETE(round->posted, buffer);
	free(buffer);
}

static void post_reply(scoll_request_t *request)
{
	struct node_round *round = request->srq_private;
	struct node_rounds *rounds = round->owner;

	buffers_free(take_ptr(round->posted));
	rounds->events->closed(rounds->ctx, round->id);
}

static void reply_out(scoll_request_t *request)
{
	round_destroy(request->srq_private);
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

void node_rounds_answer(struct node_rounds *rounds, uint64_t id,
			const void *bytes, size_t size, bool is_last)
{
	struct buffer *buffer = NULL;
	struct node_round *round;
	int result;

	HASH_FIND(hh, rounds->list, &id, sizeof(id), round);
	if (round == NULL)
		return;
	if (size > 0) {
		buffer = buffer_create(size);
		memcpy(buffer->bytes, bytes, size);
	}
	if (is_last)
		result = scoll_reply(round->request,
				     buffer != NULL ? buffer->bytes : NULL,
				     size);
	else
		result = scoll_reply_part(round->request, buffer->bytes, size);
	if (result == 0 && buffer != NULL)
		DL_APPEND(round->sent, buffer);
	else
		free(buffer);
}

/*
 * Of the manager that was lost: its starts may not have risen, if its journal
 * is an old one, and what is earlier would be taken for old.
 */
void node_rounds_returned(struct node_rounds *rounds)
{
	(void)scoll_peer_set(rounds->scoll, NID_MANAGER, SCOLL_REBOOTED);
}

/* --- the whole --- */

struct node_rounds *node_rounds_create(scoll_t *scoll)
{
	struct node_rounds *rounds = memory_alloc(sizeof(*rounds));

	rounds->scoll = scoll;
	return rounds;
}

void node_rounds_destroy(struct node_rounds *rounds)
{
	struct node_round *round, *next;

	if (rounds == NULL)
		return;
	HASH_ITER (hh, rounds->list, round, next)
		round_destroy(round);
	free(rounds);
}

int node_rounds_serve(struct node_rounds *rounds,
		      const struct node_round_events *events, void *ctx)
{
	rounds->events = events;
	rounds->ctx = ctx;
	return scoll_service_register(rounds->scoll, PARCEL_SERVICE,
				      &service_ops, rounds);
}

size_t node_rounds_count(const struct node_rounds *rounds)
{
	return HASH_COUNT(rounds->list);
}

static void agent_command(void *ctx, uint64_t id, const void *payload,
			  size_t size, const void *bulk, size_t bulk_size)
{
	agent_round_command(ctx, id, payload, size, bulk, bulk_size);
}

static void agent_part(void *ctx, uint64_t id, const void *bytes, size_t size)
{
	agent_round_part(ctx, id, bytes, size);
}

static void agent_closed(void *ctx, uint64_t id)
{
	agent_round_closed(ctx, id);
}

const struct node_round_events node_rounds_agent_events = {
	.command = agent_command,
	.part = agent_part,
	.closed = agent_closed,
};
