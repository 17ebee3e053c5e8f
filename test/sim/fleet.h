/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Commands to very many nodes: what the engine has for them (manager/fanout)
 * over what ships below it, on a core for each node. The nodes are cheap: each
 * answers "done" at once, with its own key, and combines answers as an agent
 * does. Failed expectations are cmocka's.
 */
#pragma once

#include "base/hash.h"
#include "lanes/manager/fanout/fanout.h"
#include "lanes/node/fanout/fanout.h"
#include "lanes/proto/combined.h"
#include "medium.h"
#include "sim/rng.h"

#define MS    UINT64_C(1000000)
#define GRANT 7

struct visit {
	uint64_t id;
	struct combined combined;
	UT_hash_handle hh;
};

struct node {
	struct fleet *fleet;
	uint32_t place;
	char name[16];
	struct hop hop;
	struct sim_rng rng;
	struct node_key key;
	uint8_t incarnation[INCARNATION_SIZE];
	uint64_t leased_ms; /* it confirmed a LEASE; 0: none yet */
	scoll_t *scoll;
	struct node_rounds *node_rounds;
	struct visit *visits;
};

struct fleet {
	struct medium *medium;
	struct given *given;
	uint64_t now_ns;
	uint64_t started;
	struct manager_keys keys;
	struct command_key command_key;
	struct node_master masters[KEYS_MAX];
	size_t master_count;
	struct hop hop;
	struct sim_rng rng;
	scoll_t *scoll;
	struct rounds *rounds;
	struct round_seam seam;
	struct fanouts *fanouts;
	uint64_t sequence;
	char nodes_text[32]; /* of the command; at first of all nodes */
	struct node *nodes;
	const char **names;
	size_t count;
	/* Of the order under way. */
	enum command_op op;
	bool is_done;
	uint64_t start_ms, last_ms; /* the last answer */
	size_t answer_count, lost_count;
	uint32_t lost; /* the last one */
	size_t payload_size;
	/* Of an APPLY: sealed to the nodes of nodes_text; empty: no secrets. */
	struct writer sealed;
	const void *secret; /* what each of the nodes has to find in it */
	size_t secret_size;
	size_t opened_count; /* nodes that have opened it */
};

struct fleet *fleet_create(size_t count);
/* Ends its groups, and checks that nothing is left. */
void fleet_destroy(struct fleet *fleet);
void fleet_advance(struct fleet *fleet); /* by 1 ms */

/* Until all nodes have answered, or are lost. */
void fan_out(struct fleet *fleet, enum command_op op, const char *what);
void fan_out_to_all(struct fleet *fleet, enum command_op op, const char *what);

void node_start(struct fleet *fleet, struct node *node);
void node_stop(struct node *node);
void tell_address(struct fleet *fleet, struct node *node);
void manager_start(struct fleet *fleet);
void manager_stop(struct fleet *fleet);
