/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The two halves between the seam of rounds and libscoll, manager/fanout
 * and node/fanout, over shipped cores in virtual time. Each node answers
 * with its number and what its children have said, in parts as large as may be.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/bytes.h"
#include "lanes/manager/fanout/fanout.h"
#include "lanes/proto/collective.h"
#include "medium.h"
#include "lanes/node/fanout/fanout.h"
#include "sim/rng.h"

#define NODES_MAX  600
#define MS         UINT64_C(1000000)
#define PATIENCE   3000
#define PART_BYTES 65536
#define CALLS_MAX  8
#define VISITS_MAX 8

struct visit {
	uint64_t id; /* 0: free */
	bool is_received;
	size_t command_size;
	struct writer answer; /* what has not left yet */
	unsigned int part_count;
};

struct member {
	struct bed *bed;
	uint32_t number;
	uint64_t nid;
	struct hop hop;
	struct sim_rng rng;
	scoll_t *scoll;
	struct node_rounds *node_rounds;
	struct visit visits[VISITS_MAX];
	unsigned int received_count;
	unsigned int part_count; /* of its last answer */
};

struct bed {
	struct medium *medium;
	struct manager_keys keys;
	struct hop hop;
	struct sim_rng rng;
	scoll_t *scoll;
	struct rounds *rounds;
	struct round_seam seam;
	struct member *members;
	size_t count;
	size_t say_count; /* how often each says its number: 1 */
	struct {
		unsigned int answers[NODES_MAX];
		size_t answer_count;
		size_t part_count;
		bool is_ended;
		int result;
		struct round_failure failures[NODES_MAX];
		size_t failure_count;
	} calls[CALLS_MAX];
	uint8_t command[65536];
};

/* Of the manager: its answers are counted; the context is the bed. */
extern const struct round_events bed_events;

/* A manager and so many nodes, at most NODES_MAX. */
struct bed *bed_create(size_t count);
/* Checks that nothing of libscoll's or of the two halves' is left. */
void bed_destroy(struct bed *bed);
/* Longer than anything takes, and shorter than groups live. */
void bed_run(struct bed *bed);

/* Start it again; the manager learns of a node's start. */
void member_start(struct member *member);
void member_stop(struct member *member);
void manager_start(struct bed *bed, uint64_t started_us);
void manager_stop(struct bed *bed);

/* A call to the first `count` nodes, with `size` bytes of command. */
int bed_begin(struct bed *bed, uint64_t id, uint64_t group, size_t count,
	      size_t size, bool is_separate);
/* The same, until it has ended. */
void bed_ask(struct bed *bed, uint64_t id, uint64_t group, size_t count,
	     size_t size);
/* All have said all, once. */
void bed_expect_all(const struct bed *bed, uint64_t id, size_t count);
