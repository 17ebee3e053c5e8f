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
