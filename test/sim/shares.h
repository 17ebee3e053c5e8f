/* SPDX-License-Identifier: BSD-3-Clause */
/* Seeds in several processes, whose coverage comes back together. */
#pragma once

#include "coverage.h"

#define SHARES_MAX 64

/*
 * Run each share, 0..count-1, in a process of its own (one share: in this
 * one), and add up what they cover. The exit status: the worst of theirs, 1
 * when one was killed or its coverage cannot be read.
 */
int shares_run(unsigned int count,
	       void (*run)(const void *ctx, unsigned int share,
			   struct coverage *coverage),
	       const void *ctx, struct coverage *coverage);

/* --- what programs with seeds have in common --- */

/* Of a command line; where it is none up to `most`, the program ends with 2. */
uint64_t shares_number(const char *text, uint64_t most);
/*
 * Say how a run of so many seeds ended, and free its coverage, which is printed
 * where that is wanted. The exit status: `result`, or 1 where the run has to be
 * complete and is not.
 */
int shares_end(int result, struct coverage *coverage, bool is_printed,
	       bool is_complete, uint64_t seed, uint64_t count);
