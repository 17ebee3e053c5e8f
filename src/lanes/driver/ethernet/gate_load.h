/* SPDX-License-Identifier: BSD-3-Clause */
/* Make a set of the gate's programs and maps: load and attach it. */
#pragma once

#include <stdint.h>

#include "base/error.h"
#include "lanes/driver/ethernet/gate_maps.h"
#include "lanes/driver/ethernet/gate_set.h"

/* Changes with the programs and with the options. */
uint64_t gate_digest(const struct gate_config *config);
/* Of the caller's network namespace. */
int gate_netns_cookie(uint64_t *ret_cookie);
/*
 * Find out what the kernel has: sets netns_cookie (the caller's) and
 * is_netns_of_packets_known. -EPERM with a text.
 */
int gate_config_probe(struct gate_config *config,
		      struct fairlead_error *ret_error);
/*
 * Load, and attach to the cgroup; nothing is pinned. old: maps to take over,
 * where they fit. -EOPNOTSUPP, -EPERM, ... with a text.
 */
int gate_set_make(const struct gate_config *config, const char *cgroup,
		  const struct gate_set *old, struct gate_set *ret_set,
		  struct fairlead_error *ret_error);
