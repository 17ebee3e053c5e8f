/* SPDX-License-Identifier: BSD-3-Clause */
/* Reading the time changes nothing, so that a replay may read it more often. */
#include "sim/clock.h"

void sim_clock_advance(struct sim_clock *clock, uint64_t duration_ms)
{
	clock->monotonic_ms += duration_ms;
	clock->wall_us += duration_ms * 1000;
}

static uint64_t monotonic_ms(void *ctx)
{
	return ((const struct sim_clock *)ctx)->monotonic_ms;
}

static uint64_t wall_us(void *ctx)
{
	return ((const struct sim_clock *)ctx)->wall_us;
}

struct clock_seam sim_clock_seam(struct sim_clock *clock)
{
	static const struct clock_ops ops = {
		.monotonic_ms = monotonic_ms,
		.wall_us = wall_us,
	};

	return (struct clock_seam){ .ops = &ops, .ctx = clock };
}
