/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The network devices of a namespace and their addresses, as the kernel lists
 * them: what device.h and underlay.h choose from.
 */
#pragma once

#include <net/if.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "lanes/driver/ethernet/netlink.h"
#include "lanes/driver/ethernet/naming.h"

struct ethernet_link {
	int index;
	int master; /* bridge or bond that it is in; 0: none */
	char name[IFNAMSIZ];
	char kind[16];      /* "vxlan", "bridge"; "" for hardware */
	char alias[256];    /* "" for none */
	unsigned int flags; /* IFF_UP, ... */
	uint16_t type;      /* ARPHRD_ETHER, ... */
	uint32_t mtu;
	uint32_t group;
	uint8_t mac[ETHERNET_MAC_SIZE]; /* zero where it has another kind */
	/* Of kind vxlan only. */
	struct {
		uint32_t vni;
		uint16_t port;
		int underlay_index; /* 0: none */
		struct ip_address local;
		bool is_alike; /* its flags are those of our devices, so that
				  it can share their ports */
	} vxlan;
};

struct link_list {
	struct ethernet_link *links; /* by index, rising; owned */
	size_t count;
};

struct ethernet_link_address {
	int index; /* of its device */
	struct ip_address address;
	uint8_t prefix_size;
	uint8_t scope;  /* RT_SCOPE_UNIVERSE, ... */
	uint32_t flags; /* IFA_F_TENTATIVE, ... */
};

struct link_address_list {
	struct ethernet_link_address
		*addresses; /* by index, else as listed; owned */
	size_t count;
};

/* kind: NULL for all. -EIO, ...; *ret_list is as it was then. */
int links_read(struct netlink *netlink, const char *kind,
	       struct link_list *ret_list, struct fairlead_error *ret_error);
void links_fini(struct link_list *list);
/* NULL: no such device. */
const struct ethernet_link *link_find(const struct link_list *list, int index);
const struct ethernet_link *link_find_name(const struct link_list *list,
					   const char *name);
/*
 * Is it a lane's: VXLAN with an alias of ours that has its VNI, whatever
 * somebody made of its name and group? Or, where a crash left it without an
 * alias, in a link group of ours (device.h), with a name of ours that says its
 * VNI?
 */
bool link_is_ours(const struct ethernet_link *link);
/* One device, by its name, or by its index when name is NULL. -ENODEV. */
int link_read(struct netlink *netlink, const char *name, int index,
	      struct ethernet_link *ret_link, struct fairlead_error *ret_error);

int link_addresses_read(struct netlink *netlink,
			struct link_address_list *ret_list,
			struct fairlead_error *ret_error);
void link_addresses_fini(struct link_address_list *list);

/* All devices with their addresses. */
struct links_held {
	struct link_list links;
	struct link_address_list addresses;
};

/* On a failure there is nothing to free. */
int links_held_read(struct netlink *netlink, struct links_held *held,
		    struct fairlead_error *ret_error);
void links_held_fini(struct links_held *held);
/*
 * Read them now; until links_let_go the functions above that list them, and
 * those built on these, answer from that: for several questions about all of
 * them with no change in between. `held` is the caller's, and
 * stays where it is. On a failure nothing is held. link_read asks all the same.
 */
int links_hold(struct netlink *netlink, struct links_held *held,
	       struct fairlead_error *ret_error);
void links_let_go(struct netlink *netlink, struct links_held *held);

/* From an attribute's 4 or 16 bytes; NULL is none. */
struct ip_address link_address_of(const struct nlattr *attribute);
