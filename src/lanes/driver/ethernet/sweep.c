/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A lane is taken back by its devices. Should somebody have deleted these by
 * hand, or the node's journal be lost between two steps, then what they had is
 * left. A NIC that carries no lanes any more may have classes from when it did.
 */
#include "lanes/driver/ethernet/sweep.h"

#include <string.h>

#include "base/memory.h"
#include "lanes/driver/ethernet/links.h"
#include "lanes/driver/ethernet/namespace.h"
#include "lanes/driver/ethernet/shaper.h"

#define MINORS (SHAPER_LAST_MINOR + 1)

struct sweep {
	const struct ethernet_node *node;
	const struct found *found;
	const struct underlay *underlay; /* whose classes are listed */
	bool is_shaping;                 /* there */
	size_t named_count;              /* of them: devices name them */
	uint16_t *strays;
	size_t stray_count;
	struct fairlead_error error; /* the first class that stays */
};

static bool is_named(const struct sweep *sweep, uint16_t minor)
{
	for (size_t i = 0; i < sweep->found->count; i++) {
		const struct lane_device *device =
			&sweep->found->list[i].device;

		if (device->is_ours && device->alias.htb_class == minor &&
		    device->underlay_index == sweep->underlay->index)
			return true;
	}
	return false;
}

static void class_take(void *arg, const struct shaper_class *shaped)
{
	struct sweep *sweep = arg;

	if (is_named(sweep, shaped->minor))
		sweep->named_count++;
	else if (sweep->stray_count < MINORS)
		sweep->strays[sweep->stray_count++] = shaped->minor;
}

static void sweep_classes(struct sweep *sweep)
{
	struct netlink *netlink = sweep->node->netlink;
	struct fairlead_error error, ignored;

	sweep->named_count = sweep->stray_count = 0;
	if (shaper_list(netlink, sweep->underlay, class_take, sweep, &ignored) <
	    0)
		return;
	for (size_t i = 0; i < sweep->stray_count; i++) {
		if (shaper_remove(netlink, sweep->underlay, sweep->strays[i],
				  &error) < 0 &&
		    sweep->error.code == 0)
			sweep->error = error;
	}
	if (!sweep->is_shaping && sweep->named_count == 0)
		(void)shaper_stop(netlink, sweep->underlay, &ignored);
}

/* On all NICs, whether they carry lanes or not. */
static void sweep_nics(struct sweep *sweep, const struct underlays *underlays)
{
	struct link_list links = { 0 };
	struct fairlead_error ignored;

	if (links_read(sweep->node->netlink, NULL, &links, &ignored) < 0)
		return;
	for (size_t i = 0; i < links.count; i++) {
		const struct ethernet_link *link = &links.links[i];
		struct underlay nic = { .index = link->index };

		if (link_is_ours(link))
			continue;
		memcpy(nic.name, link->name, sizeof(nic.name));
		sweep->underlay = &nic;
		sweep->is_shaping = sweep->node->is_shaping &&
				    underlays_find(underlays, link->index);
		sweep_classes(sweep);
	}
	links_fini(&links);
}

static void stray_delete(void *arg, uint64_t grant_id)
{
	const struct sweep *sweep = arg;
	struct fairlead_error ignored;

	for (size_t i = 0; i < sweep->found->count; i++) {
		const struct found_device *found = &sweep->found->list[i];

		/* Also a lane whose devices did not get there yet. */
		if (found->is_netns ? found->namespace_id == grant_id
				    : found->device.alias.grant_id == grant_id)
			return;
	}
	(void)namespace_delete(sweep->node->namespaces, grant_id, &ignored);
}

int sweep(const struct ethernet_node *node, const struct underlays *underlays,
	  const struct found *found, struct fairlead_error *ret_error)
{
	struct fairlead_error ignored;
	struct sweep sweep = {
		.node = node,
		.found = found,
		.strays = memory_array(MINORS, sizeof(*sweep.strays)),
	};

	sweep_nics(&sweep, underlays);
	(void)namespace_list(node->namespaces, stray_delete, &sweep, &ignored);
	free(sweep.strays);
	if (sweep.error.code < 0)
		*ret_error = sweep.error;
	return sweep.error.code;
}

int sweep_now(const struct ethernet_node *node,
	      struct fairlead_error *ret_error)
{
	struct underlays underlays;
	struct found found = { 0 };
	int result = node_underlays(node, &underlays, ret_error);

	if (result == 0)
		result = found_read(node, &found, ret_error);
	if (result == 0)
		result = sweep(node, &underlays, &found, ret_error);
	found_fini(&found);
	return result;
}

void namespace_sweep(const struct ethernet_node *node, uint64_t grant_id)
{
	struct fairlead_error ignored;
	struct found found = { 0 };
	struct sweep sweep = { .node = node, .found = &found };

	if (found_read(node, &found, &ignored) == 0)
		stray_delete(&sweep, grant_id);
	found_fini(&found);
}
