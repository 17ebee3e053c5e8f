/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What is on the node, for people and for the manager. An object is a lane on a
 * NIC, with the lane's VNIs; its id is the first of them. The NIC itself is
 * there for everybody: it is the system's own, which nobody destroys.
 *
 * A VXLAN device that is not ours withholds its VNI when it has one of our
 * ports, also that of a rail which the node may yet get, and any device the VNI
 * whose name it has.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "lanes/driver/ethernet/enforce.h"
#include "lanes/driver/ethernet/links.h"
#include "lanes/driver/ethernet/take_back.h"

static void describe_underlay(const struct underlay *underlay,
			      struct fairlead_object *object)
{
	snprintf(object->device, sizeof(object->device), "%s", underlay->name);
	object->flags = FAIRLEAD_OBJECT_ENABLED | FAIRLEAD_OBJECT_SYSTEM |
			FAIRLEAD_OBJECT_OPEN;
	object->uid = UINT32_MAX;
	snprintf(object->detail, sizeof(object->detail),
		 "the NIC itself, mtu=%u", underlay->mtu);
}

static void describe_lane(const struct underlays *underlays,
			  const struct found_device *found,
			  struct fairlead_object *object)
{
	const struct lane_device *device = &found->device;
	const struct ethernet_alias *alias = &device->alias;
	const struct underlay *underlay =
		underlays_find(underlays, device->underlay_index);

	snprintf(object->device, sizeof(object->device), "%s",
		 underlay ? underlay->name : device->name);
	object->id = device_lane(device);
	object->uid = alias->grant_id != 0 ? alias->uid : UINT32_MAX;
	if (device->is_up)
		object->flags |= FAIRLEAD_OBJECT_ENABLED;
	object->id_count = alias->vni_count;
	memcpy(object->ids, alias->vnis,
	       alias->vni_count * sizeof(alias->vnis[0]));
	if (alias->vni_count == 0) {
		object->id_count = 1;
		object->ids[0] = device->vni;
	}
	snprintf(object->detail, sizeof(object->detail),
		 "device=%s mtu=%u grant=%llu%s", device->name, device->mtu,
		 (unsigned long long)alias->grant_id,
		 found->is_netns ? " isolation=netns" : "");
}

static bool is_our_port(const struct ethernet_node *node, uint16_t port)
{
	return ethernet_rail(node->networks.port, port) < ETHERNET_RAILS_MAX;
}

/* False: it is nothing that is to be shown. */
static bool describe(const struct ethernet_node *node,
		     const struct underlays *underlays,
		     const struct found *found, size_t i,
		     struct fairlead_object *object)
{
	const struct lane_device *device = &found->list[i].device;

	*object = (struct fairlead_object){ 0 };
	if (device->is_ours) {
		describe_lane(underlays, &found->list[i], object);
		/* One object for all VNIs of the lane on the NIC. */
		return found_is_first(found, i);
	}
	if (!is_our_port(node, device->port))
		return false;
	snprintf(object->device, sizeof(object->device), "%s", device->name);
	object->id = device->vni;
	object->uid = UINT32_MAX;
	object->flags = device->is_up ? FAIRLEAD_OBJECT_ENABLED : 0;
	object->id_count = 1;
	object->ids[0] = device->vni;
	snprintf(object->detail, sizeof(object->detail),
		 "VXLAN device that is not ours, port=%u", device->port);
	return true;
}

/* Has it a lane's name without being that lane's? */
static bool describe_namesake(const struct ethernet_node *node,
			      const struct ethernet_link *link,
			      struct fairlead_object *object)
{
	uint32_t vni, rail;

	if (!ethernet_device_parse(link->name, &vni, &rail))
		return false;
	/* It is listed as a VXLAN device with that VNI. */
	if (link_is_ours(link) && link->vxlan.vni == vni)
		return false;
	if (strcmp(link->kind, "vxlan") == 0 && link->vxlan.vni == vni &&
	    is_our_port(node, link->vxlan.port))
		return false;
	*object = (struct fairlead_object){
		.id = vni,
		.uid = UINT32_MAX,
		.id_count = 1,
		.ids = { vni },
	};
	if (link->flags & IFF_UP)
		object->flags = FAIRLEAD_OBJECT_ENABLED;
	snprintf(object->device, sizeof(object->device), "%s", link->name);
	strcpy(object->detail,
	       link_is_ours(link)
		       ? "a lane's device with another lane's name"
		       : "somebody else's device with a lane's name");
	return true;
}

static int namesakes_list(const struct ethernet_node *node,
			  void (*emit)(void *arg,
				       const struct fairlead_object *object),
			  void *arg, struct fairlead_error *ret_error)
{
	struct fairlead_object object;
	struct link_list list = { 0 };
	int result = links_read(node->netlink, NULL, &list, ret_error);

	for (size_t i = 0; i < list.count; i++) {
		const struct ethernet_link *link = &list.links[i];

		if (describe_namesake(node, link, &object))
			emit(arg, &object);
	}
	links_fini(&list);
	return result;
}

int ethernet_list(void *state,
		  void (*emit)(void *arg, const struct fairlead_object *object),
		  void *arg, struct fairlead_error *ret_error)
{
	const struct ethernet_node *node = state;
	struct fairlead_error ignored;
	struct fairlead_object object;
	struct found found = { 0 };
	struct underlays underlays;
	int result = node_underlays(node, &underlays, ret_error);

	/*
	 * Whoever flushed all rules of the node has opened the lanes. Where
	 * they cannot be written again, ethernet_tend and the summary say so.
	 */
	if (result == 0 && !node->is_looking)
		(void)enforce_tend_table(node, &ignored);
	if (result == 0)
		result = found_read(node, &found, ret_error);
	for (size_t i = 0; result == 0 && i < underlays.count; i++) {
		object = (struct fairlead_object){ 0 };
		describe_underlay(&underlays.list[i], &object);
		emit(arg, &object);
	}
	for (size_t i = 0; i < found.count; i++) {
		if (describe(node, &underlays, &found, i, &object))
			emit(arg, &object);
	}
	found_fini(&found);
	if (result == 0)
		result = namesakes_list(node, emit, arg, ret_error);
	return result;
}

/* --- destroying --- */

static bool is_same(const struct fairlead_object *a,
		    const struct fairlead_object *b)
{
	return strcmp(a->device, b->device) == 0 && a->id == b->id &&
	       a->uid == b->uid && a->id_count == b->id_count &&
	       memcmp(a->ids, b->ids, a->id_count * sizeof(a->ids[0])) == 0;
}

/* All devices of the object, to the front of the list: how many. */
static size_t pick(const struct ethernet_node *node,
		   const struct underlays *underlays, struct found *found,
		   const struct fairlead_object *object)
{
	const struct found_device *first = NULL;
	struct fairlead_object seen;
	struct found_device is;
	size_t count = 0;

	for (size_t i = 0; i < found->count && !first; i++) {
		if (describe(node, underlays, found, i, &seen) &&
		    is_same(&seen, object))
			first = &found->list[i];
	}
	if (!first)
		return 0;
	is = *first;
	for (size_t i = 0; i < found->count; i++) {
		const struct lane_device *device = &found->list[i].device;

		if (device->index == is.device.index ||
		    (is.device.is_ours && device->is_ours &&
		     is.device.alias.grant_id != 0 &&
		     device->alias.grant_id == is.device.alias.grant_id &&
		     device->underlay_index == is.device.underlay_index))
			found->list[count++] = found->list[i];
	}
	return count;
}

static void namesake_find(void *arg, const struct fairlead_object *object)
{
	struct fairlead_object *wanted = arg;

	/* Found: it is nobody's any more. */
	if (is_same(object, wanted))
		wanted->id_count = 0;
}

/* It is not there, or not of a kind that is ours to delete. */
static int say_absent(const struct ethernet_node *node,
		      const struct fairlead_object *object,
		      struct fairlead_error *ret_error)
{
	struct fairlead_object wanted = *object;
	int result = namesakes_list(node, namesake_find, &wanted, ret_error);

	if (result < 0)
		return result;
	if (wanted.id_count != object->id_count)
		return error_set(ret_error, -EPERM,
				 "%s has a lane's name and is not that "
				 "lane's: rename it, or delete it by `ip link`",
				 object->device);
	return error_set(ret_error, -ENOENT,
			 "%s: lane %u is not there any more", object->device,
			 object->id);
}

static int system_check(const struct underlays *underlays,
			const struct fairlead_object *object,
			struct fairlead_error *ret_error)
{
	for (size_t i = 0; i < underlays->count; i++) {
		struct fairlead_object seen = { 0 };

		describe_underlay(&underlays->list[i], &seen);
		if (is_same(&seen, object))
			return error_set(ret_error, -EPERM,
					 "%s is the NIC itself, not a lane",
					 object->device);
	}
	return 0;
}

int ethernet_destroy(void *state, const struct fairlead_object *object,
		     bool is_dry_run, struct fairlead_error *ret_error)
{
	const struct ethernet_node *node = state;
	struct found found = { 0 };
	struct underlays underlays;
	size_t count = 0;
	int result = node_underlays(node, &underlays, ret_error);

	if (result == 0)
		result = system_check(&underlays, object, ret_error);
	if (result == 0)
		result = found_read(node, &found, ret_error);
	if (result == 0) {
		count = pick(node, &underlays, &found, object);
		if (count == 0)
			result = say_absent(node, object, ret_error);
	}
	if (result == 0)
		result = (is_dry_run ? take_back_try : take_back)(
			node, found.list, count, ret_error);
	if (result == 0 && !is_dry_run && found.list[0].is_netns)
		result = take_back_namespace(
			node, found.list[0].device.alias.grant_id, ret_error);
	if (result == 0 && !is_dry_run)
		take_back_other_namespaces(node,
					   found.list[0].device.alias.grant_id,
					   found.list, count);
	found_fini(&found);
	return result;
}
