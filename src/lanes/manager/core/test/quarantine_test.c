/* SPDX-License-Identifier: BSD-3-Clause */
/* The way out of quarantine: confirmations, and asking again. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "lanes/manager/core/test/fixture.h"

static void the_last_confirmation_frees(void **state)
{
	struct fixture *f = *state;
	uint64_t id;

	nodes_up(f, 3);
	id = released_busy(f, "slurm/1/0", "n[0-2]", "vnis=2");
	confirm(f, "n1", id, 0, "");
	confirm(f, "n0", id, 0, "");
	assert_string_equal(vnis(f, "quarantined"), "1024-1025");
	/* Said twice is said once. */
	confirm(f, "n0", id, 0, "");
	assert_string_equal(vnis(f, "quarantined"), "1024-1025");
	confirm(f, "n2", id, 0, "");
	assert_string_equal(vnis(f, "quarantined"), "");
	assert_true(is_gone(f, id));
	confirm(f, "n2", id, 0, "");
	assert_int_equal(f->ack_count, 5);
	assert_string_equal(
		events(f, id),
		"request fake-net apply applied release revoked quarantine "
		"confirm confirm confirm free");
}

static void confirmations_are_on_disk_one_by_one(void **state)
{
	struct fixture *f = *state;
	uint64_t id;

	nodes_up(f, 3);
	id = released_busy(f, "slurm/1/0", "n[0-2]", "");
	confirm(f, "n0", id, 0, "");
	assert_int_equal(rows(f, STORE_PART, id), 1);
	fixture_restart(f);
	assert_int_equal(part_state(f, id, "n0"), PART_REVOKED);
	confirm(f, "n1", id, 0, "");
	fixture_restart(f);
	confirm(f, "n2", id, 0, "");
	assert_true(is_gone(f, id));
	assert_int_equal(rows(f, STORE_PART, 0), 0);
}

static void another_boots_word_counts_for_nothing(void **state)
{
	struct fixture *f = *state;
	uint64_t id;

	nodes_up(f, 1);
	id = released_busy(f, "slurm/1/0", "n0", "");
	node_boot(f, "n0");
	confirm(f, "n0", id, 0, "");
	assert_string_equal(vnis(f, "quarantined"), "1024");
	assert_int_equal(edge_hits(f, "confirm:other-incarnation"), 1);
	/* It is acknowledged all the same: it need not be repeated. */
	assert_int_equal(f->ack_count, 1);
	assert_string_equal(f->acks[0].node, "n0");
	assert_int_equal(f->acks[0].sequence, f->last_token);
}

static void an_unknown_nodes_confirmation_is_only_acknowledged(void **state)
{
	struct fixture *f = *state;
	struct core_confirmation confirmation = {
		.node = "z9", .grant_id = 1, .sequence = 7, .text = ""
	};

	core_confirm(f->core, &confirmation);
	assert_int_equal(f->ack_count, 1);
	confirm(f, "n0", 12345, 0, "");
	assert_int_equal(f->ack_count, 2);
}

static void a_node_may_confirm_before_it_is_asked(void **state)
{
	struct fixture *f = *state;
	json_auto_t *confirmed = NULL;
	uint64_t id;

	nodes_up(f, 2);
	id = active(f, "slurm/1/0", "n[0-1]", "");
	/* Its epilog has taken the lane back. */
	confirm(f, "n0", id, 0, "");
	assert_int_equal(job_state(f, id), JOB_ACTIVE);
	assert_string_equal(events(f, id),
			    "request fake-net apply applied confirm");
	confirmed = event(f, id, "confirm");
	assert_string_equal(
		json_string_value(json_object_get(confirmed, "how")),
		"revoked");
	assert_string_equal(
		json_string_value(json_object_get(confirmed, "nodes")), "n0");
	assert_int_equal(edge_hits(f, "confirm:early"), 1);
	verify(f);
	release_id(f, id);
	assert_string_equal(open_fanout(f)->nodes, "n1");
	answer_all(f, open_fanout(f), 0, "");
	assert_true(is_gone(f, id));
}

static void when_all_have_confirmed_nobody_is_asked(void **state)
{
	struct fixture *f = *state;
	uint64_t id;

	nodes_up(f, 2);
	id = active(f, "slurm/1/0", "n[0-1]", "");
	confirm(f, "n0", id, 0, "");
	confirm(f, "n1", id, 0, "");
	assert_string_equal(vnis(f, "held"), "1024");
	assert_int_equal(release_id(f, id), 0);
	assert_int_equal(open_fanouts(f), 0);
	assert_true(is_gone(f, id));
}

static void a_confirmation_while_the_release_waits_counts(void **state)
{
	struct fixture *f = *state;
	struct core_answer answers[2] = {
		{ .node = "n0", .text = "" },
		{ .node = "n1", .text = "", .result = -ETIMEDOUT }
	};
	uint64_t id;

	nodes_up(f, 2);
	id = active(f, "slurm/1/0", "n[0-1]", "");
	release_id(f, id);
	confirm(f, "n1", id, 0, "");
	assert_int_equal(job_state(f, id), JOB_RELEASING);
	verify(f);
	node_incarnation(f, "n0", answers[0].incarnation);
	answer_with(f, open_fanout(f), answers, 2);
	assert_int_equal(last_reply(f)->result, 0);
	assert_true(is_gone(f, id));
}

static void who_is_up_is_asked_again_less_and_less_often(void **state)
{
	struct fixture *f = *state;
	uint64_t asked_at[4];
	uint64_t id;

	nodes_up(f, 2);
	id = released_busy(f, "slurm/1/0", "n[0-1]", "");
	for (size_t i = 0; i < 4; i++) {
		uint64_t due = core_deadline_ms(f->core);

		assert_true(due > f->clock.monotonic_ms);
		fixture_advance(f, due - f->clock.monotonic_ms - 1);
		assert_int_equal(open_fanouts(f), 0);
		fixture_advance(f, 1);
		asked_at[i] = f->clock.monotonic_ms;
		assert_string_equal(open_fanout(f)->nodes, "n[0-1]");
		answer_all(f, open_fanout(f), -EBUSY, "in use");
	}
	assert_int_equal(asked_at[2] - asked_at[1],
			 2 * (asked_at[1] - asked_at[0]));
	for (int i = 0; i < 10; i++) {
		fixture_advance(f, 600000);
		if (open_fanouts(f) > 0)
			answer_all(f, open_fanout(f), -EBUSY, "in use");
	}
	assert_true(core_deadline_ms(f->core) - f->clock.monotonic_ms <=
		    600000);
	fixture_advance(f, 600000);
	answer_all(f, open_fanout(f), 0, "");
	assert_true(is_gone(f, id));
	/* One call may find nothing to do. */
	fixture_advance(f, 600000);
	assert_int_equal(core_deadline_ms(f->core), DEADLINE_NONE);
}

static void who_is_down_is_not_asked(void **state)
{
	struct fixture *f = *state;
	uint64_t id;

	nodes_up(f, 2);
	id = released_busy(f, "slurm/1/0", "n[0-1]", "");
	core_node_lost(f->core, "n0");
	core_node_lost(f->core, "n1");
	fixture_advance(f, 3600000);
	assert_int_equal(open_fanouts(f), 0);
	assert_int_equal(core_deadline_ms(f->core), DEADLINE_NONE);
	node_up(f, "n0");
	assert_string_equal(open_fanout(f)->nodes, "n0");
	answer_all(f, open_fanout(f), -EBUSY, "in use");
	assert_true(core_deadline_ms(f->core) != DEADLINE_NONE);
	fixture_advance(f, 3600000);
	assert_string_equal(open_fanout(f)->nodes, "n0");
	answer_all(f, open_fanout(f), 0, "");
	assert_int_equal(part_state(f, id, "n0"), PART_REVOKED);
}

static void many_that_confirm_at_once_are_one_event(void **state)
{
	struct fixture *f = *state;
	json_t *confirmed;
	uint64_t id;

	nodes_up(f, 4);
	id = released_busy(f, "slurm/1/0", "n[0-3]", "");
	fixture_advance(f, 3600000);
	answer_one(f, open_fanout(f), "n2", -EBUSY, "in use");
	confirmed = event(f, id, "confirm");
	assert_string_equal(
		json_string_value(json_object_get(confirmed, "nodes")),
		"n[0-1,3]");
	assert_string_equal(
		json_string_value(json_object_get(confirmed, "how")),
		"revoked");
	json_decref(confirmed);
	verify(f);
	confirm(f, "n2", id, 0, "");
	assert_true(is_gone(f, id));
}

#define T(name) \
	cmocka_unit_test_setup_teardown(name, fixture_setup, fixture_teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		T(the_last_confirmation_frees),
		T(confirmations_are_on_disk_one_by_one),
		T(another_boots_word_counts_for_nothing),
		T(an_unknown_nodes_confirmation_is_only_acknowledged),
		T(a_node_may_confirm_before_it_is_asked),
		T(when_all_have_confirmed_nobody_is_asked),
		T(a_confirmation_while_the_release_waits_counts),
		T(who_is_up_is_asked_again_less_and_less_often),
		T(who_is_down_is_not_asked),
		T(many_that_confirm_at_once_are_one_event),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
