/* SPDX-License-Identifier: BSD-3-Clause */
/* Requests to the outside: what waits for them, and what does not. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "lanes/manager/core/test/fake_driver.h"
#include "lanes/manager/core/test/fixture.h"

static void end(struct fixture *f, uint64_t grant_id, uint32_t effect_id,
		int result)
{
	core_effect_done(f->core, grant_id, effect_id, result, "{}");
}

static void a_reservation_is_answered_and_its_apply_waits(void **state)
{
	struct fixture *f = *state;

	nodes_up(f, 1);
	assert_int_equal(reserve(f, "slurm/1/0", "n0", "effects=2"), 0);
	assert_int_equal(f->effect_count, 2);
	assert_int_equal(f->effects[0].grant_id, 1);
	assert_string_equal(f->effects[0].driver, "fake");
	assert_int_equal(apply(f, 1), -EINPROGRESS);
	assert_int_equal(job_state(f, 1), JOB_RESERVED);
	assert_int_equal(open_fanouts(f), 0);
	end(f, 1, 2, 0);
	verify(f);
	assert_int_equal(open_fanouts(f), 0);
	end(f, 1, 1, 0);
	assert_string_equal(open_fanout(f)->nodes, "n0");
	answer_all(f, open_fanout(f), 0, "");
	assert_int_equal(last_reply(f)->result, 0);
	/* Said again it means nothing. */
	end(f, 1, 1, -EIO);
	assert_int_equal(job_state(f, 1), JOB_ACTIVE);
	assert_int_equal(edge_hits(f, "effect:late"), 1);
}

static void the_end_of_one_may_bring_others(void **state)
{
	struct fixture *f = *state;

	nodes_up(f, 1);
	assert_int_equal(reserve(f, "slurm/1/0", "n0", "effects=1,more=2"), 0);
	apply(f, 1);
	end(f, 1, 1, 0);
	assert_int_equal(f->effect_count, 3);
	end(f, 1, 50, 0);
	assert_int_equal(open_fanouts(f), 0);
	end(f, 1, 51, 0);
	assert_int_equal(open_fanouts(f), 1);
	answer_all(f, open_fanout(f), 0, "");
}

static void a_driver_may_shrug_at_a_failure(void **state)
{
	struct fixture *f = *state;

	nodes_up(f, 1);
	assert_int_equal(reserve(f, "slurm/1/0", "n0", "effects=1"), 0);
	end(f, 1, 1, -EIO);
	assert_int_equal(apply(f, 1), -EINPROGRESS);
	answer_all(f, open_fanout(f), 0, "");
	assert_int_equal(job_state(f, 1), JOB_ACTIVE);
}

static void a_failure_that_counts_ends_the_job(void **state)
{
	struct fixture *f = *state;

	nodes_up(f, 1);
	assert_int_equal(reserve(f, "slurm/1/0", "n0", "effects=2,strict"), 0);
	assert_int_equal(apply(f, 1), -EINPROGRESS);
	end(f, 1, 1, -EIO);
	assert_int_equal(last_reply(f)->result, -EIO);
	assert_contains(last_reply(f)->text, "the fabric said");
	assert_true(is_gone(f, 1));
	assert_string_equal(vnis(f, "held"), "");
	assert_string_equal(events(f, 1),
			    "request fake-net exception release free");
	/* The other one ends for nobody. */
	end(f, 1, 2, 0);
	assert_int_equal(edge_hits(f, "effect:late"), 1);
}

static void a_deadline_is_a_failure(void **state)
{
	struct fixture *f = *state;

	assert_int_equal(reserve(f, "slurm/1/0", "n0", "effects=1,strict"), 0);
	assert_int_equal(core_deadline_ms(f->core),
			 f->clock.monotonic_ms + FAKE_EFFECT_DEADLINE_MS);
	fixture_advance(f, FAKE_EFFECT_DEADLINE_MS - 1);
	assert_int_equal(job_state(f, 1), JOB_RESERVED);
	fixture_advance(f, 1);
	assert_true(is_gone(f, 1));
	assert_int_equal(core_deadline_ms(f->core), DEADLINE_NONE);
}

static void without_a_word_of_the_driver_a_failure_counts(void **state)
{
	struct fixture *f = *state;

	assert_int_equal(reserve_as(f, &root, "bare", "slurm/1/0", "n0",
				    "effects=1"),
			 0);
	end(f, 1, 1, 0);
	assert_int_equal(job_state(f, 1), JOB_RESERVED);
	assert_int_equal(reserve_as(f, &root, "bare", "slurm/2/0", "n0",
				    "effects=1"),
			 0);
	end(f, 2, 1, -EIO);
	assert_true(is_gone(f, 2));
}

static void a_release_forgets_what_is_pending(void **state)
{
	struct fixture *f = *state;
	uint64_t waiting;

	nodes_up(f, 1);
	assert_int_equal(reserve(f, "slurm/1/0", "n0", "effects=1,strict"), 0);
	assert_int_equal(apply(f, 1), -EINPROGRESS);
	waiting = f->last_token;
	assert_int_equal(release_id(f, 1), 0);
	assert_int_equal(reply_to(f, waiting)->result, -ECANCELED);
	assert_true(is_gone(f, 1));
	end(f, 1, 1, -EIO);
	fixture_advance(f, FAKE_EFFECT_DEADLINE_MS);
	assert_true(is_gone(f, 1));
}

static void a_release_does_not_wait_for_its_own(void **state)
{
	struct fixture *f = *state;

	nodes_up(f, 1);
	active(f, "slurm/1/0", "n0", "undo=2");
	assert_int_equal(release_id(f, 1), -EINPROGRESS);
	assert_int_equal(f->effect_count, 2);
	assert_int_equal(f->effects[0].id, 101);
	answer_all(f, open_fanout(f), 0, "");
	assert_int_equal(last_reply(f)->result, 0);
	/* But the grant is kept until they have ended. */
	assert_int_equal(job_state(f, 1), JOB_RELEASED);
	assert_string_equal(vnis(f, "held"), "1024");
	end(f, 1, 101, 0);
	verify(f);
	assert_int_equal(job_state(f, 1), JOB_RELEASED);
	end(f, 1, 102, 0);
	assert_true(is_gone(f, 1));
}

static void a_release_whose_effect_fails_says_so(void **state)
{
	struct fixture *f = *state;
	json_t *exception;

	assert_int_equal(reserve(f, "slurm/1/0", "n0", "undo=1"), 0);
	assert_int_equal(release_id(f, 1), 0);
	fixture_advance(f, FAKE_EFFECT_DEADLINE_MS);
	assert_true(is_gone(f, 1));
	exception = event(f, 1, "exception");
	assert_true(json_integer_value(json_object_get(exception, "severity")) >
		    0);
	assert_contains(json_string_value(json_object_get(exception, "note")),
			"timed out");
	json_decref(exception);
}

static void an_effect_of_a_release_may_end_before_the_nodes(void **state)
{
	struct fixture *f = *state;

	nodes_up(f, 1);
	active(f, "slurm/1/0", "n0", "undo=1");
	release_id(f, 1);
	end(f, 1, 101, 0);
	assert_int_equal(job_state(f, 1), JOB_RELEASING);
	verify(f);
	answer_all(f, open_fanout(f), -EBUSY, "in use");
	assert_string_equal(vnis(f, "quarantined"), "1024");
	confirm(f, "n0", 1, 0, "");
	assert_true(is_gone(f, 1));
}

static void a_restart_repeats_nothing_of_a_reservation(void **state)
{
	struct fixture *f = *state;

	assert_int_equal(reserve(f, "slurm/1/0", "n0", "effects=2"), 0);
	assert_int_equal(reserve(f, "slurm/2/0", "n0", "effects=1,strict"), 0);
	fixture_restart(f);
	/* Nobody knows how they ended: the driver decides. */
	assert_int_equal(f->effect_count, 3);
	assert_int_equal(job_state(f, 1), JOB_RESERVED);
	assert_true(is_gone(f, 2));
	node_up(f, "n0");
	assert_int_equal(apply(f, 1), -EINPROGRESS);
	assert_int_equal(open_fanouts(f), 1);
	answer_all(f, open_fanout(f), 0, "");
	end(f, 1, 1, 0);
	assert_int_equal(edge_hits(f, "effect:late"), 1);
}

static void a_restart_takes_back_once_more(void **state)
{
	struct fixture *f = *state;

	assert_int_equal(reserve(f, "slurm/1/0", "n0", "undo=2"), 0);
	assert_int_equal(release_id(f, 1), 0);
	end(f, 1, 101, 0);
	fixture_restart(f);
	assert_int_equal(f->effect_count, 4);
	end(f, 1, 101, 0);
	end(f, 1, 102, 0);
	assert_true(is_gone(f, 1));
	/* Also while the nodes are asked. */
	nodes_up(f, 1);
	active(f, "slurm/2/0", "n0", "undo=1");
	release_id(f, 2);
	fixture_restart(f);
	assert_int_equal(f->effect_count, 6);
	assert_int_equal(job_state(f, 2), JOB_RELEASED);
	nodes_up(f, 1);
	answer_all(f, open_fanout(f), 0, "");
	assert_int_equal(job_state(f, 2), JOB_RELEASED);
	end(f, 2, 101, 0);
	assert_true(is_gone(f, 2));
}

static void one_lane_has_so_many_effects_at_most(void **state)
{
	struct fixture *f = *state;

	assert_int_equal(reserve(f, "slurm/1/0", "n0", "effects=16"), 0);
	assert_int_equal(f->effect_count, CORE_EFFECTS_MAX);
	assert_int_equal(reserve(f, "slurm/2/0", "n0", "effects=17"), -ENOSPC);
	assert_int_equal(f->effect_count, CORE_EFFECTS_MAX);
	/* With those that its own end may bring. */
	assert_int_equal(reserve(f, "slurm/3/0", "n0", "effects=1,more=16"), 0);
	end(f, 3, 1, 0);
	assert_int_equal(job_state(f, 3), JOB_RESERVED);
	assert_int_equal(reserve(f, "slurm/4/0", "n0", "effects=2,more=16"), 0);
	end(f, 4, 1, 0);
	assert_true(is_gone(f, 4));
}

#define T(name) \
	cmocka_unit_test_setup_teardown(name, fixture_setup, fixture_teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		T(a_reservation_is_answered_and_its_apply_waits),
		T(the_end_of_one_may_bring_others),
		T(a_driver_may_shrug_at_a_failure),
		T(a_failure_that_counts_ends_the_job),
		T(a_deadline_is_a_failure),
		T(without_a_word_of_the_driver_a_failure_counts),
		T(a_release_forgets_what_is_pending),
		T(a_release_does_not_wait_for_its_own),
		T(a_release_whose_effect_fails_says_so),
		T(an_effect_of_a_release_may_end_before_the_nodes),
		T(a_restart_repeats_nothing_of_a_reservation),
		T(a_restart_takes_back_once_more),
		T(one_lane_has_so_many_effects_at_most),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
