/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A small cluster around a core: nodes that really hold lanes, and a network
 * that delays, loses, doubles and reorders. It knows the truth, and so can
 * tell when the core is wrong: an identifier that a node holds must never be
 * free, nor another grant's.
 *
 * Nodes keep to doc/rfc/node-protocol.md: tombstones, epochs, and that a
 * registration is a barrier for APPLY.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "lanes/manager/core/test/fixture.h"
#include "sim/rng.h"

#define WORLD_NODES        6
#define WORLD_LANES_MAX    64 /* of one node */
#define WORLD_MESSAGES_MAX 512

/* A lane that a node holds, or the tombstone of one. */
struct world_lane {
	uint64_t grant_id;
	bool is_tombstone;
	bool is_lined; /* of the interconnect "lined", else of "fake" */
	uint32_t id_count;
	uint32_t ids[FAIRLEAD_LANE_IDS_MAX];
};

struct world_node {
	char name[8];
	bool is_on;        /* has power */
	bool is_connected; /* as the manager sees it */
	uint64_t epoch_seen;
	uint64_t hello; /* sequence of the last one; 0: awaits it */
	struct world_lane lanes[WORLD_LANES_MAX];
	size_t lane_count;
	bool has_foreign;      /* something that is not ours, with VNI 1025 */
	bool reported_foreign; /* in its last registration */
	uint64_t confirm_sequence;
};

enum message_kind {
	MESSAGE_COMMAND,  /* to a node */
	MESSAGE_ANSWER,   /* to the manager, for a fan-out */
	MESSAGE_CONFIRM,  /* to the manager, until acknowledged */
	MESSAGE_REGISTER, /* to the manager */
	MESSAGE_HELLO,    /* to a node */
};

struct message {
	enum message_kind kind;
	uint64_t not_before; /* step */
	size_t node;
	enum core_fanout_op op;
	uint64_t fanout_id;
	uint64_t epoch, sequence;
	struct world_lane lane;
	int result;
	uint8_t incarnation[16];
	/* REGISTER: what the node held when it was made. */
	struct world_lane inventory[WORLD_LANES_MAX];
	size_t inventory_count;
	bool has_foreign;
};

/* A fan-out that the world carries out. */
struct world_fanout {
	uint64_t id;
	enum core_fanout_op op;
	size_t count;
	size_t nodes[WORLD_NODES];
	bool has_answer[WORLD_NODES];
	struct core_answer answers[WORLD_NODES];
};

struct world {
	struct fixture *fixture;
	struct sim_rng rng;
	struct world_node nodes[WORLD_NODES];
	struct message messages[WORLD_MESSAGES_MAX];
	size_t message_count;
	struct world_fanout fanouts[64];
	size_t fanout_count;
	size_t fanouts_seen; /* of the fixture's list */
	size_t acks_seen;
	size_t notices_seen;
	uint64_t sequence;
	uint64_t step;
	size_t job;     /* number of the last one */
	bool is_calm;   /* nothing is lost, nothing is busy */
	uint64_t lined; /* lanes of "lined" that nodes had, at each look */
	uint64_t applied, busy, lost, doubled, refused, forced;
};

void world_init(struct world *world, uint64_t seed);
void world_fini(struct world *world);
/* One thing happens, whatever comes. */
void world_step(struct world *world);
/* The truth against what the core thinks. */
void world_verify(struct world *world);
/* Everything heals: in the end nothing may be left. */
void world_heal(struct world *world);
