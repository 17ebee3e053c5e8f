/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The time that nobody sets, for pauses and ends of waiting. See ticks.h, too.
 */
#pragma once

#include <stdint.h>
#include <time.h>

static inline uint64_t clock_now_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * UINT64_C(1000000000) +
	       (uint64_t)now.tv_nsec;
}
