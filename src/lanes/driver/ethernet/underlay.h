/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The NICs that carry lanes: a rail each, in the order of their names or of the
 * setting. Peers meet on a rail by its number, so that one NIC that goes must
 * not give another its rail.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "lanes/driver/ethernet/netlink.h"
#include "lanes/driver/ethernet/naming.h"

struct underlay {
	int index;
	char name[IFNAMSIZ];
	struct ip_address address; /* that VXLAN sends from */
	uint32_t mtu;
	uint32_t speed_mbit; /* 0: not known */
	bool is_usable;
	char flaw[128]; /* why not: down, no address, MTU too small */
};

/* The NICs of the node, usable or not: the place of each is its rail. */
struct underlays {
	size_t count;
	struct underlay list[ETHERNET_RAILS_MAX];
	/* Those for which there is no rail: "eth4, eth5"; "" */
	char left_out[64];
};

/* NICs that "auto" has taken, by rail; nothing at first. */
struct underlay_names {
	size_t count;
	char names[ETHERNET_RAILS_MAX][IFNAMSIZ];
};

/*
 * devices: names with commas; "auto": each Ethernet device that is up and has a
 * global address, but bridges, tunnels, devices of a bridge or bond, and ours,
 * in the order of names (eth2, eth10). Where there are more than rails the
 * first in that order are taken, or in the order in which they are named. A NIC
 * that is named, or that auto has taken before, and is not there or cannot be
 * used, is listed with its flaw, and keeps its rail; one of auto's that is gone
 * does so while there are lanes. *taken is what auto takes, from call to call.
 * The speed is what the NIC says. -EINVAL with a text: no list of names, or one
 * of them twice; -EIO.
 */
int underlay_list(struct netlink *netlink, const char *devices,
		  struct underlay_names *taken, struct underlays *ret_list,
		  struct fairlead_error *ret_error);

/*
 * The text says why "auto" takes none of the NICs that it could: "eth1: it is
 * down". Without any it stays as it is.
 */
void underlay_flaws(struct netlink *netlink, struct fairlead_error *error);

/*
 * Can VXLAN have the port? -EADDRINUSE with a text: somebody else's socket has
 * it, or a VXLAN device with which ours cannot share it. Nothing is bound.
 * is_inside: a device of ours has it that netlink does not see, in a namespace
 * of a job.
 */
int underlay_port_check(struct netlink *netlink, uint16_t port, bool is_inside,
			struct fairlead_error *ret_error);

/*
 * -EADDRINUSE with a text that names both when an address or a route of this
 * node, other than those of our devices and default routes, lies in one of the
 * networks. A route that covers more than the network lies not in it.
 */
int underlay_clash(struct netlink *netlink,
		   const struct ethernet_networks *networks,
		   struct fairlead_error *ret_error);

/*
 * Does what is for one of the NICs come by it? -EADDRINUSE with a text: two are
 * in one network of IPv4, and the node answers for both at either, or drops
 * what comes by the one that its route does not name.
 */
int underlay_apart_check(struct netlink *netlink, const struct underlays *list,
			 struct fairlead_error *ret_error);

/*
 * Does the node reach all of `count` peers by that NIC, as VXLAN will, and
 * without a router in between unless ttl is more than 1? They stand at every
 * stride-th place; those of no family are left out. The text says what is in
 * the way of the first that it does not, whose number is *ret_far then, and
 * only then: -EHOSTUNREACH, "10.2.0.5 is behind router 10.1.0.1"; -ENETUNREACH,
 * "10.2.0.5 is reached by eth2": the NICs of the two are not of one network.
 * -EIO.
 */
int underlay_ways_check(struct netlink *netlink,
			const struct underlay *underlay, uint8_t ttl,
			const struct ip_address *peers, size_t count,
			size_t stride, size_t *ret_far,
			struct fairlead_error *ret_error);
