/* SPDX-License-Identifier: BSD-3-Clause */
/* An operator's word: what it frees, what it cannot, and when it was wrong. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <errno.h>
#include <stdio.h>

#include "lanes/manager/core/fleet.h"
#include "lanes/manager/core/test/fixture.h"

/* The VNIs of an answer's member; "" when there are none. */
static const char *answered(const struct fixture *f, const char *member)
{
	const char *text = "";

	json_unpack(last_reply(f)->members, "{s:{s:{s:s}}}", member, "fake",
		    "vni", &text);
	return text;
}

/* Whose word the last event of that name is. */
static int64_t event_uid(struct fixture *f, uint64_t id, const char *name)
{
	json_auto_t *context = event(f, id, name);

	assert_true(json_is_integer(json_object_get(context, "uid")));
	return json_integer_value(json_object_get(context, "uid"));
}

static int waive_ids(struct fixture *f, const char *driver, const char *pool,
		     const char *ids)
{
	core_quarantine_release(f->core, &operator_plain, driver, pool, ids,
				++f->last_token);
	return last_reply(f)->result;
}

static int force_ids(struct fixture *f, const char *ids)
{
	core_quarantine_release(f->core, &operator_forced, "fake", "vni", ids,
				++f->last_token);
	return last_reply(f)->result;
}

static void nodes_lost(struct fixture *f, size_t count)
{
	char name[8];

	for (size_t i = 0; i < count; i++) {
		snprintf(name, sizeof(name), "n%zu", i);
		core_node_lost(f->core, name);
	}
}

static void an_operator_gives_back_identifiers(void **state)
{
	struct fixture *f = *state;
	uint64_t first, second;

	nodes_up(f, 2);
	first = released_busy(f, "slurm/1/0", "n[0-1]", "vnis=3");
	second = released_busy(f, "slurm/2/0", "n1", "");
	nodes_lost(f, 2);
	assert_int_equal(waive_ids(f, "fake", "vni", "1025,1027"), 0);
	assert_string_equal(answered(f, "freed"), "1025,1027");
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
	id = released_busy(f, "slurm/1/0", "n[0-1]", "vnis=2");
	nodes_lost(f, 2);
	assert_int_equal(waive_ids(f, NULL, "ctx", "0"), -EINVAL);
	assert_int_equal(waive_ids(f, "fake", "vni", "1024-1025"), 0);
	assert_true(is_gone(f, id));
	confirmed = event(f, id, "confirm");
	assert_string_equal(
		json_string_value(json_object_get(confirmed, "how")), "waived");
	json_decref(confirmed);
	assert_int_equal(event_uid(f, id, "confirm"), 77);
	assert_string_equal(events(f, id),
			    "request fake-net apply applied release revoked "
			    "quarantine confirm free free");
}

static void what_a_node_that_is_up_may_hold_is_not_given_back(void **state)
{
	struct fixture *f = *state;
	uint64_t id;

	nodes_up(f, 3);
	id = released_busy(f, "slurm/1/0", "n[0-2]", "vnis=2");
	core_node_lost(f->core, "n1");
	assert_int_equal(waive_ids(f, "fake", "vni", "1024"), -EBUSY);
	assert_contains(last_reply(f)->text, "n[0,2]");
	assert_contains(last_reply(f)->hint, "--force");
	assert_string_equal(vnis(f, "quarantined"), "1024-1025");
	/* Who has confirmed is no witness any more. */
	confirm(f, "n0", id, 0, "");
	assert_int_equal(waive_ids(f, "fake", "vni", "1024"), -EBUSY);
	assert_contains(last_reply(f)->text, "n2");
	core_node_lost(f->core, "n2");
	assert_int_equal(waive_ids(f, "fake", "vni", "1024"), 0);
	assert_string_equal(answered(f, "freed"), "1024");
	assert_int_equal(f->look_count, 0);
}

static void what_is_forced_is_withheld_until_the_node_is_rid_of_it(void **state)
{
	struct fixture *f = *state;
	struct core_inventory_grant grant;
	struct core_registration seen = { .node = "n0", .version = "1" };
	struct fairlead_error error;
	uint64_t id;

	nodes_up(f, 2);
	id = released_busy(f, "slurm/1/0", "n[0-1]", "");
	core_node_lost(f->core, "n1");
	grant = inventory_of(f, id);
	assert_int_equal(force_ids(f, "1024"), 0);
	assert_string_equal(answered(f, "freed"), "");
	assert_string_equal(answered(f, "withheld"), "1024");
	assert_true(is_gone(f, id));
	assert_int_equal(event_uid(f, id, "confirm"), 77);
	assert_int_equal(event_uid(f, id, "free"), 77);
	assert_int_equal(f->look_count, 1);
	assert_string_equal(f->looks[0], "n0");
	assert_string_equal(vnis(f, "withheld"), "1024");
	fixture_restart(f);
	assert_string_equal(vnis(f, "withheld"), "1024");
	/* It has it indeed, and is asked for it. */
	node_up_with(f, "n0", &grant, 1);
	assert_string_equal(open_fanout(f)->nodes, "n0");
	answer_all(f, open_fanout(f), -EBUSY, "in use");
	node_incarnation(f, "n0", seen.incarnation);
	seen.grants = &grant;
	seen.grant_count = 1;
	assert_int_equal(core_observe(f->core, &seen, &error), 0);
	assert_string_equal(vnis(f, "withheld"), "1024");
	confirm(f, "n0", id, 0, "");
	assert_string_equal(vnis(f, "withheld"), "");
	assert_string_equal(vnis(f, "free"), "1024-1039");
}

static void who_is_forced_to_give_some_back_is_asked_for_all(void **state)
{
	struct fixture *f = *state;
	struct core_inventory_grant grant;
	uint64_t id;

	nodes_up(f, 1);
	id = released_busy(f, "slurm/1/0", "n0", "vnis=2");
	grant = inventory_of(f, id);
	confirm(f, "n0", id, -EBUSY, "in use");
	assert_int_equal(force_ids(f, "1025"), 0);
	assert_string_equal(answered(f, "withheld"), "1025");
	assert_string_equal(vnis(f, "quarantined"), "1024");
	/* The node reports it, so it is as before: one grant is pending. */
	node_up_with(f, "n0", &grant, 1);
	assert_string_equal(vnis(f, "free"), "1026-1039");
	assert_int_equal(open_fanouts(f), 1);
	assert_int_equal(core_node_pending_count(
				 f->core, nodes_find(&f->core->nodes, "n0")),
			 1);
	answer_all(f, open_fanout(f), 0, "");
	assert_true(is_gone(f, id));
	assert_string_equal(vnis(f, "free"), "1024-1039");
	assert_false(nodes_find(&f->core->nodes, "n0")->is_drained);
}

static void a_word_for_some_is_proven_wrong_by_who_comes_back(void **state)
{
	struct fixture *f = *state;
	struct core_inventory_grant grant;
	uint64_t id;

	nodes_up(f, 1);
	id = released_busy(f, "slurm/1/0", "n0", "vnis=2");
	grant = inventory_of(f, id);
	core_node_lost(f->core, "n0");
	assert_int_equal(waive_ids(f, "fake", "vni", "1025"), 0);
	assert_string_equal(vnis(f, "free"), "1025-1039");
	node_up_with(f, "n0", &grant, 1);
	assert_string_equal(vnis(f, "free"), "1026-1039");
	answer_all(f, open_fanout(f), 0, "");
	assert_string_equal(vnis(f, "free"), "1024-1039");
}

static void only_what_is_quarantined_can_be_given_back(void **state)
{
	struct fixture *f = *state;

	nodes_up(f, 1);
	active(f, "slurm/1/0", "n0", "");
	released_busy(f, "slurm/2/0", "n0", "");
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
	first = released_busy(f, "slurm/1/0", "n0", "");
	second = released_busy(f, "slurm/2/0", "n[0-1]", "");
	live = active(f, "slurm/3/0", "n[0,2]", "");
	core_node_fence(f->core, &operator_plain, "n0", 99);
	assert_int_equal(reply_to(f, 99)->result, -EBUSY);
	core_node_lost(f->core, "n0");
	core_node_fence(f->core, &operator_plain, "n0", 100);
	assert_int_equal(reply_to(f, 100)->result, 0);
	assert_string_equal(answered(f, "freed"), "1024");
	assert_true(is_gone(f, first));
	assert_int_equal(part_state(f, second, "n0"), PART_REVOKED);
	assert_int_equal(part_state(f, second, "n1"), PART_REVOKING);
	/* A live job loses its part there. */
	assert_int_equal(job_state(f, live), JOB_ACTIVE);
	assert_int_equal(part_state(f, live, "n0"), PART_LOST);
	assert_int_equal(event_uid(f, live, "confirm"), 77);
	fixture_restart(f);
	assert_int_equal(part_state(f, live, "n0"), PART_LOST);
	confirm(f, "n1", second, 0, "");
	assert_true(is_gone(f, second));
}

static void a_word_that_was_wrong_comes_out(void **state)
{
	struct fixture *f = *state;
	struct core_inventory_grant grant;
	uint64_t id;

	nodes_up(f, 1);
	id = released_busy(f, "slurm/1/0", "n0", "");
	grant = inventory_of(f, id);
	core_node_lost(f->core, "n0");
	core_node_fence(f->core, &operator_plain, "n0", 99);
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
	core_node_fence(f->core, &operator_plain, "n1", 99);
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

	core_node_fence(f->core, &operator_plain, "n[0-1", 1);
	assert_int_equal(reply_to(f, 1)->result, -EINVAL);
	core_node_fence(f->core, &operator_plain, "n0,n0", 2);
	assert_int_equal(reply_to(f, 2)->result, -EINVAL);
	core_node_fence(f->core, &operator_plain, "n0,x", 3);
	assert_int_equal(reply_to(f, 3)->result, -ENOENT);
	assert_contains(reply_to(f, 3)->text, "'x'");
	core_node_drain(f->core, "n0,x", true, "dust", 4);
	assert_int_equal(reply_to(f, 4)->result, -ENOENT);
	assert_int_equal(f->drain_count, 0);
	core_node_fence(f->core, &operator_plain, "x[0-16384]", 5);
	assert_int_equal(reply_to(f, 5)->result, -EINVAL);
	assert_contains(reply_to(f, 5)->text, "16384");
}

static void over_jobs(struct fixture *f, int count)
{
	char key[32];

	for (int i = 0; i < count; i++) {
		snprintf(key, sizeof(key), "slurm/%d/0", 100 + i);
		released_busy(f, key, "n0", "");
	}
}

static void a_word_that_touches_many_is_to_be_said_again(void **state)
{
	struct fixture *f = *state;

	nodes_up(f, 1);
	over_jobs(f, 9);
	core_node_lost(f->core, "n0");
	assert_int_equal(waive_ids(f, "fake", "vni", "1024-1032"), -E2BIG);
	assert_contains(last_reply(f)->text, "9 of 9 grants");
	assert_contains(last_reply(f)->hint, "--force");
	core_node_fence(f->core, &operator_plain, "n0", 99);
	assert_int_equal(reply_to(f, 99)->result, -E2BIG);
	assert_string_equal(vnis(f, "quarantined"), "1024-1032");
	/* A handful is not many. */
	assert_int_equal(waive_ids(f, "fake", "vni", "1024"), 0);
	core_node_fence(f->core, &operator_plain, "n0", 100);
	assert_int_equal(reply_to(f, 100)->result, 0);
	assert_string_equal(vnis(f, "quarantined"), "");
}

static void a_forced_word_may_touch_many(void **state)
{
	struct fixture *f = *state;

	nodes_up(f, 1);
	over_jobs(f, 9);
	core_node_lost(f->core, "n0");
	assert_int_equal(force_ids(f, "1024-1032"), 0);
	assert_string_equal(answered(f, "freed"), "1024-1032");
}

static void many_are_few_among_many_more(void **state)
{
	struct fixture *f = *state;
	char key[32];

	nodes_up(f, 1);
	over_jobs(f, 9);
	core_node_lost(f->core, "n0");
	for (int i = 0; i < 171; i++) {
		assert_int_equal(waive_ids(f, "fake", "vni", "1024-1032"),
				 -E2BIG);
		snprintf(key, sizeof(key), "slurm/%d/0", 1000 + i);
		assert_int_equal(reserve(f, key, "n1", "off"), 0);
	}
	assert_int_equal(waive_ids(f, "fake", "vni", "1024-1032"), 0);
}

#define T(name) \
	cmocka_unit_test_setup_teardown(name, fixture_setup, fixture_teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		T(an_operator_gives_back_identifiers),
		T(a_grant_whose_identifiers_are_all_given_back_is_gone),
		T(what_a_node_that_is_up_may_hold_is_not_given_back),
		T(what_is_forced_is_withheld_until_the_node_is_rid_of_it),
		T(who_is_forced_to_give_some_back_is_asked_for_all),
		T(a_word_for_some_is_proven_wrong_by_who_comes_back),
		T(only_what_is_quarantined_can_be_given_back),
		T(a_node_that_is_down_is_fenced_by_word),
		T(a_word_that_was_wrong_comes_out),
		T(a_fence_while_the_apply_is_under_way),
		T(operators_lists_are_checked_whole),
		T(a_word_that_touches_many_is_to_be_said_again),
		T(a_forced_word_may_touch_many),
		T(many_are_few_among_many_more),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
