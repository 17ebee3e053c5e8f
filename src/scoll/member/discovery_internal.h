/* SPDX-License-Identifier: BSD-3-Clause */
/* How `gossip` and `given` change a discovery. */
#pragma once

#include "scoll/member/discovery.h"
#include "scoll/member/roster.h"

/* Of 64 indexes. */
struct discovery_news {
	uint64_t changed; /* since their news were taken */
	uint64_t died;
};

struct discovery {
	const struct roster *roster;
	uint64_t *alive;    /* one bit per index */
	uint32_t *counters; /* aliveness counters by index */
	struct discovery_news *news;
	size_t news_count; /* indexes that have changed */
	size_t first_news; /* no word before it has any */
	size_t capacity;   /* of indexes */
	size_t alive_count;
	uint64_t epoch;
	bool is_stealthy;
	bool unknown_is_alive; /* nodes that are not on the roster */
};

/* All dead. roster is borrowed. -ENOMEM. */
int discovery_init(struct discovery *discovery, const struct roster *roster);
void discovery_fini(struct discovery *discovery);
/* Memory for `count` indexes; the new ones are dead. -ENOMEM. */
int discovery_grow(struct discovery *discovery, size_t count);

static inline bool discovery_has(const struct discovery *discovery,
				 uint32_t index)
{
	return discovery->alive[index / 64] >> index % 64 & 1;
}

/* A node that was not known before: no change. */
void discovery_add(struct discovery *discovery, uint32_t index, bool is_alive);
/* From alive to dead counts; the same again is no change. */
void discovery_set(struct discovery *discovery, uint32_t index, bool is_alive);
/* It is alive, and was another one before: counts. */
void discovery_reboot(struct discovery *discovery, uint32_t index);
