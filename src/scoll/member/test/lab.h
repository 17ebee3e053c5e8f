/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * One node, and whatever messages a test makes up. Node i of the roster has
 * the NID 100 + i; the one that is looked at is node 0.
 */
#pragma once

#include "scoll/member/gossip.h"
#include "scoll/member/message.h"
#include "sim/rng.h"

#define LAB_SENT_MAX 64
#define LAB_CYCLE_NS UINT64_C(1000)
#define LAB_NONCE    1 /* of the one that is looked at */

struct lab_sent {
	uint64_t nid;
	size_t size;
	uint8_t bytes[GOSSIP_MESSAGE_SIZE_MAX];
};

struct lab {
	struct roster *roster;
	struct gossip *gossip;
	struct discovery *discovery;
	struct gossip_bounds bounds;
	struct sim_rng rng;
	uint64_t now_ns;
	struct lab_sent sent[LAB_SENT_MAX]; /* the first ones */
	size_t sent_count;
	int send_result;
	/* The next message: a view in which no node was ever seen. */
	struct member_message message;
	uint8_t signs[GOSSIP_MESSAGE_SIZE_MAX];
};

static inline uint64_t lab_nid(uint32_t index)
{
	return 100 + index;
}

/* A node in stealth, at an odd time. */
void lab_init(struct lab *lab, size_t node_count);
/* The same, and its clock says that it is this cycle. */
void lab_init_at(struct lab *lab, size_t node_count, uint64_t cycle);
void lab_fini(struct lab *lab);
/* Let so many cycles pass, running the node whenever it is due. */
void lab_pass(struct lab *lab, unsigned int cycles);
/* Until its stealth is over. */
void lab_surface(struct lab *lab);
/* Begin an answer of this node, in this cycle; all signs are unknown. */
void lab_message(struct lab *lab, uint32_t index, uint64_t cycle);
/* What the message says of a node: alive `age` cycles ago. */
void lab_say(struct lab *lab, uint32_t index, unsigned int age);
/* Receive the message. */
int lab_receive(struct lab *lab);
/* lab_message() and lab_receive() in one. */
int lab_hear(struct lab *lab, uint32_t index, uint64_t cycle);
bool lab_is_alive(struct lab *lab, uint32_t index);
uint32_t lab_counter(struct lab *lab, uint32_t index);
