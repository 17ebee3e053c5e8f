/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What a job's lane makes of a link: its fabric rails are devices of the lane.
 * Pure. A lane is given by the names of its devices, with commas in between, as
 * it is in FAIRLEAD_INTERFACES.
 */
#pragma once

#include "link/links/links.h"

/* Returns 0, or -EINVAL when that is no list of devices, with the reason. */
int lane_check(const char *lane, struct fairlead_error *error);
/*
 * Each provider of `link` without a domain gets the lane's devices, the first
 * of them where there are too many, alike for all providers. Returns 0; or
 * -EINVAL, with the reason, where a domain is named that is none of these:
 * `link` is then as it was. The lane is one that lane_check() finds well.
 */
int lane_confine(const char *lane, struct link_text *link,
		 struct fairlead_error *error);
