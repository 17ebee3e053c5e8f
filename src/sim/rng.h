/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Random numbers that a seed replays, the same on every machine. For tests and
 * simulation only: they are predictable.
 */
#pragma once

#include <stdbool.h>

#include "base/seam.h"

/* The caller's memory; no clean-up. A copy goes on with the same numbers. */
struct sim_rng {
	uint64_t state[4];
};

void sim_rng_init(struct sim_rng *rng, uint64_t seed);
uint64_t sim_rng_u64(struct sim_rng *rng);
/* 0..n-1, each as likely; n > 0. */
uint64_t sim_rng_below(struct sim_rng *rng, uint64_t n);
/* True in per_million of a million calls; at 0 never, at 1000000 always. */
bool sim_rng_chance(struct sim_rng *rng, uint32_t per_million);
/* A seam that draws from rng, which has to outlive it. */
struct rng_seam sim_rng_seam(struct sim_rng *rng);
