/* SPDX-License-Identifier: BSD-3-Clause */
/* A clock that stands still until it is moved. */
#pragma once

#include "base/seam.h"

/* The caller's memory; no clean-up. Both times may be set at any moment. */
struct sim_clock {
	uint64_t monotonic_ms; /* a real one never goes back */
	uint64_t wall_us;      /* since 1970; may jump both ways */
};

/* Both clocks go on by so much. */
void sim_clock_advance(struct sim_clock *clock, uint64_t duration_ms);
/* A seam that reads clock, which has to outlive it. */
struct clock_seam sim_clock_seam(struct sim_clock *clock);
