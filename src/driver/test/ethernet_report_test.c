/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What people are told of the node half: each flaw of a node once, with what to
 * do. Each test has a network namespace of its own with one NIC, eth1.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <errno.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include "driver/ethernet/ethernet.h"
#include "driver/test/netns.h"

#define NOBODY 65534

static struct {
	bool is_there; /* else the tests are to be skipped */
	void *state;
	struct fairlead_error error;
	size_t object_count, device_count;
	struct fairlead_object object; /* the last one */
	struct fairlead_device device; /* likewise */
} world;

static int group_setup(void **state)
{
	if (!netns_enter())
		return 0;
	assert_int_equal(unshare(CLONE_NEWNS), 0);
	assert_int_equal(mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL), 0);
	netns_run("mount -t tmpfs -o mode=0755 tmpfs /mnt");
	world.is_there = true;
	return 0;
}

static int setup(void **state)
{
	if (!world.is_there)
		skip();
	memset(&world.error, 0, sizeof(world.error));
	assert_int_equal(unshare(CLONE_NEWNET), 0);
	netns_run("ip link set lo up");
	netns_run("ip link add eth1 type veth peer name p1");
	netns_run("ip addr add 10.204.0.1/16 dev eth1");
	netns_run("ip link set p1 up; ip link set eth1 up");
	return 0;
}

static int teardown(void **state)
{
	ethernet_node_ops.close(world.state);
	world.state = NULL;
	return 0;
}

/* With these settings instead of, or beside, the defaults of the tests. */
static int node_open(const struct fairlead_setting *more, size_t count)
{
	struct fairlead_setting settings[8] = {
		{ .name = "namespaces", .value = "/mnt/netns" },
	};

	for (size_t i = 0; i < count; i++)
		settings[i + 1] = more[i];
	return ethernet_node_ops.open(settings, count + 1, &world.state,
				      &world.error);
}

static void node_open_bare(void)
{
	const struct fairlead_setting bare[] = { { .name = "bpf",
						   .value = "off" } };

	if (node_open(bare, 1) < 0)
		fail_msg("%s", world.error.text);
}

static void object_take(void *arg, const struct fairlead_object *object)
{
	world.object = *object;
	world.object_count++;
}

static void device_take(void *arg, const struct fairlead_device *device)
{
	world.device = *device;
	world.device_count++;
}

static int look(void)
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

/* --- without privileges --- */

static int as_nobody(int (*act)(void))
{
	pid_t pid = fork();
	int status;

	assert_true(pid >= 0);
	if (pid == 0) {
		if (setresgid(NOBODY, NOBODY, NOBODY) < 0 ||
		    setresuid(NOBODY, NOBODY, NOBODY) < 0)
			_exit(255);
		_exit(act());
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_true(WIFEXITED(status));
	return WEXITSTATUS(status);
}

static int open_and_look(void)
{
	if (node_open(NULL, 0) < 0 || look() < 0) {
		print_error("%s\n", world.error.text);
		return 1;
	}
	/* The NIC, and what is on it: the NIC itself and a lane. */
	return world.device_count == 1 && world.device.is_usable &&
			       world.object_count == 2 &&
			       world.object.uid == 20001
		       ? 0
		       : 2;
}

static void who_has_no_privileges_can_look(void **state)
{
	struct fairlead_lane lane = {
		.grant_id = 9,
		.uid = 20001,
		.gid = 20001,
		.id_count = 1,
		.ids = { 4096 },
		.options = "vnis=1,tcs=BEST_EFFORT,isolation=host",
	};
	struct fairlead_record record;

	node_open_bare();
	if (ethernet_node_ops.apply(world.state, &lane, false, &record, NULL,
				    &world.error) < 0)
		fail_msg("%s", world.error.text);
	assert_int_equal(as_nobody(open_and_look), 0);
}

static void who_only_looked_has_changed_nothing(void **state)
{
	assert_int_equal(as_nobody(open_and_look), 2);
	assert_false(netns_holds("nft list table inet fairlead"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
		TEST(who_has_no_privileges_can_look),
		TEST(who_only_looked_has_changed_nothing),
#undef TEST
	};

	return cmocka_run_group_tests(tests, group_setup, NULL);
}
