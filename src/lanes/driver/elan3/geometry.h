/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What a job's nodes are in the Elan: their ElanIDs, and the capabilities that
 * follow from these. Pure.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "lanes/driver/elan3/hosts.h"
#include "lanes/driver/elan3/policy.h"
#include "fairlead/rms.h"

#define ELAN3_KEY_SIZE 16 /* bytes of a capability's key */

/* Of a job, in the order of its host list. */
struct elan3_geometry {
	size_t count;
	uint32_t *ids;
	const uint32_t *tasks; /* the caller's, an entry a node */
	uint32_t low, high;    /* the lowest and the highest ElanID */
	uint32_t most;         /* tasks of a node */
};

/*
 * -EINVAL with a text that names the nodes: they are not in the table, or two
 * of them have one ElanID.
 */
int elan3_geometry_make(const struct elan_hosts *hosts,
			const char *const *nodes, const uint32_t *tasks,
			size_t count, struct elan3_geometry *ret_geometry,
			struct fairlead_error *ret_error);
void elan3_geometry_fini(struct elan3_geometry *geometry);

/* Every ElanID from the lowest to the highest is the job's. */
bool elan3_geometry_is_contiguous(const struct elan3_geometry *geometry);

/*
 * May the job have so many contexts a node? -EINVAL with a text: some node has
 * more tasks, or all together are more than ELAN_MAX_VPS.
 */
int elan3_geometry_check(const struct elan3_geometry *geometry,
			 uint32_t contexts, struct fairlead_error *ret_error);

/*
 * One capability, of contexts first to last on the rails of a mask. A job that
 * is contiguous can be broadcast to; virtual processes are those of the tasks,
 * by rising ElanIDs. The geometry has passed the check for that many contexts.
 */
void elan3_capability_make(const struct elan3_geometry *geometry,
			   uint32_t first, uint32_t last, bool is_cyclic,
			   uint32_t rails, const uint8_t key[ELAN3_KEY_SIZE],
			   struct elan_capability *ret_cap);
