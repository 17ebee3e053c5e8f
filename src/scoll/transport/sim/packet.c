/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Messages and replies on their way. What becomes of one is decided when it
 * is sent, and again when it arrives, since its receiver may have died, have
 * rebooted or be cut off in between.
 */
#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "scoll/transport/sim/internal.h"

#define PACKETS_IN_CHUNK 256

static struct packet *packet_alloc(struct transport_sim *sim,
				   struct transport_sim_port *to, size_t size)
{
	struct packet *packet = sim->packets_free;

	if (packet == NULL) {
		packet = transport_sim_chunk(sim, PACKETS_IN_CHUNK *
							  sizeof(*packet));
		for (size_t i = 0; i < PACKETS_IN_CHUNK; i++)
			LL_PREPEND(sim->packets_free, &packet[i]);
		packet = sim->packets_free;
	}
	LL_DELETE(sim->packets_free, packet);
	packet->sim = sim;
	packet->to = to;
	packet->to_life = to->life;
	packet->is_taken = false;
	packet->is_kept_back = false;
	DL_APPEND(sim->packets, packet);
	/* As large as the message, so that a sanitizer sees who reads on. */
	packet->bytes = malloc(size > 0 ? size : 1);
	if (packet->bytes == NULL)
		abort();
	packet->seen = (struct transport_sim_packet){
		.sent_ns = transport_timeline_now_ns(sim->timeline),
		.to = to->nid,
		.bytes = packet->bytes,
		.size = size,
	};
	return packet;
}

static void packet_free(struct packet *packet)
{
	struct transport_sim *sim = packet->sim;

	free(packet->bytes);
	packet->bytes = NULL;
	DL_DELETE(sim->packets, packet);
	LL_PREPEND(sim->packets_free, packet);
}

void transport_sim_packets_free(struct transport_sim *sim)
{
	while (sim->packets != NULL)
		packet_free(sim->packets);
}

static void deliver(struct packet *packet)
{
	struct transport_sim *sim = packet->sim;
	struct transport_sim_port *to = packet->to;
	uint64_t now_ns = transport_timeline_now_ns(sim->timeline);

	transport_sim_mix(sim, now_ns);
	transport_sim_mix(sim, to->nid);
	transport_sim_mix_bytes(sim, packet->bytes, packet->seen.size);
	if (sim->tap != NULL)
		sim->tap(sim->tap_ctx, &packet->seen);
	if (!packet->seen.is_reply) {
		sim->stats.messages_in++;
		to->events->received(to->ctx, now_ns, packet->bytes,
				     packet->seen.size);
	} else if (transport_sim_reply_match(to, packet)) {
		sim->stats.replies_in++;
	} else {
		sim->stats.replies_unexpected++;
	}
}

/* Whether it is delivered after all to whoever has the port now. */
static bool is_for_next_life(struct packet *packet)
{
	struct transport_sim_port *to = packet->to;

	if (!to->is_open || to->is_severed)
		return false;
	if (to->life == packet->to_life)
		return true;
	return packet->from != NULL &&
	       transport_sim_chance(packet->sim, TRANSPORT_SIM_NEXT_LIFE);
}

/* It waits for its receiver: longer than that, and it is not now. */
static bool is_waiting(struct packet *packet, uint64_t now_ns)
{
	struct transport_sim *sim = packet->sim;
	struct transport_sim_port *to = packet->to;
	uint64_t receive_ns = sim->options.costs.receive_ns * to->slow;
	uint64_t ready_ns = to->paused_ns;

	if (ready_ns <= now_ns) {
		if (receive_ns == 0 || packet->is_taken)
			return false;
		ready_ns = to->receive_free_ns > now_ns ? to->receive_free_ns
							: now_ns;
		ready_ns += receive_ns;
		to->receive_free_ns = ready_ns;
		packet->is_taken = true;
	}
	transport_timeline_set(sim->timeline, &packet->event, ready_ns);
	return true;
}

static void arrive(struct transport_timeline_event *event)
{
	struct packet *packet = (struct packet *)event;
	struct transport_sim *sim = packet->sim;
	uint64_t now_ns = transport_timeline_now_ns(sim->timeline);

	if (packet->from != NULL && packet->from->side != packet->to->side) {
		if (transport_sim_chance(sim, TRANSPORT_SIM_KEPT_BACK)) {
			packet->is_kept_back = true;
			return;
		}
		transport_sim_count(sim, TRANSPORT_SIM_VANISHED);
	} else if (!is_for_next_life(packet)) {
		transport_sim_count(sim, TRANSPORT_SIM_VANISHED);
	} else if (is_waiting(packet, now_ns)) {
		return;
	} else {
		deliver(packet);
	}
	packet_free(packet);
}

void transport_sim_packets_go(struct transport_sim *sim)
{
	uint64_t now_ns = transport_timeline_now_ns(sim->timeline);
	struct packet *packet;

	DL_FOREACH (sim->packets, packet) {
		if (!packet->is_kept_back)
			continue;
		packet->is_kept_back = false;
		transport_timeline_set(
			sim->timeline, &packet->event,
			now_ns + transport_sim_latency_ns(sim, packet->from,
							  packet->to));
	}
}

static void spoil(struct packet *packet)
{
	struct transport_sim *sim = packet->sim;
	size_t size = packet->seen.size;

	if (size == 0)
		return;
	if (transport_sim_chance(sim, TRANSPORT_SIM_ALTERED)) {
		uint64_t bit = sim_rng_below(&sim->rng, size * 8);

		packet->bytes[bit / 8] ^= (uint8_t)(1u << bit % 8);
	}
	if (transport_sim_chance(sim, TRANSPORT_SIM_CUT_SHORT))
		packet->seen.size = sim_rng_below(&sim->rng, size);
}

static void packet_go(struct transport_sim *sim, struct packet *packet,
		      uint64_t arrival_ns)
{
	packet->event.run = arrive;
	spoil(packet);
	if (transport_sim_chance(sim, TRANSPORT_SIM_HELD))
		arrival_ns += transport_sim_held_ns(sim);
	transport_timeline_set(sim->timeline, &packet->event, arrival_ns);
}

/* Its end when the peer cannot be reached: soon, or after a while. */
static void end_unreached(struct transport_sim *sim, struct medium_work *work,
			  struct packet *packet, uint64_t leave_ns)
{
	bool is_cut = packet->from->side != packet->to->side;

	if (is_cut && transport_sim_chance(sim, TRANSPORT_SIM_KEPT_BACK)) {
		packet->event.run = arrive;
		packet->is_kept_back = true;
		transport_sim_work_end(work, leave_ns, 0, packet->seen.size);
		return;
	}
	if (transport_sim_chance(sim, TRANSPORT_SIM_REFUSED)) {
		leave_ns += transport_sim_held_ns(sim);
		transport_sim_work_end(work, leave_ns, -EHOSTUNREACH, 0);
	} else {
		transport_sim_count(sim, TRANSPORT_SIM_VANISHED);
		transport_sim_work_end(work, leave_ns, 0, packet->seen.size);
	}
	packet_free(packet);
}

static void start(struct transport_sim_port *port, struct medium_work *work,
		  struct packet *packet)
{
	struct transport_sim *sim = port->sim;
	size_t size = packet->seen.size;
	uint64_t leave_ns = transport_sim_leave_ns(port, size);
	uint64_t arrival_ns = leave_ns +
			      transport_sim_latency_ns(sim, port, packet->to) +
			      transport_sim_bytes_ns(sim, size);
	uint64_t end_ns = port->send_free_ns;

	if (!transport_sim_reaches(port, packet->to)) {
		end_unreached(sim, work, packet, end_ns);
		return;
	}
	if (transport_sim_chance(sim, TRANSPORT_SIM_LOST)) {
		transport_sim_work_end(
			work, end_ns + transport_sim_held_ns(sim), -EIO, 0);
		packet_free(packet);
		return;
	}
	packet_go(sim, packet, arrival_ns);
	if (transport_sim_chance(sim, TRANSPORT_SIM_LATE_END))
		end_ns += sim->options.costs.latency_ns +
			  transport_sim_held_ns(sim);
	if (transport_sim_chance(sim, TRANSPORT_SIM_DENIED))
		transport_sim_work_end(
			work, end_ns + transport_sim_held_ns(sim), -EIO, 0);
	else
		transport_sim_work_end(work, end_ns, 0, size);
}

static int send_any(struct transport_sim_port *port, scoll_nid_t nid,
		    bool is_reply, uint64_t tag, const struct iovec *pieces,
		    int count, struct transfer *transfer)
{
	struct transport_sim *sim = port->sim;
	struct transport_sim_port *to = transport_sim_peer(port, nid);
	struct packet *packet;
	struct medium_work *work;
	size_t size = 0;

	assert(count <= TRANSPORT_IOV_MAX);
	work = transport_sim_work_start(port, WORK_SEND, transfer);
	if (work == NULL)
		return -EAGAIN;
	if (port->is_severed)
		return 0;
	if (to == NULL) {
		transport_sim_work_end(work, 0, -EHOSTUNREACH, 0);
		return 0;
	}
	for (int i = 0; i < count; i++)
		size += pieces[i].iov_len;
	packet = packet_alloc(sim, to, size);
	packet->from = port;
	packet->seen.from = port->nid;
	packet->seen.is_reply = is_reply;
	packet->seen.tag = tag;
	size = 0;
	for (int i = 0; i < count; i++) {
		memcpy(packet->bytes + size, pieces[i].iov_base,
		       pieces[i].iov_len);
		size += pieces[i].iov_len;
	}
	sim->stats.bytes += size;
	start(port, work, packet);
	return 0;
}

int transport_sim_send(void *ctx, scoll_nid_t to, const struct iovec *pieces,
		       int count, struct transfer *transfer)
{
	struct transport_sim_port *port = ctx;
	int result = send_any(port, to, false, 0, pieces, count, transfer);

	if (result == 0)
		port->sim->stats.messages++;
	return result;
}

int transport_sim_reply_send(void *ctx, scoll_nid_t to, uint64_t tag,
			     const struct iovec *pieces, int count,
			     struct transfer *transfer)
{
	struct transport_sim_port *port = ctx;
	int result = send_any(port, to, true, tag, pieces, count, transfer);

	if (result == 0)
		port->sim->stats.replies++;
	return result;
}

void transport_sim_inject(struct transport_sim *sim, scoll_nid_t to,
			  bool is_reply, uint64_t tag, const void *bytes,
			  size_t size)
{
	struct transport_sim_port *port = transport_sim_port_find(sim, to);
	struct packet *packet;

	if (port == NULL)
		return;
	packet = packet_alloc(sim, port, size);
	packet->from = NULL;
	packet->seen.is_reply = is_reply;
	packet->seen.tag = tag;
	packet->seen.is_injected = true;
	memcpy(packet->bytes, bytes, size);
	sim->stats.injected++;
	packet->event.run = arrive;
	transport_timeline_set(sim->timeline, &packet->event,
			       transport_timeline_now_ns(sim->timeline) +
				       transport_sim_latency_ns(sim, port,
								port));
}
