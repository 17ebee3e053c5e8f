/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The soft limit is often 1024, for the sake of programs that use select(2);
 * ours do not. The hard limit is the administrator's word.
 */
#include "sys/descriptors.h"

#include <sys/resource.h>

size_t descriptors_want(size_t wanted)
{
	struct rlimit limit;
	rlim_t now;

	if (getrlimit(RLIMIT_NOFILE, &limit) < 0)
		return 0;
	now = limit.rlim_cur;
	if (now < wanted) {
		limit.rlim_cur =
			limit.rlim_max < wanted ? limit.rlim_max : wanted;
		if (setrlimit(RLIMIT_NOFILE, &limit) == 0)
			now = limit.rlim_cur;
	}
	return now;
}
