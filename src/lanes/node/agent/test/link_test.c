/* SPDX-License-Identifier: BSD-3-Clause */
/* The link to the manager, pending confirmations, and lanes that stay busy. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "lanes/node/agent/test/bench.h"

static int setup(void **state)
{
	static struct bench bench;

	bench_init(&bench);
	*state = &bench;
	return 0;
}

static int teardown(void **state)
{
	bench_fini(*state);
	return 0;
}

static void assert_link(struct bench *bench, const char *state,
			const char *error)
{
	json_t *answer = bench_call(bench, 0, "node-status", "", 0);
	json_t *manager = json_object_get(answer, "manager");

	assert_string_equal(
		json_string_value(json_object_get(manager, "state")), state);
	assert_non_null(strstr(
		json_string_value(json_object_get(manager, "error")), error));
	json_decref(answer);
}

/* Frames of that type that were sent since the last look. */
static unsigned int count_frames(struct bench *bench, enum frame_type type)
{
	unsigned int count = 0;
	struct frame frame;
	int found;

	while ((found = bench_take(bench, &frame)))
		count += found == (int)type;
	bench_drop_frames(bench);
	return count;
}

/* --- the link --- */

static void node_registers_and_is_up(void **state)
{
	struct bench *bench = *state;

	assert_int_equal(bench->dial_count, 1);
	assert_link(bench, "connecting", "");
	bench_connect(bench);
	assert_link(bench, "up", "");
}

static void manager_that_cannot_be_reached_is_tried_with_growing_pauses(
	void **state)
{
	struct bench *bench = *state;
	uint64_t pause_ms = AGENT_DIAL_MS;

	for (int i = 0; i < 12; i++) {
		unsigned int dials = bench->dial_count;

		agent_manager_closed(bench->agent, bench->peer, -ECONNREFUSED);
		bench_advance(bench, pause_ms / 2 - 1);
		assert_int_equal(bench->dial_count, dials);
		bench_advance(bench, pause_ms + 1);
		assert_int_equal(bench->dial_count, dials + 1);
		if (pause_ms < AGENT_DIAL_MS_MAX)
			pause_ms = pause_ms * 2 < AGENT_DIAL_MS_MAX
					   ? pause_ms * 2
					   : AGENT_DIAL_MS_MAX;
	}
	assert_link(bench, "connecting", "refused");
	/* Once it was up, it begins with short pauses again. */
	bench_connect(bench);
	agent_manager_closed(bench->agent, bench->peer, 0);
	bench_advance(bench, 2 * AGENT_DIAL_MS);
	bench_connect(bench);
	assert_link(bench, "up", "");
}

static void address_that_cannot_be_dialed_is_tried_again(void **state)
{
	struct bench *bench = *state;

	agent_manager_closed(bench->agent, bench->peer, -ECONNRESET);
	bench->dial_error = -EINVAL;
	bench_advance(bench, 60000);
	assert_true(bench->dial_count > 3);
	assert_link(bench, "connecting", "no such address");
	bench->dial_error = 0;
	bench_advance(bench, 60000);
	bench_connect(bench);
	assert_link(bench, "up", "");
}

static void pauses_differ_from_node_to_node(void **state)
{
	struct bench *bench = *state;
	uint64_t dial_ms[8];
	bool differ = false;

	for (int i = 0; i < 8; i++) {
		bench->rng.state[0] = (uint64_t)i + 1;
		bench_restart(bench);
		agent_manager_closed(bench->agent, bench->peer, -ECONNREFUSED);
		bench_pump(bench);
		dial_ms[i] = agent_deadline_ms(bench->agent) -
			     bench->clock.monotonic_ms;
		assert_in_range(dial_ms[i], AGENT_DIAL_MS / 2,
				AGENT_DIAL_MS * 3 / 2);
		differ |= dial_ms[i] != dial_ms[0];
	}
	assert_true(differ);
}

static void manager_of_another_version_is_left(void **state)
{
	struct bench *bench = *state;
	struct challenge challenge = { .version = WIRE_VERSION };
	struct writer writer = { 0 };

	agent_manager_opened(bench->agent, bench->peer);
	assert_int_equal(challenge_encode(&challenge, &writer), 0);
	writer.data[0]++;
	bench_send(bench, FRAME_CHALLENGE, writer.data, writer.size);
	writer_fini(&writer);
	assert_int_equal(bench->closed, bench->peer);
	bench_pump(bench);
	assert_int_equal(count_frames(bench, FRAME_REGISTER), 0);
	assert_link(bench, "connecting", "another version");
}

static void manager_that_does_not_greet_is_left(void **state)
{
	struct bench *bench = *state;

	bench_challenge(bench);
	bench_advance(bench, AGENT_GREET_MS - 1);
	assert_int_not_equal(bench->closed, bench->peer);
	bench_advance(bench, 1);
	assert_int_equal(bench->closed, bench->peer);
	assert_link(bench, "connecting", "greet");
}

static void link_that_says_nothing_is_left(void **state)
{
	struct bench *bench = *state;

	agent_manager_opened(bench->agent, bench->peer);
	bench_advance(bench, AGENT_GREET_MS);
	assert_int_equal(bench->closed, bench->peer);
}

static void greeting_that_is_not_the_managers_is_not_believed(void **state)
{
	struct bench *bench = *state;
	struct hello_body hello = { .node = FAKE_NODE };
	struct writer body = { 0 };

	bench_challenge(bench);
	bench_pump(bench);
	memcpy(hello.cluster, bench->world.keys.cluster, CLUSTER_ID_SIZE);
	assert_int_equal(hello_body_encode(&hello, &body), 0);
	bench_command(bench, COMMAND_HELLO, 0, &body); /* another nonce */
	bench_pump(bench);
	assert_link(bench, "connecting", "");
	bench_greet(bench);
	bench_pump(bench);
	assert_link(bench, "up", "");
}

static void manager_may_challenge_again(void **state)
{
	struct bench *bench = *state;
	struct confirm confirm;

	bench_connect(bench);
	bench->world.epoch++;
	bench->world.sequence = 0;
	/* Twice, before the guard has answered. */
	bench_challenge(bench);
	bench_challenge(bench);
	bench_pump(bench);
	assert_link(bench, "connecting", "");
	bench_greet(bench);
	bench_pump(bench);
	assert_link(bench, "up", "");
	bench_apply(bench, 7);
	bench_take_confirm(bench, &confirm);
	assert_int_equal(confirm.result, 0);
	confirm_fini(&confirm);
	/* And if it does not greet then, it is left. */
	bench_challenge(bench);
	bench_advance(bench, AGENT_GREET_MS);
	assert_int_equal(bench->closed, bench->peer);
}

static void registration_for_a_lost_link_is_not_sent(void **state)
{
	struct bench *bench = *state;

	bench_challenge(bench);
	/* The guard has not answered when the link breaks. */
	agent_manager_closed(bench->agent, bench->peer, -ECONNRESET);
	sim_clock_advance(&bench->clock, 2 * AGENT_DIAL_MS);
	agent_tick(bench->agent);
	bench_challenge(bench);
	bench_pump(bench);
	assert_int_equal(count_frames(bench, FRAME_REGISTER), 1);
	/* What was sent answers the second challenge: the guard greets it. */
	agent_manager_closed(bench->agent, bench->peer, -ECONNRESET);
	bench_advance(bench, 3 * AGENT_DIAL_MS);
	bench_connect(bench);
	assert_link(bench, "up", "");
}

static void refusal_is_shown_and_the_link_tried_again(void **state)
{
	struct bench *bench = *state;
	struct refuse refuse = { .text = "not one of our nodes" };
	struct writer writer = { 0 };

	bench_challenge(bench);
	bench_pump(bench);
	assert_int_equal(refuse_encode(&refuse, &writer), 0);
	bench_send(bench, FRAME_REFUSE, writer.data, writer.size);
	agent_manager_closed(bench->agent, bench->peer, 0);
	assert_link(bench, "refused", "not one of our nodes");
	assert_non_null(strstr(bench->log, "not one of our nodes"));
	bench->log[0] = 0;
	bench_advance(bench, 5000);
	bench_drop_frames(bench);
	bench_challenge(bench);
	bench_pump(bench);
	bench_send(bench, FRAME_REFUSE, writer.data, writer.size);
	assert_string_equal(bench->log, ""); /* it was said */
	agent_manager_closed(bench->agent, bench->peer, 0);
	bench_advance(bench, 10000);
	bench_drop_frames(bench);
	bench_connect(bench);
	assert_link(bench, "up", "");
	writer_fini(&writer);
}

static void what_is_no_message_ends_the_link(void **state)
{
	static const uint8_t frames[][2] = {
		{ 0, 0 },
		{ 99, 0 },
		{ FRAME_CHALLENGE, 0 },
		{ FRAME_REGISTER, 0 },
		{ FRAME_CONFIRM, 0 },
	};
	struct bench *bench = *state;

	for (size_t i = 0; i < sizeof(frames) / sizeof(frames[0]); i++) {
		agent_manager_opened(bench->agent, bench->peer);
		agent_manager_received(bench->agent, bench->peer, frames[i], 2);
		assert_int_equal(bench->closed, bench->peer);
		/* Late frames of the old link are nobody's. */
		agent_manager_received(bench->agent, bench->closed, frames[i],
				       2);
		agent_manager_closed(bench->agent, bench->closed, 0);
		bench_advance(bench, 60000);
		assert_int_not_equal(bench->closed, bench->peer);
	}
}

static void silence_is_broken_by_a_ping_and_ends_the_link(void **state)
{
	struct bench *bench = *state;

	bench_connect(bench);
	bench_advance(bench, AGENT_PING_MS - 1);
	assert_int_equal(count_frames(bench, FRAME_PING), 0);
	bench_advance(bench, 1);
	assert_int_equal(count_frames(bench, FRAME_PING), 1);
	bench_send(bench, FRAME_PONG, NULL, 0);
	bench_advance(bench, AGENT_LEASE_MS - 1);
	assert_int_equal(count_frames(bench, FRAME_PING), 2);
	assert_int_not_equal(bench->closed, bench->peer);
	bench_advance(bench, 1);
	assert_int_equal(bench->closed, bench->peer);
}

static void ping_is_answered(void **state)
{
	struct bench *bench = *state;

	bench_connect(bench);
	bench_drop_frames(bench);
	bench_send(bench, FRAME_PING, NULL, 0);
	assert_int_equal(count_frames(bench, FRAME_PONG), 1);
}

/* --- commands --- */

static void commands_are_obeyed_and_confirmed(void **state)
{
	struct bench *bench = *state;
	struct confirm confirm;

	bench_connect(bench);
	bench_apply(bench, 7);
	bench_take_confirm(bench, &confirm);
	assert_int_equal(confirm.op, COMMAND_APPLY);
	assert_int_equal(confirm.result, 0);
	confirm_fini(&confirm);
	assert_int_equal(world_object_count(&bench->world, 7), FAKE_DEVICES);
	bench_revoke(bench, 7);
	bench_take_confirm(bench, &confirm);
	assert_int_equal(confirm.op, COMMAND_REVOKE);
	assert_int_equal(confirm.result, 0);
	confirm_fini(&confirm);
	assert_int_equal(world_objects_total(&bench->world), 0);
}

static void command_whose_answer_was_lost_is_answered_again(void **state)
{
	struct bench *bench = *state;
	struct confirm confirm;

	bench_connect(bench);
	bench_apply(bench, 7);
	bench_drop_frames(bench);
	agent_manager_closed(bench->agent, bench->peer, -ECONNRESET);
	bench_advance(bench, 2 * AGENT_DIAL_MS);
	bench_connect(bench);
	bench_apply(bench, 7);
	bench_take_confirm(bench, &confirm);
	assert_int_equal(confirm.result, 0);
	confirm_fini(&confirm);
	assert_int_equal(bench->world.applies[7], 1);
}

static void command_for_a_job_costs_the_link_and_is_not_obeyed(void **state)
{
	static const enum command_op ops[] = { COMMAND_APPLY, COMMAND_REVOKE,
					       COMMAND_QUERY, COMMAND_CLEAN,
					       COMMAND_LEASE };
	struct bench *bench = *state;

	for (size_t i = 0; i < sizeof(ops) / sizeof(ops[0]); i++) {
		struct writer body = { 0 };

		bench_connect(bench);
		write_u8(&body, 0);
		bench_command_by_link(bench, ops[i], 7, &body);
		assert_int_equal(bench->asked.first, bench->asked.end);
		assert_int_equal(bench->closed, bench->peer);
		bench_drop_frames(bench);
		bench_advance(bench, 2 * AGENT_DIAL_MS);
	}
	assert_non_null(strstr(bench->log, "by collectives"));
}

static void flood_of_commands_is_dropped_and_not_queued(void **state)
{
	struct bench *bench = *state;
	uint8_t garbage[200] = { 0 };

	bench_connect(bench);
	bench->log[0] = 0;
	for (int i = 0; i < 5000; i++)
		bench_send(bench, FRAME_COMMAND, garbage, sizeof(garbage));
	assert_int_equal(bench->asked.end - bench->asked.first,
			 AGENT_COMMANDS_MAX);
	bench_pump(bench);
	/* One line, not 256. */
	assert_non_null(strstr(bench->log, "not obeyed"));
	assert_ptr_equal(strchr(bench->log, '\n'),
			 bench->log + strlen(bench->log) - 1);
	bench_apply(bench, 7);
	assert_int_equal(world_object_count(&bench->world, 7), FAKE_DEVICES);
}

static void drain_is_shown(void **state)
{
	struct bench *bench = *state;
	struct drain_body body = {
		.node = FAKE_NODE,
		.is_drained = true,
		.reason = "svc 5 is busy",
	};
	struct writer writer = { 0 };
	json_t *answer;

	bench_connect(bench);
	assert_int_equal(drain_body_encode(&body, &writer), 0);
	bench_command(bench, COMMAND_DRAIN, 0, &writer);
	bench_pump(bench);
	answer = bench_call(bench, 1000, "node-status", "", 0);
	assert_true(json_is_true(json_object_get(answer, "drained")));
	assert_string_equal(
		json_string_value(json_object_get(answer, "reason")),
		"svc 5 is busy");
	json_decref(answer);
	/* A node that registers gets DRAIN again, or is no longer drained. */
	bench_challenge(bench);
	bench_pump(bench);
	bench_greet(bench);
	bench_pump(bench);
	answer = bench_call(bench, 1000, "node-status", "", 0);
	assert_true(json_is_false(json_object_get(answer, "drained")));
	assert_string_equal(
		json_string_value(json_object_get(answer, "reason")), "");
	json_decref(answer);
}

static json_t *query(struct bench *bench, uint8_t what, int expected)
{
	struct query_body body = { .nodes = FAKE_NODE, .what = what };
	struct writer writer = { 0 };
	struct confirm confirm;
	json_t *answer;

	bench_drop_frames(bench);
	assert_int_equal(query_body_encode(&body, &writer), 0);
	bench_command(bench, COMMAND_QUERY, 0, &writer);
	bench_pump(bench);
	bench_take_confirm(bench, &confirm);
	assert_int_equal(confirm.op, COMMAND_QUERY);
	assert_int_equal(confirm.result, expected);
	answer = json_loads((const char *)confirm.answer, 0, NULL);
	confirm_fini(&confirm);
	return answer;
}

static void queries_are_answered(void **state)
{
	struct bench *bench = *state;
	json_t *answer;

	bench_connect(bench);
	bench_apply(bench, 7);
	answer = query(bench, QUERY_GRANTS, 0);
	assert_int_equal(json_array_size(json_object_get(answer, "grants")), 1);
	json_decref(answer);
	answer = query(bench, QUERY_DEVICES, 0);
	assert_int_equal(json_array_size(json_object_get(answer, "devices")),
			 FAKE_DEVICES);
	assert_int_equal(json_integer_value(json_object_get(answer, "time_us")),
			 bench->clock.wall_us);
	json_decref(answer);
	answer = query(bench, QUERY_OBJECTS, 0);
	assert_int_equal(json_array_size(json_object_get(answer, "objects")),
			 FAKE_DEVICES);
	json_decref(answer);
	bench->world.list_error = -EIO;
	assert_null(query(bench, QUERY_OBJECTS, -EIO));
}

/* --- pending confirmations --- */

/* Revoke grant 7 by a local request, which the manager has to confirm. */
static void owe(struct bench *bench)
{
	bench_apply(bench, 7);
	bench_drop_frames(bench);
	json_decref(
		bench_call(bench, 0, "epilog", "{\"job\": \"slurm/J7\"}", 0));
}

static void confirmations_are_repeated_with_growing_pauses_until_acknowledged(
	void **state)
{
	struct bench *bench = *state;
	uint64_t pause_ms = AGENT_PENDING_MS, sequence = 0;
	struct confirm confirm;

	bench_connect(bench);
	owe(bench);
	bench_advance(bench, 0);
	for (int i = 0; i < 9; i++) {
		bench_take_confirm(bench, &confirm);
		assert_int_equal(confirm.op, 0);
		assert_int_equal(confirm.grant_id, 7);
		assert_int_equal(confirm.result, 0);
		sequence = confirm.sequence;
		confirm_fini(&confirm);
		bench_send(bench, FRAME_PONG, NULL, 0);
		bench_drop_frames(bench);
		for (uint64_t left = pause_ms - 1; left > 0;) {
			uint64_t part = left < 5000 ? left : 5000;

			bench_advance(bench, part);
			bench_send(bench, FRAME_PONG, NULL, 0);
			left -= part;
		}
		assert_int_equal(count_frames(bench, FRAME_CONFIRM), 0);
		bench_advance(bench, 1);
		pause_ms = pause_ms * 2 < AGENT_PENDING_MS_MAX
				   ? pause_ms * 2
				   : AGENT_PENDING_MS_MAX;
	}
	bench_drop_frames(bench);
	bench_ack(bench, sequence);
	bench_advance(bench, 20000);
	assert_int_equal(count_frames(bench, FRAME_CONFIRM), 0);
}

static void confirmations_wait_for_the_manager(void **state)
{
	struct bench *bench = *state;
	struct confirm confirm;

	bench_connect(bench);
	bench_apply(bench, 7);
	agent_manager_closed(bench->agent, bench->peer, -ECONNRESET);
	json_decref(
		bench_call(bench, 0, "epilog", "{\"job\": \"slurm/J7\"}", 0));
	bench_restart(bench);
	bench_advance(bench, 1000);
	bench_connect(bench);
	bench_advance(bench, 0);
	bench_take_confirm(bench, &confirm);
	assert_int_equal(confirm.op, 0);
	assert_int_equal(confirm.grant_id, 7);
	confirm_fini(&confirm);
}

static void all_pending_confirmations_are_sent(void **state)
{
	struct bench *bench = *state;
	struct confirm confirm;
	uint64_t last = 0;

	bench_connect(bench);
	for (uint64_t id = 7; id < 27; id++)
		bench_apply(bench, id);
	bench_drop_frames(bench);
	json_decref(bench_call(bench, 0, "clean",
			       "{\"all\": true, \"force\": true}", 0));
	bench_advance(bench, 0);
	for (int i = 0; i < 20; i++) {
		bench_take_confirm(bench, &confirm);
		assert_true(confirm.sequence > last);
		last = confirm.sequence;
		confirm_fini(&confirm);
	}
	/* One acknowledgement is lost: the rest is not sent again. */
	for (uint64_t sequence = last - 19; sequence < last; sequence++)
		bench_ack(bench, sequence);
	bench_drop_frames(bench);
	bench_advance(bench, AGENT_PENDING_MS);
	assert_int_equal(count_frames(bench, FRAME_CONFIRM), 1);
}

/* --- busy lanes --- */

static void busy_lane_is_tried_for_ever_with_growing_pauses(void **state)
{
	struct bench *bench = *state;
	uint64_t pause_ms = AGENT_RETRY_MS, since_ms;
	struct confirm confirm;
	unsigned int tries;

	bench_connect(bench);
	bench_apply(bench, 7);
	world_object(&bench->world, 7)->is_busy = true;
	bench_drop_frames(bench);
	bench_revoke(bench, 7);
	bench_take_confirm(bench, &confirm);
	assert_int_equal(confirm.result, -EBUSY);
	confirm_fini(&confirm);
	agent_manager_closed(bench->agent, bench->peer, 0);
	since_ms = bench->clock.monotonic_ms;
	for (int i = 0; i < 9; i++) {
		tries = bench->world.revokes;
		while (bench->world.revokes == tries)
			bench_advance(bench, 1);
		assert_int_equal(bench->clock.monotonic_ms - since_ms,
				 pause_ms);
		since_ms = bench->clock.monotonic_ms;
		pause_ms = pause_ms * 2 < AGENT_RETRY_MS_MAX
				   ? pause_ms * 2
				   : AGENT_RETRY_MS_MAX;
	}
	world_object(&bench->world, 7)->is_busy = false;
	bench_advance(bench, AGENT_RETRY_MS_MAX);
	assert_int_equal(world_objects_total(&bench->world), 0);
	tries = bench->world.revokes;
	bench_advance(bench, 10 * AGENT_RETRY_MS_MAX);
	assert_int_equal(bench->world.revokes, tries);
	bench_drop_frames(bench);
	bench_connect(bench);
	bench_advance(bench, 0);
	bench_take_confirm(bench, &confirm);
	assert_int_equal(confirm.op, 0);
	assert_int_equal(confirm.result, 0);
	confirm_fini(&confirm);
}

static void busy_lane_is_tried_after_a_restart_too(void **state)
{
	struct bench *bench = *state;

	bench_connect(bench);
	bench_apply(bench, 7);
	world_object(&bench->world, 7)->is_busy = true;
	bench_revoke(bench, 7);
	bench_restart(bench);
	world_object(&bench->world, 7)->is_busy = false;
	bench_advance(bench, AGENT_RETRY_MS);
	assert_int_equal(world_objects_total(&bench->world), 0);
}

/* --- the guard's word --- */

static void reply_that_was_not_asked_for_is_refused(void **state)
{
	struct bench *bench = *state;
	struct guard_reply reply = { .type = GUARD_RELOAD };
	struct writer bytes = { 0 };

	assert_int_equal(agent_guard_received(bench->agent, "x", 1), -EBADMSG);
	assert_int_equal(guard_reply_encode(&reply, &bytes), 0);
	/* GRANTS is asked for. */
	assert_int_equal(agent_guard_received(bench->agent, bytes.data,
					      bytes.size),
			 -EBADMSG);
	bench_pump(bench);
	assert_int_equal(agent_guard_received(bench->agent, bytes.data,
					      bytes.size),
			 -EBADMSG);
	writer_fini(&bytes);
}

static void reload_says_what_happened(void **state)
{
	struct bench *bench = *state;

	bench->world.keys_error = -EACCES;
	agent_reload(bench->agent);
	bench_pump(bench);
	assert_non_null(strstr(bench->log, "the key file cannot be read"));
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
	const struct CMUnitTest tests[] = {
		TEST(node_registers_and_is_up),
		TEST(manager_that_cannot_be_reached_is_tried_with_growing_pauses),
		TEST(address_that_cannot_be_dialed_is_tried_again),
		TEST(pauses_differ_from_node_to_node),
		TEST(manager_of_another_version_is_left),
		TEST(manager_that_does_not_greet_is_left),
		TEST(link_that_says_nothing_is_left),
		TEST(greeting_that_is_not_the_managers_is_not_believed),
		TEST(manager_may_challenge_again),
		TEST(registration_for_a_lost_link_is_not_sent),
		TEST(refusal_is_shown_and_the_link_tried_again),
		TEST(what_is_no_message_ends_the_link),
		TEST(silence_is_broken_by_a_ping_and_ends_the_link),
		TEST(ping_is_answered),
		TEST(commands_are_obeyed_and_confirmed),
		TEST(command_whose_answer_was_lost_is_answered_again),
		TEST(command_for_a_job_costs_the_link_and_is_not_obeyed),
		TEST(flood_of_commands_is_dropped_and_not_queued),
		TEST(drain_is_shown),
		TEST(queries_are_answered),
		TEST(confirmations_are_repeated_with_growing_pauses_until_acknowledged),
		TEST(confirmations_wait_for_the_manager),
		TEST(all_pending_confirmations_are_sent),
		TEST(busy_lane_is_tried_for_ever_with_growing_pauses),
		TEST(busy_lane_is_tried_after_a_restart_too),
		TEST(reply_that_was_not_asked_for_is_refused),
		TEST(reload_says_what_happened),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
