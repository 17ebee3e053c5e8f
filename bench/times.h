/* SPDX-License-Identifier: BSD-3-Clause */
/* How long requests took: collected, and printed by clients that measure. */
#pragma once

#include <stddef.h>
#include <stdint.h>

struct times {
	uint32_t *us;
	size_t count;
	size_t capacity;
};

uint64_t times_now_us(void);
/* Ends the program when there is no memory. */
void times_add(struct times *times, uint64_t us);
/* Print NAME_count, and NAME_p50_us, NAME_p99_us and NAME_max_us if any. */
void times_report(struct times *times, const char *name);
void times_fini(struct times *times);
