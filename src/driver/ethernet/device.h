/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A lane's VXLAN devices. What is there is asked of the kernel each time: a
 * device carries its grant in its alias, and is of our link group, so that
 * nothing of ours is lost with a process.
 *
 *	device_create -> (rules and gates for it) -> device_up -> devices_delete
 *
 * A device has fixed peers: no learning, no multicast, no ARP; each peer is one
 * forwarding entry and a permanent neighbour in each family.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "driver/ethernet/netlink.h"
#include "driver/ethernet/plan.h"

#define ETHERNET_LINK_GROUP 17996 /* 0x464c, "FL" */

struct lane_device {
	int index; /* 0: not made yet */
	char name[IFNAMSIZ];
	bool is_ours; /* its alias and group are; else the rest may be empty */
	bool is_up;
	uint32_t vni;
	uint32_t rail;
	uint16_t port;
	uint32_t mtu;
	uint8_t mac[ETHERNET_MAC_SIZE];
	int underlay_index;
	struct ip_address underlay; /* the node's own, that it sends from */
	struct ip_address ipv4;     /* family 0: none */
	uint8_t ipv4_prefix_size;
	struct ip_address ipv6;
	struct ethernet_alias alias;
};

struct lane_peer {
	uint8_t mac[ETHERNET_MAC_SIZE];
	struct ip_address underlay;
	struct ip_address ipv4;
	struct ip_address ipv6;
};

/*
 * Make the device, down, with its alias, group, addresses and peers; sets
 * device->index. On a failure nothing is left. -EEXIST: the name or the VNI (on
 * this port) is in use; -EADDRINUSE: another VXLAN device has the port with other
 * flags; -EOPNOTSUPP: the kernel has no VXLAN; -EPERM, ...; all with a text that
 * names the underlay's NIC.
 */
int device_create(struct netlink *netlink, struct lane_device *device,
		  const struct lane_peer *peers, size_t peer_count,
		  struct fairlead_error *ret_error);
int device_up(struct netlink *netlink, const struct lane_device *device,
	      struct fairlead_error *ret_error);

/*
 * Delete devices in one request, since each waits for all that looks at it
 * (about 18 ms), and a request as long as one device. Devices that are gone are
 * no error. What refuses to go does not keep the others: is_left says which, and
 * the error of the first is returned.
 */
int devices_delete(struct netlink *netlink, const struct lane_device *devices,
		   size_t count, bool is_left[],
		   struct fairlead_error *ret_error);

/* All VXLAN devices of this namespace, ours or not. -EIO with a text. */
int devices_list(struct netlink *netlink,
		 void (*emit)(void *arg, const struct lane_device *device),
		 void *arg, struct fairlead_error *ret_error);
/* The underlay addresses of a device's peers. */
int device_peers(struct netlink *netlink, const struct lane_device *device,
		 void (*emit)(void *arg, const struct ip_address *underlay),
		 void *arg, struct fairlead_error *ret_error);
