/* SPDX-License-Identifier: BSD-3-Clause */
/* Who is being closed has at most half of the links. */
#include "lanes/manager/room.h"

#include "base/cleanup.h"
#include "base/hostlist.h"

#define CLOSING_MAX 64

static size_t least(size_t left, size_t right)
{
	return left < right ? left : right;
}

size_t room_sessions(const struct descriptor_shares *shares)
{
	return shares->links - least(CLOSING_MAX, shares->links / 2);
}

void room_check(const struct config *config, size_t roles,
		const struct descriptor_shares *shares, const struct log *log)
{
	_auto_(hostlist_destroyp) struct hostlist *nodes = NULL;
	size_t sessions = room_sessions(shares);

	if (hostlist_parse(config->manager.nodes, &nodes, NULL) < 0 ||
	    nodes->count <= sessions)
		return;
	log_warning(
		log,
		"the limit of descriptors lets %zu nodes be connected at "
		"once, and %zu are configured: others may stay down; it "
		"has to be %zu (LimitNOFILE in the unit, or 'ulimit -n')",
		sessions, nodes->count,
		roles * descriptors_need(nodes->count +
					 least(CLOSING_MAX, nodes->count - 1)));
}
