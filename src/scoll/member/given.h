/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Discovery by the program, which knows which nodes are alive: from leases, for
 * example. It sends nothing and is never in stealth.
 */
#pragma once

#include "scoll/member/discovery.h"

struct given;

/* unknown_is_alive: nodes that were never named. -ENOMEM. */
int given_create(bool unknown_is_alive, struct given **ret_given);
/* Views are destroyed before. NULL is allowed. */
void given_destroy(struct given *given);
DEFINE_AUTO(struct given, given_destroy)

struct discovery *given_discovery(struct given *given);

/*
 * The same again is no change. -ENOSPC: more than ROSTER_NODE_MAX nodes;
 * -ENOMEM.
 */
int given_alive(struct given *given, uint64_t nid);
int given_dead(struct given *given, uint64_t nid);
/* It has restarted: the counter goes up if it was alive. */
int given_rebooted(struct given *given, uint64_t nid);
