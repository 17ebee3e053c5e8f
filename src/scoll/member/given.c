/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A node gets its index when it is first named, with the liveness that unknown
 * nodes have.
 */
#include "scoll/member/given.h"

#include <errno.h>
#include <stdlib.h>

#include "scoll/member/discovery_internal.h"

struct given {
	struct discovery discovery;
	struct roster *roster;
};

int given_create(bool unknown_is_alive, struct given **ret_given)
{
	_auto_(given_destroyp) struct given *given = NULL;
	int result;

	given = calloc(1, sizeof(*given));
	if (given == NULL)
		return -ENOMEM;
	result = roster_create(NULL, 0, &given->roster);
	if (result < 0)
		return result;
	result = discovery_init(&given->discovery, given->roster);
	if (result < 0)
		return result;
	given->discovery.unknown_is_alive = unknown_is_alive;
	*ret_given = take_ptr(given);
	return 0;
}

void given_destroy(struct given *given)
{
	if (given == NULL)
		return;
	discovery_fini(&given->discovery);
	roster_destroy(given->roster);
	free(given);
}

struct discovery *given_discovery(struct given *given)
{
	return &given->discovery;
}

static int index_of(struct given *given, uint64_t nid, uint32_t *ret_index)
{
	struct discovery *discovery = &given->discovery;
	uint32_t index = roster_index(given->roster, nid);
	int result;

	if (index != ROSTER_NONE) {
		*ret_index = index;
		return 0;
	}
	result = discovery_grow(discovery, roster_count(given->roster) + 1);
	if (result < 0)
		return result;
	result = roster_add(given->roster, nid, ret_index);
	if (result < 0)
		return result;
	discovery_add(discovery, *ret_index, discovery->unknown_is_alive);
	return 0;
}

int given_set(struct given *given, uint64_t nid, enum scoll_liveness news)
{
	uint32_t index;
	int result;

	if (news > SCOLL_REBOOTED)
		return -EINVAL;
	result = index_of(given, nid, &index);
	if (result < 0)
		return result;
	if (news == SCOLL_REBOOTED)
		discovery_reboot(&given->discovery, index);
	else
		discovery_set(&given->discovery, index, news == SCOLL_ALIVE);
	return 0;
}
