/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Which node gets what. In each cycle a node sends its whole view to some live
 * nodes, each part as a request that is answered with the same part: a lost
 * part costs itself only, and whoever answers needs no memory of it. Half of
 * them are nodes seen alive lately: when many have died at once, the others
 * find each other before they are given up, too. For the same reason it asks
 * more nodes in the cycle after one in which answers were missing.
 *
 * Now and then it asks a dead node, for one part: a partition that has healed
 * is found so, and a node that starts learns how old its last sign of life is.
 * Together the living ask each dead node twice a cycle, while those are few.
 */
#include "scoll/member/gossip_internal.h"

#include <string.h>

#define PROBES_PER_DEAD 2
#define TRIES_MAX       32
#define EXTRA_MAX       3  /* times the fanout */
#define LEAVE_COUNT     16 /* messages: one of them will arrive */

static uint64_t below(struct gossip *gossip, uint64_t n)
{
	return rng_u64(&gossip->rng) % n;
}

/* The others of this word of the roster that are alive, or those dead. */
static uint64_t word_of(const struct gossip *gossip, size_t word, bool is_alive)
{
	uint64_t bits = gossip->discovery.alive[word];
	size_t left = roster_count(gossip->roster) - word * 64;

	if (!is_alive)
		bits = ~bits;
	if (left < 64)
		bits &= (UINT64_C(1) << left) - 1;
	if (gossip->index / 64 == word)
		bits &= ~(UINT64_C(1) << gossip->index % 64);
	return bits;
}

/* One of the first there are from some word on; ROSTER_NONE. */
static uint32_t pick_any(struct gossip *gossip, bool is_alive)
{
	size_t words = (roster_count(gossip->roster) + 63) / 64;
	size_t from = below(gossip, words);

	for (size_t i = 0; i < words; i++) {
		size_t word = (from + i) % words;
		uint64_t bits = word_of(gossip, word, is_alive);
		uint64_t skip = below(gossip, 64);

		if (bits == 0)
			continue;
		skip %= (uint64_t)__builtin_popcountll(bits);
		while (skip-- > 0)
			bits &= bits - 1;
		return (uint32_t)(word * 64 + (size_t)__builtin_ctzll(bits));
	}
	return ROSTER_NONE;
}

/* A live node; one seen lately if is_fresh, or later than others. */
static uint32_t pick_alive(struct gossip *gossip, bool is_fresh)
{
	unsigned int fresh = gossip->bounds.age_max / 2 + 1;
	uint32_t best = ROSTER_NONE;

	for (int i = 0; i < TRIES_MAX; i++) {
		size_t index = below(gossip, roster_count(gossip->roster));

		if ((word_of(gossip, index / 64, true) >> index % 64 & 1) == 0)
			continue;
		if (!is_fresh || age_of(gossip->signs[index]) <= fresh)
			return (uint32_t)index;
		if (best == ROSTER_NONE ||
		    gossip->signs[index] < gossip->signs[best])
			best = (uint32_t)index;
	}
	return best != ROSTER_NONE ? best : pick_any(gossip, true);
}

static uint32_t pick_dead(struct gossip *gossip)
{
	for (int i = 0; i < TRIES_MAX; i++) {
		size_t index = below(gossip, roster_count(gossip->roster));

		if (word_of(gossip, index / 64, false) >> index % 64 & 1)
			return (uint32_t)index;
	}
	return pick_any(gossip, false);
}

static uint8_t listening_cycles(const struct gossip *gossip)
{
	uint64_t cycles;

	if (gossip->now_ns - gossip->received_ns >
	    GOSSIP_STEP_CYCLES * gossip->cycle_ns)
		return 0;
	cycles = (gossip->now_ns - gossip->listening_ns) / gossip->cycle_ns;
	return cycles < UINT8_MAX ? (uint8_t)cycles : UINT8_MAX;
}

/* asker_nonce: 0 unless it is an answer. */
static void send(struct gossip *gossip, uint64_t nid, uint32_t part,
		 bool is_request, uint64_t asker_nonce)
{
	struct writer *out = &gossip->out;
	struct member_message message = {
		.is_request = is_request,
		.is_leave = gossip->life == LIFE_LEFT,
		.listening_cycles = listening_cycles(gossip),
		.nid = gossip->nid,
		.boot_nonce = gossip->boot_nonce,
		.cycle = gossip->cycle,
		.asker_nonce = asker_nonce,
		.part = part,
		.count = message_part_count(&gossip->parts, part),
		.signs = gossip->signs +
			 message_part_first(&gossip->parts, part),
	};

	memcpy(message.roster_digest, gossip->roster_digest,
	       ROSTER_DIGEST_SIZE);
	out->size = 0;
	out->result = 0;
	if (message_encode(&message, out) < 0 ||
	    gossip->ops->send(gossip->ctx, nid, out->data, out->size) < 0) {
		gossip->stats.send_failed_count++;
		return;
	}
	gossip->stats.sent_count++;
	gossip->stats.sent_bytes += out->size;
}

static void exchange(struct gossip *gossip, bool is_fresh)
{
	uint32_t index = pick_alive(gossip, is_fresh);

	for (uint32_t part = 0; part < gossip->parts.part_count; part++)
		send(gossip, roster_nid(gossip->roster, index), part, true, 0);
	gossip->stats.request_count += gossip->parts.part_count;
	gossip->awaited_count += gossip->parts.part_count;
}

/* As many more as were not answered. */
static unsigned int extra_count(const struct gossip *gossip)
{
	uint32_t missing = gossip->awaited_count / gossip->parts.part_count;
	unsigned int most = EXTRA_MAX * gossip->bounds.fanout;

	return missing < most ? missing : most;
}

static void probe(struct gossip *gossip)
{
	uint32_t index = pick_dead(gossip);

	send(gossip, roster_nid(gossip->roster, index),
	     index / gossip->parts.part_nodes, true, 0);
	gossip->stats.probe_count++;
}

void gossip_send_round(struct gossip *gossip)
{
	size_t alive = gossip->discovery.alive_count;
	size_t dead = roster_count(gossip->roster) - alive;
	unsigned int count = gossip->bounds.fanout + extra_count(gossip);
	bool is_alone = alive == 1;

	gossip->awaited_count = 0;
	for (unsigned int i = 0; i < count; i++) {
		if (!is_alone)
			exchange(gossip, (gossip->cycle + i) % 2);
		else if (dead > 0)
			probe(gossip);
	}
	if (!is_alone && below(gossip, alive) < PROBES_PER_DEAD * dead)
		probe(gossip);
}

void gossip_answer(struct gossip *gossip, const struct member_message *request)
{
	send(gossip, request->nid, request->part, false, request->boot_nonce);
	gossip->stats.answer_count++;
}

/* To different nodes; several times where there are fewer. */
void gossip_send_leaves(struct gossip *gossip)
{
	uint32_t count = (uint32_t)roster_count(gossip->roster);
	uint32_t index = (uint32_t)below(gossip, count);
	uint32_t part = gossip->index / gossip->parts.part_nodes;
	int sent_count = 0;

	if (gossip->discovery.alive_count < 2)
		return;
	for (; sent_count < LEAVE_COUNT; index = (index + 1) % count) {
		if ((word_of(gossip, index / 64, true) >> index % 64 & 1) == 0)
			continue;
		send(gossip, roster_nid(gossip->roster, index), part, false, 0);
		sent_count++;
	}
}
