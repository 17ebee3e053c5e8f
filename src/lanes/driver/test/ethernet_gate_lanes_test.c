/* SPDX-License-Identifier: BSD-3-Clause */
/* What a gate knows of lanes, and how many it takes. */
#include "lanes/driver/ethernet/gate.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <bpf/bpf.h>
#include <stdio.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "lanes/driver/ethernet/gate_maps.h"
#include "lanes/driver/test/gate_world.h"

static void replace_leaves_exactly_what_is_given(void **state)
{
	const struct gate_entry entries[] = { world_entry(ALICE4, BOB, 0),
					      world_entry(BOB6, BOB, 0) };
	struct ethernet_gate *gate = world_open(&world_options);

	world_lanes(gate);
	assert_true(world_replace(gate, entries, 2) >= 0);
	assert_passes(&bob, ALICE4);
	assert_refused(&alice, ALICE4);
	assert_passes(&bob, BOB6);
	assert_refused(&alice, ALICE6);
	assert_refused(&bob, BOB4);
	assert_true(world_replace(gate, NULL, 0) >= 0);
	assert_refused(&bob, ALICE4);
	assert_true(gate_replace(gate, NULL, 0, NULL) >= 0);
	assert_passes(&bob, ALICE4);
	assert_passes(&alice, BOB6);
	gate_close(gate);
}

/* By whoever finds its pin, as root. */
static int open_map(void)
{
	char name[GATE_SET_NAME_MAX];
	char path[300];
	int fd;

	assert_int_equal(world_sets(name), 1);
	snprintf(path, sizeof(path), PINS "/%s/lanes", name);
	fd = bpf_obj_get(path);
	assert_true(fd >= 0);
	return fd;
}

/* All elements go; then one is somebody's. */
static void write_map(const struct gate_value *value)
{
	_auto_(closep) int map = open_map();
	struct gate_key key;

	while (bpf_map_get_next_key(map, NULL, &key) == 0) {
		assert_int_equal(bpf_map_delete_elem(map, &key), 0);
		if (value)
			break;
	}
	if (value)
		assert_int_equal(bpf_map_update_elem(map, &key, value, 0), 0);
}

static void what_others_write_into_the_map_is_found(void **state)
{
	const struct gate_entry entries[] = { world_entry(ALICE4, ALICE, 0),
					      world_entry(ALICE6, ALICE, 0) };
	const struct gate_value values[] = {
		{ .flags = GATE_HAS_OWNER, .prefix_size = 128, .uid = BOB },
		{ .flags = 0, .prefix_size = 128 },
		{ .flags = 8, .prefix_size = 3 },
	};
	struct ethernet_gate *gate = world_open(&world_options);

	assert_int_equal(gate_replace(gate, entries, 2, NULL), 1);
	assert_int_equal(gate_replace(gate, entries, 2, NULL), 0);
	write_map(NULL);
	assert_passes(&bob, ALICE4);
	assert_int_equal(gate_replace(gate, entries, 2, NULL), 1);
	assert_refused(&bob, ALICE4);
	for (size_t i = 0; i < sizeof(values) / sizeof(values[0]); i++) {
		write_map(&values[i]);
		assert_int_equal(gate_replace(gate, entries, 2, NULL), 1);
		assert_int_equal(gate_replace(gate, entries, 2, NULL), 0);
		assert_refused(&bob, ALICE4);
		assert_passes(&alice, ALICE4);
		assert_passes(&alice, ALICE6);
	}
	gate_close(gate);
}

static void an_entry_whose_cgroup_is_not_known_keeps_its_own(void **state)
{
	struct gate_entry entry = world_entry(ALICE4, ALICE, 0);
	struct ethernet_gate *gate = world_open(&world_options);

	world_lanes(gate);
	/* What it had is not one: then it is for nobody. */
	entry.cgroup_id = GATE_CGROUP_UNKNOWN;
	world_add_lane(gate, &entry);
	assert_refused(&alice, ALICE4);
	assert_passes(&root, ALICE4);
	assert_int_equal(gate_cgroup_id(world_cgroup(), &entry.cgroup_id, NULL),
			 0);
	world_add_lane(gate, &entry);
	assert_passes(&alice, ALICE4);
	entry.cgroup_id = GATE_CGROUP_UNKNOWN;
	world_add_lane(gate, &entry);
	assert_passes(&alice, ALICE4);
	/* Somebody else's is not its own. */
	entry.uid = BOB;
	world_add_lane(gate, &entry);
	assert_refused(&bob, ALICE4);
	gate_close(gate);
}

static void a_removed_lane_is_nobodys(void **state)
{
	struct gate_entry entry = world_entry(ALICE4P, ALICE, 0);
	struct ethernet_gate *gate = world_open(&world_options);

	world_lanes(gate);
	for (int i = 0; i < 2; i++)
		world_remove_lane(gate, &entry);
	assert_refused(&alice, ALICE4);
	assert_passes(&alice, ALICE6);
	world_add_lane(gate, &entry);
	assert_passes(&alice, ALICE4);
	gate_close(gate);
}

static void a_lane_may_have_the_sites_whole_network(void **state)
{
	struct gate_entry both[] = { world_entry(ALICE6, ALICE, 0),
				     world_entry(ALICE6, 0, 0) };
	struct ethernet_gate *gate = world_open(&world_options);

	both[1].is_network = true;
	for (int i = 0; i < 2; i++) {
		assert_int_equal(gate_replace(gate, &both[1], 1, NULL), 1);
		assert_refused(&alice, ALICE6);
		if (i == 0)
			assert_int_equal(gate_add(gate, &both[0], NULL), 0);
		assert_int_equal(gate_replace(gate, both, 2, NULL), i);
		assert_passes(&alice, ALICE6);
	}
	assert_int_equal(gate_replace(gate, both, 1, NULL), 0);
	assert_passes(&alice, ALICE6);
	assert_refused(&bob, ALICE6);
	gate_close(gate);
}

static void what_is_no_network_is_refused(void **state)
{
	struct gate_entry entry = world_entry(ALICE4, ALICE, 0);
	struct ethernet_gate *gate = world_open(&world_options);
	struct fairlead_error error;

	entry.prefix_size = 33;
	assert_int_equal(gate_replace(gate, &entry, 1, &error), -EINVAL);
	entry.prefix_size = 0;
	assert_int_equal(gate_replace(gate, &entry, 1, &error), -EINVAL);
	entry.address.family = 0;
	entry.prefix_size = 64;
	assert_int_equal(gate_replace(gate, &entry, 1, &error), -EINVAL);
	gate_close(gate);
}

static void lanes_come_and_go_without_end(void **state)
{
	struct gate_entry entry = world_entry(ALICE6, ALICE, 0);
	struct ethernet_gate *gate = world_open(&world_options);

	world_lanes(gate);
	for (int i = 0; i < GATE_LANES_MAX; i++) {
		entry.address.bytes[5] = 0xff;
		entry.address.bytes[6] = i >> 8;
		entry.address.bytes[7] = i & 0xff;
		assert_int_equal(gate_replace(gate, &entry, 1, NULL), 1);
	}
	gate_close(gate);
}

static void lanes_have_a_maximum(void **state)
{
	const size_t count = GATE_LANES_MAX + 1;
	_auto_(freep) struct gate_entry *entries =
		calloc(count, sizeof(*entries));
	struct ethernet_gate *gate = world_open(&world_options);
	struct fairlead_error error;

	assert_non_null(entries);
	for (size_t i = 0; i < count; i++) {
		entries[i] = world_entry(ALICE6, ALICE, 0);
		entries[i].address.bytes[6] = (uint8_t)(i >> 8);
		entries[i].address.bytes[7] = (uint8_t)i;
	}
	assert_int_equal(gate_replace(gate, entries, count, &error), -ENOSPC);
	assert_refused(&bob, "fd46:4c00::1");
	assert_true(gate_replace(gate, NULL, 0, NULL) >= 0);
	assert_passes(&bob, ALICE6);
	assert_int_equal(gate_replace(gate, entries, 1, &error), 1);
	gate_close(gate);
}

static void a_cgroup_of_another_kind_has_no_id(void **state)
{
	uint64_t id;

	assert_int_equal(gate_cgroup_id("/tmp", &id, NULL), -EINVAL);
	assert_int_equal(gate_cgroup_id("/sys/fs/cgroup/none/here", &id, NULL),
			 -ENOENT);
}

#define GATE_TEST(name) cmocka_unit_test_teardown(name, world_clear)

int main(void)
{
	const struct CMUnitTest tests[] = {
		GATE_TEST(replace_leaves_exactly_what_is_given),
		GATE_TEST(what_others_write_into_the_map_is_found),
		GATE_TEST(an_entry_whose_cgroup_is_not_known_keeps_its_own),
		GATE_TEST(a_removed_lane_is_nobodys),
		GATE_TEST(a_lane_may_have_the_sites_whole_network),
		GATE_TEST(what_is_no_network_is_refused),
		GATE_TEST(lanes_come_and_go_without_end),
		GATE_TEST(lanes_have_a_maximum),
		GATE_TEST(a_cgroup_of_another_kind_has_no_id),
	};

	if (!world_enter())
		return 77;
	return cmocka_run_group_tests(tests, NULL, NULL);
}
