/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Devices as links and their addresses describe them: of several addresses that
 * of the site's networks is the lane's.
 */
#include <linux/if_link.h>
#include <linux/neighbour.h>
#include <linux/rtnetlink.h>
#include <string.h>

#include "lanes/driver/ethernet/device.h"
#include "lanes/driver/ethernet/links.h"

/* Of the lanes' network, or at least the first: others come by hand. */
static bool is_better(const struct ip_network *network,
		      const struct ip_address *address,
		      const struct ip_address *before)
{
	return before->family == 0 || (!ip_network_has(network, before) &&
				       ip_network_has(network, address));
}

static void take_addresses(struct lane_device *device,
			   const struct ethernet_networks *networks,
			   const struct ethernet_link_address *addresses,
			   size_t count)
{
	for (size_t i = 0; i < count; i++) {
		const struct ethernet_link_address *own = &addresses[i];

		if (own->scope != RT_SCOPE_UNIVERSE)
			continue;
		if (own->address.family == 4 &&
		    is_better(&networks->ipv4, &own->address, &device->ipv4)) {
			device->ipv4 = own->address;
			device->ipv4_prefix_size = own->prefix_size;
		}
		if (own->address.family == 6 &&
		    is_better(&networks->ipv6, &own->address, &device->ipv6))
			device->ipv6 = own->address;
	}
}

static void fill(const struct ethernet_link *link,
		 struct lane_device *ret_device)
{
	struct lane_device device = {
		.index = link->index,
		.is_ours = link_is_ours(link),
		.is_up = link->flags & IFF_UP,
		.vni = link->vxlan.vni,
		.port = link->vxlan.port,
		.mtu = link->mtu,
		.underlay_index = link->vxlan.underlay_index,
		.underlay = link->vxlan.local,
	};

	memcpy(device.name, link->name, sizeof(device.name));
	memcpy(device.mac, link->mac, sizeof(device.mac));
	if (device.is_ours)
		ethernet_alias_parse(link->alias, &device.alias);
	*ret_device = device;
}

int devices_list(struct netlink *netlink,
		 const struct ethernet_networks *networks,
		 void (*emit)(void *arg, const struct lane_device *device),
		 void *arg, struct fairlead_error *ret_error)
{
	struct link_list links = { 0 };
	struct link_address_list addresses = { 0 };
	size_t first = 0;
	int result = links_read(netlink, "vxlan", &links, ret_error);

	if (result == 0 && links.count > 0)
		result = link_addresses_read(netlink, &addresses, ret_error);
	for (size_t i = 0; i < links.count && result == 0; i++) {
		struct lane_device device;
		size_t end;

		fill(&links.links[i], &device);
		/* Both lists rise by index. */
		while (first < addresses.count &&
		       addresses.addresses[first].index < device.index)
			first++;
		end = first;
		while (end < addresses.count &&
		       addresses.addresses[end].index == device.index)
			end++;
		if (end > first)
			take_addresses(&device, networks,
				       addresses.addresses + first,
				       end - first);
		emit(arg, &device);
	}
	links_fini(&links);
	link_addresses_fini(&addresses);
	return result;
}

struct peer_reading {
	int index;
	void (*emit)(void *arg, int index, const struct ip_address *underlay);
	void *arg;
};

static void take_peer(void *arg, const struct nlmsghdr *header)
{
	const struct peer_reading *reading = arg;
	struct nlattr *attributes[NDA_MAX + 1];
	const struct ndmsg *info = nlmsg_data(header);
	struct ip_address underlay;

	if (header->nlmsg_type != RTM_NEWNEIGH ||
	    nlmsg_parse((struct nlmsghdr *)header, sizeof(*info), attributes,
			NDA_MAX, NULL) < 0 ||
	    (reading->index && info->ndm_ifindex != reading->index))
		return;
	underlay = link_address_of(attributes[NDA_DST]);
	if (underlay.family)
		reading->emit(reading->arg, info->ndm_ifindex, &underlay);
}

int devices_peers(struct netlink *netlink, int index,
		  void (*emit)(void *arg, int index,
			       const struct ip_address *underlay),
		  void *arg, struct fairlead_error *ret_error)
{
	/* The kernel takes this for a filter, in place of struct ndmsg. */
	const struct ifinfomsg info = { .ifi_family = AF_BRIDGE,
					.ifi_index = index };
	struct peer_reading reading = { index, emit, arg };

	return netlink_get(netlink,
			   netlink_message(RTM_GETNEIGH, NLM_F_DUMP, &info,
					   sizeof(info)),
			   take_peer, &reading, ret_error,
			   "cannot list the peers of VXLAN devices");
}

/*
 * A device of a kind that wants data, asked for without any, is refused by
 * every kernel that has the kind, and so nothing is made; a kernel without it
 * does not know the word. Its module is loaded, if there is one.
 */
int device_probe(struct netlink *netlink, const char *kind,
		 struct fairlead_error *ret_error)
{
	const struct ifinfomsg info = { 0 };
	struct nl_msg *message =
		netlink_message(RTM_NEWLINK, NLM_F_CREATE, &info, sizeof(info));
	struct fairlead_error error;
	struct nlattr *nest;
	int result;

	nest = nla_nest_start(message, IFLA_LINKINFO);
	nla_put_string(message, IFLA_INFO_KIND, kind);
	nla_nest_end(message, nest);
	result = netlink_call(netlink, message, &error, "cannot try %s", kind);
	if (result == -EOPNOTSUPP)
		return error_set(ret_error, result,
				 "the kernel has no devices of kind %s, nor a "
				 "module for them",
				 kind);
	if (result == -EPERM)
		return error_set(ret_error, result,
				 "may not make network devices: this needs "
				 "root, with CAP_NET_ADMIN");
	return 0;
}
