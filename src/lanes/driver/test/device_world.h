/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Devices of lanes for a test, in a network namespace of its own: the underlay
 * is u0, one end of a veth pair, with 10.9.0.1 and fd00:9::1. The test is node
 * 1.
 */
#pragma once

#include "lanes/driver/ethernet/device.h"

#define DEVICE_WORLD_PEERS 1000

struct device_world {
	bool is_there; /* the namespace; else the tests are to be skipped */
	struct netlink *netlink;
	struct fairlead_error error;
	struct lane_peer peers[DEVICE_WORLD_PEERS]; /* from node 2 on */
};

struct device_list {
	struct lane_device devices[64];
	size_t count;
};

extern struct device_world world;

int device_world_group_setup(void **state);
int device_world_setup(void **state);
int device_world_teardown(void **state);

struct ip_address device_world_address(const char *text);
/* A device, not made yet. */
struct lane_device device_world_device(uint32_t vni, uint32_t rail);
/* Make world.peers those of that lane. */
void device_world_peers(uint32_t vni, uint32_t rail, size_t count);
/* Make it, with one peer. */
struct lane_device device_world_make(uint32_t vni);
struct device_list device_world_list(void);
/* devices_list's emit, into a struct device_list. */
void device_world_take(void *arg, const struct lane_device *device);
/* Both say the same of a device. */
void device_world_assert_same(const struct lane_device *a,
			      const struct lane_device *b);
