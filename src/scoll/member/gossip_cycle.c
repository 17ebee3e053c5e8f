/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The cycle number. It goes up with this node's clock, and with messages that
 * are further on: then the next tick is a whole cycle away, so that all
 * together are as fast as the fastest clock, and no faster.
 *
 * It begins at the time, so that it rises over restarts of the whole cluster;
 * clocks that differ are levelled by the first message that a node receives.
 *
 * Nobody may hurry the others at will: what messages gain over this node's own
 * clock comes out of a small allowance, which grows slowly. More than that is
 * believed in stealth, when nothing is lost by it, or when a quorum of nodes
 * says the same. A node that is ahead of a quorum, and has fewer who agree with
 * it, goes back. Only who answers this start of the node has a voice: what was
 * said before it can be played back. In stealth nobody is asked, and all have.
 *
 * One that was hurried a few cycles ahead waits for the others, who would not
 * believe it.
 *
 * A node that slept, or jumped, has received nothing from the others for a
 * while through no fault of theirs: it declares no node dead until their views
 * had time to come.
 */
#include "scoll/member/gossip_internal.h"

#include <string.h>

#define SLACK_SHARE 64 /* a clock may be faster than ours by this part */

static uint64_t window_ns(const struct gossip *gossip)
{
	return gossip->bounds.age_max * gossip->cycle_ns;
}

static void advance(struct gossip *gossip, uint64_t cycles)
{
	gossip->cycle += cycles;
	age_pass(gossip->signs, gossip->size, cycles);
	gossip->signs[gossip->index] = AGE_SELF;
	gossip_judge(gossip, 0, gossip->size);
}

/* What this node knows is not what the others know: wait and listen. */
static void suspend(struct gossip *gossip)
{
	gossip->verdicts_ns = gossip->now_ns + window_ns(gossip);
	gossip->listening_ns = gossip->now_ns;
}

static void slack_refill(struct gossip *gossip)
{
	uint64_t most = GOSSIP_STEP_CYCLES * gossip->cycle_ns;

	gossip->slack_ns +=
		(gossip->now_ns - gossip->slack_at_ns) / SLACK_SHARE;
	gossip->slack_at_ns = gossip->now_ns;
	if (gossip->slack_ns > most)
		gossip->slack_ns = most;
}

/* It was hurried, and the cycles received since the last tick are far lower. */
static bool has_to_wait(struct gossip *gossip)
{
	uint64_t received = gossip->received_cycle;

	gossip->received_cycle = 0;
	slack_refill(gossip);
	return received > 0 && gossip->cycle >= received + GOSSIP_STEP_CYCLES &&
	       gossip->slack_ns < gossip->cycle_ns;
}

void gossip_pass(struct gossip *gossip, uint64_t now_ns)
{
	uint64_t cycles;

	if (now_ns > gossip->now_ns)
		gossip->now_ns = now_ns;
	if (gossip->now_ns < gossip->tick_ns)
		return;
	cycles = (gossip->now_ns - gossip->tick_ns) / gossip->cycle_ns + 1;
	gossip->tick_ns += cycles * gossip->cycle_ns;
	if (has_to_wait(gossip) && cycles == 1)
		return;
	if (cycles > GOSSIP_STEP_CYCLES) {
		gossip->stats.pause_count++;
		suspend(gossip);
	}
	advance(gossip, cycles);
}

/* --- claims --- */

static bool is_recent(const struct gossip *gossip, uint64_t then_ns)
{
	return gossip->now_ns - then_ns <= window_ns(gossip);
}

static unsigned int voices_of(const struct gossip *gossip,
			      const struct claim *claim)
{
	unsigned int count = 0;

	for (unsigned int i = 0; i < claim->voice_count; i++)
		count += is_recent(gossip, claim->voices[i].received_ns);
	return count;
}

static void voice_add(struct gossip *gossip, struct claim *claim,
		      uint32_t sender)
{
	unsigned int oldest = 0;
	unsigned int i;

	for (i = 0; i < claim->voice_count; i++) {
		if (claim->voices[i].index == sender)
			break;
		if (claim->voices[i].received_ns <
		    claim->voices[oldest].received_ns)
			oldest = i;
	}
	if (i == claim->voice_count) {
		if (claim->voice_count < GOSSIP_QUORUM)
			claim->voice_count++;
		else
			i = oldest;
	}
	claim->voices[i].index = sender;
	claim->voices[i].received_ns = gossip->now_ns;
}

static uint64_t claim_now(const struct gossip *gossip,
			  const struct claim *claim)
{
	return claim->cycle +
	       (gossip->now_ns - claim->at_ns) / gossip->cycle_ns;
}

/* Add a voice to the claim of this cycle, in place of the stalest if new. */
static struct claim *claim_add(struct gossip *gossip, uint32_t sender,
			       uint64_t cycle)
{
	struct claim *stalest = &gossip->claims[0];
	struct claim *claim = NULL;

	for (int i = 0; i < CLAIM_MAX && claim == NULL; i++) {
		struct claim *other = &gossip->claims[i];
		uint64_t at = claim_now(gossip, other);
		uint64_t apart = at > cycle ? at - cycle : cycle - at;

		if (other->at_ns < stalest->at_ns)
			stalest = other;
		if (voices_of(gossip, other) > 0 && apart <= GOSSIP_STEP_CYCLES)
			claim = other;
	}
	if (claim == NULL) {
		claim = stalest;
		*claim = (struct claim){ .since_ns = gossip->now_ns };
	}
	claim->cycle = cycle;
	claim->at_ns = gossip->now_ns;
	voice_add(gossip, claim, sender);
	return claim;
}

/* Where fewer are alive, all of them have to do. */
static unsigned int quorum_of(const struct gossip *gossip)
{
	size_t others = gossip->discovery.alive_count - 1;

	if (others >= GOSSIP_QUORUM)
		return GOSSIP_QUORUM;
	return others > 0 ? (unsigned int)others : 1;
}

/* A node that never saw a quorum joins the majority. */
static unsigned int needed_of(const struct gossip *gossip)
{
	unsigned int near = voices_of(gossip, &gossip->near);
	unsigned int quorum = quorum_of(gossip);

	return gossip->is_settled || near >= quorum ? quorum : near + 1;
}

/* --- following --- */

static void go_to(struct gossip *gossip, uint64_t cycle)
{
	if (cycle > gossip->cycle) {
		if (cycle - gossip->cycle > GOSSIP_STEP_CYCLES)
			suspend(gossip);
		advance(gossip, cycle - gossip->cycle);
	} else {
		/* Signs of cycles that never were are worth nothing. */
		suspend(gossip);
		gossip->cycle = cycle;
		memset(gossip->signs, AGE_UNKNOWN, gossip->size);
		gossip->signs[gossip->index] = AGE_SELF;
	}
	gossip->tick_ns = gossip->now_ns + gossip->cycle_ns;
}

/* A step within the allowance. */
static bool take_step(struct gossip *gossip, uint64_t cycles)
{
	uint64_t gain = gossip->tick_ns - gossip->now_ns +
			(cycles - 1) * gossip->cycle_ns;

	if (cycles > GOSSIP_STEP_CYCLES)
		return false;
	slack_refill(gossip);
	if (gain > gossip->slack_ns)
		return false;
	gossip->slack_ns -= gain;
	gossip->stats.step_count++;
	go_to(gossip, gossip->cycle + cycles);
	return true;
}

static void agree(struct gossip *gossip, uint32_t sender, bool has_voice)
{
	if (has_voice)
		voice_add(gossip, &gossip->near, sender);
}

static bool follow_ahead(struct gossip *gossip, uint32_t sender, uint64_t cycle,
			 bool has_voice)
{
	struct claim *claim;

	if (take_step(gossip, cycle - gossip->cycle)) {
		agree(gossip, sender, has_voice);
		return true;
	}
	if (cycle > CYCLE_JUMP_MAX || !has_voice)
		return false;
	claim = claim_add(gossip, sender, cycle);
	if (gossip->life != LIFE_STEALTH &&
	    voices_of(gossip, claim) < needed_of(gossip))
		return false;
	gossip->stats.jump_count++;
	gossip->near = *claim;
	*claim = (struct claim){ 0 };
	go_to(gossip, cycle);
	return true;
}

/*
 * Those behind are to catch up; unless it is we who are astray. Messages that
 * have just come late do not go on for long enough.
 */
static void follow_behind(struct gossip *gossip, uint32_t sender,
			  uint64_t cycle)
{
	bool is_first = !gossip->is_settled && gossip->near.voice_count == 0;
	struct claim *claim;
	unsigned int voices;

	claim = claim_add(gossip, sender, cycle);
	voices = voices_of(gossip, claim);
	if (!is_first && (voices < quorum_of(gossip) ||
			  voices <= voices_of(gossip, &gossip->near) ||
			  is_recent(gossip, claim->since_ns)))
		return;
	gossip->stats.back_count++;
	gossip->near = *claim;
	*claim = (struct claim){ 0 };
	go_to(gossip, cycle);
}

bool gossip_follow(struct gossip *gossip, uint64_t now_ns, uint32_t sender,
		   const struct member_message *message)
{
	bool is_answer = message->asker_nonce == gossip->boot_nonce;
	bool has_voice = is_answer || !gossip->is_settled;
	uint64_t cycle = message->cycle;

	gossip_pass(gossip, now_ns);
	if (gossip->life != LIFE_STEALTH && is_answer &&
	    voices_of(gossip, &gossip->near) >= quorum_of(gossip))
		gossip->is_settled = true;
	if (cycle > gossip->received_cycle)
		gossip->received_cycle = cycle;
	if (cycle > gossip->cycle)
		return follow_ahead(gossip, sender, cycle, has_voice);
	if (gossip->cycle - cycle <= GOSSIP_STEP_CYCLES)
		agree(gossip, sender, has_voice);
	else if (has_voice)
		follow_behind(gossip, sender, cycle);
	return true;
}
