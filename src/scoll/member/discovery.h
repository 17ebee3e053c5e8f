/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Which nodes are alive: the seam between the collectives and its two sources.
 * gossip.h finds out, given.h gets it from the program. Both fill a struct
 * discovery; the collectives only use what is here.
 *
 * Each node has an *aliveness counter*, which is this node's own affair: it
 * goes up by one whenever the node goes from alive to dead. A node whose
 * counter is not what it was has died or rebooted in between.
 *
 * This node may be in *stealth*: it lets the others take it for dead, and does
 * no collective work until that is over.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/cleanup.h"
#include "scoll.h"

struct discovery;

bool discovery_is_stealthy(const struct discovery *discovery);
bool discovery_is_alive(const struct discovery *discovery, uint64_t nid);
/* 0 for a node that is not known. */
uint32_t discovery_counter(const struct discovery *discovery, uint64_t nid);
/* Goes up whenever a node's liveness or counter changes. */
uint64_t discovery_epoch(const struct discovery *discovery);
/* Nodes known to be alive. */
size_t discovery_alive_count(const struct discovery *discovery);

/* --- news --- */

/*
 * Take the next node whose liveness or counter has changed, and its last
 * change: a death and a life after it are a reboot. False: there is none.
 */
bool discovery_news_next(struct discovery *discovery, uint64_t *ret_nid,
			 enum scoll_liveness *ret_news);
bool discovery_has_news(const struct discovery *discovery);

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
