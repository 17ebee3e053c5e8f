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
#include "base/memory.h"

/* -EMSGSIZE: their names do not fit in one command. */
static int send_some(struct engine *engine, const char *const *names,
		     size_t count, enum command_owner owner, uint64_t group)
{
	_auto_(fanout_command_destroyp) struct fanout_command *command =
		fanout_command_create(COMMAND_LEASE, names, count);
	_auto_(freep) char *nodes = memory_have(hostlist_format(names, count));
	const struct lease_body body = {
		.nodes = nodes,
		.lease_s = ENGINE_LEASE_MS / 1000,
	};
	int result = memory_check(lease_body_encode(&body, &command->body));

	if (result < 0)
		return result;
	command->owner = owner;
	command->group = group;
	command->timeout_ms = group == 0 ? ENGINE_LEASE_MS : ENGINE_RENEW_MS;
	fanouts_start(engine->fanouts, take_ptr(command),
		      engine_now_ms(engine));
	return 0;
}

void lease_send(struct engine *engine, const char *const *names, size_t count,
		enum command_owner owner)
{
	bool has_group = owner == COMMAND_OF_LEASE;
	uint64_t group = has_group ? ROUND_GROUP_ALL : 0;
	size_t at = 0;

	while (at < count) {
		size_t some = count - at;

		if (some > HOSTLIST_COUNT_MAX)
			some = HOSTLIST_COUNT_MAX;
		while (send_some(engine, names + at, some, owner, group) < 0 &&
		       some > 1)
			some /= 2;
		at += some;
		group -= has_group;
	}
}
