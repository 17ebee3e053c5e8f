/* SPDX-License-Identifier: BSD-3-Clause */
/* What drivers have in common whose lanes are made of VNIs. Pure. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "fairlead_driver.h"

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
