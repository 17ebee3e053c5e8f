/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Decides which nodes share a LEASE command: as many as a host list and a frame
 * hold. Nodes that are up are the same each time, so each of their commands has
 * a group; recalled nodes are asked once, and have none.
 *
 * Recall: nodes have no link while idle, so they do not notice that the manager
 * has restarted, and would register when their lease is over. A LEASE of a
 * higher epoch makes them register at once. A node that answers it is not up
 * before it has registered.
 */
#include "lanes/manager/lease.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/hostlist.h"
#include "base/memory.h"
#include "lanes/manager/member.h"
#include "lanes/proto/nid.h"

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

/* --- recall --- */

bool recall_is_due(const struct engine *engine)
{
	return engine->is_recall_due && engine->core != NULL &&
	       engine->halted_epoch == 0;
}

static int by_name(const void *left, const void *right)
{
	const char *const *a = left, *const *b = right;

	return strverscmp(*a, *b);
}

void recall_tick(struct engine *engine)
{
	const struct round_seam *seam = &engine->rounds;
	_auto_(freep) const char **names = NULL;
	struct core_node_endpoint endpoint;
	uint32_t cursor = 0;
	size_t count = 0;

	if (!recall_is_due(engine))
		return;
	engine->is_recall_due = false;
	names = memory_array(CORE_NODES_MAX, sizeof(*names));
	while (core_node_endpoint_next(engine->core, &cursor, &endpoint) > 0) {
		if (endpoint.address_size == 0 ||
		    member_find(engine, endpoint.name) != NULL)
			continue;
		seam->ops->address(seam->ctx, nid_of_node(endpoint.name),
				   endpoint.address, endpoint.address_size);
		names[count++] = endpoint.name;
	}
	qsort(names, count, sizeof(*names), by_name);
	lease_send(engine, names, count, COMMAND_OF_RECALL);
}

bool recall_member(const struct engine *engine, const char *node,
		   uint8_t ret_incarnation[INCARNATION_SIZE])
{
	struct core_node_endpoint endpoint;

	if (engine->core == NULL ||
	    !core_node_endpoint(engine->core, node, &endpoint))
		return false;
	memcpy(ret_incarnation, endpoint.incarnation, INCARNATION_SIZE);
	return true;
}
