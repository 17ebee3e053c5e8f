/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Elanhosts files, as /etc/elanhosts: lines of a kind, ElanIDs, and as many
 * names, with '#' before comments.
 *
 *	eip  [0-3]  node[0-3]
 *	eth  [0-3]  enode[0-3]
 *
 * A kind is eip, eth or other. Pure.
 */
#pragma once

#include <stddef.h>

#include "base/error.h"
#include "lanes/driver/elan3/hosts.h"

/*
 * -EINVAL with a text, "line 3: ...", also for what elan_hosts_add refuses;
 * -E2BIG: over a maximum.
 */
int elanhosts_parse(const char *text, size_t size,
		    struct elan_hosts **ret_hosts,
		    struct fairlead_error *ret_error);
