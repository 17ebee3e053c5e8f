/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What `gossip` and `given` do to a discovery. Changes are told by
 * discovery_settle(), once all that belong together are made.
 */
#pragma once

#include "scoll/member/discovery.h"
#include "scoll/member/roster.h"

struct interest;
struct member_watch;

struct discovery {
	const struct roster *roster;
	uint64_t *alive;    /* a bit a place */
	uint32_t *counters; /* a place's aliveness counter */
	size_t capacity;    /* places that there is memory for */
	size_t alive_count;
	uint64_t epoch;
	bool is_stealthy;
	bool unknown_is_alive; /* nodes that are not on the roster */
	struct interest *interests;
	struct member_watch *pending; /* watches whose node has changed */
	bool is_settling;
};

/* All dead. roster is borrowed. -ENOMEM. */
int discovery_init(struct discovery *discovery, const struct roster *roster);
void discovery_fini(struct discovery *discovery);
/* Memory for `count` places; the new ones are dead. -ENOMEM. */
int discovery_grow(struct discovery *discovery, size_t count);

static inline bool discovery_has(const struct discovery *discovery,
				 uint32_t place)
{
	return discovery->alive[place / 64] >> place % 64 & 1;
}

/* From alive to dead counts; the same again is nothing. */
void discovery_set(struct discovery *discovery, uint32_t place, bool is_alive);
/* It is alive, and was another one before: counts. */
void discovery_reboot(struct discovery *discovery, uint32_t place);
/* Tell the watchers. */
void discovery_settle(struct discovery *discovery);
