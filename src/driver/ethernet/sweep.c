/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A lane is taken back by its devices. Should somebody have deleted these by hand,
 * or the node's journal be lost between two steps, then what they had is left. A
 * NIC that carries no lanes any more may have classes from when it did.
 */
#include "driver/ethernet/sweep.h"

#include <string.h>

#include "driver/ethernet/links.h"
#include "driver/ethernet/namespace.h"
#include "driver/ethernet/shaper.h"

#define MINORS (SHAPER_LAST_MINOR + 1)

struct sweep {
	const struct ethernet_node *node;
	const struct found *found;
	const struct underlay *underlay; /* whose classes are listed */
	bool is_shaping;                 /* there */
	size_t named_count;              /* of them: devices name them */
	uint16_t *strays;
	size_t stray_count;
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
	struct fairlead_error ignored;

	sweep->named_count = sweep->stray_count = 0;
	if (shaper_list(netlink, sweep->underlay, class_take, sweep, &ignored) <
	    0)
		return;
	for (size_t i = 0; i < sweep->stray_count; i++)
		(void)shaper_remove(netlink, sweep->underlay, sweep->strays[i],
				    &ignored);
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
		const struct link *link = &links.links[i];
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

static void namespace_take_away(void *arg, uint64_t grant_id)
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

void sweep(const struct ethernet_node *node, const struct underlays *underlays,
	   const struct found *found)
{
	struct fairlead_error ignored;
	struct sweep sweep = {
		.node = node,
		.found = found,
		.strays = calloc(MINORS, sizeof(*sweep.strays)),
	};

	if (sweep.strays) {
		sweep_nics(&sweep, underlays);
		(void)namespace_list(node->namespaces, namespace_take_away,
				     &sweep, &ignored);
	}
	free(sweep.strays);
}

void sweep_again(const struct ethernet_node *node)
{
	struct fairlead_error ignored;
	struct underlays underlays;
	struct found found = { 0 };

	if (node_underlays(node, &underlays, &ignored) == 0 &&
	    found_read(node, &found, &ignored) == 0)
		sweep(node, &underlays, &found);
	found_fini(&found);
}
