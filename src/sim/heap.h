/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A heap that runs out where a test says. Programs that have sim_heap_dep get
 * it instead of malloc, calloc, realloc and strdup as they are called from the
 * project's own objects; libraries keep theirs.
 *
 *	for (unsigned int n = 1; sim_heap_fails(n, &result, run, ctx); n++)
 *		assert_int_equal(result, -ENOMEM);
 */
#pragma once

#include <stdbool.h>

/*
 * Call run(ctx) with its n-th allocation (from 1) failing, that one alone.
 * Writes what run returned. False when run made fewer than n allocations: it
 * has run undisturbed. Not for two threads at a time.
 */
bool sim_heap_fails(unsigned int n, int *ret_result, int (*run)(void *ctx),
		    void *ctx);
