/* SPDX-License-Identifier: BSD-3-Clause */
/* The system's clocks. */
#pragma once

#include "base/seam.h"

/*
 * Monotonic time counts from the boot of the machine, also while it sleeps,
 * and is the same for all its processes; wall time is that of people and may
 * jump. Owns nothing.
 */
struct clock_seam sys_clock(void);
/* The monotonic clock in nanoseconds, without the time that it slept. */
uint64_t sys_monotonic_ns(void);
