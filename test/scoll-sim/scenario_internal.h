/* SPDX-License-Identifier: BSD-3-Clause */
/* What a scenario and its chaos share. */
#pragma once

#include "attack.h"
#include "scenario.h"

struct scenario {
	struct cluster *cluster;
	struct attacker *attacker; /* NULL: the seed has none */
	struct transport_timeline_event act;
	uint32_t acts_left;
	uint64_t pace_ns;
	uint32_t chaos;     /* bits 1 << enum chaos */
	uint64_t *known;    /* life of b that a knows of, by a * count + b */
	uint64_t detect_ns; /* at most until a death is known */
	bool is_noisy;      /* the network always fails */
};

static inline bool scenario_dice(struct scenario *scenario,
				 unsigned int percent)
{
	return cluster_percent(scenario->cluster, percent);
}

static inline uint32_t scenario_below(struct scenario *scenario, uint32_t n)
{
	return (uint32_t)cluster_below(scenario->cluster, n);
}

static inline bool scenario_has_gossip(const struct scenario *scenario)
{
	return scenario->cluster->options.gossip_cycle_ns > 0;
}

/* A member that is there and goes on; -1: none found. */
int64_t scenario_anybody(struct scenario *scenario);

/* For coverage, by enum chaos. */
extern const char *const chaos_texts[CHAOS_COUNT];

/* One of what the scenario has, at one member. */
void chaos_act(struct scenario *scenario);
/* All others learn that this one has left. */
void chaos_left(struct cluster *cluster, uint32_t index);
/* The network falls apart, or heals. */
void chaos_cut(struct scenario *scenario);
void chaos_slow(struct cluster *cluster, uint32_t index, uint32_t factor);
