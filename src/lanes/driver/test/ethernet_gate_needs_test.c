/* SPDX-License-Identifier: BSD-3-Clause */
/* What a gate needs of the system, and of who opens it. */
#include "lanes/driver/ethernet/gate.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <sched.h>
#include <string.h>
#include <sys/capability.h>
#include <sys/mount.h>
#include <unistd.h>

#include "lanes/driver/ethernet/gate_pins.h"
#include "lanes/driver/test/gate_world.h"

static int open_without_cgroup(const void *arg)
{
	struct fairlead_error error = { 0 };
	struct ethernet_gate *gate;

	if (unshare(CLONE_NEWNS) < 0)
		return 1;
	/* Ours, beside v1 or alone. */
	umount2("/sys/fs/cgroup/unified", MNT_DETACH);
	umount2("/sys/fs/cgroup", MNT_DETACH);
	assert_int_equal(gate_open(&world_options, &gate, &error), -EOPNOTSUPP);
	assert_non_null(strstr(error.text, "cgroup v2 is not mounted"));
	return 0;
}

static void a_system_without_cgroup_v2_is_reported(void **state)
{
	assert_int_equal(as(&root, open_without_cgroup, NULL), 0);
}

static void drop_capabilities(void)
{
	cap_t none = cap_init();

	assert_int_equal(cap_set_proc(none), 0);
	cap_free(none);
}

static int open_without_privileges(const void *arg)
{
	struct fairlead_error error = { 0 };
	struct ethernet_gate *gate;

	gate_pins_make(PINS, NULL);
	drop_capabilities();
	assert_int_equal(gate_open(&world_options, &gate, &error), -EPERM);
	assert_non_null(strstr(error.text, "CAP_BPF"));
	return 0;
}

static void to_open_needs_privileges_and_says_which(void **state)
{
	char name[GATE_SET_NAME_MAX];

	assert_int_equal(as(&root, open_without_privileges, NULL), 0);
	assert_int_equal(world_sets(name), 0);
}

static int use_without_privileges(const void *arg)
{
	struct ethernet_gate *gate = world_open(&world_options);
	struct gate_counters counters;

	drop_capabilities();
	world_lanes(gate);
	assert_int_equal(gate_counters(gate, &counters), 0);
	assert_int_equal(world_remove(PINS), 0);
	gate_close(gate);
	return 0;
}

static void an_open_gate_needs_no_privileges(void **state)
{
	assert_int_equal(as(&root, use_without_privileges, NULL), 0);
	assert_passes(&bob, ALICE4);
}

#define GATE_TEST(name) cmocka_unit_test_teardown(name, world_clear)

int main(void)
{
	const struct CMUnitTest tests[] = {
		GATE_TEST(a_system_without_cgroup_v2_is_reported),
		GATE_TEST(to_open_needs_privileges_and_says_which),
		GATE_TEST(an_open_gate_needs_no_privileges),
	};

	if (!world_enter())
		return 77;
	return cmocka_run_group_tests(tests, NULL, NULL);
}
