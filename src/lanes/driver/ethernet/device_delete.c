/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Many devices go as one by their group. When another device is in the group,
 * or that fails for whatever reason, each goes by itself: slow, and sure.
 */
#include <linux/rtnetlink.h>
#include <string.h>

#include "lanes/driver/ethernet/device.h"
#include "lanes/driver/ethernet/links.h"

static struct nl_msg *ask_group(int index, uint32_t group)
{
	const struct ifinfomsg info = { .ifi_index = index };
	struct nl_msg *message =
		netlink_message(RTM_SETLINK, 0, &info, sizeof(info));

	nla_put_u32(message, IFLA_GROUP, group);
	return message;
}

/* index 0: the group's devices. */
static struct nl_msg *ask_deletion(int index, uint32_t group)
{
	const struct ifinfomsg info = { .ifi_index = index };
	struct nl_msg *message =
		netlink_message(RTM_DELLINK, 0, &info, sizeof(info));

	if (index == 0)
		nla_put_u32(message, IFLA_GROUP, group);
	return message;
}

static const struct ethernet_link *find_device(const struct link_list *list,
					       const struct lane_device *device)
{
	const struct ethernet_link *link = link_find(list, device->index);

	if (!link || strcmp(link->name, device->name) != 0 ||
	    strcmp(link->kind, "vxlan") != 0 || link->vxlan.vni != device->vni)
		return NULL;
	return link;
}

/*
 * Is a device in the group that is not to go with it? Somebody else's, or one
 * of a lane that is in use: those that are to go are down.
 */
static bool has_other(const struct link_list *list)
{
	for (size_t i = 0; i < list->count; i++) {
		const struct ethernet_link *link = &list->links[i];

		if (link->group == ETHERNET_LINK_GROUP_ENDING &&
		    (!link_is_ours(link) || link->flags & IFF_UP))
			return true;
	}
	return false;
}

static int delete_together(struct netlink *netlink,
			   const struct link_list *list,
			   const struct lane_device *devices, size_t count)
{
	size_t failed;

	for (size_t i = 0; i < count; i++) {
		const struct ethernet_link *link =
			find_device(list, &devices[i]);

		if (link)
			netlink_queue(netlink,
				      ask_group(link->index,
						ETHERNET_LINK_GROUP_ENDING));
	}
	if (netlink_flush(netlink, &failed, NULL) < 0)
		return -EAGAIN;
	return netlink_call(netlink,
			    ask_deletion(0, ETHERNET_LINK_GROUP_ENDING), NULL,
			    "group");
}

static int delete_each(struct netlink *netlink, const struct link_list *list,
		       const struct lane_device *devices, size_t count,
		       struct fairlead_error *ret_error)
{
	struct fairlead_error error;
	int first = 0;

	for (size_t i = 0; i < count; i++) {
		const struct ethernet_link *link =
			find_device(list, &devices[i]);
		int result;

		if (!link)
			continue;
		result = netlink_call(netlink, ask_deletion(link->index, 0),
				      &error, "cannot delete %s", link->name);
		if (result < 0 && result != -ENODEV && first == 0) {
			first = result;
			if (ret_error)
				*ret_error = error;
		}
	}
	return first;
}

int devices_delete(struct netlink *netlink, const struct lane_device *devices,
		   size_t count, bool is_left[],
		   struct fairlead_error *ret_error)
{
	struct link_list list = { 0 };
	int result;

	/* What cannot be known counts as left. */
	for (size_t i = 0; i < count; i++)
		is_left[i] = true;
	result = links_read(netlink, NULL, &list, ret_error);
	if (result < 0)
		return result;
	if (count < 2 || has_other(&list) ||
	    delete_together(netlink, &list, devices, count) < 0)
		result = delete_each(netlink, &list, devices, count, ret_error);
	links_fini(&list);
	if (result < 0 && links_read(netlink, "vxlan", &list, NULL) < 0)
		return result;
	for (size_t i = 0; i < count; i++)
		is_left[i] = find_device(&list, &devices[i]) != NULL;
	links_fini(&list);
	return result;
}
