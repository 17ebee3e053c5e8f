/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A command names no more nodes than a host list has and a frame holds. Those
 * that are up are the same ones time and again, and a group for each command;
 * those that are recalled are asked once, and have none.
 */
#include "lanes/manager/lease.h"

#include <errno.h>
#include <stdlib.h>

#include "base/hostlist.h"

static int lease_encode(const void *arg, uint16_t version,
			struct writer *writer)
{
	const struct lease_body body = {
		.nodes = arg,
		.lease_s = ENGINE_LEASE_MS / 1000,
	};

	return lease_body_encode(&body, version, writer);
}

/* -EMSGSIZE: their names do not fit in one command. */
static int send_some(struct engine *engine, const char *const *names,
		     size_t count, enum fanout_owner owner, uint64_t group)
{
	_auto_(fanout_plan_destroyp) struct fanout_plan *plan = NULL;
	_auto_(freep) char *nodes = hostlist_format(names, count);
	int result = fanout_plan_create(COMMAND_LEASE, names, count, &plan);

	if (result == 0 && nodes == NULL)
		result = -ENOMEM;
	if (result == 0)
		result = fanout_plan_encode(plan, lease_encode, nodes);
	if (result < 0)
		return result;
	plan->owner = owner;
	plan->group = group;
	plan->timeout_ms = group == 0 ? ENGINE_LEASE_MS : ENGINE_RENEW_MS;
	return fanouts_start(engine->fanouts, take_ptr(plan));
}

void lease_send(struct engine *engine, const char *const *names, size_t count,
		enum fanout_owner owner)
{
	bool has_group = owner == FANOUT_OF_LEASE;
	uint64_t group = has_group ? COLLECTIVE_GROUP_ALL : 0;
	size_t at = 0;

	while (at < count) {
		size_t some = count - at;
		int result;

		if (some > HOSTLIST_COUNT_MAX)
			some = HOSTLIST_COUNT_MAX;
		while ((result = send_some(engine, names + at, some, owner,
					   group)) == -EMSGSIZE &&
		       some > 1)
			some /= 2;
		if (result < 0)
			return;
		at += some;
		group -= has_group;
	}
}
