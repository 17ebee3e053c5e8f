/* SPDX-License-Identifier: BSD-3-Clause */
#include "lanes/manager/site_command.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#define LONG_MS 60000

struct bench {
	uv_loop_t loop;
	struct commands *commands;
	struct log log;
	char lines[16384]; /* of the log */
	char folder[40];
	char script[64];
	char output[64];
	/* The last end that was reported, and how many were. */
	char done_node[16];
	uint64_t done_id;
	int done_result;
	unsigned int done_count;
};

static void on_done(void *ctx, const char *node, uint64_t id, int result)
{
	struct bench *bench = ctx;

	snprintf(bench->done_node, sizeof(bench->done_node), "%s", node);
	bench->done_id = id;
	bench->done_result = result;
	bench->done_count++;
}

static void assert_done(const struct bench *bench, const char *node,
			uint64_t id, int result)
{
	assert_string_equal(bench->done_node, node);
	assert_int_equal(bench->done_id, id);
	assert_int_equal(bench->done_result, result);
	assert_int_equal(bench->done_count, 1);
}

static void on_line(void *sink_data, enum log_level level, const char *line)
{
	struct bench *bench = sink_data;

	snprintf(bench->lines + strlen(bench->lines),
		 sizeof(bench->lines) - strlen(bench->lines), "%s: %s\n",
		 log_level_format(level), line);
}

static int set_up(void **state)
{
	struct bench *bench = calloc(1, sizeof(*bench));

	uv_loop_init(&bench->loop);
	bench->log = (struct log){ .level = LOG_LEVEL_DEBUG,
				   .sink = on_line,
				   .sink_data = bench };
	strcpy(bench->folder, "/tmp/fairlead-command-XXXXXX");
	assert_non_null(mkdtemp(bench->folder));
	snprintf(bench->script, sizeof(bench->script), "%s/script",
		 bench->folder);
	snprintf(bench->output, sizeof(bench->output), "%s/output",
		 bench->folder);
	*state = bench;
	return 0;
}

static int tear_down(void **state)
{
	struct bench *bench = *state;

	commands_destroy(bench->commands);
	assert_int_equal(uv_run(&bench->loop, UV_RUN_DEFAULT), 0);
	assert_int_equal(uv_loop_close(&bench->loop), 0);
	unlink(bench->script);
	unlink(bench->output);
	assert_int_equal(rmdir(bench->folder), 0);
	free(bench);
	return 0;
}

static void begin(struct bench *bench, uint64_t timeout_ms, const char *body)
{
	FILE *file = fopen(bench->script, "w");

	fprintf(file, "#!/bin/sh\ncd '%s'\n%s\n", bench->folder, body);
	assert_int_equal(fclose(file), 0);
	assert_int_equal(chmod(bench->script, 0700), 0);
	bench->commands = commands_create(&bench->loop, &bench->log, timeout_ms,
					  on_done, bench);
}

static void finish(struct bench *bench)
{
	while (commands_count(bench->commands) > 0)
		uv_run(&bench->loop, UV_RUN_ONCE);
}

static void assert_output(const struct bench *bench, const char *expected)
{
	char text[1024] = "";
	FILE *file = fopen(bench->output, "r");

	assert_non_null(file);
	assert_true(fread(text, 1, sizeof(text) - 1, file) > 0);
	fclose(file);
	assert_string_equal(text, expected);
}

static void node_and_reason_are_plain_arguments(void **state)
{
	struct bench *bench = *state;

	begin(bench, LONG_MS, "printf '%s|%s|%s' \"$1\" \"$2\" $# > output");
	commands_run(bench->commands, bench->script, "n7",
		     "busy; touch x $(touch y) `touch z` 'q' \"d\"\nline", 7);
	finish(bench);
	assert_output(bench, "n7|busy; touch x $(touch y) `touch z` 'q' "
			     "\"d\"\nline|2");
	assert_non_null(strstr(bench->lines, "info: command done"));
	assert_done(bench, "n7", 7, 0);
}

static void what_others_have_opened_is_not_inherited(void **state)
{
	_auto_(closep) int fd = dup(STDIN_FILENO); /* without FD_CLOEXEC */
	struct bench *bench = *state;
	char body[64];

	snprintf(body, sizeof(body),
		 "test ! -e /proc/$$/fd/%d && echo closed > output", fd);
	begin(bench, LONG_MS, body);
	commands_run(bench->commands, bench->script, "n7", "x", 7);
	finish(bench);
	assert_output(bench, "closed\n");
}

static void a_failure_is_logged_with_what_it_said(void **state)
{
	struct bench *bench = *state;

	begin(bench, LONG_MS, "echo no such node >&2; exit 3");
	commands_run(bench->commands, bench->script, "n7", "x", 7);
	finish(bench);
	assert_non_null(strstr(bench->lines, "error: command failed"));
	assert_non_null(strstr(bench->lines, "node=n7 status=3"));
	assert_non_null(strstr(bench->lines, "no such node"));
	assert_done(bench, "n7", 7, -EIO);
}

static void much_output_is_cut(void **state)
{
	struct bench *bench = *state;

	begin(bench, LONG_MS,
	      "i=0; while [ $i -lt 3000 ]; do echo 0123456789012345678901234567"
	      "89 >&2; i=$((i+1)); done; exit 1");
	commands_run(bench->commands, bench->script, "n7", "x", 7);
	finish(bench);
	assert_non_null(strstr(bench->lines, "error: command failed"));
	assert_true(strlen(bench->lines) < LOG_LINE_MAX);
}

static void a_program_that_is_not_there_is_logged(void **state)
{
	struct bench *bench = *state;

	begin(bench, LONG_MS, ":");
	commands_run(bench->commands, "/nonexistent/program", "n7", "x", 7);
	finish(bench);
	assert_non_null(strstr(bench->lines, "could not be started"));
	assert_non_null(strstr(bench->lines, "no such file"));
	assert_done(bench, "n7", 7, -ENOENT);
}

static void a_command_that_hangs_is_killed_with_its_children(void **state)
{
	struct bench *bench = *state;

	begin(bench, 50, "sleep 1000 & wait");
	commands_run(bench->commands, bench->script, "n7", "x", 7);
	finish(bench);
	assert_non_null(strstr(bench->lines, "took too long"));
	assert_done(bench, "n7", 7, -ETIMEDOUT);
}

static void all_that_wait_have_their_turn(void **state)
{
	struct bench *bench = *state;
	struct stat status;

	begin(bench, LONG_MS, "printf . >> output");
	for (int i = 0; i < 3 * COMMANDS_RUNNING_MAX; i++)
		commands_run(bench->commands, bench->script, "n7", "x", 7);
	assert_int_equal(commands_count(bench->commands),
			 3 * COMMANDS_RUNNING_MAX);
	finish(bench);
	assert_int_equal(stat(bench->output, &status), 0);
	assert_int_equal(status.st_size, 3 * COMMANDS_RUNNING_MAX);
}

static void too_many_are_dropped_and_logged(void **state)
{
	struct bench *bench = *state;

	begin(bench, LONG_MS, ":");
	for (int i = 0; i < COMMANDS_WAITING_MAX + COMMANDS_RUNNING_MAX; i++)
		commands_run(bench->commands, bench->script, "n7", "x", 7);
	assert_string_equal(bench->lines, "");
	commands_run(bench->commands, bench->script, "n8", "x", 7);
	assert_non_null(strstr(bench->lines, "dropped"));
	assert_non_null(strstr(bench->lines, "node=n8"));
	assert_done(bench, "n8", 7, -EAGAIN);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
	const struct CMUnitTest tests[] = {
		TEST(node_and_reason_are_plain_arguments),
		TEST(what_others_have_opened_is_not_inherited),
		TEST(a_failure_is_logged_with_what_it_said),
		TEST(much_output_is_cut),
		TEST(a_program_that_is_not_there_is_logged),
		TEST(a_command_that_hangs_is_killed_with_its_children),
		TEST(all_that_wait_have_their_turn),
		TEST(too_many_are_dropped_and_logged),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
