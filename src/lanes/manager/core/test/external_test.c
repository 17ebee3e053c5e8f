/* SPDX-License-Identifier: BSD-3-Clause */
/* Jobs that have something outside of the nodes. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <errno.h>

#include "lanes/manager/core/out.h"
#include "lanes/manager/core/test/fake_driver.h"
#include "lanes/manager/core/test/fixture.h"

static uint64_t reserved(struct fixture *f, const char *options)
{
	nodes_up(f, 2);
	assert_int_equal(reserve(f, "slurm/1/0", "n[0-1]", options), 0);
	return last_grant(f);
}

static void an_apply_waits_for_the_answer(void **state)
{
	struct fixture *f = *state;
	uint64_t id = reserved(f, "trees=8");

	assert_int_equal(rows(f, STORE_OUTSIDE, id), 1);
	assert_string_equal(open_outside(f, OUTSIDE_MAKE)->text, "8");
	assert_int_equal(apply(f, id), -EINPROGRESS);
	assert_int_equal(apply(f, id), -EINPROGRESS);
	assert_int_equal(open_fanouts(f), 0);
	outside_end(f, open_outside(f, OUTSIDE_MAKE), 0, "TOKEN");
	/* The secret reaches the nodes, and nobody else. */
	assert_string_equal(open_fanout(f)->sealed, "sealed(n0,n1) NEKOT");
	answer_all(f, open_fanout(f), 0, "");
	assert_int_equal(last_reply(f)->result, 0);
	assert_string_equal(events(f, id),
			    "request fake-net external apply applied");
	verify(f);
}

static void an_answer_may_come_before_the_apply(void **state)
{
	struct fixture *f = *state;
	uint64_t id = reserved(f, "trees=8");

	outside_end(f, open_outside(f, OUTSIDE_MAKE), 0, "TOKEN");
	assert_int_equal(apply(f, id), -EINPROGRESS);
	assert_int_equal(open_fanouts(f), 1);
}

static void a_grant_has_nothing_of_it(void **state)
{
	struct fixture *f = *state;

	reserved(f, "trees=8");
	outside_end(f, open_outside(f, OUTSIDE_MAKE), 0, "TOKEN");
	/* It is answered again, and as before. */
	assert_int_equal(reserve(f, "slurm/1/0", "n[0-1]", "trees=8"), 0);
	assert_string_equal(json_string_value(json_object_get(
				    f->replies[0].members, "grant")),
			    json_string_value(json_object_get(
				    last_reply(f)->members, "grant")));
}

static void without_it_the_job_goes_on_with_a_warning(void **state)
{
	struct fixture *f = *state;
	uint64_t id = reserved(f, "trees=8");
	json_t *external;

	assert_int_equal(apply(f, id), -EINPROGRESS);
	outside_end(f, open_outside(f, OUTSIDE_MAKE), -ENOSPC, "none is left");
	assert_null(open_fanout(f)->sealed);
	answer_all(f, open_fanout(f), 0, "");
	assert_int_equal(last_reply(f)->result, 0);
	assert_int_equal(json_array_size(json_object_get(last_reply(f)->members,
							 "warnings")),
			 1);
	external = event(f, id, "external");
	assert_string_equal(
		json_string_value(json_object_get(external, "reason")),
		"none is left");
	json_decref(external);
}

static void or_fails_when_it_must_have_it(void **state)
{
	struct fixture *f = *state;
	uint64_t id = reserved(f, "trees=8,must");

	assert_int_equal(apply(f, id), -EINPROGRESS);
	outside_end(f, open_outside(f, OUTSIDE_MAKE), -ENOSPC, "none is left");
	assert_int_equal(last_reply(f)->result, -EAGAIN);
	assert_contains(last_reply(f)->text, "none is left");
	assert_true(is_gone(f, id));
	assert_int_equal(rows(f, STORE_OUTSIDE, 0), 0);
}

static void no_job_waits_for_longer_than_its_driver_says(void **state)
{
	struct fixture *f = *state;
	uint64_t id = reserved(f, "trees=8");

	assert_int_equal(apply(f, id), -EINPROGRESS);
	fixture_advance(f, FAKE_OUTSIDE_WAIT_MS - 1);
	assert_int_equal(open_fanouts(f), 0);
	fixture_advance(f, 1);
	answer_all(f, open_fanout(f), 0, "");
	assert_int_equal(last_reply(f)->result, 0);
	/* It came late: it is given back. */
	outside_end(f, open_outside(f, OUTSIDE_MAKE), 0, "TOKEN");
	assert_int_equal(open_outside(f, OUTSIDE_DROP)->grant_id, id);
	outside_end(f, open_outside(f, OUTSIDE_DROP), 0, "");
	verify(f);
	assert_int_equal(job_state(f, id), JOB_ACTIVE);
}

static void a_release_leaves_a_debt_that_holds_back_nothing(void **state)
{
	struct fixture *f = *state;
	uint64_t id = reserved(f, "trees=8");

	outside_end(f, open_outside(f, OUTSIDE_MAKE), 0, "TOKEN");
	apply(f, id);
	answer_all(f, open_fanout(f), 0, "");
	release_id(f, id);
	answer_all(f, open_fanout(f), 0, "");
	assert_int_equal(last_reply(f)->result, 0);
	assert_true(is_gone(f, id));
	assert_string_equal(vnis(f, "held"), "");
	assert_int_equal(rows(f, STORE_OUTSIDE, id), 1);
	outside_end(f, open_outside(f, OUTSIDE_DROP), -EAGAIN, "no route");
	fixture_restart(f);
	assert_int_equal(open_outside(f, OUTSIDE_DROP)->grant_id, id);
	outside_end(f, open_outside(f, OUTSIDE_DROP), 0, "");
	assert_int_equal(rows(f, STORE_OUTSIDE, id), 0);
}

static void a_restart_asks_again(void **state)
{
	struct fixture *f = *state;
	uint64_t id = reserved(f, "trees=8");

	fixture_restart(f);
	fixture_forget(f);
	fixture_restart(f);
	assert_int_equal(open_outside(f, OUTSIDE_MAKE)->grant_id, id);
	outside_end(f, open_outside(f, OUTSIDE_MAKE), 0, "TOKEN");
	nodes_up(f, 2);
	apply(f, id);
	assert_contains(open_fanout(f)->sealed, "NEKOT");
	verify(f);
}

static void a_release_ends_an_apply_that_waits(void **state)
{
	struct fixture *f = *state;
	uint64_t id = reserved(f, "trees=8");

	assert_int_equal(apply(f, id), -EINPROGRESS);
	release_id(f, id);
	assert_int_equal(reply_to(f, f->last_token - 1)->result, -ECANCELED);
	assert_true(is_gone(f, id));
	outside_end(f, open_outside(f, OUTSIDE_MAKE), 0, "TOKEN");
	outside_end(f, open_outside(f, OUTSIDE_DROP), 0, "");
	assert_int_equal(rows(f, STORE_OUTSIDE, 0), 0);
}

static void an_interconnect_with_debts_stays_on(void **state)
{
	struct fixture *f = *state;
	struct fairlead_error error;
	struct core *core;
	size_t driver_count = f->config.driver_count;

	assert_int_equal(
		reserve_as(f, &slurm, "twin", "slurm/1/0", "n0", "trees=8"), 0);
	outside_end(f, open_outside(f, OUTSIDE_MAKE), 0, "TOKEN");
	release_id(f, last_grant(f));
	f->config.driver_count = 1;
	assert_int_equal(fixture_configure(f, NULL, &error), -EINVAL);
	assert_contains(error.text, "external reservations");
	assert_int_equal(fixture_load(f, &core, &error), -EINVAL);
	assert_contains(error.text, "external reservations");
	f->config.driver_count = driver_count;
}

#define TEST(name) \
	cmocka_unit_test_setup_teardown(name, fixture_setup, fixture_teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(an_apply_waits_for_the_answer),
		TEST(an_answer_may_come_before_the_apply),
		TEST(a_grant_has_nothing_of_it),
		TEST(without_it_the_job_goes_on_with_a_warning),
		TEST(or_fails_when_it_must_have_it),
		TEST(no_job_waits_for_longer_than_its_driver_says),
		TEST(a_release_leaves_a_debt_that_holds_back_nothing),
		TEST(a_restart_asks_again),
		TEST(a_release_ends_an_apply_that_waits),
		TEST(an_interconnect_with_debts_stays_on),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
