/* SPDX-License-Identifier: BSD-3-Clause */
/* A gate does not concern processes in other network namespaces. */
#include "lanes/driver/ethernet/gate.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <sched.h>
#include <stdio.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "lanes/driver/ethernet/gate_load.h"
#include "lanes/driver/ethernet/gate_pins.h"
#include "lanes/driver/ethernet/gate_set.h"
#include "lanes/driver/test/gate_world.h"

/* Bob has in another namespace what is Alice's in ours, and has no gate there. */
static int live_elsewhere(const void *arg)
{
	int fd;

	if (unshare(CLONE_NEWNET) < 0)
		return 1;
	world_network();
	assert_passes(&bob, ALICE4);
	assert_passes(&bob, ALICE6);
	fd = listen_as(&bob, SOCK_DGRAM, "0.0.0.0", 5001);
	assert_true(gets(fd, &bob, ALICE4, "127.0.0.1", 5001));
	return 0;
}

/* And now there is a gate, where the lane is Bob's. */
static int have_a_gate_elsewhere(const void *arg)
{
	const struct gate_entry entries[] = { world_entry(ALICE4, BOB, 0),
					      world_entry(ALICE6, BOB, 0) };
	struct ethernet_gate_options options = world_options;
	struct ethernet_gate *gate;

	options.pins = PINS "-2";
	if (unshare(CLONE_NEWNET) < 0)
		return 1;
	world_network();
	gate = world_open(&options);
	assert_true(gate_replace(gate, entries, 2, NULL) >= 0);
	assert_passes(&bob, ALICE4);
	assert_refused(&alice, ALICE6);
	return 0;
}

static bool packets_have_a_namespace(void)
{
	struct gate_config config = { 0 };

	assert_int_equal(gate_config_probe(&config, NULL), 0);
	return config.is_netns_of_packets_known;
}

static void another_namespace_is_not_concerned(void **state)
{
	struct ethernet_gate *gate;

	if (!packets_have_a_namespace()) {
		printf("skipped: programs for packets cannot ask for the "
		       "namespace\n");
		skip();
	}
	gate = world_open(&world_options);
	world_lanes(gate);
	assert_int_equal(as(&root, live_elsewhere, NULL), 0);
	assert_refused(&bob, ALICE4);
	assert_int_equal(as(&root, have_a_gate_elsewhere, NULL), 0);
	assert_refused(&bob, ALICE6);
	assert_passes(&alice, ALICE6);
	assert_int_equal(world_remove(PINS "-2"), 0);
	gate_close(gate);
}

static void a_gate_of_another_namespace_gives_way(void **state)
{
	char before[GATE_SET_NAME_MAX];
	char after[GATE_SET_NAME_MAX];
	struct ethernet_gate *gate = world_open(&world_options);

	world_lanes(gate);
	gate_close(gate);
	assert_int_equal(world_sets(before), 1);
	assert_int_equal(unshare(CLONE_NEWNET), 0);
	world_network();
	gate = world_open(&world_options);
	assert_int_equal(world_sets(after), 1);
	assert_string_not_equal(before, after);
	assert_passes(&bob, ALICE4); /* its lanes were not ours */
	world_lanes(gate);
	assert_refused(&bob, ALICE4);
	gate_close(gate);
}

/*
 * It would look at the packets of the whole machine; so it is attached to a
 * cgroup in which only users of this test are.
 */
static void a_kernel_without_namespaces_of_packets_checks_them_all(void **state)
{
	struct gate_config config = { .ports = { 4789, 4790, 4792, 4793 } };
	_auto_(gate_set_fini) struct gate_set first;
	_auto_(gate_set_fini) struct gate_set made;
	struct ethernet_gate *gate = world_open(&world_options);
	char cgroup[256];
	const struct who here[] = { { ALICE, cgroup }, { BOB, cgroup } };
	char path[256];
	char name[GATE_SET_NAME_MAX];
	int fd;

	world_lanes(gate);
	gate_close(gate);
	assert_int_equal(world_sets(name), 1);
	snprintf(path, sizeof(path), PINS "/%s", name);
	gate_set_find(path, &first);
	gate_set_init(&made);
	assert_int_equal(gate_config_probe(&config, NULL), 0);
	config.is_netns_of_packets_known = 0;
	snprintf(cgroup, sizeof(cgroup), "%s/fairlead-gate-packets-%d",
		 world_cgroup(), getpid());
	assert_int_equal(mkdir(cgroup, 0755), 0);
	assert_int_equal(mkdir(PINS "/packets", 0700), 0);
	assert_int_equal(gate_set_make(&config, cgroup, &first, &made, NULL),
			 0);
	assert_int_equal(gate_set_pin(&made, PINS "/packets"), 0);
	assert_int_equal(gate_pins_keep(PINS, "", "packets", NULL), 0);

	assert_refused(&here[1], ALICE4);
	assert_passes(&here[0], ALICE6);
	assert_passes(&bob, ALICE6);
	fd = listen_as(&here[1], SOCK_DGRAM, "0.0.0.0", 5002);
	assert_false(gets(fd, &here[0], ALICE4, "127.0.0.1", 5002));
	assert_true(gets(fd, &here[1], BOB4, "127.0.0.1", 5002));
	close(fd);
	assert_int_equal(world_remove(PINS), 0);
	assert_int_equal(rmdir(cgroup), 0);
}

#define GATE_TEST(name) cmocka_unit_test_teardown(name, world_clear)

int main(void)
{
	const struct CMUnitTest tests[] = {
		GATE_TEST(another_namespace_is_not_concerned),
		GATE_TEST(a_gate_of_another_namespace_gives_way),
		GATE_TEST(
			a_kernel_without_namespaces_of_packets_checks_them_all),
	};

	if (!world_enter())
		return 77;
	return cmocka_run_group_tests(tests, NULL, NULL);
}
