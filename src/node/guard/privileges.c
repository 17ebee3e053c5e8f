/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Kept: CAP_SYS_ADMIN makes and destroys services, CAP_CHOWN gives environment
 * files to their owners, CAP_SYS_PTRACE and CAP_DAC_READ_SEARCH name the
 * processes that hold a service.
 */
#include "node/guard/privileges.h"

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

static const cap_value_t kept[] = {
	CAP_SYS_ADMIN,
	CAP_CHOWN,
	CAP_SYS_PTRACE,
	CAP_DAC_READ_SEARCH,
};

#define KEPT_COUNT (sizeof(kept) / sizeof(kept[0]))

static bool is_kept(cap_value_t capability)
{
	for (size_t i = 0; i < KEPT_COUNT; i++) {
		if (kept[i] == capability)
			return true;
	}
	return false;
}

int privileges_drop(struct fairlead_error *ret_error)
{
	_auto_(cap_freep) cap_t now = cap_get_proc();
	_auto_(cap_freep) cap_t then = cap_init();
	cap_flag_value_t has;

	if (!now || !then)
		return error_set(ret_error, -errno,
				 "cannot read capabilities: %s",
				 strerror(errno));
	/*
	 * Without CAP_SETPCAP the bounding set stays. It bounds what an exec
	 * can gain, and no_new_privs, below, lets none gain anything.
	 */
	for (cap_value_t i = 0; i < cap_max_bits(); i++) {
		if (!is_kept(i) && cap_drop_bound(i) < 0 && errno != EPERM)
			return error_set(ret_error, -errno,
					 "cannot give up a capability: %s",
					 strerror(errno));
	}
	for (size_t i = 0; i < KEPT_COUNT; i++) {
		if (cap_get_flag(now, kept[i], CAP_PERMITTED, &has) < 0 ||
		    cap_set_flag(then, CAP_PERMITTED, 1, &kept[i], has) < 0 ||
		    cap_set_flag(then, CAP_EFFECTIVE, 1, &kept[i], has) < 0)
			return error_set(ret_error, -errno,
					 "cannot keep a capability: %s",
					 strerror(errno));
	}
	if (cap_reset_ambient() < 0 || cap_set_proc(then) < 0 ||
	    prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0)
		return error_set(ret_error, -errno,
				 "cannot give up capabilities: %s",
				 strerror(errno));
	return 0;
}
