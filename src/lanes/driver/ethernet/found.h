/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What is on the node, asked of the kernel: VXLAN devices, in the host's
 * network namespace and in those of jobs.
 */
#pragma once

#include "lanes/driver/ethernet/device.h"
#include "lanes/driver/ethernet/node.h"

struct found_device {
	struct lane_device device; /* its rail is that of its port, or 0 */
	bool is_netns;             /* it is in a job's namespace */
	uint64_t namespace_id;     /* of that grant, mostly its own; else 0 */
};

struct found {
	size_t count;
	struct found_device *list; /* owned */
};

/* Everything. -EIO and the like with a text. */
int found_read(const struct ethernet_node *node, struct found *ret_found,
	       struct fairlead_error *ret_error);
void found_fini(struct found *found);

/* The record of a lane whose devices these are, by rail. */
void ethernet_record(const struct ethernet_node *node,
		     const struct found_device *made, size_t count,
		     struct fairlead_record *ret_record);

/* Is any of them a lane's? */
bool found_has_lanes(const struct found *found);

/*
 * Is it the first of its lane's on its NIC, and so stands for all of them
 * there? Its first VNI's may be gone.
 */
bool found_is_first(const struct found *found, size_t i);

/*
 * Is it this lane's? By grant and owner; one that a crash left without an alias
 * is the lane's that has its VNI.
 */
bool found_is_of(const struct found_device *device,
		 const struct fairlead_lane *lane);
/* Is the VNI one of the lane's? */
bool found_lane_has(const struct fairlead_lane *lane, uint32_t vni);
/* Has it a VNI of the lane's without being its? Its alias was changed then. */
bool found_is_astray(const struct found_device *device,
		     const struct fairlead_lane *lane);
