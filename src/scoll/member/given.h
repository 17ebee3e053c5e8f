/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Discovery that is told: somebody else knows which nodes are alive, from
 * leases for example. It sends nothing and is never in stealth. What it is
 * told takes effect, and watchers hear of it, before the call returns.
 */
#pragma once

#include "scoll/member/discovery.h"

struct given;

/* What a node counts as that was never spoken of. -ENOMEM. */
int given_create(bool unknown_is_alive, struct given **ret_given);
/* Watchers and views are gone before. NULL is allowed. */
void given_destroy(struct given *given);
DEFINE_AUTO(struct given, given_destroy)

struct discovery *given_discovery(struct given *given);

/*
 * The same again is no change. -ENOSPC: ROSTER_NODE_MAX others are known;
 * -ENOMEM.
 */
int given_alive(struct given *given, uint64_t nid);
int given_dead(struct given *given, uint64_t nid);
/* It is alive, and not the one it was: the counter goes up if it was alive. */
int given_rebooted(struct given *given, uint64_t nid);
