/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Most peers have an address of a network that the NIC has one of, too: nobody
 * is asked about these. For the others the kernel says what it would do with a
 * packet that is bound to the NIC, as VXLAN's are. Over IPv4 it sends such a
 * packet out by the NIC also where no route says so, which only the match of a
 * route shows; over IPv6 by another NIC if there is a better route.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <linux/rtnetlink.h>
#include <string.h>

#include "lanes/driver/ethernet/links.h"
#include "lanes/driver/ethernet/underlay.h"

struct way {
	int index; /* of the device that leads there */
	bool has_router;
	struct ip_address router; /* family 0: not known */
};

static void take_way(void *arg, const struct nlmsghdr *header)
{
	struct nlattr *attributes[RTA_MAX + 1];
	struct way *way = arg;

	if (header->nlmsg_type != RTM_NEWROUTE ||
	    nlmsg_parse((struct nlmsghdr *)header, sizeof(struct rtmsg),
			attributes, RTA_MAX, NULL) < 0)
		return;
	if (attributes[RTA_OIF])
		way->index = (int)nla_get_u32(attributes[RTA_OIF]);
	way->has_router = attributes[RTA_GATEWAY] || attributes[RTA_VIA];
	way->router = link_address_of(attributes[RTA_GATEWAY]);
}

/* How the kernel would send to it: by that NIC, or with NULL by any. */
static int ask_way(struct netlink *netlink, const struct underlay *underlay,
		   const struct ip_address *peer, uint32_t flags,
		   struct way *ret_way, struct fairlead_error *ret_error)
{
	bool is_ipv4 = peer->family == 4;
	const struct rtmsg info = {
		.rtm_family = is_ipv4 ? AF_INET : AF_INET6,
		.rtm_dst_len = is_ipv4 ? 32 : 128,
		.rtm_src_len = underlay ? (is_ipv4 ? 32 : 128) : 0,
		.rtm_flags = flags,
	};
	struct nl_msg *message =
		netlink_message(RTM_GETROUTE, 0, &info, sizeof(info));
	int size = is_ipv4 ? 4 : 16;

	nla_put(message, RTA_DST, size, peer->bytes);
	if (underlay) {
		nla_put(message, RTA_SRC, size, underlay->address.bytes);
		nla_put_u32(message, RTA_OIF, (uint32_t)underlay->index);
	}
	*ret_way = (struct way){ 0 };
	return netlink_get(netlink, message, take_way, ret_way, ret_error,
			   "cannot ask for a route");
}

/* It is not by this NIC: by which, if by any. */
static int say_other(struct netlink *netlink, const struct ip_address *peer,
		     const struct way *other, int why,
		     struct fairlead_error *ret_error)
{
	char address[IP_ADDRESS_TEXT_MAX];
	struct ethernet_link link;

	ip_address_format(peer, address);
	if (other->index != 0 &&
	    link_read(netlink, NULL, other->index, &link, NULL) == 0)
		return error_set(ret_error, -ENETUNREACH, "%s is reached by %s",
				 address, link.name);
	return error_set(ret_error, -ENETUNREACH, "there is no way to %s (%s)",
			 address, strerror(why < 0 ? -why : ENETUNREACH));
}

static int say_router(const struct ip_address *peer, const struct way *way,
		      struct fairlead_error *ret_error)
{
	char address[IP_ADDRESS_TEXT_MAX], router[IP_ADDRESS_TEXT_MAX];

	ip_address_format(peer, address);
	ip_address_format(&way->router, router);
	return error_set(ret_error, -EHOSTUNREACH, "%s is behind router %s",
			 address, router);
}

static int check_way(struct netlink *netlink, const struct underlay *underlay,
		     uint8_t ttl, const struct ip_address *peer,
		     struct fairlead_error *ret_error)
{
	struct fairlead_error error;
	struct way way, match, other;
	int result = ask_way(netlink, underlay, peer, 0, &way, &error);
	bool is_here = result == 0 && way.index == underlay->index;

	if (is_here && !way.has_router && peer->family == 4)
		result = ask_way(netlink, underlay, peer, RTM_F_FIB_MATCH,
				 &match, &error);
	if (is_here && !way.has_router && result == 0)
		return 0;
	(void)ask_way(netlink, NULL, peer, 0, &other, &error);
	/* A router may know more, but not of what is beside another NIC. */
	if (!is_here || !way.has_router ||
	    (other.index != underlay->index && !other.has_router &&
	     other.index != 0))
		return say_other(netlink, peer, &other, result, ret_error);
	return ttl > 1 ? 0 : say_router(peer, &way, ret_error);
}

/* Is it in a network of the NIC's? */
static bool is_beside(const struct link_address_list *own,
		      const struct underlay *underlay,
		      const struct ip_address *peer)
{
	for (size_t i = 0; i < own->count; i++) {
		const struct ethernet_link_address *address =
			&own->addresses[i];
		struct ip_network network;

		if (address->index != underlay->index ||
		    address->address.family != peer->family)
			continue;
		network =
			ip_network_of(&address->address, address->prefix_size);
		if (ip_network_has(&network, peer))
			return true;
	}
	return false;
}

int underlay_ways_check(struct netlink *netlink,
			const struct underlay *underlay, uint8_t ttl,
			const struct ip_address *peers, size_t count,
			size_t stride, size_t *ret_far,
			struct fairlead_error *ret_error)
{
	struct link_address_list own = { 0 };
	int result = link_addresses_read(netlink, &own, ret_error);

	for (size_t i = 0; i < count && result == 0; i++) {
		const struct ip_address *peer = &peers[i * stride];

		if (peer->family == 0 || is_beside(&own, underlay, peer))
			continue;
		result = check_way(netlink, underlay, ttl, peer, ret_error);
		if (result == -EHOSTUNREACH || result == -ENETUNREACH)
			*ret_far = i;
	}
	link_addresses_fini(&own);
	return result;
}
