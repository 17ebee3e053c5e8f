/* SPDX-License-Identifier: BSD-3-Clause */
/* What becomes of a gate that somebody with root's rights takes away. */
#include "lanes/driver/ethernet/gate_set.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <bpf/bpf.h>
#include <errno.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "lanes/driver/ethernet/gate.h"
#include "lanes/driver/ethernet/gate_pins.h"
#include "lanes/driver/test/gate_world.h"

static struct fairlead_error error;

/* The one set that is there, by its pins. */
static void find_set(char path[256], struct gate_set *set)
{
	struct gate_sets sets;

	assert_int_equal(gate_pins_list(PINS, "", &sets, NULL), 0);
	assert_int_equal(sets.count, 1);
	snprintf(path, 256, PINS "/%s", sets.names[0]);
	gate_set_find(path, set);
}

static void unlink_pin(const char *name)
{
	_auto_(gate_set_fini) struct gate_set set;
	char path[256];

	find_set(path, &set);
	strcat(path, "/");
	strcat(path, name);
	assert_int_equal(unlink(path), 0);
}

static void assert_closed(void)
{
	assert_refused(&bob, ALICE4);
	assert_refused(&bob, ALICE6);
	assert_passes(&alice, ALICE4);
	assert_passes(&alice, ALICE6);
}

/* Tend, which says so; nothing is left to be done then. */
static void assert_put_back(struct ethernet_gate *gate, const char *said)
{
	_auto_(gate_set_fini) struct gate_set set;
	char path[256];

	assert_int_equal(gate_check(gate, &error), 0);
	assert_int_equal(gate_tend(gate, &error), 0);
	assert_non_null(strstr(said, "put back"));
	find_set(path, &set);
	for (size_t i = 0; i < GATE_PROGRAM_COUNT; i++)
		assert_true(set.links[i] >= 0);
	assert_closed();
}

/* What is pinned stays when the process ends; the rest does not. */
static void assert_outlives(void **state)
{
	gate_close(*state);
	*state = NULL;
	assert_closed();
	assert_int_equal(gate_open(&world_options,
				   (struct ethernet_gate **)state, &error),
			 0);
	assert_closed();
}

static void a_gate_that_is_whole_is_left_alone(void **state)
{
	_auto_(gate_set_fini) struct gate_set set;
	char before[256];
	char after[256];

	find_set(before, &set);
	gate_set_fini(&set);
	assert_int_equal(gate_check(*state, &error), 0);
	assert_int_equal(gate_tend(*state, &error), 0);
	find_set(after, &set);
	assert_string_equal(before, after);
}

static void pins_that_were_unlinked_come_back(void **state)
{
	static const char *const names[] = { "gate_bind4", "gate_ingress",
					     "lanes", "counters" };
	struct gate_counters counters;
	struct ethernet_gate *gate = *state;

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		unlink_pin(names[i]);
		assert_int_equal(gate_check(gate, &error), -ENOENT);
		/* It is in force all along. */
		assert_closed();
		assert_int_equal(gate_tend(gate, &error), 1);
		assert_put_back(gate, error.text);
	}
	assert_int_equal(gate_counters(gate, &counters), 0);
	assert_true(counters.refused_bind > 0);
	assert_outlives(state);
}

static void a_directory_of_pins_that_was_deleted_comes_back(void **state)
{
	assert_int_equal(gate_check(*state, &error), 0);
	assert_int_equal(system("rm -r " PINS), 0);
	assert_int_equal(gate_check(*state, &error), -ENOENT);
	assert_int_equal(gate_tend(*state, &error), 1);
	assert_put_back(*state, error.text);
	assert_outlives(state);
}

static void a_file_system_that_was_unmounted_comes_back(void **state)
{
	assert_int_equal(umount("/sys/fs/bpf"), 0);
	assert_int_equal(gate_check(*state, &error), -ENOENT);
	assert_non_null(strstr(error.text, PINS));
	assert_closed();
	assert_int_equal(gate_tend(*state, &error), 1);
	assert_put_back(*state, error.text);
	assert_outlives(state);
}

/* A pin of somebody else's program under the name of ours. */
static void a_pin_of_another_object_is_none(void **state)
{
	_auto_(gate_set_fini) struct gate_set set;
	char from[300];
	char path[256];
	char to[300];

	find_set(path, &set);
	snprintf(from, sizeof(from), "%s/gate_bind4", path);
	snprintf(to, sizeof(to), "%s/gate_egress", path);
	assert_int_equal(unlink(to), 0);
	assert_int_equal(link(from, to), 0);
	assert_int_equal(gate_check(*state, &error), -ENOENT);
	assert_int_equal(gate_tend(*state, &error), 1);
	assert_put_back(*state, error.text);
	assert_outlives(state);
}

static void programs_that_were_detached_come_back(void **state)
{
	_auto_(gate_set_fini) struct gate_set set;
	char path[256];

	for (size_t i = 0; i < GATE_PROGRAM_COUNT; i++) {
		find_set(path, &set);
		assert_int_equal(bpf_link_detach(set.links[i]), 0);
		gate_set_fini(&set);
		assert_int_equal(gate_check(*state, &error), -ENOLINK);
		assert_int_equal(gate_tend(*state, &error), 1);
		assert_put_back(*state, error.text);
	}
	find_set(path, &set);
	gate_set_detach(&set);
	assert_passes(&bob, ALICE4);
	assert_int_equal(gate_tend(*state, &error), 1);
	assert_put_back(*state, error.text);
	assert_outlives(state);
}

static void programs_and_pins_together_come_back(void **state)
{
	_auto_(gate_set_fini) struct gate_set set;
	char path[256];

	find_set(path, &set);
	gate_set_detach(&set);
	assert_int_equal(umount("/sys/fs/bpf"), 0);
	assert_passes(&bob, ALICE4);
	assert_int_equal(gate_tend(*state, &error), 1);
	assert_put_back(*state, error.text);
	assert_outlives(state);
}

/* A program that lets everybody in, of the type of gate_bind4. */
static int load_open_program(void)
{
	static const struct bpf_insn program[] = {
		{ .code = BPF_ALU64 | BPF_MOV | BPF_K, .imm = 1 },
		{ .code = BPF_JMP | BPF_EXIT },
	};
	LIBBPF_OPTS(bpf_prog_load_opts, options,
		    .expected_attach_type = BPF_CGROUP_INET4_BIND);

	return bpf_prog_load(BPF_PROG_TYPE_CGROUP_SOCK_ADDR, "open",
			     "BSD-3-Clause", program, 2, &options);
}

static void a_program_that_was_replaced_comes_back(void **state)
{
	const struct call bind = { .kind = BIND,
				   .type = SOCK_DGRAM,
				   .address = ALICE4 };
	_auto_(gate_set_fini) struct gate_set set;
	_auto_(closep) int open = load_open_program();
	char path[256];

	assert_true(open >= 0);
	find_set(path, &set);
	assert_int_equal(bpf_link_update(set.links[0], open, NULL), 0);
	assert_int_equal(as(&bob, try_call, &bind), 0);
	assert_int_equal(gate_check(*state, &error), -ENOLINK);
	assert_int_equal(gate_tend(*state, &error), 1);
	assert_int_equal(as(&bob, try_call, &bind), EPERM);
	assert_put_back(*state, error.text);
}

static void what_is_put_back_is_closed_from_the_first_program_on(void **state)
{
	const struct gate_entry none = world_entry(ALICE4, ALICE, 0);
	_auto_(gate_set_fini) struct gate_set set;
	struct gate_set after;
	char path[256];

	find_set(path, &set);
	gate_set_detach(&set);
	world_remove_lane(*state, &none);
	assert_int_equal(gate_tend(*state, &error), 1);
	/* The map is the same, so lanes were never unknown to the programs. */
	find_set(path, &after);
	assert_true(gate_pin_is_same(set.lanes, after.lanes));
	gate_set_fini(&after);
	assert_refused(&alice, ALICE4);
	assert_passes(&alice, ALICE6);
	assert_refused(&bob, ALICE6);
}

static int lose_cgroups(const void *arg)
{
	_auto_(gate_set_fini) struct gate_set set;
	struct ethernet_gate *gate = *(struct ethernet_gate *const *)arg;
	char command[320];
	char path[256];

	if (unshare(CLONE_NEWNS) < 0)
		return 1;
	find_set(path, &set);
	gate_set_detach(&set);
	snprintf(command, sizeof(command), "umount -l %s", world_cgroup());
	if (system(command) != 0)
		return 2;
	if (gate_tend(gate, &error) >= 0 ||
	    !strstr(error.text, "cannot be attached"))
		return 3;
	/* Nothing was lost by the attempt. */
	if (gate_tend(gate, &error) >= 0 ||
	    gate_check(gate, &error) != -ENOLINK)
		return 4;
	return 0;
}

static void what_cannot_be_put_back_is_said_and_tried_again(void **state)
{

	assert_int_equal(as(&root, lose_cgroups, state), 0);
	assert_int_equal(gate_check(*state, &error), -ENOLINK);
	assert_int_equal(gate_tend(*state, &error), 1);
	assert_put_back(*state, error.text);
}

/* Attached, but without a place for its pins. */
static void pins_that_cannot_be_made_leave_the_gate_in_force(void **state)
{
	_auto_(gate_set_fini) struct gate_set set;
	char path[256];

	find_set(path, &set);
	gate_set_detach(&set);
	assert_int_equal(umount("/sys/fs/bpf"), 0);
	/* Others could write there. */
	assert_int_equal(mount("bpf", "/sys/fs/bpf", "bpf", 0, NULL), 0);
	assert_int_equal(system("mkdir -p -m 0777 " PINS), 0);
	assert_int_equal(system("chmod 0777 " PINS), 0);
	assert_int_equal(gate_tend(*state, &error), -EPERM);
	assert_non_null(strstr(error.text, "cannot be pinned"));
	assert_int_equal(gate_check(*state, &error), -ENOENT);
	assert_closed();
	assert_int_equal(system("chmod 0700 " PINS), 0);
	assert_int_equal(gate_tend(*state, &error), 1);
	assert_put_back(*state, error.text);
	assert_outlives(state);
}

#define GATE_TEST(name)                                          \
	cmocka_unit_test_setup_teardown(name, world_lanes_setup, \
					world_lanes_teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		GATE_TEST(a_gate_that_is_whole_is_left_alone),
		GATE_TEST(pins_that_were_unlinked_come_back),
		GATE_TEST(a_directory_of_pins_that_was_deleted_comes_back),
		GATE_TEST(a_file_system_that_was_unmounted_comes_back),
		GATE_TEST(a_pin_of_another_object_is_none),
		GATE_TEST(programs_that_were_detached_come_back),
		GATE_TEST(programs_and_pins_together_come_back),
		GATE_TEST(a_program_that_was_replaced_comes_back),
		GATE_TEST(what_is_put_back_is_closed_from_the_first_program_on),
		GATE_TEST(what_cannot_be_put_back_is_said_and_tried_again),
		GATE_TEST(pins_that_cannot_be_made_leave_the_gate_in_force),
	};

	if (!world_enter())
		return 77;
	return cmocka_run_group_tests(tests, NULL, NULL);
}
