/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What is in the way of lanes on this node.
 *
 * A route that covers more than the network is no clash: it leads to hosts
 * outside, and lanes' own routes are narrower. The same for a default route.
 */
#include <errno.h>
#include <linux/rtnetlink.h>
#include <stdio.h>
#include <string.h>

#include "base/cleanup.h"
#include "lanes/driver/ethernet/links.h"
#include "lanes/driver/ethernet/underlay.h"

/* --- routes --- */

struct clash_search {
	const struct ethernet_networks *networks;
	const struct link_list *links;
	bool is_found;
	struct ip_network route;
	int index; /* of its device; 0: several, or none */
};

/* The network that has it, or NULL. */
static const struct ip_network *find_network(
	const struct ethernet_networks *networks,
	const struct ip_address *address, uint8_t prefix_size)
{
	const struct ip_network *const both[] = { &networks->ipv4,
						  &networks->ipv6 };

	for (int i = 0; i < 2; i++) {
		if (both[i]->address.family &&
		    prefix_size >= both[i]->prefix_size &&
		    ip_network_has(both[i], address))
			return both[i];
	}
	return NULL;
}

static bool is_ours(const struct link_list *links, int index)
{
	const struct ethernet_link *link = link_find(links, index);

	return link && link_is_ours(link);
}

static const char *name_of(const struct link_list *links, int index)
{
	const struct ethernet_link *link = link_find(links, index);

	return link ? link->name : "(no device)";
}

/* What the site changes. */
static const char *setting_of(const struct ip_network *network)
{
	return network->address.family == 4 ? "ipv4_network" : "ipv6_network";
}

static bool is_loopback(const struct ip_address *address)
{
	static const struct ip_address one = { 6, { [15] = 1 } };

	return (address->family == 4 && address->bytes[0] == 127) ||
	       ip_address_equal(address, &one);
}

static int check_addresses(const struct clash_search *search,
			   const struct link_address_list *list,
			   struct fairlead_error *ret_error)
{
	for (size_t i = 0; i < list->count; i++) {
		const struct ethernet_link_address *own = &list->addresses[i];
		const struct ip_network *network =
			find_network(search->networks, &own->address,
				     own->address.family == 4 ? 32 : 128);
		char address[IP_ADDRESS_TEXT_MAX];
		char text[IP_NETWORK_TEXT_MAX];

		if (!network || is_loopback(&own->address) ||
		    is_ours(search->links, own->index))
			continue;
		ip_address_format(&own->address, address);
		ip_network_format(network, text);
		return error_set(ret_error, -EADDRINUSE,
				 "address %s of %s lies in %s, the network of "
				 "lanes: give them another (%s)",
				 address, name_of(search->links, own->index),
				 text, setting_of(network));
	}
	return 0;
}

static void take_route(void *arg, const struct nlmsghdr *header)
{
	struct clash_search *search = arg;
	struct nlattr *attributes[RTA_MAX + 1];
	const struct rtmsg *info = nlmsg_data(header);
	struct ip_address target;
	int index = 0;

	if (search->is_found || header->nlmsg_type != RTM_NEWROUTE ||
	    nlmsg_parse((struct nlmsghdr *)header, sizeof(*info), attributes,
			RTA_MAX, NULL) < 0)
		return;
	/* Those that addresses bring have been looked at with them. */
	if (info->rtm_type == RTN_LOCAL || info->rtm_type == RTN_BROADCAST ||
	    info->rtm_type == RTN_ANYCAST || info->rtm_type == RTN_MULTICAST ||
	    info->rtm_flags & RTM_F_CLONED)
		return;
	target = link_address_of(attributes[RTA_DST]);
	if (attributes[RTA_OIF])
		index = (int)nla_get_u32(attributes[RTA_OIF]);
	if (!target.family || is_loopback(&target) ||
	    !find_network(search->networks, &target, info->rtm_dst_len) ||
	    is_ours(search->links, index))
		return;
	search->is_found = true;
	search->route.address = target;
	search->route.prefix_size = info->rtm_dst_len;
	search->index = index;
}

static int check_routes(struct netlink *netlink, struct clash_search *search,
			struct fairlead_error *ret_error)
{
	const struct rtmsg info = { .rtm_family = AF_UNSPEC };
	char route[IP_NETWORK_TEXT_MAX];
	char text[IP_NETWORK_TEXT_MAX];
	const struct ip_network *network;
	int result;

	result = netlink_get(
		netlink,
		netlink_message(RTM_GETROUTE, NLM_F_DUMP, &info, sizeof(info)),
		take_route, search, ret_error, "cannot list routes");
	if (result < 0 || !search->is_found)
		return result;
	ip_network_format(&search->route, route);
	network = find_network(search->networks, &search->route.address,
			       search->route.prefix_size);
	ip_network_format(network, text);
	return error_set(ret_error, -EADDRINUSE,
			 "the route to %s by %s lies in %s, the network of "
			 "lanes: give them another (%s)",
			 route, name_of(search->links, search->index), text,
			 setting_of(network));
}

int underlay_clash(struct netlink *netlink,
		   const struct ethernet_networks *networks,
		   struct fairlead_error *ret_error)
{
	struct links_held all;
	struct clash_search search = { .networks = networks,
				       .links = &all.links };
	int result = links_held_read(netlink, &all, ret_error);

	if (result < 0)
		return result;
	result = check_addresses(&search, &all.addresses, ret_error);
	if (result == 0)
		result = check_routes(netlink, &search, ret_error);
	links_held_fini(&all);
	return result;
}

/*
 * --- ports ---
 *
 * Nothing is bound to find out: it would be in the way of a lane that comes up
 * at that moment. VXLAN's own sockets are listed like all others, so that a
 * port is another program's when it is in the list and no VXLAN device that is
 * up has it.
 */

static bool is_listed(const char *path, uint16_t port)
{
	_auto_(fclosep) FILE *file = fopen(path, "re");
	char line[512];
	unsigned int own;

	while (file && fgets(line, sizeof(line), file)) {
		if (sscanf(line, " %*d: %*[0-9A-Fa-f]:%4x ", &own) == 1 &&
		    own == port)
			return true;
	}
	return false;
}

int underlay_port_check(struct netlink *netlink, uint16_t port, bool is_inside,
			struct fairlead_error *ret_error)
{
	bool is_bound = is_listed("/proc/thread-self/net/udp", port) ||
			is_listed("/proc/thread-self/net/udp6", port);
	struct link_list list = { 0 };
	bool is_known = is_inside;
	int result;

	if (!is_bound)
		return 0;
	result = links_read(netlink, "vxlan", &list, ret_error);
	for (size_t i = 0; result == 0 && i < list.count; i++) {
		const struct ethernet_link *link = &list.links[i];

		if (link->vxlan.port != port || !(link->flags & IFF_UP))
			continue;
		is_known = true;
		if (!link->vxlan.is_alike)
			result = error_set(ret_error, -EADDRINUSE,
					   "UDP port %u is in use by VXLAN "
					   "device %s, which is not ours, with "
					   "other flags",
					   port, link->name);
	}
	links_fini(&list);
	if (result == 0 && !is_known)
		result = error_set(ret_error, -EADDRINUSE,
				   "UDP port %u is in use by another program: "
				   "end it, or set 'port'",
				   port);
	return result;
}

/*
 * --- two NICs in one network ---
 *
 * The kernel answers ARP for all of its addresses at all NICs, so that peers
 * send to one of two NICs in a network what is for the other, where the rules
 * refuse it. IPv6 answers for the NIC's own. Settings count for a NIC as the
 * greater of its own and that of all.
 */

/* -1: it cannot be known. */
static int read_setting(const char *nic, const char *name)
{
	char path[64 + IFNAMSIZ];
	_auto_(fclosep) FILE *file = NULL;
	int value = -1;

	snprintf(path, sizeof(path), "/proc/sys/net/ipv4/conf/%s/%s", nic,
		 name);
	file = fopen(path, "re");
	if (!file || fscanf(file, "%d", &value) != 1)
		return -1;
	return value;
}

static int nic_setting(const struct underlay *nic, const char *name)
{
	int all = read_setting("all", name);
	int own = read_setting(nic->name, name);

	return all > own ? all : own;
}

static uint8_t prefix_of(const struct link_address_list *own,
			 const struct underlay *nic)
{
	for (size_t i = 0; i < own->count; i++) {
		const struct ethernet_link_address *address =
			&own->addresses[i];

		if (address->index == nic->index &&
		    ip_address_equal(&address->address, &nic->address))
			return address->prefix_size;
	}
	return 32;
}

static int check_pair(const struct link_address_list *own,
		      const struct underlay *a, const struct underlay *b,
		      struct fairlead_error *ret_error)
{
	struct ip_network of_a = ip_network_of(&a->address, prefix_of(own, a));
	struct ip_network of_b = ip_network_of(&b->address, prefix_of(own, b));
	char text[IP_NETWORK_TEXT_MAX];
	const char *advice = NULL;

	if (a->address.family != 4 || !ip_network_meets(&of_a, &of_b))
		return 0;
	if (nic_setting(a, "arp_ignore") == 0 ||
	    nic_setting(b, "arp_ignore") == 0)
		advice = "arp_ignore to 1";
	else if (nic_setting(a, "rp_filter") == 1 ||
		 nic_setting(b, "rp_filter") == 1)
		advice = "rp_filter to 2";
	if (!advice)
		return 0;
	ip_network_format(&of_a, text);
	return error_set(ret_error, -EADDRINUSE,
			 "%s and %s are both in %s: set net.ipv4.conf.all.%s",
			 a->name, b->name, text, advice);
}

int underlay_apart_check(struct netlink *netlink, const struct underlays *list,
			 struct fairlead_error *ret_error)
{
	struct link_address_list own = { 0 };
	int result = link_addresses_read(netlink, &own, ret_error);

	for (size_t i = 0; i < list->count; i++) {
		for (size_t k = i + 1; k < list->count && result == 0; k++) {
			if (list->list[i].is_usable && list->list[k].is_usable)
				result = check_pair(&own, &list->list[i],
						    &list->list[k], ret_error);
		}
	}
	link_addresses_fini(&own);
	return result;
}
