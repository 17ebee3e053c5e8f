/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * CLOCK_BOOTTIME, so that a deadline passes while a machine sleeps: its peers
 * went on. In nanoseconds CLOCK_MONOTONIC, as libraries' users know it: what is
 * that short is no matter of sleeping machines. No clock can fail on Linux with
 * a valid pointer.
 */
#include "sys/clock.h"

#include <assert.h>
#include <time.h>

static uint64_t monotonic_ms(void *ctx)
{
	struct timespec now;
	int result = clock_gettime(CLOCK_BOOTTIME, &now);

	assert(result == 0);
	return (uint64_t)now.tv_sec * 1000 + (uint64_t)now.tv_nsec / 1000000;
}

static uint64_t wall_us(void *ctx)
{
	struct timespec now;
	int result = clock_gettime(CLOCK_REALTIME, &now);

	assert(result == 0);
	return (uint64_t)now.tv_sec * 1000000 + (uint64_t)now.tv_nsec / 1000;
}

struct clock_seam sys_clock(void)
{
	static const struct clock_ops ops = {
		.monotonic_ms = monotonic_ms,
		.wall_us = wall_us,
	};

	return (struct clock_seam){ .ops = &ops };
}

uint64_t sys_monotonic_ns(void)
{
	struct timespec now;
	int result = clock_gettime(CLOCK_MONOTONIC, &now);

	assert(result == 0);
	return (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec;
}
