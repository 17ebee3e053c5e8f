/* SPDX-License-Identifier: BSD-3-Clause */
/* Commands to nodes and their answers: lost, doubled, wrong, none. */
#include "scene.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <errno.h>
#include <string.h>

#include "lanes/manager/fanout/fanout.h"

static void a_command_names_nodes_grant_and_epoch(void **state)
{
	struct scene *scene = *state;
	struct bed_round *round = bed_node_asked(&scene->nodes[0]);
	const struct command *command = &round->command;
	union command_body body;

	/* Both get the same one, and are a group from now on. */
	assert_ptr_equal(bed_node_asked(&scene->nodes[1]), round);
	assert_int_equal(round->group, scene->grant_id);
	assert_int_equal(command->op, COMMAND_APPLY);
	assert_int_equal(command->grant_id, scene->grant_id);
	assert_int_equal(command_body_decode(COMMAND_APPLY, command->body,
					     command->body_size, &body),
			 0);
	assert_string_equal(body.apply.key, "slurm/1/0");
	assert_string_equal(body.apply.driver, "slingshot");
	assert_string_equal(body.apply.nodes, "n[0-1]");
	assert_int_equal(body.apply.uid, BED_USER);
	assert_int_equal(body.apply.id_count, 1);
	assert_int_equal(body.apply.ids[0], 1024);
	command_body_fini(COMMAND_APPLY, &body);
}

static void all_answers_complete_the_apply(void **state)
{
	struct scene *scene = *state;

	bed_node_obey(&scene->nodes[0], COMMAND_APPLY, 0);
	bed_commit(scene->bed);
	assert_null(bed_answer(scene->bed, scene->client));
	bed_node_obey(&scene->nodes[1], COMMAND_APPLY, 0);
	bed_commit(scene->bed);
	bed_expect_done(scene->bed, scene->client, 0);
}

static void a_lost_command_is_repeated(void **state)
{
	struct scene *scene = *state;
	struct bed_round *round;

	bed_node_obey(&scene->nodes[0], COMMAND_APPLY, 0);
	/* n1 never sees the first one. */
	round = bed_node_asked(&scene->nodes[1]);
	bed_round_end(scene->bed, round, -EHOSTUNREACH);
	bed_advance(scene->bed, FANOUT_REPEAT_MS);
	assert_int_equal(bed_node_asked_count(&scene->nodes[0]), 0);
	bed_node_obey(&scene->nodes[1], COMMAND_APPLY, 0);
	bed_commit(scene->bed);
	bed_expect_done(scene->bed, scene->client, 0);
}

static void the_second_answer_of_a_node_changes_nothing(void **state)
{
	struct scene *scene = *state;
	struct bed_round *round = bed_node_asked(&scene->nodes[0]);
	struct confirm confirm;

	confirm_answer(&round->command, "n0", scene->nodes[0].incarnation, 0,
		       &confirm);
	bed_node_answer(&scene->nodes[0], round, &confirm);
	confirm.result = -EIO;
	bed_node_say(&scene->nodes[0], round, &confirm);
	bed_node_obey(&scene->nodes[1], COMMAND_APPLY, 0);
	bed_commit(scene->bed);
	bed_expect_done(scene->bed, scene->client, 0);
}

static void a_node_that_fails_undoes_the_job(void **state)
{
	struct scene *scene = *state;

	bed_node_obey(&scene->nodes[0], COMMAND_APPLY, 0);
	bed_node_obey(&scene->nodes[1], COMMAND_APPLY, -ENOSPC);
	bed_commit(scene->bed);
	for (int i = 0; i < 2; i++) {
		if (bed_node_asked_count(&scene->nodes[i]) > 0)
			bed_node_obey(&scene->nodes[i], COMMAND_REVOKE, 0);
	}
	bed_commit(scene->bed);
	scene_assert_failed(scene, "n1", -ENOSPC);
	assert_int_equal(scene_count_quarantined(scene), 0);
}

static void an_answer_to_another_command_counts_for_nothing(void **state)
{
	struct scene *scene = *state;
	struct bed_round *round = bed_node_asked(&scene->nodes[0]);
	struct confirm confirm, other;

	confirm_answer(&round->command, "n0", scene->nodes[0].incarnation, -EIO,
		       &confirm);
	for (int i = 0; i < 5; i++) {
		other = confirm;
		other.sequence -= i == 0;
		other.grant_id += i == 1;
		other.op = i == 2 ? COMMAND_REVOKE : COMMAND_APPLY;
		other.epoch -= i == 3;
		other.life += i == 4;
		bed_node_say(&scene->nodes[0], round, &other);
	}
	bed_node_obey(&scene->nodes[1], COMMAND_APPLY, 0);
	bed_commit(scene->bed);
	assert_null(bed_answer(scene->bed, scene->client));
	confirm.result = 0;
	bed_node_answer(&scene->nodes[0], round, &confirm);
	bed_commit(scene->bed);
	bed_expect_done(scene->bed, scene->client, 0);
}

static void nodes_that_do_not_answer_time_out(void **state)
{
	struct scene *scene = *state;

	for (int at = 0; at < 42; at++) {
		bed_advance(scene->bed, 1000);
		bed_commit(scene->bed);
	}
	scene_assert_failed(scene, "n[0-1]", -ETIMEDOUT);
	assert_int_equal(scene_count_quarantined(scene), 1);
}

static void nodes_that_cannot_be_reached_are_named(void **state)
{
	struct scene *scene = *state;

	for (int at = 0; at < 42; at++) {
		struct bed_round *last =
			bed_round_last(scene->bed, COMMAND_APPLY);

		if (!last->is_over)
			bed_round_end(scene->bed, last, -EHOSTUNREACH);
		bed_advance(scene->bed, 1000);
		bed_commit(scene->bed);
	}
	scene_assert_failed(scene, "n[0-1]", -EHOSTUNREACH);
	assert_int_equal(scene_count_quarantined(scene), 1);
}

static void a_node_that_registers_again_gets_the_apply_again(void **state)
{
	struct scene *scene = *state;
	struct bed_node *node = &scene->nodes[0];
	struct bed_round *first, *second;
	struct command hello;
	uint8_t *bytes;

	first = bed_node_asked(node);
	bed_node_reconnect(node);
	bed_node_send_register(node);
	bed_commit(scene->bed);
	assert_true(bed_node_command(node, &hello, &bytes));
	assert_int_equal(hello.op, COMMAND_HELLO);
	free(bytes);
	bed_advance(scene->bed, 0);
	second = bed_node_asked(node);
	assert_int_equal(second->command.op, COMMAND_APPLY);
	assert_true(first->command.sequence < hello.sequence);
	assert_true(hello.sequence < second->command.sequence);
	bed_round_end(scene->bed, second, -EHOSTUNREACH);
	bed_advance(scene->bed, FANOUT_REPEAT_MS);
	bed_node_obey(node, COMMAND_APPLY, 0);
	bed_node_obey(&scene->nodes[1], COMMAND_APPLY, 0);
	assert_true(first->is_over);
	bed_commit(scene->bed);
	bed_expect_done(scene->bed, scene->client, 0);
}

/* The command has overtaken the HELLO of a registration. */
static void a_node_that_is_not_registered_yet_is_asked_again(void **state)
{
	struct scene *scene = *state;

	bed_node_obey(&scene->nodes[0], COMMAND_APPLY, -ENOTCONN);
	bed_node_obey(&scene->nodes[1], COMMAND_APPLY, 0);
	bed_commit(scene->bed);
	assert_null(bed_answer(scene->bed, scene->client));
	bed_advance(scene->bed, FANOUT_EARLY_MS);
	bed_node_obey(&scene->nodes[0], COMMAND_APPLY, 0);
	bed_commit(scene->bed);
	bed_expect_done(scene->bed, scene->client, 0);
}

static void a_node_that_was_rebooted_meanwhile_has_failed(void **state)
{
	struct scene *scene = *state;
	struct bed_node *node = &scene->nodes[0];
	json_t *answer;

	bed_node_obey(&scene->nodes[1], COMMAND_APPLY, 0);
	bed_node_reconnect(node);
	node->incarnation[0] ^= 0xff;
	bed_node_register(node);
	bed_commit(scene->bed);
	bed_advance(scene->bed, 0);
	bed_commit(scene->bed);
	for (int i = 0; i < 2; i++) {
		while (bed_node_asked_count(&scene->nodes[i]) > 0)
			bed_node_obey(&scene->nodes[i], COMMAND_REVOKE, 0);
	}
	bed_commit(scene->bed);
	answer = bed_answer(scene->bed, scene->client);
	assert_non_null(answer);
	assert_true(json_integer_value(json_object_get(answer, "result")) < 0);
	json_decref(answer);
	assert_int_equal(scene_count_quarantined(scene), 0);
}

static void a_query_collects_what_each_node_says(void **state)
{
	struct scene *scene = *state;
	struct bed *bed = scene->bed;
	uint64_t root = bed_client(bed, BED_ROOT);
	struct bed_round *round;
	struct confirm confirm;
	union command_body body;
	json_t *answer;
	json_t *answers;

	bed_node_asked(&scene->nodes[0]);
	bed_ask(bed, root, "node-query", "{s:s, s:s}", "nodes", "n[0,5]",
		"what", "devices");
	round = bed_node_asked(&scene->nodes[0]);
	assert_int_equal(round->command.op, COMMAND_QUERY);
	assert_int_equal(round->group, 0);
	assert_int_equal(command_body_decode(COMMAND_QUERY, round->command.body,
					     round->command.body_size, &body),
			 0);
	assert_int_equal(body.query.what, QUERY_DEVICES);
	command_body_fini(COMMAND_QUERY, &body);
	confirm_answer(&round->command, "n0", scene->nodes[0].incarnation, 0,
		       &confirm);
	confirm.answer = (const uint8_t *)"{\"devices\":[1]}";
	confirm.answer_size = strlen((const char *)confirm.answer);
	bed_node_answer(&scene->nodes[0], round, &confirm);
	assert_null(bed_answer(bed, root));
	bed_advance(bed, FANOUT_GONE_MS + 1);
	answer = bed_expect(bed, root, 0);
	answers = json_object_get(answer, "answers");
	assert_int_equal(json_array_size(answers), 2);
	assert_int_equal(
		json_array_size(json_object_get(
			json_object_get(json_array_get(answers, 0), "answer"),
			"devices")),
		1);
	assert_int_equal(json_integer_value(json_object_get(
				 json_array_get(answers, 1), "result")),
			 -EHOSTUNREACH);
	json_decref(answer);
}

/* What a node has left comes with its refusal. */
static void node_clean_never_takes_all(void **state)
{
	static const char text[] = "{\"destroyed\":[],\"left\":[7]}";
	struct scene *scene = *state;
	struct bed *bed = scene->bed;
	uint64_t root = bed_client(bed, BED_ROOT);
	struct bed_round *round;
	struct confirm confirm;
	union command_body body;
	json_t *answer;
	json_t *node;

	bed_node_asked(&scene->nodes[0]);
	for (int i = 0; i < 2; i++) {
		bed_ask(bed, root, "node-clean", "{s:s, s:b}", "nodes", "n0",
			"dry_run", i);
		round = bed_node_asked(&scene->nodes[0]);
		assert_int_equal(round->command.op, COMMAND_CLEAN);
		assert_int_equal(
			command_body_decode(COMMAND_CLEAN, round->command.body,
					    round->command.body_size, &body),
			0);
		assert_string_equal(body.clean.nodes, "n0");
		assert_false(body.clean.is_all);
		assert_int_equal(body.clean.is_dry_run, i);
		command_body_fini(COMMAND_CLEAN, &body);
		confirm_answer(&round->command, "n0",
			       scene->nodes[0].incarnation, -EBUSY, &confirm);
		confirm.answer = (const uint8_t *)text;
		confirm.answer_size = strlen(text);
		bed_node_answer(&scene->nodes[0], round, &confirm);
		answer = bed_expect(bed, root, 0);
		node = json_array_get(json_object_get(answer, "answers"), 0);
		assert_int_equal(
			json_integer_value(json_object_get(node, "result")),
			-EBUSY);
		node = json_object_get(node, "answer");
		assert_int_equal(json_array_size(json_object_get(node, "left")),
				 1);
		json_decref(answer);
	}
}

static void a_node_that_is_not_known_is_not_asked(void **state)
{
	struct scene *scene = *state;
	uint64_t root = bed_client(scene->bed, BED_ROOT);
	json_t *answer;

	bed_ask(scene->bed, root, "node-clean", "{s:s, s:b}", "nodes",
		"n[0,77]", "dry_run", 0);
	answer = bed_expect(scene->bed, root, -ENOENT);
	assert_string_equal(
		json_string_value(json_object_get(answer, "error")),
		"node 'n77' is not known; see 'fairlead node list'");
	json_decref(answer);
}

static void a_node_that_leaves_the_configuration_is_not_waited_for(void **state)
{
	struct scene *scene = *state;
	struct bed *bed = scene->bed;
	uint64_t root = bed_client(bed, BED_ROOT);
	uint64_t other = bed_client(bed, BED_ROOT);
	struct bed_node node;
	json_t *answers;
	json_t *answer;

	bed_node_up(bed, "n5", &node);
	bed_ask(bed, root, "node-query", "{s:s, s:s}", "nodes", "n5", "what",
		"devices");
	assert_non_null(bed_node_asked(&node));
	bed->reconfigure_nodes = "n[0-4,6-9]";
	bed_ask(bed, other, "reconfigure", NULL);
	bed_commit(bed);
	bed_expect_done(bed, other, 0);
	assert_null(bed_answer(bed, root));
	bed_advance(bed, FANOUT_GONE_MS);
	answer = bed_expect(bed, root, 0);
	answers = json_object_get(answer, "answers");
	assert_int_equal(json_integer_value(json_object_get(
				 json_array_get(answers, 0), "result")),
			 -EHOSTUNREACH);
	json_decref(answer);
}

static void a_failed_commit_forgets_what_was_sent(void **state)
{
	struct scene *scene = *state;
	struct bed_round *round = bed_node_asked(&scene->nodes[0]);
	struct confirm confirm;

	confirm_answer(&round->command, "n0", scene->nodes[0].incarnation, 0,
		       &confirm);
	bed_ask(scene->bed, scene->client, "reserve",
		"{s:{s:s, s:i, s:i, s:s}}", "request", "key", "slurm/2/0",
		"uid", BED_USER, "gid", BED_USER, "nodes", "n5");
	bed_commit_one(scene->bed, -EIO);
	assert_true(round->is_cancelled);
	bed_advance(scene->bed, 0);
	bed_commit(scene->bed);
	/* An answer to what the old core had sent. */
	bed_node_say(&scene->nodes[0], round, &confirm);
	bed_commit(scene->bed);
	assert_true(engine_is_idle(scene->bed->engine));
	/* The nodes have to register, and nobody is to be asked before. */
	bed_node_state(scene->bed, "n0", "down");
	assert_int_equal(scene->bed->forget_count, 2);
}

int main(void)
{
#define TEST(name) \
	cmocka_unit_test_setup_teardown(name, scene_set_up, scene_tear_down)
	const struct CMUnitTest tests[] = {
		TEST(a_command_names_nodes_grant_and_epoch),
		TEST(all_answers_complete_the_apply),
		TEST(a_lost_command_is_repeated),
		TEST(the_second_answer_of_a_node_changes_nothing),
		TEST(a_node_that_fails_undoes_the_job),
		TEST(an_answer_to_another_command_counts_for_nothing),
		TEST(nodes_that_do_not_answer_time_out),
		TEST(nodes_that_cannot_be_reached_are_named),
		TEST(a_node_that_registers_again_gets_the_apply_again),
		TEST(a_node_that_is_not_registered_yet_is_asked_again),
		TEST(a_node_that_was_rebooted_meanwhile_has_failed),
		TEST(a_query_collects_what_each_node_says),
		TEST(node_clean_never_takes_all),
		TEST(a_node_that_is_not_known_is_not_asked),
		TEST(a_node_that_leaves_the_configuration_is_not_waited_for),
		TEST(a_failed_commit_forgets_what_was_sent),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
