/* SPDX-License-Identifier: BSD-3-Clause */
/* Liveness by index, counters, and which of them have changed. */
#include "scoll/member/discovery_internal.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define WORDS(count) (((count) + 63) / 64)

int discovery_init(struct discovery *discovery, const struct roster *roster)
{
	int result;

	*discovery = (struct discovery){ .roster = roster };
	result = discovery_grow(discovery, roster_count(roster));
	if (result < 0)
		discovery_fini(discovery);
	return result;
}

void discovery_fini(struct discovery *discovery)
{
	free(discovery->alive);
	free(discovery->news);
	free(discovery->counters);
	*discovery = (struct discovery){ 0 };
}

int discovery_grow(struct discovery *discovery, size_t count)
{
	size_t capacity = WORDS(count) * 64;
	size_t had = discovery->capacity;
	uint64_t *alive;
	struct discovery_news *news;
	uint32_t *counters;

	if (count <= had)
		return 0;
	if (capacity < 2 * had)
		capacity = 2 * had;
	alive = reallocarray(discovery->alive, capacity / 64, sizeof(*alive));
	if (alive == NULL)
		return -ENOMEM;
	discovery->alive = alive;
	counters =
		reallocarray(discovery->counters, capacity, sizeof(*counters));
	if (counters == NULL)
		return -ENOMEM;
	discovery->counters = counters;
	news = reallocarray(discovery->news, capacity / 64, sizeof(*news));
	if (news == NULL)
		return -ENOMEM;
	discovery->news = news;
	memset(news + had / 64, 0, (capacity - had) / 64 * sizeof(*news));
	memset(alive + had / 64, 0, (capacity - had) / 64 * sizeof(*alive));
	memset(counters + had, 0, (capacity - had) * sizeof(*counters));
	discovery->capacity = capacity;
	return 0;
}

/* --- changes --- */

static void note(struct discovery *discovery, uint32_t index, bool has_died)
{
	struct discovery_news *news = &discovery->news[index / 64];
	uint64_t bit = UINT64_C(1) << index % 64;

	discovery->epoch++;
	discovery->news_count += (news->changed & bit) == 0;
	news->changed |= bit;
	if (index / 64 < discovery->first_news)
		discovery->first_news = index / 64;
	if (!has_died)
		return;
	news->died |= bit;
	discovery->counters[index]++;
}

void discovery_add(struct discovery *discovery, uint32_t index, bool is_alive)
{
	discovery->alive[index / 64] |= (uint64_t)is_alive << index % 64;
	discovery->alive_count += is_alive;
}

void discovery_set(struct discovery *discovery, uint32_t index, bool is_alive)
{
	if (discovery_has(discovery, index) == is_alive)
		return;
	discovery->alive[index / 64] ^= UINT64_C(1) << index % 64;
	discovery->alive_count += is_alive ? 1 : (size_t)-1;
	note(discovery, index, !is_alive);
}

void discovery_reboot(struct discovery *discovery, uint32_t index)
{
	if (discovery_has(discovery, index))
		note(discovery, index, true);
	else
		discovery_set(discovery, index, true);
}

/* --- news --- */

bool discovery_has_news(const struct discovery *discovery)
{
	return discovery->news_count > 0;
}

bool discovery_news_next(struct discovery *discovery, uint64_t *ret_nid,
			 enum scoll_liveness *ret_news)
{
	size_t word = discovery->first_news;
	struct discovery_news *news;
	uint32_t index;
	uint64_t bit;

	if (discovery->news_count == 0)
		return false;
	while (discovery->news[word].changed == 0)
		word++;
	discovery->first_news = word;
	discovery->news_count--;
	news = &discovery->news[word];
	bit = news->changed & -news->changed;
	index = (uint32_t)(word * 64 + (size_t)__builtin_ctzll(bit));
	*ret_nid = roster_nid(discovery->roster, index);
	*ret_news = !discovery_has(discovery, index) ? SCOLL_DEAD
		    : news->died & bit               ? SCOLL_REBOOTED
						     : SCOLL_ALIVE;
	news->changed ^= bit;
	news->died &= ~bit;
	return true;
}

/* --- queries --- */

bool discovery_is_stealthy(const struct discovery *discovery)
{
	return discovery->is_stealthy;
}

bool discovery_is_alive(const struct discovery *discovery, uint64_t nid)
{
	uint32_t index = roster_index(discovery->roster, nid);

	if (index == ROSTER_NONE)
		return discovery->unknown_is_alive;
	return discovery_has(discovery, index);
}

uint32_t discovery_counter(const struct discovery *discovery, uint64_t nid)
{
	uint32_t index = roster_index(discovery->roster, nid);

	return index == ROSTER_NONE ? 0 : discovery->counters[index];
}

uint64_t discovery_epoch(const struct discovery *discovery)
{
	return discovery->epoch;
}

size_t discovery_alive_count(const struct discovery *discovery)
{
	return discovery->alive_count;
}
