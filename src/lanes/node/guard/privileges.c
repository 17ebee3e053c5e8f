/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The guard's own is CAP_CHOWN, which gives environment files to their owners.
 * The others are its drivers'.
 */
#include "lanes/node/guard/privileges.h"

#include <errno.h>
#include <stdbool.h>
#include <string.h>
#include <sys/capability.h>
#include <sys/prctl.h>

#include "base/cleanup.h"

static void cap_freep(cap_t *capabilities)
{
	if (*capabilities)
		cap_free(*capabilities);
}

static bool is_kept(cap_value_t capability, uint64_t more)
{
	return capability == CAP_CHOWN ||
	       (capability < 64 && (more >> capability & 1));
}

static int set_fill(cap_t now, cap_t then, uint64_t more)
{
	for (cap_value_t i = 0; i < cap_max_bits(); i++) {
		cap_flag_value_t has;

		if (!is_kept(i, more))
			continue;
		if (cap_get_flag(now, i, CAP_PERMITTED, &has) < 0 ||
		    cap_set_flag(then, CAP_PERMITTED, 1, &i, has) < 0 ||
		    cap_set_flag(then, CAP_EFFECTIVE, 1, &i, has) < 0)
			return -errno;
	}
	return 0;
}

int privileges_drop(uint64_t more, struct fairlead_error *ret_error)
{
	_auto_(cap_freep) cap_t now = cap_get_proc();
	_auto_(cap_freep) cap_t then = cap_init();
	int result;

	if (!now || !then)
		return error_set(ret_error, -errno,
				 "cannot read capabilities: %s",
				 strerror(errno));
	/*
	 * Without CAP_SETPCAP the bounding set stays. It bounds what an exec
	 * can gain, and no_new_privs, below, lets none gain anything.
	 */
	for (cap_value_t i = 0; i < cap_max_bits(); i++) {
		if (!is_kept(i, more) && cap_drop_bound(i) < 0 &&
		    errno != EPERM)
			return error_set(ret_error, -errno,
					 "cannot give up a capability: %s",
					 strerror(errno));
	}
	result = set_fill(now, then, more);
	if (result < 0)
		return error_set(ret_error, result,
				 "cannot keep a capability: %s",
				 strerror(-result));
	if (cap_reset_ambient() < 0 || cap_set_proc(then) < 0 ||
	    prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0)
		return error_set(ret_error, -errno,
				 "cannot give up capabilities: %s",
				 strerror(errno));
	return 0;
}
