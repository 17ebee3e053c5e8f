/* SPDX-License-Identifier: BSD-3-Clause */
/* Group commit: what becomes visible when, and what a failed commit leaves. */
#include "bed.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lanes/manager/store/row.h"
#include "lanes/proto/client.h"

static void ask_reserve(struct bed *bed, uint64_t client, const char *key)
{
	bed_ask(bed, client, "reserve", "{s:{s:s, s:i, s:i, s:s}}", "request",
		"key", key, "uid", BED_USER, "gid", BED_USER, "nodes", "n0");
}

static int64_t count_jobs(struct bed *bed, uint64_t client)
{
	json_t *answer;
	int64_t count;

	bed_ask(bed, client, "list", NULL);
	bed_commit(bed);
	answer = bed_expect(bed, client, 0);
	count = (int64_t)json_array_size(json_object_get(answer, "jobs"));
	json_decref(answer);
	return count;
}

static void an_answer_waits_for_its_batch(void **state)
{
	struct bed *bed = *state;
	uint64_t client = bed_client(bed, BED_SUBMITTER);

	ask_reserve(bed, client, "slurm/1/0");
	assert_int_equal(bed->commit_count, 1);
	assert_null(bed_answer(bed, client));
	bed_commit_one(bed, 0);
	bed_expect_done(bed, client, 0);
}

static void requests_collect_while_a_commit_is_in_flight(void **state)
{
	struct bed *bed = *state;
	uint64_t client = bed_client(bed, BED_SUBMITTER);

	ask_reserve(bed, client, "slurm/1/0");
	ask_reserve(bed, client, "slurm/2/0");
	ask_reserve(bed, client, "slurm/3/0");
	assert_int_equal(bed->commit_count, 1);
	bed_commit_one(bed, 0);
	bed_expect_done(bed, client, 0);
	assert_null(bed_answer(bed, client));
	assert_int_equal(bed->commit_count, 1);
	bed_commit_one(bed, 0);
	bed_expect_done(bed, client, 0);
	bed_expect_done(bed, client, 0);
	assert_int_equal(bed->commit_count, 0);
	assert_true(engine_is_idle(bed->engine));
}

static void a_view_waits_for_the_rows_before_it(void **state)
{
	struct bed *bed = *state;
	uint64_t submitter = bed_client(bed, BED_SUBMITTER);
	uint64_t root = bed_client(bed, BED_ROOT);

	ask_reserve(bed, submitter, "slurm/1/0");
	bed_ask(bed, root, "list", NULL);
	assert_null(bed_answer(bed, root));
	bed_commit_one(bed, 0);
	bed_expect_done(bed, root, 0);
	/* Without rows there is nothing to wait for. */
	bed_ask(bed, root, "list", NULL);
	bed_expect_done(bed, root, 0);
}

static void commands_wait_for_their_batch(void **state)
{
	struct bed *bed = *state;
	uint64_t client = bed_client(bed, BED_SUBMITTER);
	struct bed_node node;
	uint64_t grant_id;

	bed_node_up(bed, "n0", &node);
	grant_id = bed_reserve(bed, client, "slurm/1/0", "n0");
	bed_ask(bed, client, "apply", "{s:I}", "grant_id",
		(json_int_t)grant_id);
	assert_int_equal(bed_node_asked_count(&node), 0);
	bed_commit_one(bed, 0);
	assert_int_equal(bed_node_asked_count(&node), 1);
	bed_node_obey(&node, COMMAND_APPLY, 0);
	assert_null(bed_answer(bed, client));
	bed_commit(bed);
	bed_expect_done(bed, client, 0);
}

static void hello_waits_for_its_batch(void **state)
{
	struct bed *bed = *state;
	struct bed_node node;

	bed_node_connect(bed, "n0", &node);
	bed_node_send_register(&node);
	assert_int_equal(bed->commit_count, 1);
	assert_int_equal(bed_node_frames(&node), 0);
	bed_commit_one(bed, 0);
	assert_int_equal(bed_node_frames(&node), 1);
}

static void a_failed_commit_answers_with_what_to_do(void **state)
{
	struct bed *bed = *state;
	uint64_t client = bed_client(bed, BED_SUBMITTER);
	json_t *answer;

	ask_reserve(bed, client, "slurm/1/0");
	ask_reserve(bed, client, "slurm/2/0");
	bed_commit_one(bed, -ENOSPC);
	for (int i = 0; i < 2; i++) {
		answer = bed_expect(bed, client, -ENOSPC);
		assert_non_null(strstr(
			json_string_value(json_object_get(answer, "error")),
			"the disk says no"));
		assert_non_null(strstr(
			json_string_value(json_object_get(answer, "hint")),
			"free space"));
		json_decref(answer);
	}
	assert_int_equal(bed->commit_count, 0);
	ask_reserve(bed, client, "slurm/3/0");
	answer = bed_expect(bed, client, -EAGAIN);
	assert_non_null(
		strstr(json_string_value(json_object_get(answer, "hint")),
		       "free space"));
	json_decref(answer);
	bed_advance(bed, 0);
	assert_int_equal(bed->replay_count, 1);
	bed_commit(bed);
	assert_int_equal(count_jobs(bed, client), 0);
	/* The keys were not used up, and all goes on. */
	bed_reserve(bed, client, "slurm/1/0", "n0");
	assert_int_equal(count_jobs(bed, client), 1);
}

static void a_failed_commit_keeps_what_was_on_disk(void **state)
{
	struct bed *bed = *state;
	uint64_t client = bed_client(bed, BED_SUBMITTER);
	uint64_t grant_id = bed_reserve(bed, client, "slurm/1/0", "n0");

	ask_reserve(bed, client, "slurm/2/0");
	bed_commit_one(bed, -EIO);
	bed_expect_done(bed, client, -EIO);
	bed_advance(bed, 0);
	bed_commit(bed);
	assert_int_equal(count_jobs(bed, client), 1);
	assert_true(bed_reserve(bed, client, "slurm/2/0", "n1") > grant_id);
}

static void requests_are_put_off_until_the_journal_is_read(void **state)
{
	struct bed *bed = *state;
	uint64_t client = bed_client(bed, BED_SUBMITTER);

	bed->replay_result = -EIO;
	ask_reserve(bed, client, "slurm/1/0");
	bed_commit_one(bed, -EIO);
	bed_expect_done(bed, client, -EIO);
	ask_reserve(bed, client, "slurm/1/0");
	bed_expect_done(bed, client, -EAGAIN);
	bed_advance(bed, 0);
	assert_int_equal(bed->replay_count, 1);
	ask_reserve(bed, client, "slurm/1/0");
	bed_expect_done(bed, client, -EAGAIN);
	/* Metrics are wanted most now. */
	bed_ask(bed, client, "metrics", NULL);
	bed_expect_done(bed, client, 0);
	bed_advance(bed, ENGINE_REPLAY_MS - 1);
	assert_int_equal(bed->replay_count, 1);
	bed->replay_result = 0;
	bed_advance(bed, 1);
	assert_int_equal(bed->replay_count, 2);
	bed_commit(bed);
	bed_reserve(bed, client, "slurm/1/0", "n0");
}

static void a_failed_commit_ends_an_apply_under_way(void **state)
{
	struct bed *bed = *state;
	uint64_t client = bed_client(bed, BED_SUBMITTER);
	struct bed_node node;
	uint64_t grant_id;

	bed_node_up(bed, "n0", &node);
	grant_id = bed_reserve(bed, client, "slurm/1/0", "n0");
	bed_ask(bed, client, "apply", "{s:I}", "grant_id",
		(json_int_t)grant_id);
	bed_commit(bed);
	ask_reserve(bed, client, "slurm/2/0");
	bed_commit_one(bed, -EIO);
	bed_expect_done(bed, client, -EIO);
	bed_expect_done(bed, client, -EIO);
}

static void nodes_register_again_after_a_failed_commit(void **state)
{
	struct bed *bed = *state;
	uint64_t client = bed_client(bed, BED_SUBMITTER);
	struct bed_node node;
	uint8_t *bytes;
	size_t size;

	bed_node_up(bed, "n0", &node);
	ask_reserve(bed, client, "slurm/1/0");
	bed_commit_one(bed, -EIO);
	bed_expect_done(bed, client, -EIO);
	/* Between the failure and the new core nothing of the node counts. */
	bed_node_send_register(&node);
	bed_advance(bed, 0);
	bed_commit(bed);
	assert_false(bed_was_closed(&bed->nodes, node.peer));
	bytes = bed_node_take(&node, FRAME_CHALLENGE, &size);
	assert_non_null(bytes);
	assert_int_equal(challenge_decode(bytes, size, &node.challenge), 0);
	free(bytes);
	bed_node_register(&node);
	assert_int_equal(bed->epoch, BED_EPOCH + 1);
}

/* Until a second batch goes ahead of the first one's end: how many. */
static int ask_ahead(struct bed *bed, uint64_t client)
{
	char key[32];
	int asked = 0;

	while (bed->commit_count < 2) {
		assert_true(asked < CLIENT_REQUESTS_MAX);
		snprintf(key, sizeof(key), "slurm/%d/0", asked);
		bed_ask(bed, client, "reserve", "{s:{s:s, s:i, s:i, s:s, s:s}}",
			"request", "key", key, "uid", BED_USER, "gid", BED_USER,
			"nodes", "n0", "interconnect", "none");
		asked++;
	}
	return asked;
}

static void a_batch_behind_a_failed_one_fails_with_it(void **state)
{
	struct bed *bed = *state;
	uint64_t client = bed_client(bed, BED_SUBMITTER);
	int asked = ask_ahead(bed, client);

	bed_commit_one(bed, -EIO);
	for (int i = 0; i < asked; i++)
		bed_expect_done(bed, client, -EIO);
	bed_advance(bed, 0);
	assert_int_equal(bed->replay_count, 0);
	bed_commit_one(bed, -ECANCELED);
	bed_advance(bed, 0);
	assert_int_equal(bed->replay_count, 1);
	bed_commit(bed);
	assert_int_equal(count_jobs(bed, client), 0);
}

static void a_restart_finds_what_was_acknowledged(void **state)
{
	struct bed *bed = *state;
	uint64_t client = bed_client(bed, BED_SUBMITTER);
	uint64_t grant_id = bed_reserve(bed, client, "slurm/1/0", "n0");

	ask_reserve(bed, client, "slurm/2/0");
	bed_crash(bed);
	bed_start(bed, BED_EPOCH + 1, false);
	client = bed_client(bed, BED_SUBMITTER);
	assert_int_equal(count_jobs(bed, client), 1);
	assert_int_equal(bed_reserve(bed, client, "slurm/1/0", "n0"), grant_id);
}

static uint64_t sample(struct bed *bed, uint64_t client, const char *name)
{
	uint64_t value;
	const char *found;
	json_t *answer;

	bed_ask(bed, client, "metrics", NULL);
	answer = bed_expect(bed, client, 0);
	found = strstr(json_string_value(json_object_get(answer, "text")),
		       name);
	assert_non_null(found);
	value = strtoull(found + strlen(name), NULL, 10);
	json_decref(answer);
	return value;
}

static void metrics_count_what_commits_hold(void **state)
{
	static const char *const names[] = {
		"\nfairlead_commit_rows_count ",
		"\nfairlead_commit_rows_bucket{le=\"4\"} ",
		"\nfairlead_commit_rows_bucket{le=\"16\"} ",
		"\nfairlead_commit_rows_sum ",
		"\nfairlead_commit_bytes_total ",
	};
	struct bed *bed = *state;
	uint64_t client = bed_client(bed, BED_SUBMITTER);
	uint64_t before[5], rows, bytes = 0;

	for (size_t i = 0; i < 5; i++)
		before[i] = sample(bed, client, names[i]);
	ask_reserve(bed, client, "slurm/1/0");
	rows = store_batch_count(bed->commits[0].batch);
	store_batch_foreach(bed->commits[0].batch, row)
	{
		bytes += row->size + strlen(row->key) + 1;
	}
	assert_in_range(rows, 5, 16);
	bed_commit(bed);
	bed_expect_done(bed, client, 0);
	assert_int_equal(sample(bed, client, names[0]), before[0] + 1);
	assert_int_equal(sample(bed, client, names[1]), before[1]);
	assert_int_equal(sample(bed, client, names[2]), before[2] + 1);
	assert_int_equal(sample(bed, client, names[3]), before[3] + rows);
	assert_int_equal(sample(bed, client, names[4]), before[4] + bytes);
}

static void batches_written_together_are_one_commit(void **state)
{
	static const char *const names[] = {
		"\nfairlead_commit_rows_count ",
		"\nfairlead_commit_rows_sum ",
		"\nfairlead_commit_rows_bucket{le=\"64\"} ",
		"\nfairlead_commit_rows_bucket{le=\"1024\"} ",
	};
	struct bed *bed = *state;
	uint64_t client = bed_client(bed, BED_SUBMITTER);
	uint64_t before[4], rows;
	int asked;

	for (size_t i = 0; i < 4; i++)
		before[i] = sample(bed, client, names[i]);
	asked = ask_ahead(bed, client);
	rows = store_batch_count(bed->commits[0].batch) +
	       store_batch_count(bed->commits[1].batch);
	bed_commit_one(bed, 1);
	bed_expect_done(bed, client, 0);
	assert_int_equal(sample(bed, client, names[0]), before[0]);
	bed_commit_one(bed, 0);
	for (int i = 1; i < asked; i++)
		bed_expect_done(bed, client, 0);
	assert_int_equal(sample(bed, client, names[0]), before[0] + 1);
	assert_int_equal(sample(bed, client, names[1]), before[1] + rows);
	assert_int_equal(sample(bed, client, names[2]), before[2]);
	assert_int_equal(sample(bed, client, names[3]), before[3] + 1);
}

int main(void)
{
#define TEST(name) \
	cmocka_unit_test_setup_teardown(name, bed_set_up, bed_tear_down)
	const struct CMUnitTest tests[] = {
		TEST(an_answer_waits_for_its_batch),
		TEST(requests_collect_while_a_commit_is_in_flight),
		TEST(a_view_waits_for_the_rows_before_it),
		TEST(commands_wait_for_their_batch),
		TEST(hello_waits_for_its_batch),
		TEST(a_failed_commit_answers_with_what_to_do),
		TEST(a_failed_commit_keeps_what_was_on_disk),
		TEST(requests_are_put_off_until_the_journal_is_read),
		TEST(a_failed_commit_ends_an_apply_under_way),
		TEST(nodes_register_again_after_a_failed_commit),
		TEST(a_batch_behind_a_failed_one_fails_with_it),
		TEST(a_restart_finds_what_was_acknowledged),
		TEST(metrics_count_what_commits_hold),
		TEST(batches_written_together_are_one_commit),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
