/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The cgroup that a site keeps for a job, as the setting `job_cgroup` names it:
 * a path in which stand
 *
 *	%g  the grant's id
 *	%j  the job, as its job manager knows it
 *	%u  the owner's uid
 *
 * Whoever submits a job may have chosen %j: what comes out stays below the
 * directory that the site has named. Pure.
 */
#pragma once

#include <limits.h>

#include "base/error.h"
#include "lanes/driver/ethernet/naming.h"

/*
 * -EINVAL with a text: neither %g nor %j, by which jobs differ, or any
 * other '%'.
 */
int job_cgroup_check(const char *pattern, struct fairlead_error *ret_error);
/*
 * pattern: has passed the check. -ENOENT with a text: it has %j, and the lane
 * was made without its job's name; -EINVAL: a part would be "." or "..";
 * -ENAMETOOLONG.
 */
int job_cgroup_format(const char *pattern, const struct ethernet_alias *alias,
		      char path[PATH_MAX], struct fairlead_error *ret_error);
