/* SPDX-License-Identifier: BSD-3-Clause */
/* cmocka wants the first ones first. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <string.h>
#include <sys/mount.h>

#include "lanes/driver/test/netns.h"
#include "lanes/driver/test/node_world.h"

struct node_world world;

int node_world_group_setup(void **state)
{
	if (!netns_enter())
		return 0;
	assert_int_equal(unshare(CLONE_NEWNS), 0);
	assert_int_equal(mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL), 0);
	netns_run("mount -t tmpfs -o mode=0755 tmpfs /mnt");
	world.is_there = true;
	return 0;
}

int node_world_setup(void **state)
{
	if (!world.is_there)
		skip();
	memset(&world.error, 0, sizeof(world.error));
	world.warning_count = 0;
	assert_int_equal(unshare(CLONE_NEWNET), 0);
	netns_run("ip link set lo up");
	netns_run("ip link add eth1 type veth peer name p1");
	netns_run("ip addr add 10.204.0.1/16 dev eth1");
	netns_run("ip link set p1 up; ip link set eth1 up");
	return 0;
}

void node_world_close(void)
{
	ethernet_node_ops.close(world.state);
	world.state = NULL;
}

int node_world_teardown(void **state)
{
	node_world_close();
	return system("umount -R /mnt/netns /mnt/bpf 2>/dev/null; "
		      "rm -rf /mnt/netns /mnt/bpf");
}

int node_world_try_open(const struct fairlead_setting *more, size_t count)
{
	struct fairlead_setting settings[8] = {
		{ .name = "namespaces", .value = "/mnt/netns" },
		{ .name = "bpf_pins", .value = "/mnt/bpf" },
	};

	for (size_t i = 0; i < count; i++)
		settings[i + 2] = more[i];
	return ethernet_node_ops.open(settings, count + 2, &world.state,
				      &world.error);
}

void node_world_open(const struct fairlead_setting *more, size_t count)
{
	if (node_world_try_open(more, count) < 0)
		fail_msg("%s", world.error.text);
}

void node_world_open_bare(void)
{
	node_world_open(NULL, 0);
}

static void object_take(void *arg, const struct fairlead_object *object)
{
	size_t max = sizeof(world.objects) / sizeof(world.objects[0]);

	if (world.object_count < max)
		world.objects[world.object_count] = *object;
	world.object_count++;
}

static void device_take(void *arg, const struct fairlead_device *device)
{
	world.device = *device;
	world.device_count++;
}

int node_world_look(void)
{
	int result;

	world.object_count = world.device_count = 0;
	result = ethernet_node_ops.probe(world.state, device_take, NULL,
					 &world.error);
	if (result == 0)
		result = ethernet_node_ops.list(world.state, object_take, NULL,
						&world.error);
	return result;
}

static void warning_take(struct fairlead_warnings *warnings, const char *text)
{
	world.warning_count++;
	snprintf(world.warning, sizeof(world.warning), "%s", text);
}

struct fairlead_warnings node_world_warnings = { .add = warning_take };

struct fairlead_lane node_world_lane(uint64_t grant_id, const char *isolation)
{
	struct fairlead_lane lane = {
		.grant_id = grant_id,
		.uid = NODE_WORLD_OWNER,
		.gid = NODE_WORLD_OWNER,
		.id_count = 1,
		.ids = { NODE_WORLD_VNI },
	};

	snprintf(lane.options, sizeof(lane.options),
		 "vnis=1,tcs=BEST_EFFORT,isolation=%s", isolation);
	return lane;
}

void node_world_apply(uint64_t grant_id, const char *isolation)
{
	const struct fairlead_lane lane = node_world_lane(grant_id, isolation);

	if (ethernet_node_ops.apply(world.state, &lane, false, &world.record,
				    NULL, &world.error) < 0)
		fail_msg("%s", world.error.text);
}
