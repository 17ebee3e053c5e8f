/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Liveness by place, counters, and who is told. A watch remembers what its
 * owner was told last; when its node changes it is put in a queue, and what
 * there is to tell is found out when its turn comes. So a watcher may watch
 * and unwatch while it is being told, and nobody is told what is over.
 */
#include "scoll/member/discovery_internal.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include <utlist.h>

#include "base/hash.h"

#define WORDS(count) (((count) + 63) / 64)

/* One watcher's interest in one node. */
struct member_watch {
	struct interest *interest;
	struct discovery_watcher *watcher;
	uint64_t nid;
	uint32_t told_counter;
	bool told_alive;
	bool is_pending;
	struct member_watch *prev, *next;                 /* of the interest */
	struct member_watch *pending_prev, *pending_next; /* of the discovery */
	UT_hash_handle hh; /* of the watcher, by nid */
};

/* Everybody's interest in one node. */
struct interest {
	uint64_t nid;
	struct member_watch *watches;
	UT_hash_handle hh;
};

struct discovery_watcher {
	struct discovery *discovery;
	discovery_watch_fn *changed;
	void *ctx;
	struct member_watch *watches;
};

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
	assert(discovery->interests == NULL);
	free(discovery->alive);
	free(discovery->counters);
	*discovery = (struct discovery){ 0 };
}

int discovery_grow(struct discovery *discovery, size_t count)
{
	size_t capacity = WORDS(count) * 64;
	size_t had = discovery->capacity;
	uint64_t *alive;
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
	memset(alive + had / 64, 0, (capacity - had) / 64 * sizeof(*alive));
	memset(counters + had, 0, (capacity - had) * sizeof(*counters));
	discovery->capacity = capacity;
	return 0;
}

/* --- changes --- */

static void note(struct discovery *discovery, uint32_t place)
{
	uint64_t nid = roster_nid(discovery->roster, place);
	struct interest *interest;
	struct member_watch *watch;

	discovery->epoch++;
	HASH_FIND(hh, discovery->interests, &nid, sizeof(nid), interest);
	if (interest == NULL)
		return;
	DL_FOREACH (interest->watches, watch) {
		if (watch->is_pending)
			continue;
		watch->is_pending = true;
		DL_APPEND2(discovery->pending, watch, pending_prev,
			   pending_next);
	}
}

void discovery_set(struct discovery *discovery, uint32_t place, bool is_alive)
{
	if (discovery_has(discovery, place) == is_alive)
		return;
	discovery->alive[place / 64] ^= UINT64_C(1) << place % 64;
	if (is_alive) {
		discovery->alive_count++;
	} else {
		discovery->alive_count--;
		discovery->counters[place]++;
	}
	note(discovery, place);
}

void discovery_reboot(struct discovery *discovery, uint32_t place)
{
	if (!discovery_has(discovery, place)) {
		discovery_set(discovery, place, true);
		return;
	}
	discovery->counters[place]++;
	note(discovery, place);
}

static void tell(struct member_watch *watch)
{
	const struct discovery *discovery = watch->watcher->discovery;
	uint32_t counter = discovery_counter(discovery, watch->nid);
	bool is_alive = discovery_is_alive(discovery, watch->nid);
	bool has_died = counter != watch->told_counter;
	bool was_alive = watch->told_alive;
	enum discovery_event event = DISCOVERY_ALIVE;

	if (!has_died && is_alive == was_alive)
		return;
	if (!is_alive)
		event = DISCOVERY_DEAD;
	else if (has_died)
		event = DISCOVERY_REBOOTED;
	watch->told_counter = counter;
	watch->told_alive = is_alive;
	watch->watcher->changed(watch->watcher->ctx, watch->nid, event);
}

void discovery_settle(struct discovery *discovery)
{
	if (discovery->is_settling)
		return; /* called by a watcher: the outer call goes on */
	discovery->is_settling = true;
	while (discovery->pending != NULL) {
		struct member_watch *watch = discovery->pending;

		DL_DELETE2(discovery->pending, watch, pending_prev,
			   pending_next);
		watch->is_pending = false;
		tell(watch);
	}
	discovery->is_settling = false;
}

/* --- queries --- */

bool discovery_is_stealthy(const struct discovery *discovery)
{
	return discovery->is_stealthy;
}

bool discovery_is_alive(const struct discovery *discovery, uint64_t nid)
{
	uint32_t place = roster_place(discovery->roster, nid);

	if (place == ROSTER_NOWHERE)
		return discovery->unknown_is_alive;
	return discovery_has(discovery, place);
}

uint32_t discovery_counter(const struct discovery *discovery, uint64_t nid)
{
	uint32_t place = roster_place(discovery->roster, nid);

	return place == ROSTER_NOWHERE ? 0 : discovery->counters[place];
}

uint64_t discovery_epoch(const struct discovery *discovery)
{
	return discovery->epoch;
}

size_t discovery_alive_count(const struct discovery *discovery)
{
	return discovery->alive_count;
}

/* --- watching --- */

int discovery_watcher_create(struct discovery *discovery,
			     discovery_watch_fn *changed, void *ctx,
			     struct discovery_watcher **ret_watcher)
{
	struct discovery_watcher *watcher = calloc(1, sizeof(*watcher));

	if (watcher == NULL)
		return -ENOMEM;
	*watcher = (struct discovery_watcher){ .discovery = discovery,
					       .changed = changed,
					       .ctx = ctx };
	*ret_watcher = watcher;
	return 0;
}

static void interest_drop(struct discovery *discovery,
			  struct interest *interest)
{
	if (interest->watches != NULL)
		return;
	HASH_DEL(discovery->interests, interest);
	free(interest);
}

static void watch_drop(struct member_watch *watch)
{
	struct discovery *discovery = watch->watcher->discovery;

	if (watch->is_pending)
		DL_DELETE2(discovery->pending, watch, pending_prev,
			   pending_next);
	HASH_DEL(watch->watcher->watches, watch);
	DL_DELETE(watch->interest->watches, watch);
	interest_drop(discovery, watch->interest);
	free(watch);
}

void discovery_watcher_destroy(struct discovery_watcher *watcher)
{
	struct member_watch *watch, *next;

	if (watcher == NULL)
		return;
	HASH_ITER (hh, watcher->watches, watch, next)
		watch_drop(watch);
	free(watcher);
}

static struct interest *interest_of(struct discovery *discovery, uint64_t nid)
{
	struct interest *interest;

	HASH_FIND(hh, discovery->interests, &nid, sizeof(nid), interest);
	if (interest != NULL)
		return interest;
	interest = calloc(1, sizeof(*interest));
	if (interest == NULL)
		return NULL;
	interest->nid = nid;
	HASH_ADD(hh, discovery->interests, nid, sizeof(nid), interest);
	if (!hash_was_added(interest)) {
		free(interest);
		return NULL;
	}
	return interest;
}

int discovery_watch(struct discovery_watcher *watcher, uint64_t nid)
{
	struct discovery *discovery = watcher->discovery;
	_auto_(freep) struct member_watch *watch = NULL;
	struct interest *interest;
	struct member_watch *known;

	HASH_FIND(hh, watcher->watches, &nid, sizeof(nid), known);
	if (known != NULL)
		return 0;
	watch = calloc(1, sizeof(*watch));
	if (watch == NULL)
		return -ENOMEM;
	interest = interest_of(discovery, nid);
	if (interest == NULL)
		return -ENOMEM;
	watch->nid = nid;
	watch->watcher = watcher;
	watch->interest = interest;
	watch->told_counter = discovery_counter(discovery, nid);
	watch->told_alive = discovery_is_alive(discovery, nid);
	HASH_ADD(hh, watcher->watches, nid, sizeof(nid), watch);
	if (!hash_was_added(watch)) {
		interest_drop(discovery, interest);
		return -ENOMEM;
	}
	DL_APPEND(interest->watches, watch);
	take_ptr(watch);
	return 0;
}
