/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The kernel takes no alias, and no setting of IPv6, in the request that makes
 * a device: they go in the next one. It does take the group, so a device that a
 * crash leaves between the two is known as ours by group and name. The two are
 * not one datagram: should the first be refused since the name is another's,
 * the second would give our alias to that device.
 */
#include "lanes/driver/ethernet/device.h"

#include <linux/if_link.h>
#include <linux/neighbour.h>
#include <linux/rtnetlink.h>
#include <string.h>

#include "lanes/driver/ethernet/links.h"

#define TTL_DEFAULT        1 /* never routed away */
#define TOS_INHERIT        1 /* DSCP of the packet inside */
#define ADDR_GEN_MODE_NONE 1

static size_t size_of(const struct ip_address *address)
{
	return address->family == 4 ? 4 : 16;
}

static struct nl_msg *ask_creation(const struct lane_device *device)
{
	const struct ifinfomsg info = { .ifi_flags = IFF_NOARP,
					.ifi_change = IFF_NOARP };
	struct nl_msg *message = netlink_message(
		RTM_NEWLINK, NLM_F_CREATE | NLM_F_EXCL, &info, sizeof(info));
	struct nlattr *kind;
	struct nlattr *data;

	nla_put_string(message, IFLA_IFNAME, device->name);
	nla_put(message, IFLA_ADDRESS, sizeof(device->mac), device->mac);
	nla_put_u32(message, IFLA_MTU, device->mtu);
	nla_put_u32(message, IFLA_GROUP, ETHERNET_LINK_GROUP);
	kind = nla_nest_start(message, IFLA_LINKINFO);
	nla_put_string(message, IFLA_INFO_KIND, "vxlan");
	data = nla_nest_start(message, IFLA_INFO_DATA);
	nla_put_u32(message, IFLA_VXLAN_ID, device->vni);
	nla_put_u32(message, IFLA_VXLAN_LINK, (uint32_t)device->underlay_index);
	nla_put(message,
		device->underlay.family == 4 ? IFLA_VXLAN_LOCAL
					     : IFLA_VXLAN_LOCAL6,
		(int)size_of(&device->underlay), device->underlay.bytes);
	nla_put_u16(message, IFLA_VXLAN_PORT, htons(device->port));
	nla_put_u8(message, IFLA_VXLAN_LEARNING, 0);
	nla_put_u8(message, IFLA_VXLAN_TTL,
		   device->ttl ? device->ttl : TTL_DEFAULT);
	nla_put_u8(message, IFLA_VXLAN_TOS, TOS_INHERIT);
	/* All devices of a port have to agree on it: links.c knows. */
	nla_put_u8(message, IFLA_VXLAN_UDP_ZERO_CSUM6_RX, 1);
	nla_nest_end(message, data);
	nla_nest_end(message, kind);
	return message;
}

static struct nl_msg *ask_alias(const struct lane_device *device)
{
	const struct ifinfomsg info = { 0 };
	struct nl_msg *message =
		netlink_message(RTM_SETLINK, 0, &info, sizeof(info));
	char alias[ETHERNET_ALIAS_MAX];

	ethernet_alias_format(&device->alias, alias);
	nla_put_string(message, IFLA_IFNAME, device->name);
	nla_put(message, IFLA_IFALIAS, (int)strlen(alias), alias);
	return message;
}

/* No link-local address. */
static struct nl_msg *ask_addr_gen_mode(int index)
{
	const struct ifinfomsg info = { .ifi_index = index };
	struct nl_msg *message =
		netlink_message(RTM_SETLINK, 0, &info, sizeof(info));
	struct nlattr *families;
	struct nlattr *family;

	families = nla_nest_start(message, IFLA_AF_SPEC);
	family = nla_nest_start(message, AF_INET6);
	nla_put_u8(message, IFLA_INET6_ADDR_GEN_MODE, ADDR_GEN_MODE_NONE);
	nla_nest_end(message, family);
	nla_nest_end(message, families);
	return message;
}

static struct nl_msg *ask_address(int index, const struct ip_address *address,
				  uint8_t prefix_size)
{
	const struct ifaddrmsg info = {
		.ifa_family = address->family == 4 ? AF_INET : AF_INET6,
		.ifa_prefixlen = prefix_size,
		.ifa_flags = IFA_F_PERMANENT |
			     (address->family == 6 ? IFA_F_NODAD : 0),
		.ifa_index = (uint32_t)index,
	};
	struct nl_msg *message = netlink_message(
		RTM_NEWADDR, NLM_F_CREATE | NLM_F_REPLACE, &info, sizeof(info));

	nla_put(message, IFA_LOCAL, (int)size_of(address), address->bytes);
	nla_put(message, IFA_ADDRESS, (int)size_of(address), address->bytes);
	return message;
}

/*
 * A neighbour, or for the family AF_BRIDGE a forwarding entry. Not by libnl,
 * which refuses an address of IP in the latter.
 */
static struct nl_msg *ask_neighbour(int index, uint8_t family,
				    const struct ip_address *address,
				    const uint8_t mac[ETHERNET_MAC_SIZE])
{
	const struct ndmsg info = {
		.ndm_family = family,
		.ndm_ifindex = index,
		.ndm_state = family == AF_BRIDGE ? NUD_PERMANENT | NUD_NOARP
						 : NUD_PERMANENT,
		.ndm_flags = family == AF_BRIDGE ? NTF_SELF : 0,
	};
	struct nl_msg *message =
		netlink_message(RTM_NEWNEIGH, NLM_F_CREATE | NLM_F_REPLACE,
				&info, sizeof(info));

	nla_put(message, NDA_DST, (int)size_of(address), address->bytes);
	nla_put(message, NDA_LLADDR, ETHERNET_MAC_SIZE, mac);
	return message;
}

/* "eth0", for errors. */
static void underlay_name(struct netlink *netlink,
			  const struct lane_device *device,
			  char name[IFNAMSIZ + 16])
{
	struct ethernet_link link;

	if (link_read(netlink, NULL, device->underlay_index, &link, NULL) == 0)
		snprintf(name, IFNAMSIZ + 16, "%s", link.name);
	else
		snprintf(name, IFNAMSIZ + 16, "device %d",
			 device->underlay_index);
}

static int make(struct netlink *netlink, const struct lane_device *device,
		struct fairlead_error *ret_error)
{
	char underlay[IFNAMSIZ + 16];
	struct fairlead_error error;
	int result = netlink_call(netlink, ask_creation(device), &error,
				  "cannot make %s", device->name);

	if (result == 0)
		return 0;
	underlay_name(netlink, device, underlay);
	if (result == -EEXIST)
		return error_set(ret_error, result,
				 "cannot make %s on %s: another device has "
				 "that name, or VNI %u on UDP port %u; `ip -d "
				 "link` shows it",
				 device->name, underlay, device->vni,
				 device->port);
	if (result == -EOPNOTSUPP)
		return error_set(
			ret_error, result,
			"cannot make %s on %s: the kernel has no VXLAN "
			"(module vxlan)",
			device->name, underlay);
	return error_set(ret_error, result, "%s (on %s)", error.text, underlay);
}

/* The kernel makes an MTU smaller if it has to, and says nothing. */
static int check_mtu(struct netlink *netlink, const struct lane_device *device,
		     struct fairlead_error *ret_error)
{
	char underlay[IFNAMSIZ + 16];
	struct ethernet_link link;
	int result = link_read(netlink, device->name, 0, &link, ret_error);

	if (result < 0 || link.mtu == device->mtu)
		return result;
	underlay_name(netlink, device, underlay);
	return error_set(ret_error, -EINVAL,
			 "cannot make %s on %s: its MTU of %u is too large, %s "
			 "leaves %u",
			 device->name, underlay, device->mtu, underlay,
			 link.mtu);
}

int device_set_alias(struct netlink *netlink, const struct lane_device *device,
		     struct fairlead_error *ret_error)
{
	return netlink_call(netlink, ask_alias(device), ret_error,
			    "cannot set the alias of %s", device->name);
}

static int finish(struct netlink *netlink, struct lane_device *device,
		  const struct lane_peer *peers, size_t peer_count,
		  struct fairlead_error *ret_error)
{
	int result = device_set_alias(netlink, device, ret_error);

	if (result == 0)
		result = check_mtu(netlink, device, ret_error);
	if (result == 0)
		result = device_dress(netlink, device, peers, peer_count,
				      ret_error);
	return result;
}

int device_create(struct netlink *netlink, struct lane_device *device,
		  const struct lane_peer *peers, size_t peer_count,
		  struct fairlead_error *ret_error)
{
	struct fairlead_error error = { 0 };
	struct fairlead_error left;
	struct ethernet_link link;
	bool is_left = false;
	int result;

	result = make(netlink, device, ret_error);
	if (result < 0)
		return result;
	result = finish(netlink, device, peers, peer_count, &error);
	if (result == 0)
		return 0;
	/* Where its underlay went it is gone, too. */
	if (link_read(netlink, device->name, 0, &link, NULL) == 0) {
		device->index = link.index;
		devices_delete(netlink, device, 1, &is_left, &left);
	}
	device->index = 0;
	if (is_left)
		error_set(&error, result, "%s; it is left: %s", error.text,
			  left.text);
	if (ret_error)
		*ret_error = error;
	return result;
}

/* A name that says the VNI, and that no device has. False: there is none. */
static bool trial_name(struct netlink *netlink, struct lane_device *device)
{
	struct ethernet_names names;
	struct ethernet_link link;

	for (device->rail = 0; device->rail < ETHERNET_RAILS_MAX;
	     device->rail++) {
		ethernet_name(&ethernet_networks_default, device->vni,
			      device->rail, 1, &names);
		memcpy(device->name, names.device, sizeof(device->name));
		if (link_read(netlink, device->name, 0, &link, NULL) < 0)
			return true;
	}
	return false;
}

int device_vni_check(struct netlink *netlink, uint32_t vni, uint16_t port,
		     uint8_t family, struct fairlead_error *ret_error)
{
	struct lane_device device = {
		.vni = vni,
		.port = port,
		.mtu = ETHERNET_MTU_MIN,
		.mac = { 0x02 },
		.underlay.family = family,
	};
	struct ethernet_link link;
	bool is_left;
	int result;

	if (!trial_name(netlink, &device))
		return error_set(ret_error, -EBUSY,
				 "cannot try VNI %u: other devices have all "
				 "names for it: rename %s",
				 vni, device.name);
	result = netlink_call(netlink, ask_creation(&device), ret_error,
			      "cannot try VNI %u", vni);
	if (result == -EEXIST)
		return error_set(ret_error, -EBUSY,
				 "a device that cannot be found has VNI %u: "
				 "end the processes in its network namespace, "
				 "which is not one of 'namespaces', or whose "
				 "file somebody has removed",
				 vni);
	if (result == 0)
		result = link_read(netlink, device.name, 0, &link, ret_error);
	/* A kernel without IPv6 has none over it. */
	if (family == 6 && (result == -EAFNOSUPPORT || result == -EPFNOSUPPORT))
		return 0;
	if (result < 0)
		return result;
	device.index = link.index;
	return devices_delete(netlink, &device, 1, &is_left, ret_error);
}

static void queue_peer(struct netlink *netlink, int index,
		       const struct lane_peer *peer)
{
	netlink_queue(netlink, ask_neighbour(index, AF_BRIDGE, &peer->underlay,
					     peer->mac));
	if (peer->ipv4.family)
		netlink_queue(netlink, ask_neighbour(index, AF_INET,
						     &peer->ipv4, peer->mac));
	if (peer->ipv6.family)
		netlink_queue(netlink, ask_neighbour(index, AF_INET6,
						     &peer->ipv6, peer->mac));
}

/* Which peer the request at that place is of. */
static const struct lane_peer *find_peer(const struct lane_peer *peers,
					 size_t peer_count, size_t place)
{
	for (size_t i = 0; i < peer_count; i++) {
		size_t requests = 1u + (peers[i].ipv4.family != 0) +
				  (peers[i].ipv6.family != 0);

		if (place < requests)
			return &peers[i];
		place -= requests;
	}
	return NULL;
}

int device_dress(struct netlink *netlink, struct lane_device *device,
		 const struct lane_peer *peers, size_t peer_count,
		 struct fairlead_error *ret_error)
{
	char text[IP_ADDRESS_TEXT_MAX];
	struct fairlead_error error = { 0 };
	const struct lane_peer *peer;
	struct ethernet_link link;
	size_t first_peer = 1;
	size_t failed;
	int result = link_read(netlink, device->name, 0, &link, ret_error);

	if (result < 0)
		return result;
	netlink_queue(netlink, ask_addr_gen_mode(link.index));
	if (device->ipv4.family) {
		netlink_queue(netlink, ask_address(link.index, &device->ipv4,
						   device->ipv4_prefix_size));
		first_peer++;
	}
	if (device->ipv6.family) {
		netlink_queue(netlink, ask_address(link.index, &device->ipv6,
						   ETHERNET_IPV6_PREFIX_SIZE));
		first_peer++;
	}
	for (size_t i = 0; i < peer_count; i++)
		queue_peer(netlink, link.index, &peers[i]);
	result = netlink_flush(netlink, &failed, &error);
	if (result == 0) {
		device->index = link.index;
		return 0;
	}
	/* Switched off for devices, or as a whole. */
	if (result == -EACCES || (result == -EAFNOSUPPORT && failed == 0))
		return error_set(ret_error, result,
				 "%s: IPv6 is off on this node, and lanes need "
				 "it: see net.ipv6.conf.default.disable_ipv6 "
				 "(%s)",
				 device->name, error.text);
	if (failed < first_peer)
		return error_set(ret_error, result,
				 "%s: cannot set its addresses: %s",
				 device->name, error.text);
	peer = find_peer(peers, peer_count, failed - first_peer);
	ip_address_format(&peer->underlay, text);
	return error_set(ret_error, result, "%s: cannot add the peer %s: %s",
			 device->name, text, error.text);
}

static int set_flags(struct netlink *netlink, const struct lane_device *device,
		     unsigned int flags, struct fairlead_error *ret_error)
{
	const struct ifinfomsg info = { .ifi_index = device->index,
					.ifi_flags = flags,
					.ifi_change = IFF_UP };

	return netlink_call(
		netlink, netlink_message(RTM_SETLINK, 0, &info, sizeof(info)),
		ret_error, "cannot set %s %s", device->name,
		flags & IFF_UP ? "up" : "down");
}

int device_up(struct netlink *netlink, const struct lane_device *device,
	      struct fairlead_error *ret_error)
{
	int result = set_flags(netlink, device, IFF_UP, ret_error);

	if (result == -EADDRINUSE)
		error_set(ret_error, result,
			  "%s: UDP port %u is in use, by a program, in another "
			  "network namespace, or by a VXLAN device with other "
			  "flags than ours (udp6zerocsumrx and no extension): "
			  "give one of them another port",
			  device->name, device->port);
	return result;
}

int device_down(struct netlink *netlink, const struct lane_device *device,
		struct fairlead_error *ret_error)
{
	int result = set_flags(netlink, device, 0, ret_error);

	return result == -ENODEV ? 0 : result;
}
