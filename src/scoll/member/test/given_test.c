/* SPDX-License-Identifier: BSD-3-Clause */
#include "scoll/member/given.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <errno.h>

#include "scoll/member/roster.h"
#include "sim/heap.h"

static struct given *make(bool unknown_is_alive)
{
	struct given *given;

	assert_int_equal(given_create(unknown_is_alive, &given), 0);
	return given;
}

static void unknown_nodes_count_as_the_option_says(void **state)
{
	struct given *alive = make(true);
	struct given *dead = make(false);

	assert_true(discovery_is_alive(given_discovery(alive), 5));
	assert_false(discovery_is_alive(given_discovery(dead), 5));
	assert_int_equal(discovery_counter(given_discovery(alive), 5), 0);
	assert_false(discovery_is_stealthy(given_discovery(alive)));
	given_destroy(alive);
	given_destroy(dead);
}

static void counter_D06_rises_from_alive_to_dead_only(void **state)
{
	struct given *given = make(true);
	struct discovery *discovery = given_discovery(given);

	assert_int_equal(given_set(given, 5, SCOLL_ALIVE), 0);
	assert_int_equal(discovery_counter(discovery, 5), 0);
	for (uint32_t i = 1; i <= 3; i++) {
		assert_int_equal(given_set(given, 5, SCOLL_DEAD), 0);
		assert_int_equal(given_set(given, 5, SCOLL_DEAD), 0);
		assert_false(discovery_is_alive(discovery, 5));
		assert_int_equal(discovery_counter(discovery, 5), i);
		assert_int_equal(given_set(given, 5, SCOLL_ALIVE), 0);
		assert_true(discovery_is_alive(discovery, 5));
		assert_int_equal(discovery_counter(discovery, 5), i);
	}
	assert_int_equal(discovery_counter(discovery, 6), 0);
	given_destroy(given);
}

static void reboot_D07_is_a_changed_counter(void **state)
{
	struct given *given = make(false);
	struct discovery *discovery = given_discovery(given);

	/* The first time that it is seen is no reboot. */
	assert_int_equal(given_set(given, 5, SCOLL_REBOOTED), 0);
	assert_true(discovery_is_alive(discovery, 5));
	assert_int_equal(discovery_counter(discovery, 5), 0);
	assert_int_equal(given_set(given, 5, SCOLL_REBOOTED), 0);
	assert_true(discovery_is_alive(discovery, 5));
	assert_int_equal(discovery_counter(discovery, 5), 1);
	/* Its death has counted already. */
	assert_int_equal(given_set(given, 5, SCOLL_DEAD), 0);
	assert_int_equal(given_set(given, 5, SCOLL_REBOOTED), 0);
	assert_int_equal(discovery_counter(discovery, 5), 2);
	given_destroy(given);
}

static void the_epoch_moves_with_changes_only(void **state)
{
	struct given *given = make(false);
	struct discovery *discovery = given_discovery(given);
	uint64_t epoch = discovery_epoch(discovery);

	assert_int_equal(given_set(given, 1, SCOLL_DEAD), 0);
	assert_int_equal(discovery_epoch(discovery), epoch);
	assert_int_equal(given_set(given, 1, SCOLL_ALIVE), 0);
	assert_true(discovery_epoch(discovery) > epoch);
	assert_int_equal(discovery_alive_count(discovery), 1);
	epoch = discovery_epoch(discovery);
	assert_int_equal(given_set(given, 1, SCOLL_ALIVE), 0);
	assert_int_equal(discovery_epoch(discovery), epoch);
	assert_int_equal(given_set(given, 1, SCOLL_REBOOTED), 0);
	assert_true(discovery_epoch(discovery) > epoch);
	given_destroy(given);
}

static void more_nodes_than_the_maximum_are_refused(void **state)
{
	struct given *given = make(true);

	for (uint64_t nid = 0; nid < ROSTER_NODE_MAX; nid++)
		assert_int_equal(given_set(given, nid, SCOLL_DEAD), 0);
	assert_int_equal(given_set(given, UINT64_MAX, SCOLL_DEAD), -ENOSPC);
	assert_true(discovery_is_alive(given_discovery(given), UINT64_MAX));
	assert_int_equal(given_set(given, 17, SCOLL_ALIVE), 0);
	assert_int_equal(discovery_alive_count(given_discovery(given)), 1);
	given_destroy(given);
}

static int tell_some(void *ctx)
{
	struct given *given;
	int result = given_create(true, &given);

	if (result < 0)
		return result;
	for (uint64_t nid = 0; nid < 100 && result == 0; nid++) {
		result = given_set(given, nid, SCOLL_DEAD);
		/* What was refused is as it was. */
		assert_int_equal(discovery_is_alive(given_discovery(given),
						    nid),
				 result < 0);
	}
	given_destroy(given);
	return result;
}

static void memory_that_runs_out_changes_nothing(void **state)
{
	int result;
	unsigned int n;

	for (n = 1; sim_heap_fails(n, &result, tell_some, NULL); n++)
		assert_true(result == -ENOMEM || result == 0);
	assert_int_equal(result, 0);
	assert_true(n > 100);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(unknown_nodes_count_as_the_option_says),
		cmocka_unit_test(counter_D06_rises_from_alive_to_dead_only),
		cmocka_unit_test(reboot_D07_is_a_changed_counter),
		cmocka_unit_test(the_epoch_moves_with_changes_only),
		cmocka_unit_test(more_nodes_than_the_maximum_are_refused),
		cmocka_unit_test(memory_that_runs_out_changes_nothing),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
