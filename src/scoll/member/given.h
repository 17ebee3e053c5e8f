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
 * The same again is no change, but for a reboot: the counter of a live node goes
 * up. -EINVAL: no such liveness; -ENOSPC: more than ROSTER_NODE_MAX nodes;
 * -ENOMEM.
 */
int given_set(struct given *given, uint64_t nid, enum scoll_liveness news);
