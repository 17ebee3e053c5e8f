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

#include "lanes/driver/ethernet/netlink.h"
#include "lanes/driver/ethernet/naming.h"

#define ETHERNET_LINK_GROUP        17996 /* 0x464c, "FL" */
#define ETHERNET_LINK_GROUP_ENDING 17997 /* of devices that are being deleted */

struct lane_device {
	int index; /* 0: not made yet */
	char name[IFNAMSIZ];
	/*
	 * Its alias says so, or its group is one of ours and its name says its
	 * VNI. A crash between its creation and the next request leaves it
	 * without an alias, whose grant_id is 0 then; such a one has never been
	 * up.
	 */
	bool is_ours;
	bool is_up;
	uint32_t vni;
	uint32_t rail; /* as it is made; of those that are there see found.h */
	uint16_t port;
	uint32_t mtu;
	uint8_t ttl; /* of what it sends, when it is made: 0 is 1 */
	uint8_t mac[ETHERNET_MAC_SIZE];
	int underlay_index; /* where it was created; means nothing elsewhere */
	struct ip_address underlay; /* the node's own, that it sends from */
	struct ip_address ipv4;     /* family 0: none */
	uint8_t ipv4_prefix_size;
	struct ip_address ipv6;
	struct ethernet_alias alias;
};

/* The lane's number, by which people know it: its first VNI. */
static inline uint32_t device_lane(const struct lane_device *device)
{
	return device->alias.vni_count > 0 ? device->alias.vnis[0]
					   : device->vni;
}

struct lane_peer {
	uint8_t mac[ETHERNET_MAC_SIZE];
	struct ip_address underlay;
	struct ip_address ipv4;
	struct ip_address ipv6;
};

/*
 * Can devices of a kind be made? Nothing is. -EOPNOTSUPP: the kernel has no
 * such kind; -EPERM: no CAP_NET_ADMIN; with a text.
 */
int device_probe(struct netlink *netlink, const char *kind,
		 struct fairlead_error *ret_error);

/*
 * Make the device, down, with its alias, group, addresses and peers; sets
 * device->index. On a failure nothing is left, or the text says what is.
 * -EEXIST: the name or the VNI (on this port) is in use; -EINVAL: the underlay
 * leaves less than its MTU; -ENODEV: there is no such underlay; -EOPNOTSUPP:
 * the kernel has no VXLAN; -EPERM, ...; these with a text that names the
 * underlay's NIC. -EACCES, -EAFNOSUPPORT: IPv6 is switched off.
 */
int device_create(struct netlink *netlink, struct lane_device *device,
		  const struct lane_peer *peers, size_t peer_count,
		  struct fairlead_error *ret_error);
/*
 * Set addresses and peers of a device that is there, by its name; sets
 * device->index. A part of device_create; by itself it is for a device that was
 * moved to another network namespace, which takes all this from it but
 * forwarding entries. What is there already is no error. -ENODEV.
 */
int device_dress(struct netlink *netlink, struct lane_device *device,
		 const struct lane_peer *peers, size_t peer_count,
		 struct fairlead_error *ret_error);
/* Write the alias again, by the device's name. */
int device_set_alias(struct netlink *netlink, const struct lane_device *device,
		     struct fairlead_error *ret_error);
/*
 * -EADDRINUSE with a text that says which: a VXLAN device with other flags has
 * the port, or a program. The kernel notices this only here.
 */
int device_up(struct netlink *netlink, const struct lane_device *device,
	      struct fairlead_error *ret_error);
/* It carries nothing from now on. One that is gone is no error. */
int device_down(struct netlink *netlink, const struct lane_device *device,
		struct fairlead_error *ret_error);

/*
 * Is a VNI free on a port, over underlays of that family (4 or 6), though no
 * device that has it is seen? A device is made to find out, and deleted; its
 * name says the VNI, so that what a crash leaves of it is known as ours. -EBUSY
 * with a text: one has it, in a namespace that we do not know; or all names for
 * the trial are taken.
 */
int device_vni_check(struct netlink *netlink, uint32_t vni, uint16_t port,
		     uint8_t family, struct fairlead_error *ret_error);
/*
 * Delete devices in one request, since each waits for all that looks at it
 * (about 18 ms), and a request as long as one device. They are known by index,
 * name and VNI; devices that are gone, or whose place is another's, are no
 * error. What refuses to go does not keep the others: is_left says which, and
 * the error of the first is returned.
 *
 * They pass through a second link group, which is deleted as a whole: also what
 * an earlier call left in it when it was interrupted. If somebody else's device
 * is in it, or one that is up, each is deleted by itself.
 */
int devices_delete(struct netlink *netlink, const struct lane_device *devices,
		   size_t count, bool is_left[],
		   struct fairlead_error *ret_error);

/*
 * All VXLAN devices of this namespace, ours or not. Of several addresses that
 * of the networks is the device's. -EIO with a text.
 */
int devices_list(struct netlink *netlink,
		 const struct ethernet_networks *networks,
		 void (*emit)(void *arg, const struct lane_device *device),
		 void *arg, struct fairlead_error *ret_error);
/*
 * The underlay addresses of the peers of one VXLAN device, or with index 0 of
 * all, device by device: to ask for each takes longer with each device that is
 * there.
 */
int devices_peers(struct netlink *netlink, int index,
		  void (*emit)(void *arg, int index,
			       const struct ip_address *underlay),
		  void *arg, struct fairlead_error *ret_error);
