/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Nodes have no link while nothing is open, so they do not see that a manager
 * has come and gone, and would register when their lease is over. A LEASE of a
 * higher epoch tells them. It gives nothing that they do not have: who answers
 * is not up before it has registered.
 */
#include "manager/recall.h"

#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "manager/lease.h"
#include "manager/member.h"
#include "manager/wire/nid.h"

bool recall_is_due(const struct engine *engine)
{
	return engine->is_recall_due && engine->core != NULL &&
	       engine->halted_epoch == 0;
}

/* Those with an address that are not here already; NULL: memory is out. */
static const char **names_find(const struct engine *engine, size_t *ret_count)
{
	struct core_node_place place;
	const char **names;
	uint32_t cursor = 0;
	size_t count = 0;

	while (core_node_place_next(engine->core, &cursor, &place) > 0)
		count++;
	names = calloc(count + 1, sizeof(*names));
	if (names == NULL)
		return NULL;
	cursor = 0;
	count = 0;
	while (core_node_place_next(engine->core, &cursor, &place) > 0)
		if (place.address_size > 0 &&
		    member_find(engine, place.name) == NULL)
			names[count++] = place.name;
	*ret_count = count;
	return names;
}

static int by_name(const void *left, const void *right)
{
	const char *const *a = left, *const *b = right;

	return strverscmp(*a, *b);
}

void recall_tick(struct engine *engine)
{
	const struct collective_seam *seam = &engine->collective;
	_auto_(freep) const char **names = NULL;
	struct core_node_place place;
	size_t count = 0;

	if (!recall_is_due(engine))
		return;
	engine->is_recall_due = false;
	names = names_find(engine, &count);
	/* Without memory they come when their lease is over. */
	if (names == NULL)
		return;
	qsort(names, count, sizeof(*names), by_name);
	for (size_t i = 0; i < count; i++)
		if (core_node_place(engine->core, names[i], &place))
			seam->ops->address(seam->ctx, nid_of_node(names[i]),
					   place.address, place.address_size);
	lease_send(engine, names, count, FANOUT_OF_RECALL);
}

bool recall_member(const struct engine *engine, const char *node,
		   struct spread_member *ret_member)
{
	struct core_node_place place;

	if (engine->core == NULL ||
	    !core_node_place(engine->core, node, &place))
		return false;
	/* Its own is not known; a header is read by all of them. */
	ret_member->version = WIRE_VERSION;
	memcpy(ret_member->incarnation, place.incarnation,
	       sizeof(ret_member->incarnation));
	return true;
}
