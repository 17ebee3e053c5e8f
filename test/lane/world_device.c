/* SPDX-License-Identifier: BSD-3-Clause */
/* The devices of lanes, on all nodes and rails. */
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "lanes/driver/ethernet/device.h"
#include "world.h"

#define COMMAND_MAX 256

/* Device and peers of a lane, as the driver would have them. */
static size_t plan_device(const struct world *world, enum world_lane lane,
			  enum world_host host, struct lane_device *ret_device,
			  struct lane_peer peers[HOST_COUNT])
{
	struct ip_address underlays[HOST_COUNT];
	struct ethernet_names names;
	size_t count = 0;

	*ret_device = world_rules(world, lane, host, underlays).device;
	for (enum world_host peer = 0; peer < HOST_COUNT; peer++) {
		struct lane_peer *next = &peers[count];

		if (peer == host || !world_is_member(lane, peer))
			continue;
		world_names(world, lane, peer, &names);
		memcpy(next->mac, names.mac, sizeof(next->mac));
		next->underlay = underlays[count];
		next->ipv4 = names.ipv4;
		next->ipv6 = names.ipv6;
		count++;
	}
	return count;
}

static void device_make(const struct world *world, enum world_lane lane,
			enum world_host host)
{
	_auto_(netlink_closep) struct netlink *outside = NULL;
	_auto_(netlink_closep) struct netlink *inside = NULL;
	int job = world->inside[lane][host];
	struct lane_device device;
	struct lane_peer peers[HOST_COUNT];
	struct fairlead_error error = { 0 };
	size_t count = plan_device(world, lane, host, &device, peers);
	int result;

	world_enter(world->netns[host]);
	assert_int_equal(netlink_open(&outside, &error), 0);
	result = device_create(outside, &device, peers, count, &error);
	if (result == 0 && job >= 0) {
		world_run(world, host, "ip link set %s netns /proc/%d/fd/%d",
			  device.name, getpid(), job);
		world_enter(job);
		assert_int_equal(netlink_open(&inside, &error), 0);
		result = device_dress(inside, &device, peers, count, &error);
	}
	if (result == 0)
		result =
			device_up(job >= 0 ? inside : outside, &device, &error);
	world_enter(world->home);
	if (result < 0)
		fail_msg("%s", error.text);
}

/* Of the job, for all of its devices on the node. */
static int job_namespace_make(const struct world *world)
{
	int job;

	assert_int_equal(unshare(CLONE_NEWNET), 0);
	if (system("ip link set lo up") != 0)
		fail_msg("no loopback");
	job = world_namespace();
	world_enter(world->home);
	return job;
}

static void device_remove(const struct world *world, enum world_lane lane,
			  enum world_host host)
{
	int job = world->inside[lane][host];
	struct ethernet_names names;
	char command[COMMAND_MAX];

	world_names(world, lane, host, &names);
	snprintf(command, sizeof(command), "ip link del %s", names.device);
	world_enter(job >= 0 ? job : world->netns[host]);
	if (system(command) != 0)
		fail_msg("%s", command);
	world_enter(world->home);
}

/* A lane's devices on a node; what was there before is gone. */
static void lane_make(struct world *world, enum world_lane lane,
		      enum world_host host, bool is_netns)
{
	struct world on;

	world->inside[lane][host] = is_netns ? job_namespace_make(world) : -1;
	on = *world;
	for (on.rail = 0; on.rail < RAIL_COUNT; on.rail++)
		device_make(&on, lane, host);
}

static void lane_remove(struct world *world, enum world_lane lane,
			enum world_host host)
{
	int *job = &world->inside[lane][host];
	struct world on = *world;

	for (on.rail = 0; on.rail < RAIL_COUNT; on.rail++)
		device_remove(&on, lane, host);
	if (*job >= 0)
		close(*job);
	*job = -1;
}

void world_devices_make(struct world *world, bool is_netns)
{
	for (enum world_lane lane = 0; lane < LANE_COUNT; lane++) {
		for (enum world_host host = 0; host < HOST_COUNT; host++) {
			if (world_is_member(lane, host))
				lane_make(world, lane, host, is_netns);
		}
	}
	world->is_netns = is_netns;
}

void world_isolate(struct world *world, bool is_netns)
{
	if (world->is_netns == is_netns)
		return;
	for (enum world_lane lane = 0; lane < LANE_COUNT; lane++) {
		for (enum world_host host = 0; host < HOST_COUNT; host++) {
			if (world_is_member(lane, host))
				lane_remove(world, lane, host);
		}
	}
	world_devices_make(world, is_netns);
}
