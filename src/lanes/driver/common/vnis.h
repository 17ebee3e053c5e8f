/* SPDX-License-Identifier: BSD-3-Clause */
/* What drivers have in common whose lanes are made of VNIs. Pure. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/idset.h"
#include "base/error.h"
#include "fairlead_driver.h"

/* What a driver's VNIs are, for its setting vni_pool. */
struct vnis {
	uint32_t limit;    /* VNIs are below it */
	const char *range; /* that a pool must be within, for people */
	/* Optional. Why it cannot be a pool; NULL: it can. 0 is no VNI. */
	const char *(*flaw)(const struct idset *pool);
};

/* Can the text be the pool? ret_pool may be NULL. -EINVAL with a text. */
int vnis_check(const struct vnis *vnis, const char *text,
	       struct idset **ret_pool, struct fairlead_error *ret_error);

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
