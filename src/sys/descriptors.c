/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The soft limit is often 1024, for the sake of programs that use select(2);
 * ours do not. The hard limit is the administrator's word.
 */
#include "sys/descriptors.h"

#include <sys/resource.h>

#define SHARE_LEAST 2

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

static size_t share(size_t part, size_t most)
{
	if (part < SHARE_LEAST)
		part = SHARE_LEAST;
	return part < most ? part : most;
}

struct descriptor_shares descriptors_share(size_t count)
{
	size_t part =
		count > DESCRIPTORS_OWN ? (count - DESCRIPTORS_OWN) / 4 : 0;

	return (struct descriptor_shares){
		.clients = share(part, DESCRIPTORS_CLIENTS),
		.links = share(part, DESCRIPTORS_LINKS),
		.accepted = share(part, DESCRIPTORS_ACCEPTED),
	};
}

size_t descriptors_need(size_t links)
{
	return DESCRIPTORS_OWN + 4 * links;
}
