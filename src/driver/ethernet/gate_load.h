/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A set of the gate's programs and maps: made, attached and pinned in a
 * directory; found there again.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/cleanup.h"
#include "base/error.h"
#include "driver/ethernet/gate_maps.h"

/* Descriptors; -1: none. Owned. */
struct gate_maps {
	int lanes;
	int counters;
};

#define GATE_MAPS_NONE ((struct gate_maps){ -1, -1 })

void gate_maps_fini(struct gate_maps *maps);

/* Changes with the programs and with the options. */
uint64_t gate_digest(const struct gate_config *config);
/* The cookie of the caller's. -ENOPROTOOPT: the kernel has none. */
int gate_namespace(uint64_t *ret_cookie);
/*
 * Find out what the kernel has: sets netns_cookie (the caller's) and
 * is_netns_of_packets_known. -EOPNOTSUPP, -EPERM with a text.
 */
int gate_config_probe(struct gate_config *config,
		      struct fairlead_error *ret_error);
/*
 * Load, attach to the cgroup and pin in the directory, which is there and
 * empty. old: maps to take over, where they fit. -EOPNOTSUPP, -EPERM, ... with a
 * text; what was pinned is the caller's to remove.
 */
int gate_set_make(const char *directory, const struct gate_config *config,
		  const char *cgroup, const struct gate_maps *old,
		  struct gate_maps *ret_maps, struct fairlead_error *ret_error);
/* Is the set there, whole and attached to the cgroup? */
bool gate_set_is_attached(const char *directory, uint64_t cgroup_id);
/* -ENOENT: the set has not both. */
int gate_set_maps(const char *directory, struct gate_maps *ret_maps);
