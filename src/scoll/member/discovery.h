/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Which nodes are alive: the seam between the collectives and whoever knows.
 * `gossip.h` finds out by itself, `given.h` is told. Both fill a struct
 * discovery; the collectives only see what is here.
 *
 * Each node has an *aliveness counter*, which is this node's own affair: it
 * goes up by one whenever the node goes from alive to dead. A node whose
 * counter is not what it was has died or rebooted in between.
 *
 * This node may be in *stealth*: it lets the others take it for dead, and does
 * no collective work until that is over.
 *
 * Watchers are told from within the calls that change something (gossip_run,
 * gossip_receive, gossip_leave, given_*), when everything there is is
 * consistent again; they may call everything here, and given_*, but must not
 * destroy the discovery. One thread.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/cleanup.h"

struct discovery;

bool discovery_is_stealthy(const struct discovery *discovery);
bool discovery_is_alive(const struct discovery *discovery, uint64_t nid);
/* 0 for a node that is not known. */
uint32_t discovery_counter(const struct discovery *discovery, uint64_t nid);
/* Goes up whenever a node's liveness or counter changes. */
uint64_t discovery_epoch(const struct discovery *discovery);
/* Nodes known to be alive. */
size_t discovery_alive_count(const struct discovery *discovery);

/* --- nodes of interest --- */

enum discovery_event {
	DISCOVERY_DEAD,     /* it was alive; its counter went up */
	DISCOVERY_REBOOTED, /* it is alive, but its counter went up */
	DISCOVERY_ALIVE,    /* it was dead when last told; same counter */
};

typedef void discovery_watch_fn(void *ctx, uint64_t nid,
				enum discovery_event event);

struct discovery_watcher;

/* It watches nothing yet. Destroyed before the discovery. -ENOMEM. */
int discovery_watcher_create(struct discovery *discovery,
			     discovery_watch_fn *changed, void *ctx,
			     struct discovery_watcher **ret_watcher);
/* Nothing is told any more. NULL is allowed. Not from its own `changed`. */
void discovery_watcher_destroy(struct discovery_watcher *watcher);
DEFINE_AUTO(struct discovery_watcher, discovery_watcher_destroy)

/*
 * Be told of what happens to the node from now on; once, however often this is
 * called. Any NID will do. -ENOMEM.
 */
int discovery_watch(struct discovery_watcher *watcher, uint64_t nid);

/* --- the living of an ordered list --- */

/*
 * A list's view is computed again only when the epoch has moved: by words of
 * 64 nodes where the list goes along the discovery's own (or a part of it),
 * node by node otherwise. Queries between two changes cost nothing.
 */
struct discovery_view;

/* The NIDs are copied; count > 0. Destroyed before the discovery. -ENOMEM. */
int discovery_view_create(struct discovery *discovery, const uint64_t *nids,
			  size_t count, struct discovery_view **ret_view);
void discovery_view_destroy(struct discovery_view *view);
DEFINE_AUTO(struct discovery_view, discovery_view_destroy)

/* Goes up when the set of the living of this list changes, not else. */
uint64_t discovery_view_epoch(struct discovery_view *view);
/* Bit i % 64 of word i / 64 for nids[i]; valid until the next change. */
const uint64_t *discovery_view_alive(struct discovery_view *view);
