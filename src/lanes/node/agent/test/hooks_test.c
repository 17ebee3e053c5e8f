/* SPDX-License-Identifier: BSD-3-Clause */
/* What the hooks of a job manager ask for: prolog, epilog, housekeeping. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/cleanup.h"
#include "lanes/proto/client.h"
#include "lanes/proto/grant.h"
#include "lanes/node/agent/test/bench.h"

static int setup(void **state)
{
	static struct bench bench;

	bench_init(&bench);
	bench_connect(&bench);
	*state = &bench;
	return 0;
}

static int teardown(void **state)
{
	bench_fini(*state);
	return 0;
}

/* --- prolog --- */

static void prolog_waits_until_the_lane_is_there(void **state)
{
	struct bench *bench = *state;
	uint64_t client = bench_client(bench, 0);
	json_t *answer;

	bench_request(bench, client, 1, "prolog", JOB7);
	bench_advance(bench, 5000);
	bench_apply(bench, 8);
	assert_null(bench_answer(bench, NULL));
	bench_apply(bench, 7);
	answer = bench_answer(bench, NULL);
	assert_non_null(answer);
	assert_int_equal(answer_count(answer, "grants"), 1);
	assert_string_equal(answer_at(answer, "grants", 0, "key"),
			    "slurm/J7/0");
	assert_string_equal(answer_at(answer, "grants", 0, "state"), "applied");
	assert_string_equal(answer_at(answer, "grants", 0, "interconnect"),
			    "fake");
	assert_string_equal(answer_at(answer, "grants", 0, "uid"), "1007");
	assert_string_equal(answer_at(answer, "grants", 0, "grant_id"), "7");
	assert_string_equal(json_string_value(json_array_get(
				    json_object_get(answer, "warnings"), 0)),
			    "scaled back");
	json_decref(answer);
	agent_client_closed(bench->agent, client);
}

static void each_line_of_a_warning_is_one(void **state)
{
	struct bench *bench = *state;
	const json_t *warnings;
	json_t *answer;

	bench->world.apply_warning = "scaled more";
	bench_apply(bench, 7);
	answer = bench_call(bench, 0, "prolog", JOB7, 0);
	warnings = json_object_get(answer, "warnings");
	assert_int_equal(json_array_size(warnings), 2);
	assert_string_equal(json_string_value(json_array_get(warnings, 0)),
			    "scaled back");
	assert_string_equal(json_string_value(json_array_get(warnings, 1)),
			    "scaled more");
	json_decref(answer);
}

static void prolog_gives_up_in_time(void **state)
{
	struct bench *bench = *state;
	uint64_t client = bench_client(bench, 0);
	struct client_answer head;
	json_t *answer;

	bench_request(bench, client, 1, "prolog",
		      "{\"job\": \"slurm/J7\", \"timeout_ms\": 3000}");
	bench_advance(bench, 2999);
	assert_null(bench_answer(bench, NULL));
	bench_advance(bench, 1);
	answer = bench_answer(bench, NULL);
	assert_non_null(answer);
	assert_int_equal(client_answer_open(answer, &head, NULL), 0);
	assert_int_equal(head.result, -ETIMEDOUT);
	assert_non_null(strstr(head.text, "3000 ms"));
	json_decref(answer);
	agent_client_closed(bench->agent, client);
	json_decref(bench_call(bench, 0, "prolog",
			       "{\"job\": \"slurm/J7\", \"timeout_ms\": 0}",
			       -ETIMEDOUT));
}

static void prolog_can_ask_for_one_attempt(void **state)
{
	struct bench *bench = *state;

	bench_apply(bench, 7);
	json_decref(
		bench_call(bench, 0, "prolog", "{\"job\": \"slurm/J7/0\"}", 0));
	json_decref(bench_call(bench, 0, "prolog",
			       "{\"job\": \"slurm/J7/1\", \"timeout_ms\": 0}",
			       -ETIMEDOUT));
}

static void prolog_asked_before_the_journal_was_read_waits(void **state)
{
	struct bench *bench = *state;
	uint64_t client;
	json_t *answer;

	bench_apply(bench, 7);
	bench_restart(bench);
	client = bench_client(bench, 0);
	bench_request(bench, client, 1, "prolog",
		      "{\"job\": \"slurm/J7\", \"timeout_ms\": 0}");
	assert_null(bench_answer(bench, NULL));
	bench_pump(bench);
	answer = bench_answer(bench, NULL);
	assert_int_equal(answer_count(answer, "grants"), 1);
	json_decref(answer);
	agent_client_closed(bench->agent, client);
}

static void dry_prolog_of_a_lane_that_is_here_says_so(void **state)
{
	struct bench *bench = *state;
	json_t *answer;

	json_decref(bench_call(bench, 0, "prolog",
			       "{\"job\": \"slurm/J7\", \"dry_run\": true}",
			       -ENOENT));
	bench_apply(bench, 7);
	answer = bench_call(bench, 0, "prolog",
			    "{\"job\": \"slurm/J7\", \"dry_run\": true}", 0);
	assert_int_equal(answer_count(answer, "grants"), 1);
	assert_string_equal(json_string_value(json_array_get(
				    json_object_get(answer, "warnings"), 0)),
			    "slurm/J7/0: its lane is here, and nothing would "
			    "be done");
	json_decref(answer);
	assert_int_equal(bench->world.applies[7], 1);
}

/* Members of a prolog with a grant of job 7. */
static char *with_grant(uint64_t grant_id, const char *nodes, bool has_lane,
			const char *more)
{
	static const uint32_t ids[] = { 2007 };
	const struct grant_public public = {
		.grant_id = grant_id,
		.key = "slurm/J7/0",
		.interconnect = "fake",
		.nodes = nodes,
		.uid = 1007,
		.gid = 3007,
		.id_count = has_lane ? 1 : 0,
		.ids = ids,
		.options = "x=1",
		.has_lane = has_lane,
		.context = "{}",
	};
	_auto_(freep) char *public_text = NULL;
	_auto_(freep) char *text = NULL;
	struct grant grant = { .grant_id = grant_id, .epoch = 1 };
	char *members = NULL;

	assert_int_equal(grant_public_format(&public, &public_text), 0);
	grant.public_text = public_text;
	assert_int_equal(grant_format(&grant, &text), 0);
	assert_true(asprintf(&members, "{\"grant\": \"%s\"%s}", text, more) >
		    0);
	return members;
}

static void prolog_of_a_grant_without_a_lane_waits_for_nothing(void **state)
{
	_auto_(freep) char *wet = with_grant(7, "n[0-3]", false, "");
	_auto_(freep) char *dry =
		with_grant(7, "n[0-3]", false, ", \"dry_run\": true");
	json_t *answer = bench_call(*state, 0, "prolog", wet, 0);

	assert_int_equal(answer_count(answer, "grants"), 0);
	assert_int_equal(answer_count(answer, "warnings"), 0);
	json_decref(answer);
	answer = bench_call(*state, 0, "prolog", dry, 0);
	assert_int_equal(answer_count(answer, "warnings"), 1);
	json_decref(answer);
}

static void prolog_of_a_grant_waits_for_that_one(void **state)
{
	_auto_(freep) char *earlier =
		with_grant(6, "n[0-3]", true, ", \"timeout_ms\": 0");
	_auto_(freep) char *members =
		with_grant(7, "n[0-3]", true, ", \"timeout_ms\": 0");
	struct bench *bench = *state;

	json_decref(bench_call(bench, 0, "prolog", members, -ETIMEDOUT));
	bench_apply(bench, 7);
	json_decref(bench_call(bench, 0, "prolog", earlier, -ETIMEDOUT));
	json_decref(bench_call(bench, 0, "prolog", members, 0));
}

static void dry_prolog_of_a_grant_says_what_would_be_made(void **state)
{
	_auto_(freep) char *members =
		with_grant(7, "n1", true, ", \"dry_run\": true, \"cores\": 12");
	struct bench *bench = *state;
	json_t *answer = bench_call(bench, 0, "prolog", members, 0);

	assert_int_equal(answer_count(answer, "grants"), 0);
	assert_string_equal(
		json_string_value(
			json_array_get(json_object_get(answer, "warnings"), 0)),
		"would make 2007 for job J7, uid 1007, 12 cores, 'x=1'");
	json_decref(answer);
	assert_int_equal(world_objects_total(&bench->world), 0);
	assert_int_equal(world_state(&bench->world, 7), 0);
	bench->world.apply_error = -ENOSPC;
	json_decref(bench_call(bench, 0, "prolog", members, -ENOSPC));
}

static void grant_that_does_not_fit_is_refused(void **state)
{
	_auto_(freep) char *others = with_grant(7, "n[2-3]", true, "");
	_auto_(freep) char *both =
		with_grant(7, "n1", true, ", \"job\": \"slurm/J7\"");
	_auto_(freep) char *none = with_grant(7, "n1", true, ", \"cores\": 0");

	json_decref(bench_call(*state, 0, "prolog", others, -EINVAL));
	json_decref(bench_call(*state, 0, "prolog", both, -EINVAL));
	json_decref(bench_call(*state, 0, "prolog", none, -EINVAL));
	json_decref(bench_call(*state, 0, "prolog",
			       "{\"grant\": \"fairlead-grant:1:AAAA\"}",
			       -EBADMSG));
	json_decref(bench_call(*state, 0, "epilog",
			       "{\"job\": \"slurm/J7\", \"grant\": \"x\"}",
			       -EINVAL));
}

/* --- epilog and housekeeping --- */

static void epilog_says_when_the_node_knows_nothing_of_the_job(void **state)
{
	static const char *const ops[] = { "epilog", "housekeeping" };
	struct bench *bench = *state;

	bench_apply(bench, 8);
	for (size_t i = 0; i < 2; i++) {
		json_t *answer = bench_call(bench, 0, ops[i], JOB7, 0);

		assert_int_equal(answer_count(answer, "warnings"), 1);
		assert_non_null(
			strstr(json_string_value(json_array_get(
				       json_object_get(answer, "warnings"), 0)),
			       "this node knows nothing of job 'slurm/J7'"));
		json_decref(answer);
	}
	json_decref(bench_call(bench, 0, "housekeeping", "", 0));
}

static void epilog_takes_every_lane_of_the_job(void **state)
{
	struct bench *bench = *state;
	json_t *answer;

	bench_apply(bench, 7);
	bench_apply(bench, 8);
	answer = bench_call(bench, 0, "epilog", JOB7, 0);
	assert_int_equal(answer_count(answer, "revoked"), 1);
	assert_int_equal(answer_count(answer, "busy"), 0);
	json_decref(answer);
	assert_int_equal(world_object_count(&bench->world, 7), 0);
	assert_int_equal(world_object_count(&bench->world, 8), FAKE_DEVICES);
	answer = bench_call(bench, 0, "epilog", JOB7, 0);
	assert_int_equal(answer_count(answer, "revoked"), 0);
	json_decref(answer);
}

static void epilog_tries_quickly_and_says_what_is_busy(void **state)
{
	struct bench *bench = *state;
	uint64_t client = bench_client(bench, 0);
	struct client_answer head;
	json_t *answer;

	bench_apply(bench, 7);
	world_object(&bench->world, 7)->is_busy = true;
	bench_request(bench, client, 1, "epilog", JOB7);
	bench_advance(bench, 4999);
	assert_in_range(bench->world.revokes, 6, 14);
	assert_null(bench_answer(bench, NULL));
	bench_advance(bench, 1);
	answer = bench_answer(bench, NULL);
	assert_non_null(answer);
	assert_int_equal(client_answer_open(answer, &head, NULL), 0);
	assert_int_equal(head.result, -EBUSY);
	assert_int_equal(answer_count(answer, "revoked"), 0);
	assert_int_equal(answer_count(answer, "busy"), 1);
	assert_string_equal(answer_at(answer, "busy", 0, "grant_id"), "7");
	assert_string_equal(answer_at(answer, "busy", 0, "text"),
			    "object 2 on 'dev0' is used by process 77");
	json_decref(answer);
	agent_client_closed(bench->agent, client);
	/* It asks for no drain. */
	assert_int_equal(bench->world.reply.pending_count, 0);
}

static void epilog_ends_as_soon_as_all_is_gone(void **state)
{
	struct bench *bench = *state;
	uint64_t client = bench_client(bench, 0);
	json_t *answer;

	bench_apply(bench, 7);
	world_object(&bench->world, 7)->is_busy = true;
	bench_request(bench, client, 1, "epilog", JOB7);
	bench_advance(bench, 1000);
	world_object(&bench->world, 7)->is_busy = false;
	bench_advance(bench, AGENT_QUICK_MS_MAX);
	answer = bench_answer(bench, NULL);
	assert_non_null(answer);
	assert_int_equal(answer_count(answer, "revoked"), 1);
	json_decref(answer);
	agent_client_closed(bench->agent, client);
}

static void dry_epilog_touches_nothing(void **state)
{
	static const char dry[] = "{\"job\": \"slurm/J7\", \"dry_run\": true}";
	struct bench *bench = *state;
	json_t *answer;

	bench_apply(bench, 7);
	answer = bench_call(bench, 0, "epilog", dry, 0);
	assert_int_equal(answer_count(answer, "revoked"), 1);
	json_decref(answer);
	world_object(&bench->world, 7)->is_busy = true;
	answer = bench_call(bench, 0, "housekeeping", dry, -EBUSY);
	assert_int_equal(answer_count(answer, "busy"), 1);
	assert_non_null(
		strstr(answer_at(answer, "busy", 0, "text"), "process 77"));
	assert_non_null(
		strstr(json_string_value(json_object_get(answer, "hint")),
		       "would be retried"));
	json_decref(answer);
	assert_int_equal(world_object_count(&bench->world, 7), FAKE_DEVICES);
	json_decref(bench_call(bench, 0, "prolog", JOB7, 0));
}

/* The CONFIRM of the node's own accord that was sent last. */
static void take_own(struct bench *bench, struct confirm *ret_confirm)
{
	bench_advance(bench, 0);
	bench_take_confirm(bench, ret_confirm);
	assert_int_equal(ret_confirm->op, 0);
}

static void drain_send(struct bench *bench, bool is_drained)
{
	struct drain_body body = { .node = FAKE_NODE,
				   .is_drained = is_drained };
	struct writer writer = { 0 };

	assert_int_equal(drain_body_encode(&body, &writer), 0);
	bench_command(bench, COMMAND_DRAIN, 0, &writer);
	bench_pump(bench);
}

static void drain(struct bench *bench)
{
	drain_send(bench, true);
}

static void undrain(struct bench *bench)
{
	drain_send(bench, false);
}

/* Time passes, and the manager is there. */
static void pass(struct bench *bench, uint64_t duration_ms)
{
	while (duration_ms > 0) {
		uint64_t some_ms = duration_ms < 5000 ? duration_ms : 5000;

		bench_advance(bench, some_ms);
		bench_drop_frames(bench);
		bench_send(bench, FRAME_PONG, NULL, 0);
		duration_ms -= some_ms;
	}
}

/*
 * A housekeeping of a busy lane that has no more time: the sequence of its
 * request for a drain.
 */
static uint64_t give_up(struct bench *bench, uint64_t client)
{
	struct confirm confirm;
	uint64_t sequence;

	bench_apply(bench, 7);
	world_object(&bench->world, 7)->is_busy = true;
	bench_revoke(bench, 7);
	bench_drop_frames(bench);
	bench_request(bench, client, 1, "housekeeping", "{\"timeout_ms\": 0}");
	take_own(bench, &confirm);
	assert_int_equal(confirm.result, -EBUSY);
	sequence = confirm.sequence;
	confirm_fini(&confirm);
	assert_null(bench_answer(bench, NULL));
	return sequence;
}

static void expect_busy(struct bench *bench, const char *hint)
{
	struct client_answer head;
	json_t *answer = bench_answer(bench, NULL);

	assert_non_null(answer);
	assert_int_equal(client_answer_open(answer, &head, NULL), 0);
	assert_int_equal(head.result, -EBUSY);
	assert_string_equal(head.hint, hint);
	assert_int_equal(answer_count(answer, "busy"), 1);
	json_decref(answer);
}

static void housekeeping_tries_long_and_then_asks_for_a_drain(void **state)
{
	struct bench *bench = *state;
	uint64_t client = bench_client(bench, 0);
	struct confirm confirm;
	struct frame frame;
	int type;

	bench_apply(bench, 7);
	world_object(&bench->world, 7)->is_busy = true;
	bench_revoke(bench, 7);
	bench_drop_frames(bench);
	bench_request(bench, client, 1, "housekeeping",
		      "{\"timeout_ms\": 20000}");
	bench_advance(bench, 19999);
	assert_null(bench_answer(bench, NULL));
	/* No drain is asked for while it is tried. */
	while ((type = bench_take(bench, &frame)))
		assert_int_equal(type, FRAME_PING);
	bench_send(bench, FRAME_PONG, NULL, 0);
	bench_advance(bench, 1);
	take_own(bench, &confirm);
	assert_int_equal(confirm.result, -EBUSY);
	assert_string_equal(confirm.reason,
			    "object 2 on 'dev0' is used by process 77");
	/* The manager has the request: the drain is not in force yet. */
	bench_ack(bench, confirm.sequence);
	confirm_fini(&confirm);
	assert_null(bench_answer(bench, NULL));
	pass(bench, AGENT_IDLE_MS + 1);
	assert_null(bench_answer(bench, NULL));
	drain(bench);
	expect_busy(bench, "this node is drained; 'busy' names what holds it");
	agent_client_closed(bench->agent, client);
}

static void housekeeping_ends_with_the_lane_while_it_waits_for_a_drain(
	void **state)
{
	struct bench *bench = *state;
	uint64_t client = bench_client(bench, 0);
	struct client_answer head;
	json_t *answer;

	give_up(bench, client);
	world_object(&bench->world, 7)->is_busy = false;
	/* The agent goes on trying. */
	pass(bench, AGENT_RETRY_MS_MAX / 2);
	answer = bench_answer(bench, NULL);
	assert_non_null(answer);
	assert_int_equal(client_answer_open(answer, &head, NULL), 0);
	assert_int_equal(head.result, 0);
	assert_int_equal(answer_count(answer, "revoked"), 1);
	json_decref(answer);
	agent_client_closed(bench->agent, client);
}

static void housekeeping_does_not_wait_for_ever_for_a_drain(void **state)
{
	struct bench *bench = *state;
	uint64_t client = bench_client(bench, 0);

	/* It was drained before: whether it still is the manager says. */
	drain(bench);
	give_up(bench, client);
	undrain(bench);
	pass(bench, AGENT_DRAIN_MS - 1);
	assert_null(bench_answer(bench, NULL));
	bench_advance(bench, 1);
	expect_busy(bench, "the manager was asked to drain this node, and has "
			   "not yet: see its log; 'busy' names what holds it");
	agent_client_closed(bench->agent, client);
}

static void housekeeping_without_a_job_takes_what_is_left(void **state)
{
	struct bench *bench = *state;
	json_t *answer;

	bench_apply(bench, 7);
	bench_apply(bench, 8);
	world_object(&bench->world, 7)->is_busy = true;
	bench_revoke(bench, 7);
	world_object(&bench->world, 7)->is_busy = false;
	answer = bench_call(bench, 0, "housekeeping", "", 0);
	assert_int_equal(answer_count(answer, "revoked"), 1);
	json_decref(answer);
	assert_int_equal(world_object_count(&bench->world, 7), 0);
	/* A lane in use is not housekeeping's. */
	assert_int_equal(world_object_count(&bench->world, 8), FAKE_DEVICES);
}

static void housekeeping_of_a_drained_node_waits_for_the_manager_only(
	void **state)
{
	struct bench *bench = *state;
	uint64_t client = bench_client(bench, 0);

	drain(bench);
	bench_ack(bench, give_up(bench, client));
	expect_busy(bench, "this node is drained; 'busy' names what holds it");
	agent_client_closed(bench->agent, client);
}

static void epilog_goes_on_as_housekeeping_that_nobody_waits_for(void **state)
{
	static const char followed[] =
		"{\"job\": \"slurm/J7\", \"housekeeping\": true, "
		"\"timeout_ms\": 1000}";
	struct bench *bench = *state;
	uint64_t client = bench_client(bench, 0);
	struct confirm confirm;
	struct frame frame;
	json_t *answer;
	int type;

	bench_apply(bench, 7);
	world_object(&bench->world, 7)->is_busy = true;
	bench_request(bench, client, 1, "epilog", followed);
	bench_advance(bench, 1000);
	answer = bench_answer(bench, NULL);
	assert_non_null(answer);
	assert_int_equal(answer_count(answer, "busy"), 1);
	json_decref(answer);
	agent_client_closed(bench->agent, client);
	bench_drop_frames(bench);
	/* A lane that the job gets now is not what was busy. */
	bench_apply(bench, 8);
	bench_drop_frames(bench);
	for (int i = 0; i < 6; i++) {
		bench_advance(bench, i < 5 ? 10000 : 9999);
		while ((type = bench_take(bench, &frame)))
			assert_int_equal(type, FRAME_PING);
		bench_send(bench, FRAME_PONG, NULL, 0);
	}
	bench_advance(bench, 1);
	take_own(bench, &confirm);
	assert_int_equal(confirm.result, -EBUSY);
	assert_string_equal(confirm.reason,
			    "object 2 on 'dev0' is used by process 77");
	confirm_fini(&confirm);
	assert_int_equal(world_object_count(&bench->world, 8), FAKE_DEVICES);
}

static void housekeeping_restarts_with_the_agent(void **state)
{
	struct bench *bench = *state;
	struct confirm confirm;

	bench_apply(bench, 7);
	bench_apply(bench, 8);
	world_object(&bench->world, 7)->is_busy = true;
	bench_revoke(bench, 7);
	bench_restart(bench);
	bench_connect(bench);
	for (int i = 0; i < 6; i++) {
		bench_drop_frames(bench);
		bench_send(bench, FRAME_PONG, NULL, 0);
		bench_advance(bench, i < 5 ? 10000 : 9999);
	}
	bench_drop_frames(bench);
	bench_send(bench, FRAME_PONG, NULL, 0);
	bench_advance(bench, 1);
	take_own(bench, &confirm);
	assert_int_equal(confirm.result, -EBUSY);
	confirm_fini(&confirm);
	assert_int_equal(world_object_count(&bench->world, 8), FAKE_DEVICES);
}

static void epilog_that_ends_well_is_followed_by_nothing(void **state)
{
	struct bench *bench = *state;
	uint32_t revokes;

	bench_apply(bench, 7);
	json_decref(bench_call(bench, 0, "epilog",
			       "{\"job\": \"slurm/J7\", "
			       "\"housekeeping\": true}",
			       0));
	revokes = bench->world.revokes;
	bench_drop_frames(bench);
	bench_advance(bench, 60000);
	assert_int_equal(bench->world.revokes, revokes);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
	const struct CMUnitTest tests[] = {
		TEST(epilog_says_when_the_node_knows_nothing_of_the_job),
		TEST(prolog_waits_until_the_lane_is_there),
		TEST(each_line_of_a_warning_is_one),
		TEST(prolog_gives_up_in_time),
		TEST(prolog_can_ask_for_one_attempt),
		TEST(prolog_asked_before_the_journal_was_read_waits),
		TEST(dry_prolog_of_a_lane_that_is_here_says_so),
		TEST(prolog_of_a_grant_without_a_lane_waits_for_nothing),
		TEST(prolog_of_a_grant_waits_for_that_one),
		TEST(dry_prolog_of_a_grant_says_what_would_be_made),
		TEST(grant_that_does_not_fit_is_refused),
		TEST(epilog_takes_every_lane_of_the_job),
		TEST(epilog_tries_quickly_and_says_what_is_busy),
		TEST(epilog_ends_as_soon_as_all_is_gone),
		TEST(dry_epilog_touches_nothing),
		TEST(epilog_goes_on_as_housekeeping_that_nobody_waits_for),
		TEST(housekeeping_restarts_with_the_agent),
		TEST(epilog_that_ends_well_is_followed_by_nothing),
		TEST(housekeeping_tries_long_and_then_asks_for_a_drain),
		TEST(housekeeping_without_a_job_takes_what_is_left),
		TEST(housekeeping_of_a_drained_node_waits_for_the_manager_only),
		TEST(housekeeping_ends_with_the_lane_while_it_waits_for_a_drain),
		TEST(housekeeping_does_not_wait_for_ever_for_a_drain),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
