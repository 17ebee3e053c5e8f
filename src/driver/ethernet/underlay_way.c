/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Most peers have an address of a network that the NIC has one of, too: nobody
 * is asked about these. For the others the kernel says what it would do.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <linux/rtnetlink.h>
#include <string.h>

#include "driver/ethernet/links.h"
#include "driver/ethernet/underlay.h"

struct way {
	bool has_router;
	struct ip_address router; /* family 0: not told */
};

static void take_way(void *arg, const struct nlmsghdr *header)
{
	struct nlattr *attributes[RTA_MAX + 1];
	struct way *way = arg;

	if (header->nlmsg_type != RTM_NEWROUTE ||
	    nlmsg_parse((struct nlmsghdr *)header, sizeof(struct rtmsg),
			attributes, RTA_MAX, NULL) < 0)
		return;
	way->has_router = attributes[RTA_GATEWAY] || attributes[RTA_VIA];
	way->router = link_address_of(attributes[RTA_GATEWAY]);
}

/* How the kernel would send to it. */
static int ask_way(struct netlink *netlink, const struct underlay *underlay,
		   const struct ip_address *peer, struct way *ret_way,
		   struct fairlead_error *ret_error)
{
	bool is_ipv4 = peer->family == 4;
	const struct rtmsg info = {
		.rtm_family = is_ipv4 ? AF_INET : AF_INET6,
		.rtm_dst_len = is_ipv4 ? 32 : 128,
		.rtm_src_len = is_ipv4 ? 32 : 128,
	};
	struct nl_msg *message = nlmsg_alloc_simple(RTM_GETROUTE, 0);
	int size = is_ipv4 ? 4 : 16;

	if (message) {
		nlmsg_append(message, (void *)&info, sizeof(info),
			     NLMSG_ALIGNTO);
		nla_put(message, RTA_DST, size, peer->bytes);
		nla_put(message, RTA_SRC, size, underlay->address.bytes);
	}
	*ret_way = (struct way){ 0 };
	return netlink_get(netlink, message, take_way, ret_way, ret_error,
			   "cannot ask for a route");
}

static int check_way(struct netlink *netlink, const struct underlay *underlay,
		     const struct ip_address *peer,
		     struct fairlead_error *ret_error)
{
	char address[IP_ADDRESS_TEXT_MAX], router[IP_ADDRESS_TEXT_MAX];
	struct fairlead_error error;
	struct way way;
	int result = ask_way(netlink, underlay, peer, &way, &error);

	if (result == 0 && !way.has_router)
		return 0;
	if (result == -ENOMEM)
		return error_set(ret_error, result, "%s", error.text);
	ip_address_format(peer, address);
	ip_address_format(&way.router, router);
	if (result < 0)
		return error_set(ret_error, -EHOSTUNREACH,
				 "there is no way to %s (%s)", address,
				 strerror(-result));
	return error_set(ret_error, -EHOSTUNREACH, "%s is behind router %s",
			 address, router);
}

/* Is it in a network of the NIC's? */
static bool is_beside(const struct link_address_list *own,
		      const struct underlay *underlay,
		      const struct ip_address *peer)
{
	for (size_t i = 0; i < own->count; i++) {
		const struct link_address *address = &own->addresses[i];
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
			const struct underlay *underlay,
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
		result = check_way(netlink, underlay, peer, ret_error);
		if (result == -EHOSTUNREACH)
			*ret_far = i;
	}
	link_addresses_fini(&own);
	return result;
}
