/* SPDX-License-Identifier: BSD-3-Clause */
/* Taking lanes back: who is asked, who is answered, and when. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "lanes/manager/core/test/fixture.h"

static void a_reservation_is_released_at_once(void **state)
{
	struct fixture *f = *state;

	assert_int_equal(reserve(f, "slurm/1/0", "n[0-1]", "vnis=2"), 0);
	assert_int_equal(release_id(f, 1), 0);
	assert_true(is_gone(f, 1));
	assert_string_equal(vnis(f, "free"), "1024-1039");
	assert_int_equal(f->fanout_count, 0);
	assert_string_equal(events(f, 1), "request fake-net release free");
	assert_int_equal(rows(f, STORE_JOB, 0), 0);
	assert_int_equal(rows(f, STORE_TOMBSTONE, 1), 1);
}

static void an_active_lane_is_revoked_on_all_nodes(void **state)
{
	struct fixture *f = *state;
	json_t *revoked, *freed;
	uint64_t id;

	nodes_up(f, 3);
	id = active(f, "slurm/1/0", "n[0-2]", "");
	assert_int_equal(release_id(f, id), -EINPROGRESS);
	assert_int_equal(open_fanout(f)->op, CORE_FANOUT_REVOKE);
	assert_string_equal(open_fanout(f)->nodes, "n[0-2]");
	assert_int_equal(open_fanout(f)->timeout_ms, 10000);
	assert_null(open_fanout(f)->cores);
	/* Not free while a node may have it. */
	assert_string_equal(vnis(f, "held"), "1024");
	answer_all(f, open_fanout(f), 0, "");
	assert_int_equal(last_reply(f)->result, 0);
	assert_true(is_gone(f, id));
	assert_string_equal(vnis(f, "free"), "1024-1039");
	revoked = event(f, id, "revoked");
	assert_int_equal(json_integer_value(json_object_get(revoked, "nodes")),
			 3);
	assert_int_equal(json_object_size(revoked), 1);
	freed = event(f, id, "free");
	assert_string_equal(json_string_value(json_object_get(freed, "pool")),
			    "vni");
	assert_string_equal(json_string_value(json_object_get(freed, "ids")),
			    "1024");
	json_decref(revoked);
	json_decref(freed);
}

static void the_dead_are_left_out_and_quarantined(void **state)
{
	struct fixture *f = *state;
	const char *set, *nodes;
	json_t *revoked;
	uint64_t id;
	int grant;

	nodes_up(f, 3);
	id = active(f, "slurm/1/0", "n[0-2]", "vnis=2");
	core_node_lost(f->core, "n2");
	release_id(f, id);
	assert_string_equal(open_fanout(f)->nodes, "n[0-1]");
	answer_all(f, open_fanout(f), 0, "");
	assert_int_equal(last_reply(f)->result, 0);
	assert_int_equal(json_unpack(last_reply(f)->members,
				     "{s:[{s:i, s:{s:s}, s:s}]}", "grants",
				     "grant_id", &grant, "quarantined", "vni",
				     &set, "nodes", &nodes),
			 0);
	assert_int_equal(grant, id);
	assert_string_equal(set, "1024-1025");
	assert_string_equal(nodes, "n2");
	assert_int_equal(job_state(f, id), JOB_RELEASED);
	assert_string_equal(vnis(f, "quarantined"), "1024-1025");
	assert_string_equal(
		events(f, id),
		"request fake-net apply applied release revoked quarantine");
	revoked = event(f, id, "revoked");
	assert_string_equal(
		json_string_value(json_object_get(revoked, "unreachable")),
		"n2");
	json_decref(revoked);
}

static void with_all_nodes_dead_the_release_is_over_at_once(void **state)
{
	struct fixture *f = *state;
	uint64_t id;

	nodes_up(f, 2);
	id = active(f, "slurm/1/0", "n[0-1]", "");
	core_node_lost(f->core, "n0");
	core_node_lost(f->core, "n1");
	assert_int_equal(release_id(f, id), 0);
	assert_string_equal(vnis(f, "quarantined"), "1024");
	assert_int_equal(open_fanouts(f), 0);
}

/* Of the one grant of the last answer. */
static const char *released_why(struct fixture *f)
{
	const char *why = NULL;

	assert_int_equal(json_unpack(last_reply(f)->members, "{s:[{s?s}]}",
				     "grants", "why", &why),
			 0);
	return why;
}

static void busy_nodes_are_named_with_their_words(void **state)
{
	struct fixture *f = *state;
	const char *nodes, *text;
	json_t *context;
	uint64_t id;

	nodes_up(f, 3);
	id = active(f, "slurm/1/0", "n[0-2]", "");
	release_id(f, id);
	answer_one(f, open_fanout(f), "n1", -EBUSY, "cxi0: service 5 in use");
	context = event(f, id, "revoked");
	assert_int_equal(json_unpack(context, "{s:[{s:s, s:s}]}", "busy",
				     "nodes", &nodes, "text", &text),
			 0);
	assert_string_equal(nodes, "n1");
	assert_string_equal(text, "cxi0: service 5 in use");
	json_decref(context);
	/* The caller, and whoever releases again, learn it too. */
	assert_int_equal(last_reply(f)->result, 0);
	assert_string_equal(released_why(f), "n1: cxi0: service 5 in use");
	assert_int_equal(release_id(f, id), 0);
	assert_string_equal(released_why(f), "n1: cxi0: service 5 in use");
	context = event(f, id, "quarantine");
	assert_int_equal(json_unpack(context, "{s:s, s:s}", "nodes", &nodes,
				     "why", &text),
			 0);
	assert_string_equal(nodes, "n1");
	assert_string_equal(text, "n1: cxi0: service 5 in use");
	json_decref(context);
}

static void an_answer_of_another_boot_frees_nothing(void **state)
{
	struct fixture *f = *state;
	uint64_t id;

	nodes_up(f, 1);
	id = active(f, "slurm/1/0", "n0", "");
	release_id(f, id);
	node_boot(f, "n0");
	answer_all(f, open_fanout(f), 0, "");
	assert_int_equal(job_state(f, id), JOB_RELEASED);
	assert_string_equal(vnis(f, "quarantined"), "1024");
	/* Its registration does. */
	node_up(f, "n0");
	assert_true(is_gone(f, id));
}

static void releasing_again_is_no_error(void **state)
{
	struct fixture *f = *state;
	uint64_t id;

	nodes_up(f, 1);
	id = active(f, "slurm/1/0", "n0", "");
	assert_int_equal(release_id(f, id), -EINPROGRESS);
	/* While it is under way: the same answer. */
	assert_int_equal(release_key(f, "slurm/1/0"), -EINPROGRESS);
	assert_int_equal(open_fanouts(f), 1);
	answer_all(f, open_fanout(f), -EBUSY, "busy");
	assert_int_equal(reply_to(f, f->last_token)->result, 0);
	assert_int_equal(reply_to(f, f->last_token - 1)->result, 0);
	/* While it is quarantined: what is left. */
	assert_int_equal(release_id(f, id), 0);
	assert_string_equal(
		json_string_value(json_object_get(
			json_array_get(json_object_get(last_reply(f)->members,
						       "grants"),
				       0),
			"nodes")),
		"n0");
	/* And when it is gone. */
	confirm(f, "n0", id, 0, "");
	assert_int_equal(release_id(f, id), 0);
	assert_int_equal(release_key(f, "slurm/1/0"), 0);
	fixture_restart(f);
	assert_int_equal(release_id(f, id), 0);
	assert_int_equal(release_key(f, "slurm/1/0"), 0);
	assert_int_equal(edge_hits(f, "release:joined"), 1);
	assert_int_equal(edge_hits(f, "release:repeated"), 5);
}

static void what_never_was_cannot_be_released(void **state)
{
	struct fixture *f = *state;

	assert_int_equal(release_id(f, 1), -ENOENT);
	assert_int_equal(release_key(f, "slurm/1/0"), -ENOENT);
	/* A trace is no grant. */
	assert_int_equal(reserve(f, "slurm/1/0", "n0", "refuse"), -EINVAL);
	assert_int_equal(release_id(f, 1), -ENOENT);
	/* Of a job that has nothing, nothing is left to release. */
	assert_int_equal(release_job(f, "slurm/1"), 0);
	assert_int_equal(json_array_size(json_object_get(last_reply(f)->members,
							 "grants")),
			 0);
}

static void a_job_is_released_with_all_its_attempts(void **state)
{
	struct fixture *f = *state;
	uint64_t first, third;
	json_t *grants;

	nodes_up(f, 2);
	first = active(f, "slurm/1/0", "n0", "");
	assert_int_equal(reserve(f, "slurm/1/1", "n1", ""), 0);
	third = active(f, "slurm/1/2", "n[0-1]", "");
	assert_int_equal(reserve(f, "slurm/11/0", "n1", ""), 0);
	assert_int_equal(release_job(f, "slurm/1"), -EINPROGRESS);
	assert_int_equal(open_fanouts(f), 2);
	answer_all(f, open_fanout(f), 0, "");
	assert_null(reply_to(f, f->last_token));
	answer_all(f, open_fanout(f), -EBUSY, "busy");
	assert_int_equal(last_reply(f)->result, 0);
	grants = json_object_get(last_reply(f)->members, "grants");
	assert_int_equal(json_array_size(grants), 3);
	for (size_t i = 0; i < 3; i++)
		assert_int_equal(
			json_integer_value(json_object_get(
				json_array_get(grants, i), "grant_id")),
			first + i);
	assert_int_equal(job_state(f, first), JOB_RELEASED);
	assert_true(is_gone(f, third));
	assert_int_equal(job_state(f, 4), JOB_RESERVED);
	assert_int_equal(f->core->jobs.count, 2);
}

static void who_may_release(void **state)
{
	struct fixture *f = *state;
	struct core_selector by_id = { .grant_id = 1 };
	struct core_selector by_job = { .job = "slurm/1" };

	assert_int_equal(reserve(f, "slurm/1/0", "n0", ""), 0);
	core_release(f->core, &flux, &by_id, 0, 1001);
	assert_int_equal(reply_to(f, 1001)->result, -EPERM);
	core_release(f->core, &alice, &by_id, 0, 1002);
	assert_int_equal(reply_to(f, 1002)->result, -EPERM);
	core_release(f->core, &flux, &by_job, 0, 1003);
	assert_int_equal(reply_to(f, 1003)->result, -EPERM);
	assert_int_equal(job_state(f, 1), JOB_RESERVED);
	core_release(f->core, &slurm, &by_job, 0, 1004);
	assert_int_equal(reply_to(f, 1004)->result, 0);
	core_release(f->core, &flux, &by_id, 0, 1005);
	assert_int_equal(reply_to(f, 1005)->result, -EPERM);
}

static const char *reason_of(struct fixture *f, uint64_t id)
{
	static char text[32];
	json_t *context = event(f, id, "release");

	strcpy(text, json_string_value(json_object_get(context, "reason")));
	json_decref(context);
	return text;
}

static void the_event_says_who_wanted_it(void **state)
{
	struct fixture *f = *state;
	struct core_caller root_as_slurm = { .is_root = true,
					     .submitter = "slurm" };

	assert_int_equal(reserve(f, "slurm/1/0", "n0", ""), 0);
	assert_int_equal(reserve(f, "slurm/2/0", "n0", ""), 0);
	assert_int_equal(reserve(f, "slurm/3/0", "n0", ""), 0);
	release_id(f, 1);
	core_release(f->core, &root, &(struct core_selector){ .grant_id = 2 },
		     0, 2);
	core_release(f->core, &root_as_slurm,
		     &(struct core_selector){ .grant_id = 3 }, 0, 3);
	assert_string_equal(reason_of(f, 1), "request");
	assert_string_equal(reason_of(f, 2), "operator");
	assert_string_equal(reason_of(f, 3), "request");
}

static void a_release_goes_on_after_a_restart(void **state)
{
	struct fixture *f = *state;
	uint64_t id;

	nodes_up(f, 2);
	id = active(f, "slurm/1/0", "n[0-1]", "");
	release_id(f, id);
	fixture_restart(f);
	/* Nobody is up, so that the quick tries are over. */
	assert_int_equal(job_state(f, id), JOB_RELEASED);
	assert_string_equal(vnis(f, "quarantined"), "1024");
	node_up(f, "n0");
	assert_string_equal(open_fanout(f)->nodes, "n0");
	answer_all(f, open_fanout(f), 0, "");
	node_up(f, "n1");
	answer_all(f, open_fanout(f), 0, "");
	assert_true(is_gone(f, id));
	assert_string_equal(
		events(f, id),
		"request fake-net apply applied release revoked quarantine "
		"confirm confirm free");
}

static void an_answer_to_an_earlier_life_is_ignored(void **state)
{
	struct fixture *f = *state;
	uint64_t id, old;

	nodes_up(f, 1);
	id = active(f, "slurm/1/0", "n0", "");
	release_id(f, id);
	old = open_fanout(f)->id;
	fixture_restart(f);
	node_up(f, "n0");
	assert_true(open_fanout(f)->id != old);
	core_fanout_done(f->core, old, NULL, 0);
	assert_int_equal(job_state(f, id), JOB_RELEASED);
	answer_all(f, open_fanout(f), 0, "");
	assert_true(is_gone(f, id));
}

#define T(name) \
	cmocka_unit_test_setup_teardown(name, fixture_setup, fixture_teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		T(a_reservation_is_released_at_once),
		T(an_active_lane_is_revoked_on_all_nodes),
		T(the_dead_are_left_out_and_quarantined),
		T(with_all_nodes_dead_the_release_is_over_at_once),
		T(busy_nodes_are_named_with_their_words),
		T(an_answer_of_another_boot_frees_nothing),
		T(releasing_again_is_no_error),
		T(what_never_was_cannot_be_released),
		T(a_job_is_released_with_all_its_attempts),
		T(who_may_release),
		T(the_event_says_who_wanted_it),
		T(a_release_goes_on_after_a_restart),
		T(an_answer_to_an_earlier_life_is_ignored),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
