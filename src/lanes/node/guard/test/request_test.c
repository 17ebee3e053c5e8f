/* SPDX-License-Identifier: BSD-3-Clause */
/* What the agent asks for, and the reports that follow from it. */
#include "lanes/node/guard/core.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

#include <cmocka.h>

#include "lanes/node/guard/test/fake.h"

static void local_revoke_is_pending_until_acknowledged(void **state)
{
	struct world *world = *state;
	uint64_t sequence;

	assert_int_equal(world_apply(world, 7), 0);
	assert_int_equal(world_request(world, GUARD_REVOKE, 7), 0);
	assert_int_equal(world->reply.grants[0].state, 0);
	assert_int_equal(world->reply.pending_count, 1);
	world_restart(world);
	assert_int_equal(world_request(world, GUARD_PENDING, 0), 0);
	sequence = world->reply.sequence;
	assert_int_equal(world->confirm.op, 0);
	assert_int_equal(world->confirm.grant_id, 7);
	assert_int_equal(world->confirm.sequence, sequence);
	assert_int_equal(world->confirm.result, 0);
	assert_memory_equal(world->confirm.incarnation, world->incarnation,
			    INCARNATION_SIZE);
	assert_int_equal(world_request(world, GUARD_PENDING, sequence),
			 -ENOENT);
	assert_int_equal(world_ack(world, sequence + 1), 0);
	assert_int_equal(world->reply.pending_count, 1);
	assert_int_equal(world_ack(world, sequence), 0);
	assert_int_equal(world->reply.pending_count, 0);
	assert_int_equal(world_ack(world, sequence), 0);
	world_restart(world);
	assert_int_equal(world_request(world, GUARD_PENDING, 0), -ENOENT);
}

static void sequences_are_not_used_again_after_a_restart(void **state)
{
	struct world *world = *state;
	uint64_t first;

	assert_int_equal(world_apply(world, 7), 0);
	assert_int_equal(world_apply(world, 8), 0);
	world_request(world, GUARD_REVOKE, 7);
	world_request(world, GUARD_PENDING, 0);
	first = world->reply.sequence;
	assert_int_equal(world_ack(world, first), 0);
	world_restart(world);
	world_request(world, GUARD_REVOKE, 8);
	world_request(world, GUARD_PENDING, 0);
	assert_int_equal(world->reply.sequence, first + 1);
}

static void retried_busy_revoke_is_pending_when_gone(void **state)
{
	struct world *world = *state;

	assert_int_equal(world_apply(world, 7), 0);
	world_object(world, 7)->is_busy = true;
	assert_int_equal(world_revoke(world, 7), -EBUSY);
	assert_int_equal(world_request(world, GUARD_REVOKE, 7), -EBUSY);
	assert_int_equal(world->reply.pending_count, 0);
	world_object(world, 7)->is_busy = false;
	assert_int_equal(world_request(world, GUARD_REVOKE, 7), 0);
	assert_int_equal(world->reply.pending_count, 1);
	/* The manager asks again: it is gone, and both are true. */
	assert_int_equal(world_revoke(world, 7), 0);
}

static void last_try_asks_to_be_drained_with_the_reason(void **state)
{
	struct world *world = *state;
	struct guard_request request = {
		.type = GUARD_REVOKE,
		.number = 7,
		.is_last = true,
	};
	uint64_t sequence;

	assert_int_equal(world_apply(world, 7), 0);
	world_object(world, 7)->is_busy = true;
	assert_int_equal(world_ask(world, &request), -EBUSY);
	assert_int_equal(world->reply.pending_count, 1);
	assert_int_equal(world_request(world, GUARD_PENDING, 0), 0);
	sequence = world->reply.sequence;
	assert_int_equal(world->confirm.result, -EBUSY);
	assert_string_equal(world->confirm.reason,
			    "object 2 on 'dev0' is used by process 77");
	/* Later news of a grant takes the place of earlier ones. */
	world_object(world, 7)->is_busy = false;
	assert_int_equal(world_request(world, GUARD_REVOKE, 7), 0);
	assert_int_equal(world->reply.pending_count, 1);
	assert_int_equal(world_request(world, GUARD_PENDING, 0), 0);
	assert_int_equal(world->confirm.result, 0);
	assert_true(world->reply.sequence > sequence);
	assert_int_equal(world_ack(world, sequence), 0);
	assert_int_equal(world->reply.pending_count, 1);
}

/* The report to the manager on a lane that `clean --all` has taken. */
static void assert_pending_with(struct world *world, const char *reason)
{
	assert_int_equal(world_request(world, GUARD_PENDING, 0), 0);
	assert_int_equal(world->confirm.result, 0);
	assert_string_equal(world->confirm.reason, reason);
}

static void cleaned_lane_of_a_job_is_pending_with_the_reason(void **state)
{
	struct world *world = *state;
	struct guard_request request = {
		.type = GUARD_REVOKE,
		.number = 7,
		.is_clean = true,
	};

	assert_int_equal(world_apply(world, 7), 0);
	assert_int_equal(world_ask(world, &request), 0);
	assert_pending_with(world, "'fairlead clean --all' has taken it");
	/* Also when it was busy, and the guard has been started again. */
	request.number = 8;
	assert_int_equal(world_apply(world, 8), 0);
	world_object(world, 8)->is_busy = true;
	assert_int_equal(world_ack(world, world->reply.sequence), 0);
	assert_int_equal(world_ask(world, &request), -EBUSY);
	world_restart(world);
	world_object(world, 8)->is_busy = false;
	assert_int_equal(world_request(world, GUARD_REVOKE, 8), 0);
	world_request(world, GUARD_PENDING, 0);
	assert_int_equal(
		world_request(world, GUARD_PENDING, world->reply.sequence), 0);
	assert_int_equal(world->confirm.grant_id, 8);
	assert_string_equal(world->confirm.reason,
			    "'fairlead clean --all' has taken it");
}

static void lane_that_its_epilog_has_begun_to_take_is_not_cleaned_from_under_it(
	void **state)
{
	struct world *world = *state;
	struct guard_request request = {
		.type = GUARD_REVOKE,
		.number = 7,
		.is_clean = true,
	};

	assert_int_equal(world_apply(world, 7), 0);
	world_object(world, 7)->is_busy = true;
	assert_int_equal(world_request(world, GUARD_REVOKE, 7), -EBUSY);
	world_object(world, 7)->is_busy = false;
	assert_int_equal(world_ask(world, &request), 0);
	assert_pending_with(world, "");
}

static void dry_revoke_touches_nothing(void **state)
{
	struct world *world = *state;
	struct guard_request request = {
		.type = GUARD_REVOKE,
		.number = 7,
		.is_dry_run = true,
	};

	assert_int_equal(world_apply(world, 7), 0);
	assert_int_equal(world_ask(world, &request), 0);
	assert_int_equal(world->reply.grants[0].state, GRANT_APPLIED);
	world_object(world, 7)->is_busy = true;
	assert_int_equal(world_ask(world, &request), -EBUSY);
	assert_non_null(strstr(world->reply.text, "process 77"));
	assert_int_equal(world_object_count(world, 7), FAKE_DEVICES);
	assert_int_equal(world_state(world, 7), GRANT_APPLIED);
}

static void requests_for_an_unknown_grant_are_refused(void **state)
{
	struct world *world = *state;

	assert_int_equal(world_request(world, GUARD_REVOKE, 7), -ENOENT);
	assert_int_equal(world_request(world, GUARD_REVOKE, 0), -ENOENT);
	assert_int_equal(world_request(world, GUARD_ENVIRONMENT, 7), -ENOENT);
}

static void environment_can_be_read_while_the_lane_is_there(void **state)
{
	struct world *world = *state;
	const char *expected = "FAKE_ID=2007\nFAKE_OBJECT=2\nFAKE_OLD\n";

	assert_int_equal(world_apply(world, 7), 0);
	world_restart(world);
	assert_int_equal(world_request(world, GUARD_ENVIRONMENT, 7), 0);
	assert_int_equal(world->reply.size, strlen(expected));
	assert_memory_equal(world->reply.bytes, expected, strlen(expected));
	assert_int_equal(world_revoke(world, 7), 0);
	assert_int_equal(world_request(world, GUARD_ENVIRONMENT, 7), -ENOENT);
}

static void request_is_refused_at_each_length_but_its_own(void **state)
{
	struct world *world = *state;
	struct guard_request request = { .type = GUARD_GRANTS };
	struct writer bytes = { 0 }, reply = { 0 };

	assert_int_equal(guard_request_encode(&request, &bytes), 0);
	for (size_t size = 0; size < bytes.size; size++)
		assert_int_equal(guard_handle(world->guard, bytes.data, size,
					      &reply),
				 -EBADMSG);
	write_u8(&bytes, 0);
	assert_int_equal(guard_handle(world->guard, bytes.data, bytes.size,
				      &reply),
			 -EBADMSG);
	bytes.data[0] = GUARD_OBJECTS + 1;
	assert_int_equal(guard_handle(world->guard, bytes.data, bytes.size - 1,
				      &reply),
			 -EBADMSG);
	assert_int_equal(reply.size, 0);
	writer_fini(&bytes);
}

int main(void)
{
#define TEST(name) \
	cmocka_unit_test_setup_teardown(name, world_setup, world_teardown)
	const struct CMUnitTest tests[] = {
		TEST(local_revoke_is_pending_until_acknowledged),
		TEST(sequences_are_not_used_again_after_a_restart),
		TEST(retried_busy_revoke_is_pending_when_gone),
		TEST(last_try_asks_to_be_drained_with_the_reason),
		TEST(cleaned_lane_of_a_job_is_pending_with_the_reason),
		TEST(lane_that_its_epilog_has_begun_to_take_is_not_cleaned_from_under_it),
		TEST(dry_revoke_touches_nothing),
		TEST(requests_for_an_unknown_grant_are_refused),
		TEST(environment_can_be_read_while_the_lane_is_there),
		TEST(request_is_refused_at_each_length_but_its_own),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
