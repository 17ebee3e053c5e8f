/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A node's life: stealth, active, left; and what a message changes.
 *
 * Stealth lasts until all others have taken this node for dead, whatever they
 * knew of an earlier incarnation. It ends early when a node that has listened
 * long enough to know says that our last sign of life is very old: everybody
 * has us dead then. That is waited for until whatever an incarnation said that
 * ended just before this one began is known to all.
 *
 * The boot nonce is a second guard: a node that receives a message of a live
 * node itself, of another incarnation than before, counts a reboot.
 */
#include "scoll/member/gossip_internal.h"

#include <assert.h>
#include <errno.h>
#include <string.h>

#define CYCLE_BYTES_MAX 25000 /* 100 KB/s at four cycles a second */
#define FANOUT_DEFAULT  2

static_assert(GOSSIP_MESSAGE_SIZE_MAX == MESSAGE_SIZE_MAX, "one maximum");

/* --- what follows from the size --- */

/* 4 + 0.6 * log2 N, rounded up; measured (doc/rfc/gossip). */
static unsigned int age_max_of(uint64_t nodes)
{
	uint64_t cube = nodes * nodes * nodes;
	unsigned int age = 4;

	for (unsigned int bits = 0; UINT64_C(1) << bits < cube; bits += 5)
		age++;
	return age;
}

struct gossip_bounds gossip_bounds_of(size_t node_count)
{
	struct message_parts parts = message_parts_of(node_count);
	struct gossip_bounds bounds = { .age_max = age_max_of(node_count) };
	size_t view = node_count + parts.part_count * MESSAGE_HEADER_SIZE;

	/* 1.3 * age_max + 2 */
	bounds.dead_after = (13 * bounds.age_max + 9) / 10 + 2;
	bounds.stealth = bounds.dead_after + GOSSIP_SKEW_CYCLES + 1;
	/* What is known of a live node is younger than that, or it is dead. */
	bounds.very_old = 2 * bounds.dead_after + GOSSIP_SKEW_CYCLES;
	bounds.fanout = FANOUT_DEFAULT;
	while (bounds.fanout > 1 && 2 * bounds.fanout * view > CYCLE_BYTES_MAX)
		bounds.fanout--;
	return bounds;
}

/* --- life --- */

static int allocate(struct gossip *gossip)
{
	size_t blocks = (gossip->parts.node_count + AGE_BLOCK - 1) / AGE_BLOCK;

	gossip->size = blocks * AGE_BLOCK;
	gossip->signs = malloc(gossip->size);
	gossip->nonces = calloc(gossip->size, sizeof(*gossip->nonces));
	if (gossip->signs == NULL || gossip->nonces == NULL)
		return -ENOMEM;
	memset(gossip->signs, AGE_UNKNOWN, gossip->size);
	/* The buffer is made as large as it ever gets. */
	for (size_t i = 0; i < MESSAGE_HEADER_SIZE / sizeof(uint64_t); i++)
		write_u64(&gossip->out, 0);
	write_bytes(&gossip->out, gossip->signs,
		    message_part_count(&gossip->parts, 0));
	return gossip->out.result;
}

static bool are_usable(const struct gossip_options *options)
{
	size_t count = roster_count(options->roster);

	return count > 0 && options->fanout <= GOSSIP_FANOUT_MAX &&
	       roster_index(options->roster, options->nid) != ROSTER_NONE &&
	       options->first_cycle < CYCLE_JUMP_MAX;
}

int gossip_create(const struct gossip_options *options, uint64_t now_ns,
		  struct gossip **ret_gossip)
{
	_auto_(gossip_destroyp) struct gossip *gossip = NULL;
	size_t count = roster_count(options->roster);
	int result;

	if (!are_usable(options))
		return -EINVAL;
	gossip = calloc(1, sizeof(*gossip));
	if (gossip == NULL)
		return -ENOMEM;
	gossip->roster = options->roster;
	gossip->ops = options->ops;
	gossip->ctx = options->ctx;
	gossip->rng = options->rng;
	gossip->bounds = gossip_bounds_of(count);
	if (options->fanout > 0)
		gossip->bounds.fanout = options->fanout;
	gossip->parts = message_parts_of(count);
	roster_digest(options->roster, gossip->roster_digest);
	gossip->nid = options->nid;
	gossip->boot_nonce = options->boot_nonce;
	gossip->index = roster_index(options->roster, options->nid);
	gossip->cycle_ns =
		options->cycle_ns > 0 ? options->cycle_ns : GOSSIP_CYCLE_NS;
	gossip->cycle = options->first_cycle;
	gossip->now_ns = now_ns;
	gossip->start_ns = now_ns;
	gossip->stealth_end_ns =
		now_ns + gossip->bounds.stealth * gossip->cycle_ns;
	gossip->tick_ns = now_ns + gossip->cycle_ns;
	gossip->slack_ns = GOSSIP_STEP_CYCLES * gossip->cycle_ns;
	gossip->slack_at_ns = now_ns;
	gossip->received_ns = now_ns;
	gossip->listening_ns = now_ns;
	result = allocate(gossip);
	if (result < 0)
		return result;
	result = discovery_init(&gossip->discovery, options->roster);
	if (result < 0)
		return result;
	gossip->discovery.is_stealthy = true;
	gossip->signs[gossip->index] = AGE_SELF;
	discovery_add(&gossip->discovery, gossip->index, true);
	*ret_gossip = take_ptr(gossip);
	return 0;
}

void gossip_destroy(struct gossip *gossip)
{
	if (gossip == NULL)
		return;
	discovery_fini(&gossip->discovery);
	writer_fini(&gossip->out);
	free(gossip->signs);
	free(gossip->nonces);
	free(gossip);
}

struct discovery *gossip_discovery(struct gossip *gossip)
{
	return &gossip->discovery;
}

/* The first round is at any moment of the cycle: not all at once. */
static void surface(struct gossip *gossip)
{
	gossip->life = LIFE_ACTIVE;
	gossip->discovery.is_stealthy = false;
	gossip->send_ns =
		gossip->now_ns + rng_u64(&gossip->rng) % gossip->cycle_ns;
}

uint64_t gossip_deadline_ns(const struct gossip *gossip)
{
	uint64_t next_ns = gossip->life == LIFE_STEALTH ? gossip->stealth_end_ns
							: gossip->send_ns;

	if (gossip->life == LIFE_LEFT)
		return DEADLINE_NONE;
	return next_ns < gossip->tick_ns ? next_ns : gossip->tick_ns;
}

void gossip_run(struct gossip *gossip, uint64_t now_ns)
{
	if (gossip->life == LIFE_LEFT)
		return;
	gossip_pass(gossip, now_ns);
	if (gossip->life == LIFE_STEALTH &&
	    gossip->now_ns >= gossip->stealth_end_ns)
		surface(gossip);
	if (gossip->life == LIFE_ACTIVE && gossip->now_ns >= gossip->send_ns) {
		gossip_send_round(gossip);
		gossip->send_ns += gossip->cycle_ns;
		if (gossip->send_ns <= gossip->now_ns)
			gossip->send_ns = gossip->now_ns + gossip->cycle_ns;
	}
}

void gossip_leave(struct gossip *gossip, uint64_t now_ns)
{
	bool was_active = gossip->life == LIFE_ACTIVE;

	gossip_pass(gossip, now_ns);
	gossip->life = LIFE_LEFT;
	gossip->discovery.is_stealthy = true;
	gossip->signs[gossip->index] = AGE_LEAVES;
	if (was_active)
		gossip_send_leaves(gossip);
}

/* --- verdicts --- */

static void judge_block(struct gossip *gossip, size_t word)
{
	struct discovery *discovery = &gossip->discovery;
	const uint8_t *block = gossip->signs + word * AGE_BLOCK;
	uint64_t now = age_alive(block, gossip->bounds.dead_after);
	uint64_t was = discovery->alive[word];
	uint64_t died = was & ~now;
	uint64_t born = now & ~was;

	if (died != 0 && gossip->now_ns < gossip->verdicts_ns)
		died &= age_left(block, gossip->bounds.dead_after);
	for (; died != 0; died &= died - 1) {
		size_t index = word * 64 + (size_t)__builtin_ctzll(died);

		gossip->nonces[index] = 0;
		gossip->stats.death_count++;
		discovery_set(discovery, (uint32_t)index, false);
	}
	for (; born != 0; born &= born - 1) {
		size_t index = word * 64 + (size_t)__builtin_ctzll(born);

		gossip->stats.birth_count++;
		discovery_set(discovery, (uint32_t)index, true);
	}
}

void gossip_judge(struct gossip *gossip, size_t first, size_t count)
{
	size_t end = (first + count + AGE_BLOCK - 1) / AGE_BLOCK;

	for (size_t word = first / AGE_BLOCK; word < end; word++)
		judge_block(gossip, word);
}

/* --- messages --- */

static int refuse(struct gossip *gossip, enum gossip_refusal refusal,
		  int result)
{
	gossip->stats.refused_count[refusal]++;
	return result;
}

static uint32_t fold(uint64_t nonce)
{
	uint32_t folded = (uint32_t)(nonce ^ nonce >> 32);

	return folded != 0 ? folded : 1;
}

static void check_nonce(struct gossip *gossip, uint32_t sender, uint64_t nonce)
{
	uint32_t folded = fold(nonce);
	uint32_t known = gossip->nonces[sender];

	if (!discovery_has(&gossip->discovery, sender) || known == folded)
		return;
	gossip->nonces[sender] = folded;
	if (known == 0)
		return;
	gossip->stats.reboot_count++;
	discovery_reboot(&gossip->discovery, sender);
}

static void merge(struct gossip *gossip, const struct member_message *message,
		  uint32_t sender, uint64_t lag)
{
	uint32_t first = message_part_first(&gossip->parts, message->part);
	uint8_t sign = message->is_leave ? AGE_LEAVES : AGE_SELF;

	age_merge(gossip->signs + first, message->signs, message->count, lag);
	if (lag < AGE_MAX)
		sign = (uint8_t)(sign + 2 * lag);
	else
		sign = AGE_UNKNOWN;
	if (sign < gossip->signs[sender])
		gossip->signs[sender] = sign;
	gossip->signs[gossip->index] = AGE_SELF;
	gossip_judge(gossip, first, message->count);
	gossip_judge(gossip, sender / AGE_BLOCK * AGE_BLOCK, AGE_BLOCK);
	if (lag <= gossip->bounds.dead_after)
		check_nonce(gossip, sender, message->boot_nonce);
}

static void listen(struct gossip *gossip)
{
	if (gossip->now_ns - gossip->received_ns >
	    GOSSIP_STEP_CYCLES * gossip->cycle_ns)
		gossip->listening_ns = gossip->now_ns;
	gossip->received_ns = gossip->now_ns;
}

/* Does it show that all others have us dead? */
static bool is_obituary(const struct gossip *gossip,
			const struct member_message *message, uint64_t lag)
{
	uint32_t first = message_part_first(&gossip->parts, message->part);
	uint32_t at = gossip->index - first;
	uint64_t known_ns =
		gossip->start_ns + gossip->bounds.age_max * gossip->cycle_ns;

	if (gossip->now_ns < known_ns)
		return false;
	if (gossip->index < first || at >= message->count ||
	    lag > GOSSIP_STEP_CYCLES ||
	    message->listening_cycles < gossip->bounds.age_max)
		return false;
	return age_of(message->signs[at]) + lag > gossip->bounds.very_old;
}

static void answer(struct gossip *gossip, const struct member_message *message)
{
	if (gossip->life == LIFE_ACTIVE && message->is_request)
		gossip_answer(gossip, message);
}

static int check(struct gossip *gossip, const struct member_message *message)
{
	if (memcmp(message->roster_digest, gossip->roster_digest,
		   ROSTER_DIGEST_SIZE) != 0)
		return refuse(gossip, GOSSIP_ROSTER, -ESTALE);
	if (!message_fits(message, &gossip->parts))
		return refuse(gossip, GOSSIP_MALFORMED, -EBADMSG);
	if (message->nid == gossip->nid)
		return refuse(gossip, GOSSIP_SELF, -EADDRINUSE);
	if (roster_index(gossip->roster, message->nid) == ROSTER_NONE)
		return refuse(gossip, GOSSIP_UNKNOWN, -ENOENT);
	return 0;
}

int gossip_receive(struct gossip *gossip, uint64_t now_ns, const void *bytes,
		   size_t size)
{
	struct member_message message;
	uint32_t sender;
	uint64_t lag;
	int result;

	gossip->stats.received_count++;
	if (gossip->life == LIFE_LEFT)
		return 0;
	result = message_decode(bytes, size, &message);
	if (result < 0)
		return refuse(gossip,
			      result == -EBADMSG ? GOSSIP_MALFORMED
						 : GOSSIP_VERSION,
			      result);
	result = check(gossip, &message);
	if (result < 0)
		return result;
	sender = roster_index(gossip->roster, message.nid);
	if (!gossip_follow(gossip, now_ns, sender, &message)) {
		/* Our answer is what has it go back, if it is astray. */
		answer(gossip, &message);
		return refuse(gossip, GOSSIP_AHEAD, -ERANGE);
	}
	if (!message.is_request && gossip->awaited_count > 0)
		gossip->awaited_count--;
	lag = gossip->cycle - message.cycle;
	if (lag <= GOSSIP_STEP_CYCLES)
		listen(gossip);
	merge(gossip, &message, sender, lag);
	if (gossip->life == LIFE_STEALTH &&
	    is_obituary(gossip, &message, lag)) {
		gossip->stats.early_count++;
		surface(gossip);
	} else {
		answer(gossip, &message);
	}
	return 0;
}

int gossip_sender(const void *bytes, size_t size, uint64_t *ret_nid)
{
	struct member_message message;
	int result = message_decode(bytes, size, &message);

	if (result < 0)
		return result;
	*ret_nid = message.nid;
	return 0;
}

uint64_t gossip_cycle(const struct gossip *gossip)
{
	return gossip->cycle;
}

const struct gossip_stats *gossip_stats(const struct gossip *gossip)
{
	return &gossip->stats;
}
