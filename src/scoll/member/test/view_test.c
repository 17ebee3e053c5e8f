/* SPDX-License-Identifier: BSD-3-Clause */
/* The living of a list, compared with asking node by node. */
#include "scoll/member/discovery.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <errno.h>
#include <string.h>

#include "scoll/member/given.h"
#include "sim/heap.h"
#include "sim/rng.h"

#define NODE_COUNT 300

static void assert_true_view(struct discovery *discovery,
			     struct discovery_view *view, const uint64_t *nids,
			     size_t count)
{
	const uint64_t *alive = discovery_view_alive(view);

	for (size_t i = 0; i < count; i++)
		assert_int_equal(alive[i / 64] >> i % 64 & 1,
				 discovery_is_alive(discovery, nids[i]));
	if (count % 64 > 0)
		assert_int_equal(alive[count / 64] >> count % 64, 0);
}

/* Along the roster from any index on, or any other order. */
static void list_of(struct sim_rng *rng, bool is_row, size_t first,
		    uint64_t *nids, size_t count)
{
	for (size_t i = 0; i < count; i++)
		nids[i] = is_row ? first + i : sim_rng_below(rng, 400);
}

static void views_agree_with_single_questions(void **state)
{
	struct sim_rng rng;
	uint64_t nids[NODE_COUNT];
	struct discovery *discovery;
	struct given *given;

	sim_rng_init(&rng, 1);
	assert_int_equal(given_create(true, &given), 0);
	discovery = given_discovery(given);
	for (uint64_t nid = 0; nid < NODE_COUNT; nid++)
		assert_int_equal(given_set(given, nid, SCOLL_ALIVE), 0);
	for (int i = 0; i < 300; i++) {
		size_t count = 1 + sim_rng_below(&rng, NODE_COUNT - 1);
		size_t first = sim_rng_below(&rng, NODE_COUNT - count);
		struct discovery_view *view;

		list_of(&rng, i % 2, first, nids, count);
		assert_int_equal(discovery_view_create(discovery, nids, count,
						       &view),
				 0);
		for (int k = 0; k < 5; k++) {
			uint64_t nid = sim_rng_below(&rng, 500);

			assert_true_view(discovery, view, nids, count);
			if (sim_rng_chance(&rng, 500000))
				assert_int_equal(
					given_set(given, nid, SCOLL_DEAD), 0);
			else
				assert_int_equal(
					given_set(given, nid, SCOLL_ALIVE), 0);
		}
		discovery_view_destroy(view);
	}
	given_destroy(given);
}

static void the_epoch_of_a_view_moves_with_its_own_nodes(void **state)
{
	struct discovery_view *view;
	struct given *given;
	uint64_t epoch;

	assert_int_equal(given_create(true, &given), 0);
	assert_int_equal(discovery_view_create(given_discovery(given),
					       (uint64_t[]){ 3, 1, 2 }, 3,
					       &view),
			 0);
	epoch = discovery_view_epoch(view);
	given_set(given, 9, SCOLL_DEAD);
	given_set(given, 1, SCOLL_REBOOTED);
	assert_int_equal(discovery_view_epoch(view), epoch);
	given_set(given, 1, SCOLL_DEAD);
	assert_int_equal(discovery_view_epoch(view), epoch + 1);
	assert_int_equal(*discovery_view_alive(view), 5);
	assert_int_equal(discovery_view_epoch(view), epoch + 1);
	discovery_view_destroy(view);
	given_destroy(given);
}

static int make_view(void *ctx)
{
	struct discovery_view *view;
	int result = discovery_view_create(ctx, (uint64_t[]){ 1, 2 }, 2, &view);

	if (result == 0)
		discovery_view_destroy(view);
	return result;
}

static void memory_that_runs_out_makes_no_view(void **state)
{
	struct given *given;
	int result;

	assert_int_equal(given_create(true, &given), 0);
	for (unsigned int n = 1;
	     sim_heap_fails(n, &result, make_view, given_discovery(given)); n++)
		assert_int_equal(result, -ENOMEM);
	assert_int_equal(result, 0);
	given_destroy(given);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(views_agree_with_single_questions),
		cmocka_unit_test(the_epoch_of_a_view_moves_with_its_own_nodes),
		cmocka_unit_test(memory_that_runs_out_makes_no_view),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
