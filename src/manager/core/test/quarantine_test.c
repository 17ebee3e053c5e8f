/* SPDX-License-Identifier: BSD-3-Clause */
/* The way out of quarantine: confirmations, asking again, an operator's word. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "manager/core/test/fixture.h"

/* A job on n0 to n(nodes - 1) that is over and whose nodes were all busy. */
static uint64_t quarantined(struct fixture *f, const char *key,
			    const char *nodes, const char *options)
{
	uint64_t id = active(f, key, nodes, options);

	assert_int_equal(release_id(f, id), -EINPROGRESS);
	answer_all(f, open_fanout(f), -EBUSY, "in use");
	assert_int_equal(job_state(f, id), JOB_RELEASED);
	return id;
}

static void the_last_confirmation_frees(void **state)
{
	struct fixture *f = *state;
	uint64_t id;

	nodes_up(f, 3);
	id = quarantined(f, "slurm/1/0", "n[0-2]", "vnis=2");
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
	id = quarantined(f, "slurm/1/0", "n[0-2]", "");
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
	id = quarantined(f, "slurm/1/0", "n0", "");
	node_boot(f, "n0");
	confirm(f, "n0", id, 0, "");
	assert_string_equal(vnis(f, "quarantined"), "1024");
	assert_int_equal(edge_hits(f, "confirm:other-incarnation"), 1);
	/* It is acknowledged all the same: it need not be repeated. */
	assert_int_equal(f->ack_count, 1);
	assert_string_equal(f->acks[0].node, "n0");
	assert_int_equal(f->acks[0].sequence, f->last_token);
}

static void a_strangers_word_is_acknowledged_and_no_more(void **state)
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
	uint64_t id;

	nodes_up(f, 2);
	id = active(f, "slurm/1/0", "n[0-1]", "");
	/* Its epilog has taken the lane back. */
	confirm(f, "n0", id, 0, "");
	assert_int_equal(job_state(f, id), JOB_ACTIVE);
	assert_string_equal(events(f, id), "request fake-net apply applied");
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
	id = quarantined(f, "slurm/1/0", "n[0-1]", "");
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
	/* It may be called once in vain. */
	fixture_advance(f, 600000);
	assert_int_equal(core_deadline_ms(f->core), DEADLINE_NONE);
}

static void who_is_down_is_not_asked(void **state)
{
	struct fixture *f = *state;
	uint64_t id;

	nodes_up(f, 2);
	id = quarantined(f, "slurm/1/0", "n[0-1]", "");
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
	id = quarantined(f, "slurm/1/0", "n[0-3]", "");
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

/* --- an operator's word --- */

static const char *freed(const struct fixture *f)
{
	const char *text = "";

	json_unpack(last_reply(f)->members, "{s:{s:{s:s}}}", "freed", "fake",
		    "vni", &text);
	return text;
}

static int waive_ids(struct fixture *f, const char *driver, const char *pool,
		     const char *ids)
{
	core_quarantine_release(f->core, driver, pool, ids, ++f->last_token);
	return last_reply(f)->result;
}

static void an_operator_gives_back_identifiers(void **state)
{
	struct fixture *f = *state;
	uint64_t first, second;

	nodes_up(f, 2);
	first = quarantined(f, "slurm/1/0", "n[0-1]", "vnis=3");
	second = quarantined(f, "slurm/2/0", "n1", "");
	assert_int_equal(waive_ids(f, "fake", "vni", "1025,1027"), 0);
	assert_string_equal(freed(f), "1025,1027");
	assert_string_equal(vnis(f, "quarantined"), "1024,1026");
	assert_true(is_gone(f, second));
	assert_int_equal(job_state(f, first), JOB_RELEASED);
	fixture_restart(f);
	assert_string_equal(vnis(f, "quarantined"), "1024,1026");
	/* It is another job's now, and late confirmations do not touch it. */
	nodes_up(f, 2);
	while (open_fanouts(f) > 0)
		answer_all(f, open_fanout(f), -EBUSY, "in use");
	assert_int_equal(reserve(f, "slurm/3/0", "n2", "vnis=14"), 0);
	assert_string_equal(vnis(f, "held"), "1025,1027-1039");
	confirm(f, "n0", first, 0, "");
	confirm(f, "n1", first, 0, "");
	assert_true(is_gone(f, first));
	assert_string_equal(vnis(f, "held"), "1025,1027-1039");
	assert_string_equal(vnis(f, "free"), "1024,1026");
}

static void a_grant_whose_identifiers_are_all_given_back_is_gone(void **state)
{
	struct fixture *f = *state;
	json_t *confirmed;
	uint64_t id;

	nodes_up(f, 2);
	id = quarantined(f, "slurm/1/0", "n[0-1]", "vnis=2");
	assert_int_equal(waive_ids(f, NULL, "ctx", "0"), -EINVAL);
	assert_int_equal(waive_ids(f, "fake", "vni", "1024-1025"), 0);
	assert_true(is_gone(f, id));
	confirmed = event(f, id, "confirm");
	assert_string_equal(
		json_string_value(json_object_get(confirmed, "how")), "waived");
	json_decref(confirmed);
	assert_string_equal(events(f, id),
			    "request fake-net apply applied release revoked "
			    "quarantine confirm free free");
}

static void only_what_is_quarantined_can_be_given_back(void **state)
{
	struct fixture *f = *state;

	nodes_up(f, 1);
	active(f, "slurm/1/0", "n0", "");
	quarantined(f, "slurm/2/0", "n0", "");
	assert_int_equal(waive_ids(f, "fake", "vni", "1024-1025"), -EINVAL);
	assert_contains(last_reply(f)->text, "1024 is not quarantined");
	assert_string_equal(vnis(f, "quarantined"), "1025");
	assert_int_equal(waive_ids(f, "fake", "vni", "x"), -EINVAL);
	assert_int_equal(waive_ids(f, "fake", "vni", "70000"), -EINVAL);
	assert_int_equal(waive_ids(f, "fake", "prg", "1"), -ENOENT);
	assert_int_equal(waive_ids(f, "elan3", "vni", "1025"), -ENOENT);
	/* Two interconnects have such a pool. */
	assert_int_equal(waive_ids(f, NULL, "vni", "1025"), -EINVAL);
	assert_contains(last_reply(f)->text, "several");
}

static void a_node_that_is_down_is_fenced_by_word(void **state)
{
	struct fixture *f = *state;
	uint64_t first, second, live;

	nodes_up(f, 3);
	first = quarantined(f, "slurm/1/0", "n0", "");
	second = quarantined(f, "slurm/2/0", "n[0-1]", "");
	live = active(f, "slurm/3/0", "n[0,2]", "");
	core_node_fence(f->core, "n0", 99);
	assert_int_equal(reply_to(f, 99)->result, -EBUSY);
	core_node_lost(f->core, "n0");
	core_node_fence(f->core, "n0", 100);
	assert_int_equal(reply_to(f, 100)->result, 0);
	assert_string_equal(freed(f), "1024");
	assert_true(is_gone(f, first));
	assert_int_equal(part_state(f, second, "n0"), PART_REVOKED);
	assert_int_equal(part_state(f, second, "n1"), PART_REVOKING);
	/* A live job loses its part there. */
	assert_int_equal(job_state(f, live), JOB_ACTIVE);
	assert_int_equal(part_state(f, live, "n0"), PART_REVOKED);
	fixture_restart(f);
	assert_int_equal(part_state(f, live, "n0"), PART_REVOKED);
	confirm(f, "n1", second, 0, "");
	assert_true(is_gone(f, second));
}

static void a_word_that_was_wrong_comes_out(void **state)
{
	struct fixture *f = *state;
	struct core_inventory_grant grant;
	uint32_t ids[1];
	uint64_t id;

	nodes_up(f, 1);
	id = quarantined(f, "slurm/1/0", "n0", "");
	grant = inventory_of(f, id);
	ids[0] = grant.ids[0];
	grant.ids = ids;
	core_node_lost(f->core, "n0");
	core_node_fence(f->core, "n0", 99);
	assert_true(is_gone(f, id));
	assert_string_equal(vnis(f, "free"), "1024-1039");
	/* The node was not off, and still has it. */
	node_up_with(f, "n0", &grant, 1);
	assert_string_equal(vnis(f, "withheld"), "1024");
	assert_string_equal(vnis(f, "free"), "1025-1039");
	answer_all(f, open_fanout(f), 0, "");
	assert_string_equal(vnis(f, "free"), "1024-1039");
}

static void a_fence_while_the_apply_is_under_way(void **state)
{
	struct fixture *f = *state;

	nodes_up(f, 2);
	assert_int_equal(reserve(f, "slurm/1/0", "n[0-1]", ""), 0);
	apply(f, 1);
	core_node_lost(f->core, "n1");
	core_node_fence(f->core, "n1", 99);
	assert_int_equal(part_state(f, 1, "n1"), PART_REVOKED);
	answer_one(f, open_fanout(f), "n1", -EHOSTUNREACH, "");
	assert_string_equal(open_fanout(f)->nodes, "n0");
	answer_all(f, open_fanout(f), 0, "");
	assert_int_equal(last_reply(f)->result, -EREMOTEIO);
	assert_true(is_gone(f, 1));
}

static void operators_lists_are_checked_whole(void **state)
{
	struct fixture *f = *state;

	core_node_fence(f->core, "n[0-1", 1);
	assert_int_equal(reply_to(f, 1)->result, -EINVAL);
	core_node_fence(f->core, "n0,n0", 2);
	assert_int_equal(reply_to(f, 2)->result, -EINVAL);
	core_node_fence(f->core, "n0,x", 3);
	assert_int_equal(reply_to(f, 3)->result, -ENOENT);
	assert_contains(reply_to(f, 3)->text, "'x'");
	core_node_drain(f->core, "n0,x", true, "dust", 4);
	assert_int_equal(reply_to(f, 4)->result, -ENOENT);
	assert_int_equal(f->drain_count, 0);
	core_node_fence(f->core, "x[0-16384]", 5);
	assert_int_equal(reply_to(f, 5)->result, -EINVAL);
	assert_contains(reply_to(f, 5)->text, "16384");
}

#define T(name) \
	cmocka_unit_test_setup_teardown(name, fixture_setup, fixture_teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		T(the_last_confirmation_frees),
		T(confirmations_are_on_disk_one_by_one),
		T(another_boots_word_counts_for_nothing),
		T(a_strangers_word_is_acknowledged_and_no_more),
		T(a_node_may_confirm_before_it_is_asked),
		T(when_all_have_confirmed_nobody_is_asked),
		T(a_confirmation_while_the_release_waits_counts),
		T(who_is_up_is_asked_again_less_and_less_often),
		T(who_is_down_is_not_asked),
		T(many_that_confirm_at_once_are_one_event),
		T(an_operator_gives_back_identifiers),
		T(a_grant_whose_identifiers_are_all_given_back_is_gone),
		T(only_what_is_quarantined_can_be_given_back),
		T(a_node_that_is_down_is_fenced_by_word),
		T(a_word_that_was_wrong_comes_out),
		T(a_fence_while_the_apply_is_under_way),
		T(operators_lists_are_checked_whole),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
