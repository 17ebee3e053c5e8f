/* SPDX-License-Identifier: BSD-3-Clause */
/* All nodes or none, and one answer. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <stdio.h>

#include "lanes/manager/core/out.h"
#include "lanes/manager/core/test/fixture.h"

#define LANES 5 /* more than a node may lose running */

static uint64_t reserved(struct fixture *f, const char *nodes,
			 const char *options)
{
	static int n;
	char key[32];

	snprintf(key, sizeof(key), "slurm/job%d/0", n++);
	assert_int_equal(reserve(f, key, nodes, options), 0);
	return last_grant(f);
}

static const json_t *failures(const struct fixture *f)
{
	return json_object_get(last_reply(f)->members, "failures");
}

static void an_apply_goes_to_all_nodes_at_once(void **state)
{
	struct fixture *f = *state;
	struct given_fanout *fanout;
	uint64_t id;

	nodes_up(f, 4);
	id = reserved(f, "n[0-3]", "vnis=2");
	assert_int_equal(apply(f, id), -EINPROGRESS);
	assert_int_equal(job_state(f, id), JOB_APPLYING);
	fanout = open_fanout(f);
	assert_int_equal(fanout->op, CORE_FANOUT_APPLY);
	assert_string_equal(fanout->nodes, "n[0-3]");
	assert_string_equal(fanout->driver, "fake");
	assert_string_equal(fanout->key, jobs_find(&f->core->jobs, id)->key);
	assert_string_equal(fanout->cores, "1");
	assert_string_equal(fanout->tasks, "1");
	assert_int_equal(fanout->timeout_ms, 30000);
	assert_int_equal(fanout->lane.grant_id, id);
	assert_int_equal(fanout->lane.uid, 1001);
	assert_int_equal(fanout->lane.gid, 100);
	assert_int_equal(fanout->lane.id_count, 2);
	assert_int_equal(fanout->lane.ids[1], 1025);
	assert_int_equal(fanout->lane.cores, 0);
	assert_string_equal(fanout->lane.options, "vnis=2");
	answer_all(f, fanout, 0, "");
	assert_int_equal(last_reply(f)->result, 0);
	assert_int_equal(json_object_size(last_reply(f)->members), 0);
	assert_int_equal(job_state(f, id), JOB_ACTIVE);
	assert_string_equal(events(f, id), "request fake-net apply applied");
}

static void the_journal_knows_of_an_apply_before_the_nodes(void **state)
{
	struct fixture *f = *state;
	uint64_t id;

	nodes_up(f, 1);
	id = reserved(f, "n0", "");
	apply(f, id);
	verify(f); /* state, and the serial of the node */
	assert_int_equal(part_state(f, id, "n0"), PART_APPLYING);
	assert_int_equal(jobs_find(&f->core->jobs, id)->parts[0].serial, 1);
}

static void who_comes_second_gets_the_same_answer(void **state)
{
	struct fixture *f = *state;
	uint64_t id, first;

	nodes_up(f, 2);
	id = reserved(f, "n[0-1]", "");
	assert_int_equal(apply(f, id), -EINPROGRESS);
	first = f->last_token;
	assert_int_equal(apply(f, id), -EINPROGRESS);
	assert_int_equal(f->fanout_count, 1);
	answer_all(f, open_fanout(f), 0, "");
	assert_int_equal(reply_to(f, first)->result, 0);
	assert_int_equal(reply_to(f, first + 1)->result, 0);
	/* And who comes when it is done. */
	assert_int_equal(apply(f, id), 0);
	assert_int_equal(f->fanout_count, 1);
	assert_int_equal(edge_hits(f, "apply:joined"), 1);
	assert_int_equal(edge_hits(f, "apply:repeated"), 1);
}

static void a_failure_on_one_node_is_undone_on_all(void **state)
{
	struct fixture *f = *state;
	const char *nodes, *text;
	uint64_t id, first;
	int error;

	nodes_up(f, 4);
	id = reserved(f, "n[0-3]", "");
	apply(f, id);
	first = f->last_token;
	apply(f, id);
	answer_one(f, open_fanout(f), "n2", -ENOSPC, "cxi1: no TXQs");
	/* The undo goes to every node, and nobody is answered before. */
	assert_int_equal(open_fanout(f)->op, CORE_FANOUT_REVOKE);
	assert_string_equal(open_fanout(f)->nodes, "n[0-3]");
	assert_int_equal(job_state(f, id), JOB_RELEASING);
	assert_null(reply_to(f, first));
	answer_all(f, open_fanout(f), 0, "");
	for (uint64_t token = first; token < first + 2; token++) {
		const struct given_reply *reply = reply_to(f, token);

		assert_int_equal(reply->result, -EREMOTEIO);
		assert_string_equal(reply->text, "failed on 1 of 4 nodes: n2: "
						 "cxi1: no TXQs");
		assert_int_equal(json_unpack(reply->members,
					     "{s:[{s:s, s:s, s:i}]}",
					     "failures", "nodes", &nodes,
					     "text", &text, "errno", &error),
				 0);
		assert_string_equal(nodes, "n2");
		assert_int_equal(error, -ENOSPC);
	}
	assert_true(is_gone(f, id));
	assert_string_equal(vnis(f, "held"), "");
	assert_string_equal(
		events(f, id),
		"request fake-net apply exception release revoked free");
}

static void equal_failures_are_one_line(void **state)
{
	struct fixture *f = *state;
	struct given_fanout *fanout;
	struct core_answer answers[4] = { 0 };
	uint64_t id;

	nodes_up(f, 4);
	id = reserved(f, "n[0-3]", "");
	apply(f, id);
	fanout = open_fanout(f);
	for (size_t i = 0; i < 4; i++) {
		answers[i].node = fanout->names[i];
		answers[i].result = i == 1 ? -ETIMEDOUT : -EIO;
		answers[i].text = i == 1 ? "" : "no fabric";
	}
	answer_with(f, fanout, answers, 4);
	answer_all(f, open_fanout(f), 0, "");
	assert_int_equal(json_array_size(failures(f)), 2);
	assert_string_equal(last_reply(f)->text,
			    "failed on 4 of 4 nodes: n[0,2-3]: no fabric; n1: "
			    "Connection timed out");
}

static void who_does_not_answer_has_failed(void **state)
{
	struct fixture *f = *state;
	struct core_answer answer = { .node = "n0", .text = "" };
	uint64_t id;

	nodes_up(f, 2);
	id = reserved(f, "n[0-1]", "");
	apply(f, id);
	node_incarnation(f, "n0", answer.incarnation);
	answer_with(f, open_fanout(f), &answer, 1);
	answer_all(f, open_fanout(f), 0, "");
	assert_contains(last_reply(f)->text, "n1: no answer in time");
}

static void warnings_are_gathered(void **state)
{
	struct fixture *f = *state;
	const char *nodes, *text;
	json_t *applied;
	uint64_t id;

	nodes_up(f, 3);
	id = reserved(f, "n[0-2]", "");
	apply(f, id);
	answer_all(f, open_fanout(f), 0, "cxi0: LEs scaled back to 100");
	assert_int_equal(last_reply(f)->result, 0);
	assert_int_equal(json_unpack(last_reply(f)->members, "{s:[{s:s, s:s}]}",
				     "warnings", "nodes", &nodes, "text",
				     &text),
			 0);
	assert_string_equal(nodes, "n[0-2]");
	assert_string_equal(text, "cxi0: LEs scaled back to 100");
	applied = event(f, id, "applied");
	assert_true(json_equal(json_object_get(applied, "warnings"),
			       json_object_get(last_reply(f)->members,
					       "warnings")));
	json_decref(applied);
}

static void each_line_of_a_warning_is_one(void **state)
{
	struct fixture *f = *state;
	struct core_answer answers[2] = {
		{ .node = "n0", .text = "cxi0: less\ncxi1: less" },
		{ .node = "n1", .text = "cxi1: less" },
	};
	const char *nodes[2], *texts[2];
	uint64_t id;

	nodes_up(f, 2);
	id = reserved(f, "n[0-1]", "");
	apply(f, id);
	node_incarnation(f, "n0", answers[0].incarnation);
	node_incarnation(f, "n1", answers[1].incarnation);
	answer_with(f, open_fanout(f), answers, 2);
	assert_int_equal(json_unpack(last_reply(f)->members,
				     "{s:[{s:s, s:s}, {s:s, s:s}!]}",
				     "warnings", "nodes", &nodes[0], "text",
				     &texts[0], "nodes", &nodes[1], "text",
				     &texts[1]),
			 0);
	assert_string_equal(nodes[0], "n0");
	assert_string_equal(texts[0], "cxi0: less");
	assert_string_equal(nodes[1], "n[0-1]");
	assert_string_equal(texts[1], "cxi1: less");
}

static void without_all_nodes_nothing_is_sent(void **state)
{
	struct fixture *f = *state;
	uint64_t id;

	nodes_up(f, 2);
	core_node_lost(f->core, "n1");
	id = reserved(f, "n[0-3]", "");
	assert_int_equal(apply(f, id), -EHOSTUNREACH);
	assert_int_equal(f->fanout_count, 0);
	assert_string_equal(last_reply(f)->text,
			    "failed on 3 of 4 nodes: n[1-3]: not connected");
	assert_int_equal(json_array_size(failures(f)), 1);
	assert_true(is_gone(f, id));
	assert_string_equal(vnis(f, "free"), "1024-1039");
	assert_string_equal(events(f, id),
			    "request fake-net exception release free");
}

static void what_the_undo_cannot_take_is_quarantined(void **state)
{
	struct fixture *f = *state;
	uint64_t id;

	nodes_up(f, 3);
	id = reserved(f, "n[0-2]", "");
	apply(f, id);
	core_node_lost(f->core, "n1");
	answer_one(f, open_fanout(f), "n1", -EHOSTUNREACH, "");
	/* The one that is gone is left out. */
	assert_string_equal(open_fanout(f)->nodes, "n[0,2]");
	answer_all(f, open_fanout(f), 0, "");
	assert_int_equal(last_reply(f)->result, -EREMOTEIO);
	assert_int_equal(job_state(f, id), JOB_FAILED);
	assert_string_equal(vnis(f, "quarantined"), "1024");
	assert_int_equal(part_state(f, id, "n0"), PART_REVOKED);
	assert_int_equal(part_state(f, id, "n1"), PART_REVOKING);
	/* A boot frees it. */
	node_boot(f, "n1");
	node_up(f, "n1");
	assert_true(is_gone(f, id));
	assert_string_equal(vnis(f, "quarantined"), "");
}

static void an_answer_of_another_boot_is_a_failure(void **state)
{
	struct fixture *f = *state;
	uint64_t id;

	nodes_up(f, 2);
	id = reserved(f, "n[0-1]", "");
	apply(f, id);
	/* It answers in a boot that has not registered yet. */
	node_boot(f, "n1");
	answer_all(f, open_fanout(f), 0, "");
	assert_int_equal(job_state(f, id), JOB_RELEASING);
	answer_all(f, open_fanout(f), 0, "");
	assert_contains(last_reply(f)->text, "n1: the node was rebooted");
	/* Nor does the new boot's word count before it has registered. */
	assert_int_equal(part_state(f, id, "n0"), PART_REVOKED);
	assert_int_equal(part_state(f, id, "n1"), PART_REVOKING);
	assert_string_equal(vnis(f, "quarantined"), "1024");
	node_up(f, "n1");
	assert_true(is_gone(f, id));
}

static void a_boot_while_the_apply_is_under_way_fences_nothing(void **state)
{
	struct fixture *f = *state;
	struct given_fanout *asked;
	uint64_t id;

	nodes_up(f, 2);
	id = reserved(f, "n[0-1]", "");
	apply(f, id);
	asked = open_fanout(f);
	core_node_lost(f->core, "n1");
	node_boot(f, "n1");
	node_up(f, "n1");
	/* The APPLY may reach the new boot: it has to confirm now. */
	assert_int_equal(part_state(f, id, "n1"), PART_APPLYING);
	assert_int_equal(edge_hits(f, "part:reset-while-applying"), 1);
	verify(f);
	answer_all(f, asked, 0, "");
	assert_int_equal(job_state(f, id), JOB_RELEASING);
	assert_string_equal(open_fanout(f)->nodes, "n[0-1]");
	answer_one(f, open_fanout(f), "n1", -EBUSY, "in use");
	assert_int_equal(job_state(f, id), JOB_FAILED);
	assert_string_equal(vnis(f, "quarantined"), "1024");
	/* The next boot does fence: no APPLY is under way any more. */
	node_boot(f, "n1");
	node_up(f, "n1");
	assert_true(is_gone(f, id));
}

static int first_errno(const struct fixture *f)
{
	return (int)json_integer_value(
		json_object_get(json_array_get(failures(f), 0), "errno"));
}

/* The errno with which n1 fails, that lost the lane as it made it. */
static int lose_lane(struct fixture *f, bool is_restarted)
{
	struct given_fanout *asked;

	apply(f, reserved(f, "n[0-1]", ""));
	asked = open_fanout(f);
	fixture_advance(f, 1);
	if (is_restarted) {
		core_node_lost(f->core, "n1");
		node_up(f, "n1");
	}
	answer_one(f, asked, "n1", -ESTALE, "the grant was revoked");
	answer_all(f, open_fanout(f), 0, "");
	assert_int_equal(last_reply(f)->result, -EREMOTEIO);
	return first_errno(f);
}

static void a_node_that_restarts_in_each_apply_has_failed(void **state)
{
	struct fixture *f = *state;

	nodes_up(f, 2);
	assert_int_equal(lose_lane(f, true), -ESTALE);
	assert_int_equal(lose_lane(f, true), -ESTALE);
	assert_int_equal(lose_lane(f, true), -ECONNRESET);
	assert_contains(last_reply(f)->text,
			"n1: the node restarted during three applies");
	assert_int_equal(lose_lane(f, true), -ECONNRESET);
	assert_int_equal(lose_lane(f, false), -ESTALE); /* no fault, as ever */
	apply(f, reserved(f, "n[0-1]", ""));
	answer_all(f, open_fanout(f), 0, "");
	assert_int_equal(last_reply(f)->result, 0);
	assert_int_equal(lose_lane(f, true), -ESTALE);
}

static void a_boot_in_each_apply_counts_once_for_each(void **state)
{
	struct fixture *f = *state;
	struct given_fanout *asked;

	nodes_up(f, 2);
	for (int i = 0; i < 2; i++) {
		apply(f, reserved(f, "n[0-1]", ""));
		asked = open_fanout(f);
		fixture_advance(f, 1);
		node_boot(f, "n1");
		node_up(f, "n1");
		answer_one(f, asked, "n1", -ESTALE, "the grant was revoked");
		answer_all(f, open_fanout(f), 0, "");
		assert_int_equal(last_reply(f)->result, -EREMOTEIO);
	}
	assert_int_equal(lose_lane(f, true), -ECONNRESET);
}

static void a_boot_in_many_applies_counts_once(void **state)
{
	struct fixture *f = *state;
	size_t asked[LANES];

	nodes_up(f, 1);
	for (int i = 0; i < LANES; i++) {
		apply(f, reserved(f, "n0", ""));
		asked[i] = f->fanout_count - 1;
	}
	fixture_advance(f, 1);
	node_boot(f, "n0");
	node_up(f, "n0");
	for (int i = 0; i < LANES; i++) {
		answer_one(f, &f->fanouts[asked[i]], "n0", -EHOSTUNREACH,
			   "the node was lost and came back meanwhile");
		answer_all(f, &f->fanouts[f->fanout_count - 1], 0, "");
		assert_int_equal(last_reply(f)->result, -EREMOTEIO);
		assert_int_equal(first_errno(f), -ESTALE);
	}
}

/* By cancelling jobs nobody takes nodes out. */
static void a_node_whose_lanes_are_taken_back_has_not_failed(void **state)
{
	struct fixture *f = *state;

	nodes_up(f, 2);
	for (int i = 0; i < 5; i++)
		assert_int_equal(lose_lane(f, false), -ESTALE);
}

static void a_boot_while_applying_is_remembered_over_a_restart(void **state)
{
	struct fixture *f = *state;
	uint64_t id;

	nodes_up(f, 2);
	id = reserved(f, "n[0-1]", "");
	apply(f, id);
	node_boot(f, "n1");
	node_up(f, "n1");
	fixture_restart(f);
	/* Undone, and neither node has confirmed. */
	assert_int_equal(job_state(f, id), JOB_FAILED);
	assert_int_equal(part_state(f, id, "n1"), PART_REVOKING);
	node_up(f, "n1");
	assert_string_equal(open_fanout(f)->nodes, "n1");
	answer_all(f, open_fanout(f), 0, "");
	assert_int_equal(part_state(f, id, "n1"), PART_REVOKED);
	assert_string_equal(vnis(f, "quarantined"), "1024");
}

static void a_lane_that_is_taken_back_meanwhile_is_a_failure(void **state)
{
	struct fixture *f = *state;
	uint64_t id;

	nodes_up(f, 2);
	id = reserved(f, "n[0-1]", "");
	apply(f, id);
	confirm(f, "n0", id, 0, "");
	assert_int_equal(part_state(f, id, "n0"), PART_REVOKED);
	answer_all(f, open_fanout(f), 0, "");
	assert_string_equal(open_fanout(f)->nodes, "n1");
	answer_all(f, open_fanout(f), 0, "");
	assert_contains(last_reply(f)->text,
			"n0: the lane was taken back while it was applied");
	assert_true(is_gone(f, id));
}

static void a_release_meanwhile_undoes_what_was_made(void **state)
{
	struct fixture *f = *state;
	uint64_t id, asked;

	nodes_up(f, 2);
	id = reserved(f, "n[0-1]", "");
	apply(f, id);
	asked = f->last_token;
	assert_int_equal(release_id(f, id), -EINPROGRESS);
	assert_int_equal(job_state(f, id), JOB_APPLYING);
	answer_all(f, open_fanout(f), 0, "");
	assert_int_equal(open_fanout(f)->op, CORE_FANOUT_REVOKE);
	answer_all(f, open_fanout(f), 0, "");
	assert_int_equal(reply_to(f, asked)->result, -ECANCELED);
	assert_int_equal(last_reply(f)->result, 0);
	assert_true(is_gone(f, id));
	assert_string_equal(events(f, id),
			    "request fake-net apply release revoked free");
	assert_int_equal(edge_hits(f, "release:while-applying"), 1);
}

static void a_released_grant_is_not_applied(void **state)
{
	struct fixture *f = *state;
	uint64_t id;

	nodes_up(f, 1);
	id = reserved(f, "n0", "");
	release_id(f, id);
	assert_int_equal(apply(f, id), -ESTALE);
	assert_int_equal(apply(f, 999), -ENOENT);
	id = active(f, "slurm/x/0", "n0", "");
	release_id(f, id);
	assert_int_equal(apply(f, id), -ESTALE);
	answer_all(f, open_fanout(f), -EBUSY, "busy");
	assert_int_equal(apply(f, id), -ESTALE);
	assert_int_equal(open_fanouts(f), 0);
}

static void who_may_apply(void **state)
{
	struct fixture *f = *state;
	uint64_t id;

	nodes_up(f, 1);
	id = reserved(f, "n0", "");
	core_apply(f->core, &flux, id, 1001);
	assert_int_equal(reply_to(f, 1001)->result, -EPERM);
	core_apply(f->core, &alice, id, 1002);
	assert_int_equal(reply_to(f, 1002)->result, -EPERM);
	core_apply(f->core, &slurm, id, 1003);
	assert_null(reply_to(f, 1003));
	answer_all(f, open_fanout(f), 0, "");
	assert_int_equal(reply_to(f, 1003)->result, 0);
}

static void the_apply_floor_is_below_what_may_still_be_applied(void **state)
{
	struct fixture *f = *state;
	uint64_t first, second, third;

	nodes_up(f, 2);
	first = reserved(f, "n0", "");
	second = reserved(f, "n0", "");
	third = reserved(f, "n0", "");
	/* Without a lane it is never applied. */
	reserved(f, "n0", "off");
	apply(f, second);
	assert_int_equal(open_fanout(f)->apply_floor, first);
	answer_all(f, open_fanout(f), 0, "");
	release_id(f, first);
	apply(f, third);
	assert_int_equal(open_fanout(f)->apply_floor, third);
	answer_all(f, open_fanout(f), 0, "");
	release_id(f, third);
	assert_int_equal(open_fanout(f)->apply_floor, f->core->next_grant_id);
	assert_int_equal(core_apply_floor(f->core), f->core->next_grant_id);
	answer_all(f, open_fanout(f), 0, "");
	/* And a restart does not forget it. */
	first = reserved(f, "n0", "");
	reserved(f, "n1", "");
	fixture_restart(f);
	assert_int_equal(core_apply_floor(f->core), first);
}

static void what_nodes_say_stays_one_line_of_json(void **state)
{
	struct fixture *f = *state;
	json_t *exception;
	uint64_t id;

	nodes_up(f, 1);
	id = reserved(f, "n0", "");
	apply(f, id);
	answer_all(f, open_fanout(f), -EIO,
		   "a \"quote\", a \\, a\ttab, a\nline, \xc3\xa4 and \xff");
	answer_all(f, open_fanout(f), 0, "");
	exception = event(f, id, "exception");
	assert_string_equal(
		json_string_value(json_object_get(exception, "note")),
		"failed on 1 of 1 nodes: n0: a \"quote\", a \\, a?tab, "
		"a\nline, "
		"\xc3\xa4 and ?");
	json_decref(exception);
}

static void more_different_texts_than_fit_are_counted(void **state)
{
	struct fixture *f = *state;
	struct core_answer answers[100] = { 0 };
	char texts[100][16];
	uint64_t id;

	f->config.nodes = "m[0-99]";
	fixture_restart(f);
	for (int i = 0; i < 100; i++) {
		struct core_registration registration = { .node = texts[i],
							  .version = "1" };

		snprintf(texts[i], sizeof(texts[i]), "m%d", i);
		registration.incarnation[0] = 1;
		assert_int_equal(core_register(f->core, &registration, NULL),
				 0);
	}
	id = reserved(f, "m[0-99]", "");
	apply(f, id);
	for (int i = 0; i < 100; i++) {
		answers[i].node = memory_text(texts[i]);
		answers[i].result = -EIO;
		answers[i].text = texts[i];
	}
	answer_with(f, open_fanout(f), answers, 100);
	answer_with(f, open_fanout(f), answers, 0);
	assert_int_equal(json_array_size(failures(f)), CORE_GROUPS_MAX);
	assert_int_equal(json_integer_value(json_object_get(
				 last_reply(f)->members, "more")),
			 100 - CORE_GROUPS_MAX);
	assert_true(strlen(last_reply(f)->text) < FAIRLEAD_ERROR_TEXT_MAX);
	for (int i = 0; i < 100; i++)
		free((char *)answers[i].node);
}

static void a_repeated_apply_says_where_the_lane_is_gone(void **state)
{
	struct fixture *f = *state;
	uint64_t id, bare;

	nodes_up(f, 3);
	id = active(f, "slurm/1/0", "n[0-2]", "");
	assert_int_equal(apply(f, id), 0);
	/* Taken back by its own epilog; and rebooted. */
	confirm(f, "n0", id, 0, "");
	assert_int_equal(apply(f, id), -ESTALE);
	assert_contains(last_reply(f)->text, "gone from n0");
	node_boot(f, "n2");
	node_up(f, "n2");
	assert_int_equal(apply(f, id), -ESTALE);
	assert_contains(last_reply(f)->text, "gone from n[0,2]");
	assert_int_equal(job_state(f, id), JOB_ACTIVE);
	/* What has no lane cannot lose it. */
	assert_int_equal(reserve(f, "slurm/2/0", "n0", "off"), 0);
	bare = last_grant(f);
	assert_int_equal(apply(f, bare), 0);
	assert_int_equal(apply(f, bare), 0);
}

#define T(name) \
	cmocka_unit_test_setup_teardown(name, fixture_setup, fixture_teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		T(an_apply_goes_to_all_nodes_at_once),
		T(the_journal_knows_of_an_apply_before_the_nodes),
		T(who_comes_second_gets_the_same_answer),
		T(a_failure_on_one_node_is_undone_on_all),
		T(equal_failures_are_one_line),
		T(who_does_not_answer_has_failed),
		T(warnings_are_gathered),
		T(each_line_of_a_warning_is_one),
		T(without_all_nodes_nothing_is_sent),
		T(what_the_undo_cannot_take_is_quarantined),
		T(an_answer_of_another_boot_is_a_failure),
		T(a_boot_while_the_apply_is_under_way_fences_nothing),
		T(a_node_that_restarts_in_each_apply_has_failed),
		T(a_boot_in_each_apply_counts_once_for_each),
		T(a_boot_in_many_applies_counts_once),
		T(a_node_whose_lanes_are_taken_back_has_not_failed),
		T(a_boot_while_applying_is_remembered_over_a_restart),
		T(a_lane_that_is_taken_back_meanwhile_is_a_failure),
		T(a_release_meanwhile_undoes_what_was_made),
		T(a_released_grant_is_not_applied),
		T(who_may_apply),
		T(the_apply_floor_is_below_what_may_still_be_applied),
		T(what_nodes_say_stays_one_line_of_json),
		T(more_different_texts_than_fit_are_counted),
		T(a_repeated_apply_says_where_the_lane_is_gone),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
