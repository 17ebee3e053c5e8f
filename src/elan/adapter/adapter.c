/* SPDX-License-Identifier: BSD-3-Clause */
#include "elan/adapter/adapter.h"

#include <errno.h>
#include <sodium.h>
#include <stdlib.h>
#include <string.h>
#include <utlist.h>

#include "base/memory.h"
#include "elan/capability.h"

#define EPOCHS_PER_MS 4096

/* What a port knows of another rank. */
struct partner {
	uint64_t incarnation; /* to send with; 0: not known */
	uint64_t epoch;       /* of what it took from there last */
	uint64_t sequence;
};

struct outgoing {
	bool is_under_way;
	uint32_t to;
	uint64_t sequence; /* of this one, or the last */
	uint64_t deadline_ms;
	uint64_t next_ms;
	uint64_t wait_ms;
	const struct route *route; /* NULL: on this node */
	size_t size;
	uint8_t bytes[RMS_MESSAGE_MAX];
};

struct adapter_port {
	struct adapter_port *prev, *next;
	struct adapter *adapter;
	void *ctx;
	uint32_t program;
	uint8_t rail;
	uint32_t rank;
	int32_t node;
	struct elan_capability cap;
	uint8_t key[FRAME_KEY_SIZE];
	struct route *routes;
	size_t route_count;
	uint64_t epoch;
	uint64_t incarnation;
	struct partner *partners; /* one for each rank */
	uint32_t rank_count;
	struct outgoing out;
};

struct adapter {
	struct adapter_seams seams;
	struct adapter_port *ports;
	uint64_t epoch_last;
	uint32_t rails;
};

struct adapter *adapter_create(const struct adapter_seams *seams)
{
	struct adapter *adapter = memory_alloc(sizeof(*adapter));

	adapter->seams = *seams;
	return adapter;
}

void adapter_destroy(struct adapter *adapter)
{
	struct adapter_port *port, *next;

	if (adapter == NULL)
		return;
	DL_FOREACH_SAFE (adapter->ports, port, next) {
		adapter_close(port);
	}
	free(adapter);
}

static uint64_t now_ms(const struct adapter *adapter)
{
	return clock_monotonic_ms(&adapter->seams.clock);
}

/* --- ports --- */

/* Keys do not stay in memory. */
static void port_free(struct adapter_port *port)
{
	free(port->routes);
	free(port->partners);
	sodium_memzero(port, sizeof(*port));
	free(port);
}

/* It rises, also over a restart: the clock goes on. */
static uint64_t next_epoch(struct adapter *adapter)
{
	uint64_t epoch = now_ms(adapter) * EPOCHS_PER_MS;

	if (epoch <= adapter->epoch_last)
		epoch = adapter->epoch_last + 1;
	adapter->epoch_last = epoch;
	return epoch;
}

static int port_fill(struct adapter_port *port,
		     const struct adapter_place *place)
{
	const struct elan_capability *cap = place->cap;
	int32_t node = place->node;
	int rank;

	if (node < 0 && cap->cap_lownode == cap->cap_highnode)
		node = cap->cap_lownode;
	if (node < cap->cap_lownode || node > cap->cap_highnode)
		return -ENODEV;
	rank = capability_rank_of(
		cap, (uint32_t)(node - cap->cap_lownode),
		(uint32_t)(place->context - cap->cap_lowcontext));
	if (rank < 0)
		return rank;
	port->program = place->program;
	port->rail = place->rail;
	port->rank = (uint32_t)rank;
	port->node = node;
	port->cap = *cap;
	port->rank_count = capability_process_count(cap);
	port->partners =
		memory_array(port->rank_count, sizeof(*port->partners));
	port->routes = memory_copy(place->routes,
				   place->route_count * sizeof(*port->routes));
	port->route_count = place->route_count;
	frame_key(&cap->cap_userkey, port->key);
	return 0;
}

int adapter_open(struct adapter *adapter, const struct adapter_place *place,
		 void *port_ctx, struct adapter_port **ret_port)
{
	struct adapter_port *port = memory_alloc(sizeof(*port));
	int result = port_fill(port, place);

	if (result < 0) {
		port_free(port);
		return result;
	}
	port->adapter = adapter;
	port->ctx = port_ctx;
	port->epoch = next_epoch(adapter);
	do
		port->incarnation = rng_u64(&adapter->seams.rng);
	while (port->incarnation == 0);
	DL_APPEND(adapter->ports, port);
	*ret_port = port;
	return 0;
}

void adapter_close(struct adapter_port *port)
{
	if (port == NULL)
		return;
	DL_DELETE(port->adapter->ports, port);
	port_free(port);
}

static struct adapter_port *find_port(struct adapter *adapter, uint32_t program,
				      uint8_t rail, uint32_t rank)
{
	struct adapter_port *port;

	DL_FOREACH (adapter->ports, port) {
		if (port->program == program && port->rail == rail &&
		    port->rank == rank)
			return port;
	}
	return NULL;
}

/* --- sending --- */

static bool is_up(const struct adapter *adapter, uint8_t rail)
{
	return (adapter->rails >> rail & 1) != 0;
}

static void transmit(struct adapter_port *port, const struct route *route,
		     const struct rms_frame *frame, const void *payload,
		     size_t size)
{
	const struct adapter_seams *seams = &port->adapter->seams;
	uint8_t nonce[FRAME_NONCE_SIZE];
	uint8_t bytes[FRAME_SIZE_MAX];

	rng_fill(&seams->rng, nonce, sizeof(nonce));
	size = frame_seal(frame, port->key, nonce, payload, size, bytes);
	seams->ops->transmit(seams->ctx, route, bytes, size);
}

static void answer(struct adapter_port *port, int result)
{
	const struct adapter_seams *seams = &port->adapter->seams;

	port->out.is_under_way = false;
	seams->ops->answer(seams->ctx, port->ctx, result);
}

/* To a process of this node: nobody in between could do anything. */
static int deliver_here(struct adapter_port *port)
{
	const struct adapter_seams *seams = &port->adapter->seams;
	struct outgoing *out = &port->out;
	struct adapter_port *to =
		find_port(port->adapter, port->program, port->rail, out->to);

	if (to == NULL || !capability_is_like(&to->cap, &port->cap) ||
	    !capability_has_key_of(&to->cap, &port->cap))
		return -EAGAIN;
	return seams->ops->deliver(seams->ctx, to->ctx, port->rank, out->bytes,
				   out->size);
}

/* Once more, and plan the next time. */
static void attempt(struct adapter_port *port)
{
	struct outgoing *out = &port->out;
	struct rms_frame frame = {
		.type = FRAME_MESSAGE,
		.rail = port->rail,
		.program = port->program,
		.from = (uint16_t)port->rank,
		.to = (uint16_t)out->to,
		.epoch = port->epoch,
		.sequence = out->sequence,
		.incarnation = port->partners[out->to].incarnation,
	};

	out->next_ms = now_ms(port->adapter) + out->wait_ms;
	out->wait_ms = out->wait_ms * 2 > ADAPTER_RETRY_MAX_MS
			       ? ADAPTER_RETRY_MAX_MS
			       : out->wait_ms * 2;
	if (!is_up(port->adapter, port->rail))
		return;
	if (out->route != NULL)
		transmit(port, out->route, &frame, out->bytes, out->size);
	else if (deliver_here(port) == 0)
		answer(port, 0);
}

static int plan(struct adapter_port *port, uint32_t to, uint64_t timeout_ms,
		size_t size)
{
	struct outgoing *out = &port->out;
	uint32_t node, context;

	if (out->is_under_way)
		return -EBUSY;
	if (size > RMS_MESSAGE_MAX)
		return -EMSGSIZE;
	if (capability_locate(&port->cap, to, &node, &context) < 0)
		return -EINVAL;
	node += (uint32_t)port->cap.cap_lownode;
	out->route = NULL;
	if (node != (uint32_t)port->node) {
		out->route = route_find(port->routes, port->route_count, node);
		if (out->route == NULL)
			return -EHOSTUNREACH;
	}
	out->to = to;
	out->size = size;
	out->sequence++;
	out->wait_ms = ADAPTER_RETRY_MIN_MS;
	out->deadline_ms = deadline_after(now_ms(port->adapter), timeout_ms);
	return 0;
}

void adapter_send(struct adapter_port *port, uint32_t to, uint64_t timeout_ms,
		  const void *bytes, size_t size)
{
	const struct adapter_seams *seams = &port->adapter->seams;
	int result = plan(port, to, timeout_ms, size);

	if (result < 0) {
		seams->ops->answer(seams->ctx, port->ctx, result);
		return;
	}
	memcpy(port->out.bytes, bytes, size);
	port->out.is_under_way = true;
	attempt(port);
}

/* --- receiving --- */

static void reply(struct adapter_port *port, const struct rms_frame *message,
		  enum rms_frame_type type)
{
	const struct route *route;
	struct rms_frame frame = *message;
	uint32_t node, context;

	if (capability_locate(&port->cap, message->from, &node, &context) < 0)
		return;
	route = route_find(port->routes, port->route_count,
			   node + (uint32_t)port->cap.cap_lownode);
	if (route == NULL)
		return;
	frame.type = type;
	frame.from = message->to;
	frame.to = message->from;
	frame.incarnation = port->incarnation;
	transmit(port, route, &frame, NULL, 0);
}

static void take_message(struct adapter_port *port,
			 const struct rms_frame *frame, const uint8_t *payload,
			 size_t size)
{
	const struct adapter_seams *seams = &port->adapter->seams;
	struct partner *partner = &port->partners[frame->from];

	if (frame->incarnation != port->incarnation) {
		reply(port, frame, FRAME_AGAIN);
		return;
	}
	if (frame->epoch < partner->epoch ||
	    (frame->epoch == partner->epoch &&
	     frame->sequence < partner->sequence))
		return;
	/* The word of it may have been lost. */
	if (frame->epoch != partner->epoch ||
	    frame->sequence != partner->sequence) {
		if (seams->ops->deliver(seams->ctx, port->ctx, frame->from,
					payload, size) < 0)
			return;
		partner->epoch = frame->epoch;
		partner->sequence = frame->sequence;
	}
	reply(port, frame, FRAME_TAKEN);
}

static void take_word(struct adapter_port *port, const struct rms_frame *frame)
{
	struct partner *partner = &port->partners[frame->from];

	if (!port->out.is_under_way || frame->from != port->out.to ||
	    frame->epoch != port->epoch ||
	    frame->sequence != port->out.sequence)
		return;
	if (frame->type == FRAME_TAKEN) {
		answer(port, 0);
		return;
	}
	if (frame->incarnation == partner->incarnation)
		return;
	partner->incarnation = frame->incarnation;
	port->out.wait_ms = ADAPTER_RETRY_MIN_MS;
	attempt(port);
}

/* What is on this node does not come by a datagram. */
static bool is_elsewhere(const struct adapter_port *port, uint32_t rank)
{
	uint32_t node, context;

	return capability_locate(&port->cap, rank, &node, &context) == 0 &&
	       node + (uint32_t)port->cap.cap_lownode != (uint32_t)port->node;
}

void adapter_receive(struct adapter *adapter, const void *bytes, size_t size)
{
	uint8_t payload[RMS_MESSAGE_MAX];
	struct adapter_port *port;
	struct rms_frame frame;
	int opened;

	if (frame_peek(bytes, size, &frame) < 0 || !is_up(adapter, frame.rail))
		return;
	port = find_port(adapter, frame.program, frame.rail, frame.to);
	if (port == NULL || !is_elsewhere(port, frame.from))
		return;
	opened = frame_open(bytes, size, port->key, payload);
	if (opened < 0)
		return;
	if (frame.type == FRAME_MESSAGE)
		take_message(port, &frame, payload, (size_t)opened);
	else
		take_word(port, &frame);
}

/* --- time --- */

void adapter_rails_set(struct adapter *adapter, uint32_t rails)
{
	adapter->rails = rails;
}

static uint64_t due_ms(const struct adapter_port *port)
{
	const struct outgoing *out = &port->out;

	if (!out->is_under_way)
		return DEADLINE_NONE;
	return out->deadline_ms < out->next_ms ? out->deadline_ms
					       : out->next_ms;
}

uint64_t adapter_deadline_ms(const struct adapter *adapter)
{
	uint64_t deadline = DEADLINE_NONE;
	const struct adapter_port *port;

	DL_FOREACH (adapter->ports, port) {
		if (due_ms(port) < deadline)
			deadline = due_ms(port);
	}
	return deadline;
}

void adapter_run(struct adapter *adapter)
{
	uint64_t now = now_ms(adapter);
	struct adapter_port *port, *next;

	DL_FOREACH_SAFE (adapter->ports, port, next) {
		if (due_ms(port) > now)
			continue;
		if (port->out.deadline_ms <= now)
			answer(port, -ETIMEDOUT);
		else
			attempt(port);
	}
}
