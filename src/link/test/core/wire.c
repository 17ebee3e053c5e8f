/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Packets between endpoints: datagrams, which the kernel keeps in order and
 * does not lose. What a receiver has no room for waits in a queue of its peer;
 * what is large goes on when that queue is empty.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>
#include <utlist.h>

#include "link/test/core/testcore.h"

#define BATCH         64 /* packets in a datagram: the kernel queues few of them */
#define DATAGRAM_MAX  (4 * (TC_PAYLOAD + sizeof(struct tc_header)))
#define PING_INTERVAL 4096 /* polls, while something is under way */

static socklen_t name_fill(struct sockaddr_un *name, uint64_t number)
{
	*name = (struct sockaddr_un){ .sun_family = AF_UNIX };
	snprintf(name->sun_path + 1, sizeof(name->sun_path) - 1,
		 "testcore-%016llx", (unsigned long long)number);
	return (socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1 + 9 + 16);
}

int tc_socket_open(struct tc_ep *ep)
{
	struct sockaddr_un name;
	socklen_t size;

	if (getrandom(&ep->number, sizeof(ep->number), 0) != sizeof(ep->number))
		return -FI_EIO;
	ep->number |= 1;
	ep->fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (ep->fd < 0)
		return -errno;
	size = name_fill(&name, ep->number);
	return bind(ep->fd, (struct sockaddr *)&name, size) == 0 ? 0 : -errno;
}

struct tc_peer *tc_peer_of(struct tc_ep *ep, uint64_t number)
{
	struct tc_peer *peer;

	for (peer = ep->peers; peer != NULL; peer = peer->next)
		if (peer->number == number)
			return peer;
	peer = calloc(1, sizeof(*peer));
	if (peer == NULL)
		return NULL;
	peer->number = number;
	peer->queue_end = &peer->queue;
	peer->next = ep->peers;
	ep->peers = peer;
	return peer;
}

static void queue_drop(struct tc_peer *peer)
{
	for (struct tc_packet *p = peer->queue, *next; p != NULL; p = next) {
		next = p->next;
		free(p);
	}
	peer->queue = NULL;
	peer->queue_end = &peer->queue;
	peer->queued = 0;
}

void tc_peers_drop(struct tc_ep *ep)
{
	for (struct tc_peer *peer = ep->peers, *next; peer != NULL;
	     peer = next) {
		next = peer->next;
		queue_drop(peer);
		free(peer);
	}
}

/* --- what goes --- */

/* 1: sent; 0: not now; else its peer is gone. */
static int datagram_send(struct tc_ep *ep, const struct tc_peer *peer,
			 struct iovec *iov, size_t count)
{
	struct sockaddr_un name;
	struct msghdr msg = { .msg_name = &name,
			      .msg_namelen = name_fill(&name, peer->number),
			      .msg_iov = iov,
			      .msg_iovlen = count };

	if (tc_fault(ep->domain, "packet") != 0)
		return 0;
	if (sendmsg(ep->fd, &msg, MSG_NOSIGNAL) >= 0)
		return 1;
	return errno == EAGAIN || errno == ENOBUFS || errno == EINTR ? 0 : -1;
}

/* Nobody is there any more: all that waits for it has failed. */
static void peer_gone(struct tc_ep *ep, struct tc_peer *peer)
{
	struct tc_op *op, *next;

	peer->is_gone = true;
	queue_drop(peer);
	if (tc_fault(ep->domain, "gone") != 0)
		return;
	DL_FOREACH_SAFE (ep->active, op, next)
		if (op->peer == peer)
			tc_op_end(ep, op, FI_ECONNRESET);
}

static int try_send(struct tc_ep *ep, struct tc_peer *peer,
		    const struct tc_header *header, const void *bytes)
{
	struct iovec iov[2] = { { (void *)header, sizeof(*header) },
				{ (void *)bytes, header->payload } };

	return datagram_send(ep, peer, iov, 2);
}

bool tc_packet_send(struct tc_ep *ep, struct tc_peer *peer,
		    const struct tc_header *header, const void *bytes)
{
	struct tc_header complete = *header;
	struct tc_packet *packet;

	complete.from = ep->number;
	if (peer->is_gone)
		return true;
	if (peer->queue == NULL && try_send(ep, peer, &complete, bytes) == 1)
		return true;
	packet = malloc(sizeof(*packet));
	if (packet == NULL)
		return false;
	packet->next = NULL;
	packet->header = complete;
	if (complete.payload > 0)
		memcpy(packet->bytes, bytes, complete.payload);
	*peer->queue_end = packet;
	peer->queue_end = &packet->next;
	peer->queued++;
	return true;
}

void tc_tell_end(struct tc_ep *ep, struct tc_peer *peer, uint64_t id, int error)
{
	const struct tc_header header = { .kind = TC_END,
					  .id = id,
					  .error = error };

	tc_packet_send(ep, peer, &header, NULL);
}

/* The first of the queue, as many as fit. */
static size_t datagram_fill(struct tc_peer *peer, struct iovec *iov)
{
	struct tc_packet *packet = peer->queue;
	size_t count = 0, size = 0;

	for (; packet != NULL && count < BATCH; packet = packet->next) {
		size += sizeof(packet->header) + packet->header.payload;
		if (size > DATAGRAM_MAX)
			break;
		iov[2 * count] = (struct iovec){ &packet->header,
						 sizeof(packet->header) };
		iov[2 * count + 1] =
			(struct iovec){ packet->bytes, packet->header.payload };
		count++;
	}
	return count;
}

static void queue_flush(struct tc_ep *ep, struct tc_peer *peer)
{
	struct iovec iov[2 * BATCH];

	while (peer->queue != NULL) {
		size_t count = datagram_fill(peer, iov);
		int result = datagram_send(ep, peer, iov, 2 * count);
		if (result < 0)
			peer_gone(ep, peer);
		if (result <= 0)
			return;
		for (; count > 0; count--) {
			struct tc_packet *packet = peer->queue;
			peer->queue = packet->next;
			peer->queued--;
			free(packet);
		}
		if (peer->queue == NULL)
			peer->queue_end = &peer->queue;
	}
}

/* The next part of what is large. Returns whether it has ended. */
static bool flow_on(struct tc_ep *ep, struct tc_op *op)
{
	uint8_t bytes[TC_PAYLOAD];
	size_t left = op->limit - op->done;
	struct tc_header header = {
		.kind = op->kind == TC_OP_WRITE ? TC_WRITE : TC_DATA,
		.id = op->kind == TC_OP_WRITE ? 0 : op->other_id,
		.other_id = op->id,
		.offset = op->done + op->address,
		.key = op->key,
		.data = op->data,
		.size = op->limit,
		.payload = (uint32_t)(left < TC_PAYLOAD ? left : TC_PAYLOAD),
	};

	tc_iov_get(op, op->done, bytes, header.payload);
	op->done += header.payload;
	if (op->done == op->limit)
		header.flags =
			TC_LAST |
			(op->flags & FI_REMOTE_CQ_DATA ? TC_WITH_DATA : 0);
	tc_packet_send(ep, op->peer, &header, bytes);
	return op->done == op->limit;
}

static void flows_on(struct tc_ep *ep)
{
	struct tc_op *op, *next;

	DL_FOREACH_SAFE (ep->active, op, next) {
		while (op->is_flowing && op->peer->queued < 16 &&
		       !op->peer->is_gone)
			if (flow_on(ep, op)) {
				op->is_flowing = false;
				if (op->kind == TC_OP_SERVE) {
					tc_op_end(ep, op, 0);
					break;
				}
			}
	}
}

/* --- what comes --- */

static struct tc_op *op_of(struct tc_ep *ep, uint64_t id)
{
	struct tc_op *op;

	DL_SEARCH_SCALAR(ep->active, op, id, id);
	return op;
}

static void take_data(struct tc_ep *ep, struct tc_peer *peer,
		      const struct tc_header *header, const uint8_t *bytes)
{
	struct tc_op *op = op_of(ep, header->id);

	if (op == NULL)
		return;
	op->done += tc_iov_put(op, header->offset, bytes, header->payload);
	if (op->done < op->limit)
		return;
	if (op->kind == TC_OP_RECEIVE)
		tc_tell_end(ep, peer, op->other_id, 0);
	tc_op_end(ep, op, op->total > op->limit ? FI_ETRUNC : 0);
}

static void take_read(struct tc_ep *ep, struct tc_peer *peer,
		      const struct tc_header *header)
{
	uint8_t *from =
		tc_fault(ep->domain, "serve") != 0
			? NULL
			: tc_mr_find(ep->domain, header->key, header->offset,
				     header->size, FI_REMOTE_READ);
	struct tc_op *op = from == NULL ? NULL : calloc(1, sizeof(*op));

	if (op == NULL) {
		tc_tell_end(ep, peer, header->other_id, FI_EACCES);
		return;
	}
	op->kind = TC_OP_SERVE;
	op->peer = peer;
	op->other_id = header->other_id;
	op->limit = op->size = header->size;
	op->iov[0] = (struct iovec){ from, header->size };
	op->count = 1;
	op->is_silent = op->is_flowing = true;
	DL_APPEND(ep->active, op);
}

static void take_write(struct tc_ep *ep, struct tc_peer *peer,
		       const struct tc_header *header, const uint8_t *bytes)
{
	uint8_t *to = tc_mr_find(ep->domain, header->key, header->offset,
				 header->payload, FI_REMOTE_WRITE);
	const struct fi_cq_tagged_entry entry = { .flags = FI_RMA |
							   FI_REMOTE_WRITE |
							   FI_REMOTE_CQ_DATA,
						  .len = header->size,
						  .data = header->data };

	if (to == NULL) {
		tc_tell_end(ep, peer, header->other_id, FI_EACCES);
		return;
	}
	memcpy(to, bytes, header->payload);
	if ((header->flags & TC_LAST) == 0)
		return;
	tc_tell_end(ep, peer, header->other_id, 0);
	if ((header->flags & TC_WITH_DATA) != 0)
		tc_cq_add(ep->receive_cq, &entry,
			  tc_av_find(ep->av, peer->number));
}

static void take_packet(struct tc_ep *ep, const struct tc_header *header,
			const uint8_t *bytes)
{
	struct tc_peer *peer = tc_peer_of(ep, header->from);
	struct tc_op *op = op_of(ep, header->id);

	if (peer == NULL)
		abort();
	switch ((enum tc_packet_kind)header->kind) {
	case TC_PING:
		break;
	case TC_MESSAGE:
	case TC_ASK:
		tc_arrive(ep, peer, header, bytes);
		break;
	case TC_COME:
		if (op != NULL) {
			op->other_id = header->other_id;
			op->limit = header->size;
			op->is_flowing = true;
		}
		break;
	case TC_DATA:
		take_data(ep, peer, header, bytes);
		break;
	case TC_READ:
		take_read(ep, peer, header);
		break;
	case TC_WRITE:
		take_write(ep, peer, header, bytes);
		break;
	case TC_END:
		if (op != NULL)
			tc_op_end(ep, op, header->error);
		break;
	}
}

/* Whoever died is found out by trying. */
static void ping(struct tc_ep *ep)
{
	const struct tc_header header = { .kind = TC_PING };
	struct tc_op *op, *next;

	if (ep->polls++ % PING_INTERVAL != PING_INTERVAL - 1)
		return;
	DL_FOREACH_SAFE (ep->active, op, next)
		if (!op->peer->is_gone &&
		    try_send(ep, op->peer, &header, NULL) < 0) {
			peer_gone(ep, op->peer);
			return;
		}
}

static void take_datagram(struct tc_ep *ep, const uint8_t *bytes, size_t size)
{
	struct tc_header header;

	while (size >= sizeof(header)) {
		memcpy(&header, bytes, sizeof(header));
		take_packet(ep, &header, bytes + sizeof(header));
		bytes += sizeof(header) + header.payload;
		size -= sizeof(header) + header.payload;
	}
}

void tc_progress(struct tc_ep *ep)
{
	uint8_t bytes[DATAGRAM_MAX];
	ssize_t size;

	for (unsigned int i = 0; i < BATCH; i++) {
		size = recv(ep->fd, bytes, sizeof(bytes), 0);
		if (size <= 0)
			break;
		take_datagram(ep, bytes, (size_t)size);
	}
	for (struct tc_peer *peer = ep->peers; peer != NULL; peer = peer->next)
		queue_flush(ep, peer);
	flows_on(ep);
	ping(ep);
}
