/* SPDX-License-Identifier: BSD-3-Clause */
/* Commands to nodes and their answers: lost, doubled, late, forged, none. */
#include "bed.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <errno.h>
#include <string.h>

/* A bed with two nodes up and a job on them that is being applied. */
struct scene {
	struct bed *bed;
	uint64_t client;
	uint64_t grant_id;
	struct bed_node nodes[2];
};

static int set_up(void **state)
{
	struct scene *scene = calloc(1, sizeof(*scene));

	scene->bed = bed_create();
	scene->client = bed_client(scene->bed, BED_SUBMITTER);
	bed_node_up(scene->bed, "n0", &scene->nodes[0]);
	bed_node_up(scene->bed, "n1", &scene->nodes[1]);
	scene->grant_id =
		bed_reserve(scene->bed, scene->client, "slurm/1/0", "n[0-1]");
	bed_ask(scene->bed, scene->client, "apply", "{s:I}", "grant_id",
		(json_int_t)scene->grant_id);
	bed_commit(scene->bed);
	*state = scene;
	return 0;
}

static int tear_down(void **state)
{
	struct scene *scene = *state;

	bed_destroy(scene->bed);
	free(scene);
	return 0;
}

static void ask_release(struct scene *scene)
{
	bed_ask(scene->bed, scene->client, "release", "{s:I}", "grant_id",
		(json_int_t)scene->grant_id);
	bed_commit(scene->bed);
}

/* Apply on both nodes, so that the job is active. */
static void make_active(struct scene *scene)
{
	for (int i = 0; i < 2; i++)
		bed_node_obey(&scene->nodes[i], COMMAND_APPLY, 0);
	bed_commit(scene->bed);
	bed_expect_done(scene->bed, scene->client, 0);
}

/* How many identifiers are in quarantine. */
static size_t count_quarantined(struct scene *scene)
{
	uint64_t root = bed_client(scene->bed, BED_ROOT);
	json_t *answer;
	size_t count;

	bed_ask(scene->bed, root, "quarantine", NULL);
	bed_commit(scene->bed);
	answer = bed_expect(scene->bed, root, 0);
	count = json_array_size(json_object_get(answer, "identifiers"));
	json_decref(answer);
	engine_client_closed(scene->bed->engine, root);
	return count;
}

/* The apply has failed on these nodes, with this error. */
static void assert_failed(struct scene *scene, const char *nodes, int code)
{
	json_t *answer = bed_expect(scene->bed, scene->client, -EREMOTEIO);
	json_t *failures = json_object_get(answer, "failures");
	json_t *failure = json_array_get(failures, 0);

	assert_int_equal(json_array_size(failures), 1);
	assert_string_equal(
		json_string_value(json_object_get(failure, "nodes")), nodes);
	assert_int_equal(json_integer_value(json_object_get(failure, "errno")),
			 code);
	json_decref(answer);
}

static void a_command_names_nodes_grant_and_epoch(void **state)
{
	struct scene *scene = *state;
	struct command commands[2];
	struct apply_body body;
	uint8_t *bytes[2];

	for (int i = 0; i < 2; i++) {
		assert_true(bed_node_command(&scene->nodes[i], &commands[i],
					     &bytes[i]));
		assert_int_equal(commands[i].op, COMMAND_APPLY);
		assert_int_equal(commands[i].grant_id, scene->grant_id);
	}
	assert_int_equal(commands[0].sequence, commands[1].sequence);
	assert_int_equal(apply_body_decode(commands[0].body,
					   commands[0].body_size,
					   commands[0].version, &body),
			 0);
	assert_string_equal(body.key, "slurm/1/0");
	assert_string_equal(body.driver, "slingshot");
	assert_string_equal(body.nodes, "n[0-1]");
	assert_int_equal(body.uid, BED_USER);
	assert_int_equal(body.id_count, 1);
	assert_int_equal(body.ids[0], 1024);
	apply_body_fini(&body);
	free(bytes[0]);
	free(bytes[1]);
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
	uint8_t *bytes;
	size_t size;

	bed_node_obey(&scene->nodes[0], COMMAND_APPLY, 0);
	/* n1 never sees the first one. */
	bytes = bed_node_take(&scene->nodes[1], FRAME_COMMAND, &size);
	free(bytes);
	bed_advance(scene->bed, ENGINE_REPEAT_MS);
	assert_int_equal(bed_node_frames(&scene->nodes[0]), 0);
	bed_node_obey(&scene->nodes[1], COMMAND_APPLY, 0);
	bed_commit(scene->bed);
	bed_expect_done(scene->bed, scene->client, 0);
}

static void the_second_answer_of_a_node_changes_nothing(void **state)
{
	struct scene *scene = *state;
	struct command command;
	struct confirm confirm;
	uint8_t *bytes;

	assert_true(bed_node_command(&scene->nodes[0], &command, &bytes));
	confirm_answer(&command, "n0", scene->nodes[0].incarnation, 0,
		       &confirm);
	bed_node_confirm(&scene->nodes[0], &confirm);
	confirm.result = -EIO;
	bed_node_confirm(&scene->nodes[0], &confirm);
	free(bytes);
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
		if (bed_node_frames(&scene->nodes[i]) > 0)
			bed_node_obey(&scene->nodes[i], COMMAND_REVOKE, 0);
	}
	bed_commit(scene->bed);
	assert_failed(scene, "n1", -ENOSPC);
	assert_int_equal(count_quarantined(scene), 0);
}

static void a_forged_answer_counts_for_nothing(void **state)
{
	struct scene *scene = *state;
	struct bed_node *liar = &scene->nodes[1];
	struct command command;
	struct confirm confirm;
	uint8_t *bytes;
	uint8_t *frame;
	size_t size;

	make_active(scene);
	ask_release(scene);
	assert_true(bed_node_command(&scene->nodes[0], &command, &bytes));
	confirm_answer(&command, "n0", scene->nodes[0].incarnation, 0,
		       &confirm);
	/* n1 says that n0 has revoked it. */
	bed_node_confirm(liar, &confirm);
	/* The right node, a changed byte. */
	frame = bed_node_confirm_frame(&scene->nodes[0], &confirm, &size);
	frame[size / 2] ^= 1;
	bed_node_receive(&scene->nodes[0], frame, size);
	free(frame);
	free(bytes);
	bed_node_obey(&scene->nodes[1], COMMAND_REVOKE, 0);
	bed_commit(scene->bed);
	assert_null(bed_answer(scene->bed, scene->client));
	bed_advance(scene->bed, 11000);
	bed_commit(scene->bed);
	bed_expect_done(scene->bed, scene->client, 0);
	assert_int_equal(count_quarantined(scene), 1);
}

static void an_answer_to_another_command_counts_for_nothing(void **state)
{
	struct scene *scene = *state;
	struct command command;
	struct confirm confirm;
	struct confirm other;
	uint8_t *bytes;

	assert_true(bed_node_command(&scene->nodes[0], &command, &bytes));
	confirm_answer(&command, "n0", scene->nodes[0].incarnation, 0,
		       &confirm);
	free(bytes);
	other = confirm;
	other.sequence--;
	bed_node_confirm(&scene->nodes[0], &other);
	other = confirm;
	other.grant_id++;
	bed_node_confirm(&scene->nodes[0], &other);
	other = confirm;
	other.op = COMMAND_REVOKE;
	bed_node_confirm(&scene->nodes[0], &other);
	other = confirm;
	other.epoch--;
	bed_node_confirm(&scene->nodes[0], &other);
	other = confirm;
	other.life++;
	bed_node_confirm(&scene->nodes[0], &other);
	bed_node_obey(&scene->nodes[1], COMMAND_APPLY, 0);
	bed_commit(scene->bed);
	assert_null(bed_answer(scene->bed, scene->client));
	bed_node_confirm(&scene->nodes[0], &confirm);
	bed_commit(scene->bed);
	bed_expect_done(scene->bed, scene->client, 0);
}

static void an_answer_of_an_older_life_frees_nothing(void **state)
{
	struct scene *scene = *state;
	struct command command;
	struct confirm confirm;
	uint8_t *bytes;

	make_active(scene);
	ask_release(scene);
	assert_true(bed_node_command(&scene->nodes[0], &command, &bytes));
	confirm_answer(&command, "n0", scene->nodes[0].incarnation, 0,
		       &confirm);
	free(bytes);
	bed_node_obey(&scene->nodes[1], COMMAND_REVOKE, 0);
	bed_advance(scene->bed, 11000);
	bed_commit(scene->bed);
	assert_int_equal(count_quarantined(scene), 1);
	confirm.life++;
	bed_node_confirm(&scene->nodes[0], &confirm);
	bed_commit(scene->bed);
	assert_int_equal(count_quarantined(scene), 1);
}

static void a_late_answer_is_a_confirmation(void **state)
{
	struct scene *scene = *state;
	struct command command;
	struct confirm confirm;
	uint8_t *bytes;

	make_active(scene);
	ask_release(scene);
	assert_true(bed_node_command(&scene->nodes[0], &command, &bytes));
	assert_int_equal(command.op, COMMAND_REVOKE);
	confirm_answer(&command, "n0", scene->nodes[0].incarnation, 0,
		       &confirm);
	free(bytes);
	bed_node_obey(&scene->nodes[1], COMMAND_REVOKE, 0);
	bed_advance(scene->bed, 11000);
	bed_commit(scene->bed);
	bed_expect_done(scene->bed, scene->client, 0);
	assert_int_equal(count_quarantined(scene), 1);
	bed_node_confirm(&scene->nodes[0], &confirm);
	bed_commit(scene->bed);
	assert_int_equal(count_quarantined(scene), 0);
}

static void nodes_that_are_gone_end_the_wait(void **state)
{
	struct scene *scene = *state;

	for (int i = 0; i < 2; i++)
		engine_node_closed(scene->bed->engine, scene->nodes[i].peer);
	bed_commit(scene->bed);
	bed_advance(scene->bed, ENGINE_GONE_MS - 1);
	bed_commit(scene->bed);
	assert_null(bed_answer(scene->bed, scene->client));
	bed_advance(scene->bed, 2);
	bed_commit(scene->bed);
	bed_advance(scene->bed, 11000);
	bed_commit(scene->bed);
	assert_failed(scene, "n[0-1]", -EHOSTUNREACH);
	assert_int_equal(count_quarantined(scene), 1);
}

static void nodes_that_do_not_answer_time_out(void **state)
{
	static const uint8_t pong = FRAME_PONG;
	struct scene *scene = *state;

	for (int at = 0; at < 42; at++) {
		bed_advance(scene->bed, 1000);
		bed_commit(scene->bed);
		for (int i = 0; i < 2; i++)
			bed_node_receive(&scene->nodes[i], &pong, 1);
	}
	assert_failed(scene, "n[0-1]", -ETIMEDOUT);
	assert_int_equal(count_quarantined(scene), 1);
}

static void a_node_that_reconnects_gets_the_apply_anew(void **state)
{
	struct scene *scene = *state;
	struct bed_node *node = &scene->nodes[0];
	struct command first;
	struct command hello;
	struct command second;
	uint8_t *bytes;

	assert_true(bed_node_command(node, &first, &bytes));
	free(bytes);
	engine_node_closed(scene->bed->engine, node->peer);
	bed_node_reconnect(node);
	bed_node_send_register(node);
	bed_commit(scene->bed);
	assert_true(bed_node_command(node, &hello, &bytes));
	assert_int_equal(hello.op, COMMAND_HELLO);
	free(bytes);
	assert_true(bed_node_command(node, &second, &bytes));
	assert_int_equal(second.op, COMMAND_APPLY);
	assert_true(first.sequence < hello.sequence);
	assert_true(hello.sequence < second.sequence);
	free(bytes);
	bed_advance(scene->bed, ENGINE_REPEAT_MS);
	bed_node_obey(node, COMMAND_APPLY, 0);
	while (bed_node_frames(&scene->nodes[1]) > 1) {
		size_t size;

		free(bed_node_take(&scene->nodes[1], FRAME_COMMAND, &size));
	}
	bed_node_obey(&scene->nodes[1], COMMAND_APPLY, 0);
	bed_commit(scene->bed);
	bed_expect_done(scene->bed, scene->client, 0);
}

static void a_node_that_was_rebooted_meanwhile_has_failed(void **state)
{
	struct scene *scene = *state;
	struct bed_node *node = &scene->nodes[0];
	json_t *answer;

	bed_node_obey(&scene->nodes[1], COMMAND_APPLY, 0);
	engine_node_closed(scene->bed->engine, node->peer);
	bed_node_reconnect(node);
	node->incarnation[0] ^= 0xff;
	bed_node_register(node);
	bed_commit(scene->bed);
	bed_advance(scene->bed, 0);
	bed_commit(scene->bed);
	for (int i = 0; i < 2; i++) {
		while (bed_node_frames(&scene->nodes[i]) > 0)
			bed_node_obey(&scene->nodes[i], COMMAND_REVOKE, 0);
	}
	bed_commit(scene->bed);
	answer = bed_answer(scene->bed, scene->client);
	assert_non_null(answer);
	assert_true(json_integer_value(json_object_get(answer, "result")) < 0);
	json_decref(answer);
	assert_int_equal(count_quarantined(scene), 0);
}

static void a_busy_node_keeps_its_identifiers_quarantined(void **state)
{
	struct scene *scene = *state;

	make_active(scene);
	ask_release(scene);
	bed_node_obey(&scene->nodes[0], COMMAND_REVOKE, -EBUSY);
	bed_node_obey(&scene->nodes[1], COMMAND_REVOKE, 0);
	bed_commit(scene->bed);
	bed_expect_done(scene->bed, scene->client, 0);
	assert_int_equal(count_quarantined(scene), 1);
}

static void a_query_gathers_what_each_node_says(void **state)
{
	struct scene *scene = *state;
	struct bed *bed = scene->bed;
	uint64_t root = bed_client(bed, BED_ROOT);
	struct command command;
	struct confirm confirm;
	struct query_body body;
	uint8_t *bytes;
	json_t *answer;
	json_t *answers;
	size_t size;

	free(bed_node_take(&scene->nodes[0], FRAME_COMMAND, &size));
	bed_ask(bed, root, "node-query", "{s:s, s:s}", "nodes", "n[0,5]",
		"what", "devices");
	assert_true(bed_node_command(&scene->nodes[0], &command, &bytes));
	assert_int_equal(command.op, COMMAND_QUERY);
	assert_int_equal(query_body_decode(command.body, command.body_size,
					   command.version, &body),
			 0);
	assert_int_equal(body.what, QUERY_DEVICES);
	query_body_fini(&body);
	confirm_answer(&command, "n0", scene->nodes[0].incarnation, 0,
		       &confirm);
	confirm.answer = (const uint8_t *)"{\"devices\":[1]}";
	confirm.answer_size = strlen((const char *)confirm.answer);
	bed_node_confirm(&scene->nodes[0], &confirm);
	free(bytes);
	assert_null(bed_answer(bed, root));
	bed_advance(bed, ENGINE_GONE_MS + 1);
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

static void a_failed_commit_forgets_what_was_sent(void **state)
{
	struct scene *scene = *state;
	struct command command;
	struct confirm confirm;
	uint8_t *bytes;

	assert_true(bed_node_command(&scene->nodes[0], &command, &bytes));
	confirm_answer(&command, "n0", scene->nodes[0].incarnation, 0,
		       &confirm);
	free(bytes);
	bed_ask(scene->bed, scene->client, "reserve",
		"{s:{s:s, s:i, s:i, s:s}}", "request", "key", "slurm/2/0",
		"uid", BED_USER, "gid", BED_USER, "nodes", "n5");
	bed_commit_one(scene->bed, -EIO);
	bed_advance(scene->bed, 0);
	bed_commit(scene->bed);
	/* An answer to what the old core had sent. */
	bed_node_confirm(&scene->nodes[0], &confirm);
	bed_commit(scene->bed);
	assert_true(engine_is_idle(scene->bed->engine));
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
	const struct CMUnitTest tests[] = {
		TEST(a_command_names_nodes_grant_and_epoch),
		TEST(all_answers_complete_the_apply),
		TEST(a_lost_command_is_repeated),
		TEST(the_second_answer_of_a_node_changes_nothing),
		TEST(a_node_that_fails_undoes_the_job),
		TEST(a_forged_answer_counts_for_nothing),
		TEST(an_answer_to_another_command_counts_for_nothing),
		TEST(an_answer_of_an_older_life_frees_nothing),
		TEST(a_late_answer_is_a_confirmation),
		TEST(nodes_that_are_gone_end_the_wait),
		TEST(nodes_that_do_not_answer_time_out),
		TEST(a_node_that_reconnects_gets_the_apply_anew),
		TEST(a_node_that_was_rebooted_meanwhile_has_failed),
		TEST(a_busy_node_keeps_its_identifiers_quarantined),
		TEST(a_query_gathers_what_each_node_says),
		TEST(a_failed_commit_forgets_what_was_sent),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
