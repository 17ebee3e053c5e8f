/* SPDX-License-Identifier: BSD-3-Clause */
/* How programs come, stay and go. */
#include "lanes/driver/ethernet/gate_pins.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <bpf/bpf.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "lanes/driver/ethernet/gate.h"
#include "lanes/driver/test/gate_world.h"

static int open_and_be_killed(const void *arg)
{
	world_lanes(world_open(&world_options));
	kill(getpid(), SIGKILL);
	return 1;
}

static void programs_and_lanes_outlive_who_made_them(void **state)
{
	struct gate_counters counters;
	char before[GATE_SET_NAME_MAX];
	char after[GATE_SET_NAME_MAX];
	struct ethernet_gate *gate;
	pid_t pid = fork();
	int status;

	if (pid == 0)
		_exit(open_and_be_killed(NULL));
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_true(WIFSIGNALED(status));
	assert_refused(&bob, ALICE4);
	assert_passes(&alice, ALICE4);
	assert_int_equal(world_sets(before), 1);

	gate = world_open(&world_options);
	assert_int_equal(world_sets(after), 1);
	assert_string_equal(before, after);
	assert_refused(&bob, ALICE6);
	assert_passes(&alice, ALICE6);
	assert_int_equal(gate_counters(gate, &counters), 0);
	assert_int_equal(counters.refused_bind, 4);
	gate_close(gate);
}

struct watch {
	bool is_over;
	unsigned long tries;
	unsigned long gaps;
};

static void watch_for_a_gap(struct watch *watch)
{
	const struct call call = { .kind = BIND,
				   .type = SOCK_DGRAM,
				   .address = ALICE4 };

	if (setresuid(BOB, BOB, BOB) < 0)
		_exit(2);
	while (!__atomic_load_n(&watch->is_over, __ATOMIC_ACQUIRE)) {
		if (try_call(&call) != EPERM)
			watch->gaps++;
		__atomic_fetch_add(&watch->tries, 1, __ATOMIC_RELEASE);
	}
	_exit(0);
}

/* Wait until it has tried once more. */
static void await_try(const struct watch *watch)
{
	unsigned long seen = __atomic_load_n(&watch->tries, __ATOMIC_ACQUIRE);

	while (__atomic_load_n(&watch->tries, __ATOMIC_ACQUIRE) == seen)
		sched_yield();
}

static void other_programs_take_over_without_a_gap(void **state)
{
	struct watch *watch = mmap(NULL, sizeof(*watch), PROT_READ | PROT_WRITE,
				   MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	struct ethernet_gate_options options = world_options;
	char names[2][GATE_SET_NAME_MAX];
	struct ethernet_gate *gate;
	cpu_set_t all;
	pid_t pid;
	int status;

	assert_ptr_not_equal(watch, MAP_FAILED);
	gate_close(world_open(&options));
	gate = world_open(&options);
	world_lanes(gate);
	gate_close(gate);
	assert_int_equal(world_sets(names[0]), 1);
	pid = fork();
	if (pid == 0) {
		/* On all CPUs, unlike the test itself. */
		memset(&all, 0xff, sizeof(all));
		sched_setaffinity(0, sizeof(all), &all);
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		watch_for_a_gap(watch);
	}
	for (int i = 0; i < 16; i++) {
		await_try(watch);
		options.port = (uint16_t)(ETHERNET_PORT + (i + 1) % 2);
		gate_close(world_open(&options));
		assert_int_equal(world_sets(names[1]), 1);
		assert_string_not_equal(names[0], names[1]);
		strcpy(names[0], names[1]);
	}
	await_try(watch);
	__atomic_store_n(&watch->is_over, true, __ATOMIC_RELEASE);
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_true(WIFEXITED(status));
	assert_int_equal(WEXITSTATUS(status), 0);
	assert_int_equal(watch->gaps, 0);
	assert_passes(&alice, ALICE4);
	munmap(watch, sizeof(*watch));
}

static void an_incomplete_set_is_made_again(void **state)
{
	char name[GATE_SET_NAME_MAX];
	char again[GATE_SET_NAME_MAX];
	char path[256];
	struct ethernet_gate *gate = world_open(&world_options);

	world_lanes(gate);
	gate_close(gate);
	for (int i = 0; i < 2; i++) {
		int link;

		assert_int_equal(world_sets(name), 1);
		snprintf(path, sizeof(path), PINS "/%s/gate_bind4", name);
		link = bpf_obj_get(path);
		assert_true(link >= 0);
		assert_int_equal(bpf_link_detach(link), 0);
		close(link);
		/* With its pin, and without. */
		if (i == 1)
			assert_int_equal(unlink(path), 0);
		gate_close(world_open(&world_options));
		assert_int_equal(world_sets(again), 1);
		assert_string_not_equal(name, again);
		assert_refused(&bob, ALICE4);
		assert_passes(&alice, ALICE4);
	}
}

static void what_crashes_left_is_cleared_away(void **state)
{
	char name[GATE_SET_NAME_MAX];

	assert_int_equal(gate_pins_make(PINS, NULL), 0);
	for (int i = 0; i < 3 * GATE_SETS_MAX; i++) {
		snprintf(name, sizeof(name),
			 PINS "/00000000000000%02x-0123456789abcdef-1", i);
		assert_int_equal(mkdir(name, 0700), 0);
	}
	gate_close(world_open(&world_options));
	assert_int_equal(world_sets(name), 1);
}

/* As where the directory is the whole file system. */
static void what_others_have_in_the_directory_is_left_alone(void **state)
{
	static const char *const others[] = {
		PINS "/7", PINS "/cilium",
		PINS "/0123456789abcdef-0123456789abcdef",
		PINS "/0123456789abcdef-0123456789abcdef-x"
	};
	struct ethernet_gate_options options = world_options;
	char name[GATE_SET_NAME_MAX];

	assert_int_equal(gate_pins_make(PINS, NULL), 0);
	for (size_t i = 0; i < sizeof(others) / sizeof(others[0]); i++)
		assert_int_equal(mkdir(others[i], 0700), 0);
	gate_close(world_open(&options));
	options.port++;
	gate_close(world_open(&options));
	assert_int_equal(world_sets(name), 1);
	assert_int_equal(gate_leave(PINS, NULL), 0);
	assert_int_equal(world_remove(PINS), 0);
	assert_int_equal(world_sets(name), 0);
	for (size_t i = 0; i < sizeof(others) / sizeof(others[0]); i++)
		assert_int_equal(rmdir(others[i]), 0);
}

/* Also what somebody has open, which would keep it attached. */
static void clear_detaches_all_at_once(void **state)
{
	struct ethernet_gate *gate = world_open(&world_options);
	char name[GATE_SET_NAME_MAX];
	char path[256];
	struct stat found;
	int link;

	world_lanes(gate);
	assert_int_equal(world_sets(name), 1);
	snprintf(path, sizeof(path), PINS "/%s/gate_bind4", name);
	link = bpf_obj_get(path);
	assert_true(link >= 0);
	assert_refused(&bob, ALICE4);
	assert_int_equal(world_remove(PINS), 0);
	assert_passes(&bob, ALICE4);
	assert_int_equal(stat(PINS, &found), -1);
	assert_int_equal(world_remove(PINS), 0);
	gate_close(gate);
	close(link);
}

static void the_file_system_is_mounted_where_it_is_not(void **state)
{
	struct ethernet_gate_options options = world_options;
	char path[] = "/tmp/fairlead-gate-XXXXXX";
	char pins[64];

	assert_non_null(mkdtemp(path));
	snprintf(pins, sizeof(pins), "%s/a/b", path);
	options.pins = pins;
	gate_close(world_open(&options));
	gate_close(world_open(&options));
	assert_int_equal(world_remove(pins), 0);
	assert_int_equal(umount(pins), 0);
	assert_int_equal(rmdir(pins), 0);
	snprintf(pins, sizeof(pins), "%s/a", path);
	assert_int_equal(rmdir(pins), 0);
	assert_int_equal(rmdir(path), 0);
}

static void pins_that_others_can_write_are_refused(void **state)
{
	struct fairlead_error error;
	struct ethernet_gate *gate;

	assert_int_equal(gate_pins_make(PINS, NULL), 0);
	assert_int_equal(chmod(PINS, 0777), 0);
	assert_int_equal(gate_open(&world_options, &gate, &error), -EPERM);
	assert_int_equal(chmod(PINS, 0700), 0);
	assert_int_equal(chown(PINS, BOB, BOB), 0);
	assert_int_equal(gate_open(&world_options, &gate, &error), -EPERM);
}

#define GATE_TEST(name) cmocka_unit_test_teardown(name, world_clear)

int main(void)
{
	const struct CMUnitTest tests[] = {
		GATE_TEST(programs_and_lanes_outlive_who_made_them),
		GATE_TEST(other_programs_take_over_without_a_gap),
		GATE_TEST(an_incomplete_set_is_made_again),
		GATE_TEST(what_crashes_left_is_cleared_away),
		GATE_TEST(what_others_have_in_the_directory_is_left_alone),
		GATE_TEST(clear_detaches_all_at_once),
		GATE_TEST(the_file_system_is_mounted_where_it_is_not),
		GATE_TEST(pins_that_others_can_write_are_refused),
	};

	if (!world_enter())
		return 77;
	return cmocka_run_group_tests(tests, NULL, NULL);
}
