/* SPDX-License-Identifier: BSD-3-Clause */
/* What gossip's files share. */
#pragma once

#include "scoll/member/age.h"
#include "scoll/member/discovery_internal.h"
#include "scoll/member/gossip.h"
#include "scoll/member/message.h"

#define CLAIM_MAX 4

enum life {
	LIFE_STEALTH,
	LIFE_ACTIVE,
	LIFE_LEFT,
};

/* Who has lately said that the cycle is (about) this one. */
struct claim {
	uint64_t cycle;
	uint64_t at_ns;    /* when it was: it goes on since then */
	uint64_t since_ns; /* the first one who said so */
	struct {
		uint32_t index;
		uint64_t received_ns;
	} voices[GOSSIP_QUORUM];
	unsigned int voice_count;
};

struct gossip {
	struct discovery discovery;
	const struct roster *roster;
	const struct gossip_ops *ops;
	void *ctx;
	struct rng_seam rng;
	struct gossip_bounds bounds;
	struct message_parts parts;
	uint8_t roster_digest[ROSTER_DIGEST_SIZE];
	uint64_t nid;
	uint64_t boot_nonce;
	uint32_t index; /* this node's */
	uint64_t cycle_ns;
	uint64_t now_ns;

	enum life life;
	uint64_t start_ns;
	uint64_t stealth_end_ns;
	uint64_t send_ns;       /* of the next round */
	uint32_t awaited_count; /* parts asked for in this one, no answer yet */

	uint64_t cycle;
	uint64_t tick_ns;        /* when it goes up by itself */
	uint64_t received_cycle; /* the highest since the last tick; 0: none */
	uint64_t slack_ns;       /* by how much others may hurry it */
	uint64_t slack_at_ns;    /* when that was counted */
	uint64_t verdicts_ns;    /* no verdicts before */
	bool is_settled;         /* was once among a quorum that agreed */
	struct claim near;       /* those who agree */
	struct claim claims[CLAIM_MAX]; /* those who do not */

	uint64_t listening_ns; /* receiving without a gap since then */
	uint64_t received_ns;  /* the latest message of these cycles */
	size_t size;           /* of the two below: whole blocks */
	uint8_t *signs;
	uint32_t *nonces; /* of live nodes that sent to us; 0: none yet */
	struct writer out;
	struct gossip_stats stats;
};

/* gossip.c: what the signs of these indexes say now; first in whole blocks. */
void gossip_judge(struct gossip *gossip, size_t first, size_t count);

/* gossip_cycle.c: time passes. */
void gossip_pass(struct gossip *gossip, uint64_t now_ns);
/* Nobody counts that far; the wire format does. */
#define CYCLE_JUMP_MAX (MESSAGE_CYCLE_MAX / 2)
/* Take a message's cycle for what it is worth. False: it is too far ahead. */
bool gossip_follow(struct gossip *gossip, uint64_t now_ns, uint32_t sender,
		   const struct member_message *message);

/* gossip_send.c */
void gossip_send_round(struct gossip *gossip);
void gossip_answer(struct gossip *gossip, const struct member_message *request);
void gossip_send_leaves(struct gossip *gossip);
