/* SPDX-License-Identifier: BSD-3-Clause */
/* How programs come, stay and go, and whom they do not concern. */
#include "driver/ethernet/gate_pins.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <bpf/bpf.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/capability.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "driver/ethernet/gate.h"
#include "driver/ethernet/gate_load.h"
#include "driver/test/gate_world.h"

static const struct who alice = { .uid = ALICE };
static const struct who bob = { .uid = BOB };
static const struct who root = { .uid = 0 };

static int teardown(void **state)
{
	return gate_clear(PINS, NULL);
}

static struct gate *open_gate(const struct gate_options *options)
{
	struct fairlead_error error = { 0 };
	struct gate *gate = NULL;

	if (gate_open(options, &gate, &error) < 0)
		fail_msg("%s", error.text);
	return gate;
}

static size_t count_sets(char name[GATE_SET_NAME_MAX])
{
	struct gate_sets sets;

	assert_int_equal(gate_pins_list(PINS, "", &sets, NULL), 0);
	strcpy(name, sets.names[0]);
	return sets.count;
}

static int open_and_be_killed(const void *arg)
{
	world_lanes(open_gate(&world_options));
	kill(getpid(), SIGKILL);
	return 1;
}

static void programs_and_lanes_outlive_who_made_them(void **state)
{
	struct gate_counters counters;
	char before[GATE_SET_NAME_MAX];
	char after[GATE_SET_NAME_MAX];
	struct gate *gate;
	pid_t pid = fork();
	int status;

	if (pid == 0)
		_exit(open_and_be_killed(NULL));
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_true(WIFSIGNALED(status));
	assert_refused(&bob, ALICE4);
	assert_passes(&alice, ALICE4);
	assert_int_equal(count_sets(before), 1);

	gate = open_gate(&world_options);
	assert_int_equal(count_sets(after), 1);
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
	struct gate_options options = world_options;
	char names[2][GATE_SET_NAME_MAX];
	cpu_set_t all;
	pid_t pid;
	int status;

	assert_ptr_not_equal(watch, MAP_FAILED);
	gate_close(open_gate(&options));
	{
		_auto_(gate_closep) struct gate *gate = open_gate(&options);

		world_lanes(gate);
	}
	assert_int_equal(count_sets(names[0]), 1);
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
		options.port_count = i % 2 ? 1 : 2;
		gate_close(open_gate(&options));
		assert_int_equal(count_sets(names[1]), 1);
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

static void a_set_that_is_not_whole_is_made_anew(void **state)
{
	char name[GATE_SET_NAME_MAX];
	char again[GATE_SET_NAME_MAX];
	char path[256];
	struct gate *gate = open_gate(&world_options);

	world_lanes(gate);
	gate_close(gate);
	for (int i = 0; i < 2; i++) {
		int link;

		assert_int_equal(count_sets(name), 1);
		snprintf(path, sizeof(path), PINS "/%s/gate_bind4", name);
		link = bpf_obj_get(path);
		assert_true(link >= 0);
		assert_int_equal(bpf_link_detach(link), 0);
		close(link);
		/* With its pin, and without. */
		if (i == 1)
			assert_int_equal(unlink(path), 0);
		gate_close(open_gate(&world_options));
		assert_int_equal(count_sets(again), 1);
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
		snprintf(name, sizeof(name), PINS "/%d", i);
		assert_int_equal(mkdir(name, 0700), 0);
	}
	gate_close(open_gate(&world_options));
	assert_int_equal(count_sets(name), 1);
}

static void replace_leaves_exactly_what_is_given(void **state)
{
	const struct gate_entry entries[] = { world_entry(ALICE4, BOB, 0),
					      world_entry(BOB6, BOB, 0) };
	struct gate *gate = open_gate(&world_options);

	world_lanes(gate);
	assert_int_equal(gate_replace(gate, entries, 2, NULL), 0);
	assert_passes(&bob, ALICE4);
	assert_refused(&alice, ALICE4);
	assert_passes(&bob, BOB6);
	assert_refused(&alice, ALICE6);
	assert_refused(&bob, BOB4);
	assert_int_equal(gate_replace(gate, NULL, 0, NULL), 0);
	assert_refused(&bob, ALICE4);
	assert_int_equal(gate_networks(gate, NULL, 0, NULL), 0);
	assert_passes(&bob, ALICE4);
	assert_passes(&alice, BOB6);
	gate_close(gate);
}

static void a_removed_lane_is_nobodys(void **state)
{
	struct gate_entry entry = world_entry(ALICE4P, ALICE, 0);
	struct gate *gate = open_gate(&world_options);

	world_lanes(gate);
	for (int i = 0; i < 2; i++)
		assert_int_equal(gate_remove(gate, &entry.address,
					     entry.prefix_size, NULL),
				 0);
	assert_refused(&alice, ALICE4);
	assert_passes(&alice, ALICE6);
	assert_int_equal(gate_add(gate, &entry, NULL), 0);
	assert_passes(&alice, ALICE4);
	gate_close(gate);
}

static void a_lane_may_have_the_sites_whole_network(void **state)
{
	struct gate_entry entry = world_entry(ALICE6, ALICE, 0);
	struct ip_network network = { .prefix_size = 64 };
	struct gate *gate = open_gate(&world_options);

	network.address = entry.address;
	assert_int_equal(gate_networks(gate, &network, 1, NULL), 0);
	assert_refused(&alice, ALICE6);
	assert_int_equal(gate_add(gate, &entry, NULL), 0);
	assert_passes(&alice, ALICE6);
	assert_int_equal(gate_remove(gate, &entry.address, 64, NULL), 0);
	assert_refused(&alice, ALICE6);
	assert_int_equal(gate_add(gate, &entry, NULL), 0);
	assert_int_equal(gate_networks(gate, NULL, 0, NULL), 0);
	assert_passes(&alice, ALICE6);
	assert_refused(&bob, ALICE6);
	gate_close(gate);
}

static void what_is_no_network_is_refused(void **state)
{
	struct gate_entry entry = world_entry(ALICE4, ALICE, 0);
	struct gate *gate = open_gate(&world_options);
	struct fairlead_error error;

	entry.prefix_size = 33;
	assert_int_equal(gate_add(gate, &entry, &error), -EINVAL);
	entry.prefix_size = 0;
	assert_int_equal(gate_add(gate, &entry, &error), -EINVAL);
	entry.address.family = 0;
	entry.prefix_size = 64;
	assert_int_equal(gate_replace(gate, &entry, 1, &error), -EINVAL);
	gate_close(gate);
}

/* Also what somebody has open, which would keep it attached. */
static void clear_detaches_all_at_once(void **state)
{
	struct gate *gate = open_gate(&world_options);
	char name[GATE_SET_NAME_MAX];
	char path[256];
	struct stat found;
	int link;

	world_lanes(gate);
	assert_int_equal(count_sets(name), 1);
	snprintf(path, sizeof(path), PINS "/%s/gate_bind4", name);
	link = bpf_obj_get(path);
	assert_true(link >= 0);
	assert_refused(&bob, ALICE4);
	assert_int_equal(gate_clear(PINS, NULL), 0);
	assert_passes(&bob, ALICE4);
	assert_int_equal(stat(PINS, &found), -1);
	assert_int_equal(gate_clear(PINS, NULL), 0);
	gate_close(gate);
	close(link);
}

static void lanes_come_and_go_without_end(void **state)
{
	struct gate_entry entry = world_entry(ALICE6, ALICE, 0);
	struct gate *gate = open_gate(&world_options);

	world_lanes(gate);
	for (int i = 0; i < GATE_LANES_MAX; i++) {
		entry.address.bytes[5] = 0xff;
		entry.address.bytes[6] = i >> 8;
		entry.address.bytes[7] = i & 0xff;
		assert_int_equal(gate_add(gate, &entry, NULL), 0);
		assert_int_equal(gate_remove(gate, &entry.address, 64, NULL),
				 0);
	}
	gate_close(gate);
}

static void lanes_have_a_maximum(void **state)
{
	struct gate_entry entry = world_entry(ALICE6, ALICE, 0);
	struct gate *gate = open_gate(&world_options);
	struct fairlead_error error;
	int result = 0;
	int count = 0;

	for (; result == 0 && count <= GATE_LANES_MAX; count++) {
		entry.address.bytes[6] = count >> 8;
		entry.address.bytes[7] = count & 0xff;
		result = gate_add(gate, &entry, &error);
	}
	assert_int_equal(result, -ENOSPC);
	assert_int_equal(count, GATE_LANES_MAX + 1);
	assert_refused(&bob, "fd46:4c00::1");
	assert_int_equal(gate_replace(gate, NULL, 0, NULL), 0);
	assert_passes(&bob, ALICE6);
	assert_int_equal(gate_add(gate, &entry, &error), 0);
	gate_close(gate);
}

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
	struct gate_options options = world_options;
	struct gate *gate;

	options.pins = PINS "-2";
	if (unshare(CLONE_NEWNET) < 0)
		return 1;
	world_network();
	gate = open_gate(&options);
	assert_int_equal(gate_replace(gate, entries, 2, NULL), 0);
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
	struct gate *gate;

	if (!packets_have_a_namespace()) {
		printf("skipped: programs for packets cannot ask for the "
		       "namespace\n");
		skip();
	}
	gate = open_gate(&world_options);
	world_lanes(gate);
	assert_int_equal(as(&root, live_elsewhere, NULL), 0);
	assert_refused(&bob, ALICE4);
	assert_int_equal(as(&root, have_a_gate_elsewhere, NULL), 0);
	assert_refused(&bob, ALICE6);
	assert_passes(&alice, ALICE6);
	assert_int_equal(gate_clear(PINS "-2", NULL), 0);
	gate_close(gate);
}

static void a_gate_of_another_namespace_gives_way(void **state)
{
	char before[GATE_SET_NAME_MAX];
	char after[GATE_SET_NAME_MAX];
	struct gate *gate = open_gate(&world_options);

	world_lanes(gate);
	gate_close(gate);
	assert_int_equal(count_sets(before), 1);
	assert_int_equal(unshare(CLONE_NEWNET), 0);
	world_network();
	gate = open_gate(&world_options);
	assert_int_equal(count_sets(after), 1);
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
	struct gate_config config = { .port = ETHERNET_PORT, .port_count = 1 };
	_auto_(gate_set_fini) struct gate_set first;
	_auto_(gate_set_fini) struct gate_set made;
	struct gate *gate = open_gate(&world_options);
	char cgroup[256];
	const struct who here[] = { { ALICE, cgroup }, { BOB, cgroup } };
	char path[256];
	char name[GATE_SET_NAME_MAX];
	int fd;

	world_lanes(gate);
	gate_close(gate);
	assert_int_equal(count_sets(name), 1);
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
	assert_int_equal(gate_pins_keep(PINS, "packets", NULL), 0);

	assert_refused(&here[1], ALICE4);
	assert_passes(&here[0], ALICE6);
	assert_passes(&bob, ALICE6);
	fd = listen_as(&here[1], SOCK_DGRAM, "0.0.0.0", 5002);
	assert_false(gets(fd, &here[0], ALICE4, "127.0.0.1", 5002));
	assert_true(gets(fd, &here[1], BOB4, "127.0.0.1", 5002));
	close(fd);
	assert_int_equal(gate_clear(PINS, NULL), 0);
	assert_int_equal(rmdir(cgroup), 0);
}

static int open_without_cgroup(const void *arg)
{
	struct fairlead_error error = { 0 };
	struct gate *gate;

	if (unshare(CLONE_NEWNS) < 0)
		return 1;
	/* Ours, beside v1 or alone. */
	umount2("/sys/fs/cgroup/unified", MNT_DETACH);
	umount2("/sys/fs/cgroup", MNT_DETACH);
	assert_int_equal(gate_open(&world_options, &gate, &error), -EOPNOTSUPP);
	assert_non_null(strstr(error.text, "cgroup v2 is not mounted"));
	return 0;
}

static void a_system_without_cgroup_v2_is_told_so(void **state)
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
	struct gate *gate;

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
	assert_int_equal(count_sets(name), 0);
}

static int use_without_privileges(const void *arg)
{
	struct gate *gate = open_gate(&world_options);
	struct gate_counters counters;

	drop_capabilities();
	world_lanes(gate);
	assert_int_equal(gate_counters(gate, &counters), 0);
	assert_int_equal(gate_clear(PINS, NULL), 0);
	gate_close(gate);
	return 0;
}

static void an_open_gate_needs_no_privileges(void **state)
{
	assert_int_equal(as(&root, use_without_privileges, NULL), 0);
	assert_passes(&bob, ALICE4);
}

static void the_file_system_is_mounted_where_it_is_not(void **state)
{
	struct gate_options options = world_options;
	char path[] = "/tmp/fairlead-gate-XXXXXX";
	char pins[64];

	assert_non_null(mkdtemp(path));
	snprintf(pins, sizeof(pins), "%s/a/b", path);
	options.pins = pins;
	gate_close(open_gate(&options));
	gate_close(open_gate(&options));
	assert_int_equal(gate_clear(pins, NULL), 0);
	assert_int_equal(umount(pins), 0);
	assert_int_equal(rmdir(pins), 0);
	snprintf(pins, sizeof(pins), "%s/a", path);
	assert_int_equal(rmdir(pins), 0);
	assert_int_equal(rmdir(path), 0);
}

static void pins_that_others_can_write_are_refused(void **state)
{
	struct fairlead_error error;
	struct gate *gate;

	assert_int_equal(gate_pins_make(PINS, NULL), 0);
	assert_int_equal(chmod(PINS, 0777), 0);
	assert_int_equal(gate_open(&world_options, &gate, &error), -EPERM);
	assert_int_equal(chmod(PINS, 0700), 0);
	assert_int_equal(chown(PINS, BOB, BOB), 0);
	assert_int_equal(gate_open(&world_options, &gate, &error), -EPERM);
}

static void a_cgroup_of_another_kind_has_no_id(void **state)
{
	uint64_t id;

	assert_int_equal(gate_cgroup_id("/tmp", &id, NULL), -EINVAL);
	assert_int_equal(gate_cgroup_id("/sys/fs/cgroup/none/here", &id, NULL),
			 -ENOENT);
}

#define GATE_TEST(name) cmocka_unit_test_teardown(name, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		GATE_TEST(programs_and_lanes_outlive_who_made_them),
		GATE_TEST(other_programs_take_over_without_a_gap),
		GATE_TEST(a_set_that_is_not_whole_is_made_anew),
		GATE_TEST(what_crashes_left_is_cleared_away),
		GATE_TEST(replace_leaves_exactly_what_is_given),
		GATE_TEST(a_removed_lane_is_nobodys),
		GATE_TEST(a_lane_may_have_the_sites_whole_network),
		GATE_TEST(what_is_no_network_is_refused),
		GATE_TEST(lanes_come_and_go_without_end),
		GATE_TEST(lanes_have_a_maximum),
		GATE_TEST(clear_detaches_all_at_once),
		GATE_TEST(another_namespace_is_not_concerned),
		GATE_TEST(a_gate_of_another_namespace_gives_way),
		GATE_TEST(
			a_kernel_without_namespaces_of_packets_checks_them_all),
		GATE_TEST(a_system_without_cgroup_v2_is_told_so),
		GATE_TEST(to_open_needs_privileges_and_says_which),
		GATE_TEST(an_open_gate_needs_no_privileges),
		GATE_TEST(the_file_system_is_mounted_where_it_is_not),
		GATE_TEST(pins_that_others_can_write_are_refused),
		GATE_TEST(a_cgroup_of_another_kind_has_no_id),
	};

	if (!world_enter())
		return 77;
	return cmocka_run_group_tests(tests, NULL, NULL);
}
