/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A lane is taken back by its devices. Should somebody have deleted these by hand,
 * or the node's journal be lost between two steps, then what they had is left.
 */
#include "driver/ethernet/sweep.h"

#include "driver/ethernet/namespace.h"
#include "driver/ethernet/shaper.h"

#define MINORS (SHAPER_LAST_MINOR + 1)

struct sweep {
	const struct ethernet_node *node;
	const struct found *found;
	const struct underlay *underlay; /* whose classes are listed */
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
	if (!sweep->node->is_shaping && sweep->named_count == 0)
		(void)shaper_stop(netlink, sweep->underlay, &ignored);
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
		for (size_t i = 0; i < underlays->count; i++) {
			sweep.underlay = &underlays->list[i];
			if (sweep.underlay->index != 0)
				sweep_classes(&sweep);
		}
		(void)namespace_list(node->namespaces, namespace_take_away,
				     &sweep, &ignored);
	}
	free(sweep.strays);
}
