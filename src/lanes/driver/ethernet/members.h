/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Where the nodes of a lane are. A node reports its *place* when it registers;
 * the manager puts the places of a job's nodes together into *members*, which
 * go to all of them in the signed APPLY.
 *
 *	place     u8 version (2), u8 rails (0..4), of each {u8 family, u8[4 or
 *	          16] address, u16 mtu of the underlay}; family 0, mtu 0: the
 *	          node cannot use that rail
 *	members   u8 version (2), networks, u8 bits of rails, u16 mtu of each
 *	          rail's devices, u32 nodes, addresses as runs; members.c has
 *	          each field
 *
 * Another version is refused: until both daemons are of one version a node has
 * no new lanes, and keeps those that it has.
 *
 * A rail has its number on all nodes, so that a NIC which is lacking moves no
 * other to another rail. Addresses of a rail that rise by one from node to
 * node, as they mostly do, take a few bytes for all of them. A node without
 * rails is no peer of the others: the lane is between those that have some, and
 * has the rails that all of these have. Pure; neither is trusted.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "base/bytes.h"
#include "lanes/driver/ethernet/naming.h"

struct ethernet_rail {
	struct ip_address
		address; /* of the underlay's NIC; none: it is lacking */
	uint16_t mtu;
};

struct ethernet_place {
	uint8_t rail_count; /* those that are lacking, too */
	struct ethernet_rail rails[ETHERNET_RAILS_MAX]; /* by number */
};

#define ETHERNET_PLACE_VERSION   2
#define ETHERNET_MEMBERS_VERSION 2

/* Bytes of an encoded place at most. */
#define ETHERNET_PLACE_MAX (2 + ETHERNET_RAILS_MAX * (1 + 16 + 2))

int ethernet_place_encode(const struct ethernet_place *place,
			  struct writer *writer);
/*
 * -EPROTONOSUPPORT: the first byte is of another version. -EBADMSG, also when
 * all of its rails are lacking.
 */
int ethernet_place_decode(const void *bytes, size_t size,
			  struct ethernet_place *ret_place);

struct ethernet_members {
	struct ethernet_networks networks;
	uint8_t rail_count;                /* 0: no node has any */
	uint8_t rails[ETHERNET_RAILS_MAX]; /* their numbers, rising */
	uint16_t mtu[ETHERNET_RAILS_MAX];  /* of the lane's devices on each */
	uint8_t lacking;     /* bits 1 << number: a node cannot use it */
	uint32_t node_count; /* all of the job's */
	/*
	 * node_count times rail_count, node after node, in the order of rails;
	 * owned. Those of a node without rails are none.
	 */
	struct ip_address *addresses;
};

/* Where that node, from 0, is on the i-th of the rails. */
static inline struct ip_address *ethernet_members_at(
	const struct ethernet_members *members, uint32_t index, size_t i)
{
	return &members->addresses[(size_t)index * members->rail_count + i];
}

/* Is the lane on that node? index: from 0. */
bool ethernet_members_has(const struct ethernet_members *members,
			  uint32_t index);
/* Nodes that the lane is on. */
uint32_t ethernet_members_count(const struct ethernet_members *members);

/*
 * Can a lane have so many nodes? -EINVAL with a text: more than
 * ETHERNET_NODES_MAX, or than the IPv4 network has addresses for.
 */
int ethernet_members_check(size_t count,
			   const struct ethernet_networks *networks,
			   struct fairlead_error *ret_error);
/*
 * Put places together (networks are set by the caller, the rest here).
 * names: of the nodes, for the errors. -EINVAL with a text: two nodes have the
 * same address, one that others cannot reach, or another family than the rest
 * on a rail; an MTU is too small for a lane; they have no rail in common; too
 * many nodes.
 */
int ethernet_members_make(const struct ethernet_place *places,
			  const char *const *names, size_t count,
			  struct ethernet_members *members,
			  struct fairlead_error *ret_error);
int ethernet_members_encode(const struct ethernet_members *members,
			    struct writer *writer);
/* As of a place. The caller gives it to _fini. */
int ethernet_members_decode(const void *bytes, size_t size,
			    struct ethernet_members *ret_members);
void ethernet_members_fini(struct ethernet_members *members);
