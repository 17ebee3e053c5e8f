/* SPDX-License-Identifier: BSD-3-Clause */
/* From words to a subcommand's options, with a table of our own. */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "lanes/cli/cli.h"

/* What the subcommand saw when it ran. */
static struct {
	int run_count;
	char reason[64]; /* "-": not given */
	bool is_dry_run;
	uint64_t limit;
	uint32_t timeout_ms;
	int number_code, timeout_code;
	char arguments[128]; /* "a|b|" */
	char path[CLI_PATH_MAX];
} seen;

static const struct option_spec options[] = {
	{ .name = "reason", .letter = 'r', .value = "TEXT", .help = "why" },
	{ .name = "option",
	  .letter = 'o',
	  .is_joined = true,
	  .value = "TEXT",
	  .help = "what" },
	{ .name = "limit", .value = "COUNT", .help = "how many" },
	{ .name = "dry-run", .letter = 'n', .help = "only report" },
	OPTION_TIMEOUT,
	{ 0 },
};

static int run(struct cli *cli)
{
	const char *reason = cli_option(cli, "reason");

	if (!reason)
		reason = cli_option(cli, "option");
	seen.run_count++;
	snprintf(seen.reason, sizeof(seen.reason), "%s", reason ? reason : "-");
	snprintf(seen.path, sizeof(seen.path), "%s", cli->path);
	seen.is_dry_run = cli_flag(cli, "dry-run");
	seen.number_code = cli_number(cli, "limit", 1, 100, &seen.limit);
	seen.timeout_code = cli_timeout(cli, &seen.timeout_ms);
	for (int i = 0; cli_argument(cli, i); i++) {
		strcat(seen.arguments, cli_argument(cli, i));
		strcat(seen.arguments, "|");
	}
	return 42;
}

static const struct subcommand plain = {
	.name = "plain",
	.summary = "Do it",
	.arguments = "[A [B]]",
	.options = options,
	.run = run,
};

static const struct subcommand prefix = {
	.name = "prefix",
	.summary = "Do it with a program",
	.arguments = "[PROGRAM ...]",
	.options = options,
	.is_prefix = true,
	.run = run,
};

static const struct subcommand bare = {
	.name = "bare",
	.summary = "Take nothing",
	.run = run,
};

static const struct subcommand *const below[] = { &bare, NULL };

static const struct subcommand group = {
	.name = "group",
	.summary = "Have others",
	.commands = below,
};

const struct subcommand *const cli_commands[] = { &plain, &prefix, &group,
						  NULL };

/* Run the words, which are separated by spaces; the caller frees *ret_err. */
static int run_words(const char *words, char **ret_err)
{
	char *copy = strdup(words);
	char *out = NULL;
	size_t out_size, err_size;
	struct cli cli = { .out = open_memstream(&out, &out_size),
			   .err = open_memstream(ret_err, &err_size) };
	char *argv[16] = { NULL };
	char *rest = copy;
	char *word;
	int argc = 0;
	int code;

	memset(&seen, 0, sizeof(seen));
	while ((word = strsep(&rest, " ")))
		argv[argc++] = word;
	code = cli_run(&cli, argc, argv);
	fclose(cli.out);
	fclose(cli.err);
	free(out);
	free(copy);
	return code;
}

static void expect_run(const char *words)
{
	char *err = NULL;

	assert_int_equal(run_words(words, &err), 42);
	assert_string_equal(err, "");
	assert_int_equal(seen.run_count, 1);
	free(err);
}

static void expect_misuse(const char *words, const char *what)
{
	char *err = NULL;

	assert_int_equal(run_words(words, &err), EXIT_USAGE);
	if (!strstr(err, what) || strncmp(err, "fairlead: ", 10) != 0 ||
	    !strstr(err, "\nhint: "))
		fail_msg("%s: %s", words, err);
	assert_int_equal(seen.run_count, 0);
	free(err);
}

static void options_have_long_and_short_forms(void **state)
{
	expect_run("plain --reason x --dry-run");
	assert_string_equal(seen.reason, "x");
	assert_true(seen.is_dry_run);
	expect_run("plain --reason=y");
	assert_string_equal(seen.reason, "y");
	expect_run("plain -r z -n");
	assert_string_equal(seen.reason, "z");
	assert_true(seen.is_dry_run);
	expect_run("plain -nrz");
	assert_string_equal(seen.reason, "z");
	expect_run("plain");
	assert_string_equal(seen.reason, "-");
	assert_false(seen.is_dry_run);
}

static void an_option_given_again_counts_or_is_joined(void **state)
{
	expect_run("plain -r a -r b");
	assert_string_equal(seen.reason, "b");
	expect_run("plain -o a=1 --option b --option=c");
	assert_string_equal(seen.reason, "a=1,b,c");
}

static void one_run_leaves_nothing_for_the_next(void **state)
{
	expect_run("plain -r a -n");
	expect_run("plain");
	assert_string_equal(seen.reason, "-");
	assert_false(seen.is_dry_run);
}

static void options_may_stand_behind_arguments(void **state)
{
	expect_run("plain a -n b");
	assert_string_equal(seen.arguments, "a|b|");
	assert_true(seen.is_dry_run);
	expect_run("plain a -- -n");
	assert_string_equal(seen.arguments, "a|-n|");
	assert_false(seen.is_dry_run);
}

static void options_of_a_prefix_end_at_the_program(void **state)
{
	expect_run("prefix -n prog -r x");
	assert_string_equal(seen.arguments, "prog|-r|x|");
	assert_string_equal(seen.reason, "-");
	assert_true(seen.is_dry_run);
	expect_run("prefix -- -n");
	assert_string_equal(seen.arguments, "-n|");
	assert_false(seen.is_dry_run);
}

static void a_subcommand_can_be_below_another(void **state)
{
	expect_run("group bare");
	assert_string_equal(seen.path, "group bare");
	expect_misuse("group", "'fairlead group' needs a command");
	expect_misuse("group plain", "'fairlead group' has no command 'plain'");
	expect_misuse("bare", "'fairlead' has no command 'bare'");
	expect_misuse("group --dry-run", "there is no option --dry-run here");
}

static void what_is_wrong_is_named(void **state)
{
	expect_misuse("plain --nothing", "there is no option --nothing");
	expect_misuse("plain -x", "there is no option -x");
	expect_misuse("plain --reason", "option --reason needs a value: TEXT");
	expect_misuse("plain -r", "option --reason needs a value: TEXT");
	expect_misuse("plain --dry-run=1", "option --dry-run takes no value");
	expect_misuse("plain a b c", "does not take the argument 'c'");
	expect_misuse("group bare x", "does not take the argument 'x'");
	expect_misuse("group bare --json", "there is no option --json");
}

static void numbers_have_a_limit(void **state)
{
	static const char *const bad[] = { "101",
					   "0",
					   "-1",
					   "x",
					   "1x",
					   "",
					   "+1",
					   "0x1",
					   "1.5",
					   " 1",
					   "99999999999999999999999" };
	char words[64];
	char *err = NULL;

	expect_run("plain --limit 100");
	assert_int_equal(seen.number_code, EXIT_DONE);
	assert_int_equal(seen.limit, 100);
	expect_run("plain --limit 1");
	assert_int_equal(seen.number_code, EXIT_DONE);
	for (size_t i = 0; i < sizeof(bad) / sizeof(*bad); i++) {
		snprintf(words, sizeof(words), "plain --limit=%s", bad[i]);
		/* A space would end the word. */
		if (strchr(bad[i], ' '))
			continue;
		assert_int_equal(run_words(words, &err), 42);
		assert_int_equal(seen.number_code, EXIT_USAGE);
		assert_int_equal(seen.limit, 0);
		assert_non_null(strstr(err, "--limit takes a whole number"));
		free(err);
	}
}

static void timeouts_are_seconds(void **state)
{
	static const char *const bad[] = { "0",    "0.0001", "-1", "nan", "inf",
					   "1e3",  "86401",  "x",  "1s",  "",
					   "0x10", "1.2.3",  "." };
	char words[64];
	char *err = NULL;

	expect_run("plain -t 2.5");
	assert_int_equal(seen.timeout_ms, 2500);
	expect_run("plain -t .5");
	assert_int_equal(seen.timeout_ms, 500);
	expect_run("plain -t 86400");
	assert_int_equal(seen.timeout_ms, 86400000);
	for (size_t i = 0; i < sizeof(bad) / sizeof(*bad); i++) {
		snprintf(words, sizeof(words), "plain --timeout=%s", bad[i]);
		assert_int_equal(run_words(words, &err), 42);
		assert_int_equal(seen.timeout_code, EXIT_USAGE);
		assert_int_equal(seen.timeout_ms, 0);
		free(err);
	}
}

static void errors_keep_their_kind(void **state)
{
	assert_int_equal(cli_exit_code(0), EXIT_DONE);
	assert_int_equal(cli_exit_code(-EINVAL), EXIT_FAILED);
	assert_int_equal(cli_exit_code(-ENOENT), EXIT_FAILED);
	assert_int_equal(cli_exit_code(-EPROTO), EXIT_FAILED);
	assert_int_equal(cli_exit_code(-EAGAIN), EXIT_LATER);
	assert_int_equal(cli_exit_code(-ECONNRESET), EXIT_LATER);
	assert_int_equal(cli_exit_code(-ETIMEDOUT), EXIT_LATER);
	assert_int_equal(cli_exit_code(-EBUSY), EXIT_LATER);
	assert_int_equal(cli_exit_code(-EPERM), EXIT_DENIED);
	assert_int_equal(cli_exit_code(-EACCES), EXIT_DENIED);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(options_have_long_and_short_forms),
		cmocka_unit_test(an_option_given_again_counts_or_is_joined),
		cmocka_unit_test(one_run_leaves_nothing_for_the_next),
		cmocka_unit_test(options_may_stand_behind_arguments),
		cmocka_unit_test(options_of_a_prefix_end_at_the_program),
		cmocka_unit_test(a_subcommand_can_be_below_another),
		cmocka_unit_test(what_is_wrong_is_named),
		cmocka_unit_test(numbers_have_a_limit),
		cmocka_unit_test(timeouts_are_seconds),
		cmocka_unit_test(errors_keep_their_kind),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
