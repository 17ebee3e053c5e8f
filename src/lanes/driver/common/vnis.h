/* SPDX-License-Identifier: BSD-3-Clause */
/* What drivers have in common whose lanes are made of VNIs. Pure. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/idset.h"
#include "lanes/driver/common/settings.h"
#include "fairlead_driver.h"

/* What a driver's VNIs are, for its setting vni_pool. */
struct vnis {
	uint32_t limit;        /* VNIs are below it */
	const char *otherwise; /* id set, where the site has none */
	const char *range;     /* that a pool must be within, for people */
	/* Optional. Why it cannot be a pool; NULL: it can. 0 is no VNI. */
	const char *(*flaw)(const struct idset *pool);
};

/*
 * Read the pool; the caller destroys it. What is wrong with the setting is added to
 * settings, and the pool is NULL. -ENOMEM.
 */
int vnis_read(const struct vnis *vnis, struct settings *settings,
	      struct idset **ret_pool);

/*
 * The plan of a lane with that many VNIs of the first pool; none: there is no
 * lane, and why.
 */
void vnis_plan(uint32_t count, bool is_off, struct fairlead_plan *plan);

/*
 * describe's context: {"reservation":{"vnis":[1024]},"vnis":[1024]}. The document
 * has the VNIs in "reservation", the programs that exist read them from the context
 * itself: both are there. The caller frees it. -ENOMEM.
 */
int vnis_describe(const struct fairlead_lane *lane, const char *reason,
		  char **ret_context);
