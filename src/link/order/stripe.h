/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Large data in pieces over several rails. Pure. A piece goes to the rail
 * that would be done with it first, by its speed and what it has to do already;
 * each has only a few at a time, so that slow ones get less also when their
 * speeds are not known.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "link/links/links.h"

#define STRIPE_MIN  (UINT64_C(64) << 10)
#define STRIPE_MAX  (UINT64_C(512) << 10)
#define STRIPE_LOAD (UINT64_C(2) << 20) /* of one rail, at a time */

/* How long pieces of a message are that `rails` rails can carry. */
uint64_t stripe_size(uint64_t size, unsigned int rails);

struct stripe_rail {
	uint64_t speed; /* in any unit, of all; 0: not known, of all */
	uint64_t load;  /* bytes under way */
};
/*
 * The rail, of those with a bit in `usable`, by which a piece of `size` bytes
 * is to be read, when `rest` bytes are left with it; -1: none now, or none at
 * all.
 */
int stripe_pick(const struct stripe_rail *rails, unsigned int count,
		unsigned int usable, uint64_t size, uint64_t rest);
