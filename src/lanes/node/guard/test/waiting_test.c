/* SPDX-License-Identifier: BSD-3-Clause */
/* Lanes that are taken back together: in one go, each with its own answer. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "lanes/node/guard/test/fake.h"

#define LANES 5 /* grants 1..LANES */

static int setup(void **state)
{
	struct world *world = calloc(1, sizeof(*world));

	assert_non_null(world);
	world_init(world);
	world_restart(world);
	for (uint64_t id = 1; id <= LANES; id++)
		assert_int_equal(world_apply(world, id), 0);
	*state = world;
	return 0;
}

static int teardown(void **state)
{
	world_fini(*state);
	free(*state);
	return 0;
}

/* The next reply, and the grant that it is of. */
static int next(struct world *world, enum guard_type type, uint64_t grant_id)
{
	int result = world_next(world, type);

	assert_int_equal(world->reply.grant_count, 1);
	assert_int_equal(world->reply.grants[0].grant_id, grant_id);
	if (type == GUARD_COMMAND) {
		assert_true(world->has_confirm);
		assert_int_equal(world->confirm.grant_id, grant_id);
		assert_int_equal(world->confirm.result, result);
		assert_string_equal(world->confirm.reason, world->reply.text);
	}
	return result;
}

static void lanes_of_many_requests_are_taken_in_one_go(void **state)
{
	struct world *world = *state;
	unsigned int before = world->steps;

	for (uint64_t id = 1; id <= LANES; id++)
		world_take_revoke(world, id);
	assert_true(guard_is_waiting(world->guard));
	assert_int_equal(world->replies.size, 0);
	assert_int_equal(world->revokes, 0);
	assert_int_equal(world->steps, before);
	world_settle(world);
	assert_false(guard_is_waiting(world->guard));
	assert_int_equal(world->revoke_alls, 1);
	assert_int_equal(world->revokes, LANES);
	/* Two writes of the journal, whatever the number of lanes. */
	assert_int_equal(world->steps - before, 2 + LANES * (FAKE_DEVICES + 1));
	for (uint64_t id = 1; id <= LANES; id++) {
		assert_int_equal(next(world, GUARD_COMMAND, id), 0);
		assert_int_equal(world_state(world, id), 0);
	}
	assert_int_equal(world->replies.size, 0);
	assert_int_equal(world_objects_total(world), 0);
	assert_int_equal(world_files_total(world), 0);
}

static void replies_keep_the_order_of_requests(void **state)
{
	struct world *world = *state;

	world_take_revoke(world, 3);
	world_take_request(world, GUARD_REVOKE, 1);
	world_take_request(world, GUARD_REVOKE, 77);
	world_take_revoke(world, 2);
	world_take_request(world, GUARD_GRANTS, 0);
	assert_false(guard_is_waiting(world->guard));
	assert_int_equal(next(world, GUARD_COMMAND, 3), 0);
	assert_int_equal(next(world, GUARD_REVOKE, 1), 0);
	assert_int_equal(next(world, GUARD_REVOKE, 77), -ENOENT);
	assert_int_equal(next(world, GUARD_COMMAND, 2), 0);
	/* Who looks does not see what was to go before. */
	assert_int_equal(world_next(world, GUARD_GRANTS), 0);
	assert_int_equal(world->reply.grant_count, 2);
	assert_int_equal(world->reply.grants[0].grant_id, 4);
}

static void one_lane_twice_is_taken_once(void **state)
{
	struct world *world = *state;

	world_take_revoke(world, 1);
	world_take_revoke(world, 1);
	world_take_request(world, GUARD_REVOKE, 2);
	world_take_request(world, GUARD_REVOKE, 2);
	world_settle(world);
	assert_int_equal(next(world, GUARD_COMMAND, 1), 0);
	assert_int_equal(next(world, GUARD_COMMAND, 1), 0);
	assert_int_equal(next(world, GUARD_REVOKE, 2), 0);
	assert_int_equal(next(world, GUARD_REVOKE, 2), -ENOENT);
	assert_int_equal(world->revokes, 2);
}

static void what_keeps_one_lane_keeps_no_other(void **state)
{
	struct world *world = *state;

	world_object(world, 2)->is_busy = true;
	for (uint64_t id = 1; id <= LANES; id++)
		world_take_revoke(world, id);
	world_settle(world);
	for (uint64_t id = 1; id <= LANES; id++) {
		assert_int_equal(next(world, GUARD_COMMAND, id),
				 id == 2 ? -EBUSY : 0);
		assert_int_equal(world->reply.text[0] != 0, id == 2);
	}
	assert_int_equal(world_state(world, 2), GRANT_REVOKING);
	assert_int_equal(world_objects_total(world), 1);
}

static void each_of_many_lanes_is_pending_under_its_own_sequence(void **state)
{
	struct world *world = *state;
	uint64_t sequence = 0;

	for (uint64_t id = 1; id <= LANES; id++)
		world_take_request(world, GUARD_REVOKE, id);
	world_settle(world);
	for (uint64_t id = 1; id <= LANES; id++)
		assert_int_equal(next(world, GUARD_REVOKE, id), 0);
	assert_int_equal(world->reply.pending_count, LANES);
	world_restart(world);
	for (uint64_t id = 1; id <= LANES; id++) {
		assert_int_equal(world_request(world, GUARD_PENDING, sequence),
				 0);
		assert_int_equal(world->confirm.grant_id, id);
		sequence = world->reply.sequence;
	}
}

static void a_full_disk_keeps_no_lane_and_is_said(void **state)
{
	struct world *world = *state;

	for (uint64_t id = 1; id <= LANES; id++)
		world_take_revoke(world, id);
	world->write_error = -ENOSPC;
	world_settle(world);
	world->write_error = 0;
	assert_int_equal(world_objects_total(world), 0);
	for (uint64_t id = 1; id <= LANES; id++) {
		assert_int_equal(next(world, GUARD_COMMAND, id), -ENOSPC);
		assert_int_equal(world_state(world, id), GRANT_REVOKING);
	}
	for (uint64_t id = 1; id <= LANES; id++)
		assert_int_equal(world_revoke(world, id), 0);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
	const struct CMUnitTest tests[] = {
		TEST(lanes_of_many_requests_are_taken_in_one_go),
		TEST(replies_keep_the_order_of_requests),
		TEST(one_lane_twice_is_taken_once),
		TEST(what_keeps_one_lane_keeps_no_other),
		TEST(each_of_many_lanes_is_pending_under_its_own_sequence),
		TEST(a_full_disk_keeps_no_lane_and_is_said),
	};
#undef TEST

	return cmocka_run_group_tests(tests, NULL, NULL);
}
