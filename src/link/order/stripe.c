/* SPDX-License-Identifier: BSD-3-Clause */
#include "link/order/stripe.h"

uint64_t stripe_size(uint64_t size, unsigned int rails)
{
	uint64_t part = size / (2 * (uint64_t)rails);

	if (rails < 2)
		return size;
	part = (part + 4095) & ~UINT64_C(4095);
	if (part < STRIPE_MIN)
		return STRIPE_MIN;
	return part > STRIPE_MAX ? STRIPE_MAX : part;
}

/* How long it takes until this much more is there. */
static double time_of(const struct stripe_rail *rail, uint64_t size)
{
	return (double)(rail->load + size) /
	       (rail->speed == 0 ? 1.0 : (double)rail->speed);
}

static int soonest(const struct stripe_rail *rails, unsigned int count,
		   unsigned int usable, uint64_t size)
{
	int best = -1;

	for (unsigned int i = 0; i < count; i++)
		if ((usable >> i & 1) != 0 &&
		    (best < 0 ||
		     time_of(&rails[i], size) < time_of(&rails[best], size)))
			best = (int)i;
	return best;
}

int stripe_pick(const struct stripe_rail *rails, unsigned int count,
		unsigned int usable, uint64_t size, uint64_t rest)
{
	unsigned int has_room = 0;
	int best = soonest(rails, count, usable, size), other;

	for (unsigned int i = 0; i < count; i++)
		if ((usable >> i & 1) != 0 &&
		    (rails[i].load == 0 || rails[i].load + size <= STRIPE_LOAD))
			has_room |= 1U << i;
	other = soonest(rails, count, has_room, size);
	if (other == best || other < 0)
		return other;
	/* The slower one helps, unless the faster one is done before it. */
	return time_of(&rails[other], size) < time_of(&rails[best], rest)
		       ? other
		       : -1;
}
