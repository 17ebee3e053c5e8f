/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Nodes have no link while nothing is open, so they do not see that a manager
 * has come and gone, and would register when their lease is over. A LEASE of a
 * higher epoch tells them. It gives nothing that they do not have: who answers
 * is not up before it has registered.
 */
#include "lanes/manager/recall.h"

#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/memory.h"
#include "lanes/manager/lease.h"
#include "lanes/manager/member.h"
#include "lanes/proto/nid.h"

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
