/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What an apply wants to be on this node: options and members read, rails given
 * to underlays, every device and peer named. Nothing is touched yet.
 * members.rails has the numbers of its rails.
 */
#pragma once

#include "lanes/driver/ethernet/device.h"
#include "lanes/driver/ethernet/members.h"
#include "lanes/driver/ethernet/node.h"

struct blueprint {
	struct ethernet_request request;
	struct ethernet_members members; /* this node alone when none came */
	uint32_t number;                 /* of this node, from 1 */
	size_t rail_count;
	struct underlay rails[ETHERNET_RAILS_MAX];
	bool is_unreported; /* the lane is not on this node: the manager knows no NIC */
	/* Why the lane has fewer than it could: "eth1: ..."; "" */
	char lacking[256];
	size_t device_count; /* rail after rail */
	struct lane_device devices[ETHERNET_DEVICES_MAX];
};

/*
 * -EINVAL, -EBADMSG: options or members cannot be read; -EPROTONOSUPPORT:
 * members are of another version; -ENODEV: the node has no NIC for a rail of
 * the lane (where it has none at all, and need not: rail_count is 0); -ESTALE:
 * its address, networks or port are not those that the members have; all with a
 * text.
 */
int blueprint_init(struct blueprint *blueprint,
		   const struct ethernet_node *node,
		   const struct fairlead_lane *lane,
		   struct fairlead_error *ret_error);
void blueprint_fini(struct blueprint *blueprint);

/* Which of its rails a device is on. */
static inline size_t blueprint_rail(const struct blueprint *blueprint,
				    size_t index)
{
	return index / (blueprint->device_count / blueprint->rail_count);
}

/* Peers of one of its devices; the caller frees the list. */
struct lane_peer *blueprint_peers(const struct blueprint *blueprint,
				  size_t index, size_t *ret_count);
