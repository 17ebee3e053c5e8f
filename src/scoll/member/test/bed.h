/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Many gossiping nodes in virtual time, over a network with faults: the
 * shipped code, one thread, everything from a seed. Node i has the NID i + 1,
 * a clock with an offset and a drift of its own, and incarnations that come
 * and go. Used by the tests, the simulation and the benchmark.
 *
 * The bed sees every verdict. What it calls *false* is a death of a node that
 * was up, active, within reach and undisturbed for long enough, seen by one of
 * which the same is true.
 *
 * When memory runs out, the process ends.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "scoll/member/gossip.h"
#include "sim/rng.h"

#define BED_CYCLE_MS    250
#define BED_LATE_MAX_MS 2000
#define BED_HELD_MAX    64 /* messages that wait for a paused node */

struct bed;

/* Chances are per million, of each message. */
struct bed_faults {
	uint32_t lost;
	uint32_t doubled;
	uint32_t late; /* others overtake it, by up to BED_LATE_MAX_MS */
	uint32_t delay_min_ms, delay_max_ms;
};

struct bed_options {
	size_t node_count;
	uint64_t seed;
	unsigned int fanout;    /* 0: default */
	uint32_t drift_ppm_max; /* of the clocks, both ways */
	uint32_t wall_apart_ms; /* of the time that they begin with, at most */
	struct bed_faults faults;
};

struct bed_stats {
	uint64_t sent_count, sent_bytes;
	uint64_t lost, doubled, late, cut, held, overflown;
	uint64_t gone;               /* for a node that is down */
	uint64_t verdicts;           /* deaths, of all observers */
	uint64_t false_deaths;       /* of these */
	uint64_t false_reboots;      /* counters that changed without a cause */
	uint32_t false_by, false_of; /* the latest of these: observer, node */
};

struct bed *bed_create(const struct bed_options *options);
void bed_destroy(struct bed *bed);

/* --- what happens --- */

void bed_run(struct bed *bed, uint64_t duration_ms);
uint64_t bed_now_ms(const struct bed *bed);
void bed_set_faults(struct bed *bed, const struct bed_faults *faults);
/* A new incarnation; it is down. */
void bed_start(struct bed *bed, uint32_t node);
void bed_crash(struct bed *bed, uint32_t node);
/* It stops, and what comes for it waits; then it goes on. */
void bed_pause(struct bed *bed, uint32_t node);
void bed_resume(struct bed *bed, uint32_t node);
void bed_leave(struct bed *bed, uint32_t node);
/* Messages pass between nodes of one side only; all begin on side 0. */
void bed_put(struct bed *bed, uint32_t node, unsigned int side);
/* Let it receive these bytes now. What it returned. */
int bed_inject(struct bed *bed, uint32_t node, const void *bytes, size_t size);
/*
 * Something happens to this node that excuses verdicts by it and about it,
 * until it has ended (bed_calm) and the news of it are over.
 */
void bed_disturb(struct bed *bed, uint32_t node);
void bed_calm(struct bed *bed, uint32_t node);

/* --- what is seen --- */

size_t bed_node_count(const struct bed *bed);
const struct gossip_bounds *bed_bounds(const struct bed *bed);
const struct bed_stats *bed_stats(const struct bed *bed);
/* NULL when it is down. */
struct gossip *bed_gossip(struct bed *bed, uint32_t node);
bool bed_is_up(const struct bed *bed, uint32_t node);
bool bed_is_paused(const struct bed *bed, uint32_t node);
/* Up, out of stealth, neither paused nor left. */
bool bed_is_active(const struct bed *bed, uint32_t node);
/* Active, and calm for long enough that its verdicts count. */
bool bed_is_judge(const struct bed *bed, uint32_t node);
/* Up, and gives no verdicts for now, or has only just begun to. */
bool bed_is_suspended(const struct bed *bed, uint32_t node);
bool bed_sees(struct bed *bed, uint32_t observer, uint32_t node);
uint32_t bed_counter(struct bed *bed, uint32_t observer, uint32_t node);
/* How many judges see it alive. */
size_t bed_alive_views(struct bed *bed, uint32_t node);
/* When the last verdict about it was given; 0: never since bed_crash. */
uint64_t bed_last_verdict_ms(const struct bed *bed, uint32_t node);
uint64_t bed_first_verdict_ms(const struct bed *bed, uint32_t node);
/* Of its incarnation, or of none when it is down. */
uint64_t bed_nonce(const struct bed *bed, uint32_t node);
/* Lowest and highest cycle of the active ones. */
void bed_cycles(struct bed *bed, uint64_t *ret_low, uint64_t *ret_high);
/* Of everything that all nodes know. */
uint64_t bed_hash(struct bed *bed);
/* The oldest age in cycles that an active node has of an active node. */
unsigned int bed_age_max(struct bed *bed);
