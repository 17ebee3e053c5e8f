/* SPDX-License-Identifier: BSD-3-Clause */
/* A clock that costs next to nothing, for what is only about right. */
#pragma once

#include <stdint.h>

#if defined(__x86_64__)
#include <x86intrin.h>

/* Of no certain unit: 2 to 4 in a nanosecond. */
static inline uint64_t ticks_now(void)
{
	return __rdtsc();
}
#else
#include "link/clock.h"

static inline uint64_t ticks_now(void)
{
	return clock_now_ns();
}
#endif
