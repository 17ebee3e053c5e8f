/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Nodes answer or fail one by one. What a node could not destroy makes the exit
 * code that of something in use; a node that did not answer, that of a failure.
 */
#include <errno.h>
#include <string.h>

#include "lanes/cli/node.h"
#include "lanes/cli/remote.h"
#include "lanes/cli/show.h"

static const struct option_spec options[] = {
	OPTION_DRY_RUN, OPTION_JSON, OPTION_SOCKET, OPTION_TIMEOUT, { 0 },
};

/* Of one node. */
static int code_of(const json_t *answer)
{
	int result = (int)output_number(answer, "result");

	if (result == -EBUSY && json_object_get(answer, "answer") != NULL)
		return EXIT_LATER;
	return result < 0 ? EXIT_FAILED : EXIT_DONE;
}

static int code_of_all(const json_t *answers)
{
	int code = EXIT_DONE;
	const json_t *answer;
	size_t i;

	json_array_foreach (answers, i, answer) {
		int one = code_of(answer);

		if (one == EXIT_FAILED || code == EXIT_DONE)
			code = one;
	}
	return code;
}

/* Each node under its name. */
static void print_answers(struct cli *cli, const json_t *answers)
{
	const json_t *answer;
	size_t i;

	json_array_foreach (answers, i, answer) {
		const char *node = output_text(answer, "node");
		const char *text = output_text(answer, "error");
		const json_t *cleaned = json_object_get(answer, "answer");

		if (cleaned != NULL) {
			fprintf(cli->out, "%s:\n", node);
			show_cleaned(cli, cleaned, cli_flag(cli, "dry-run"));
		}
		if (code_of(answer) != EXIT_FAILED)
			continue;
		fflush(cli->out);
		cli_fail(cli, EXIT_FAILED, "%s: %s", node,
			 *text ? text
			       : strerror(-(int)output_number(answer,
							      "result")));
	}
}

static int node_clean_run(struct cli *cli)
{
	json_auto_t *whole = NULL;
	const json_t *answers;
	int code = node_ask_each(cli, "node-clean",
				 json_pack("{s:b}", "dry_run",
					   cli_flag(cli, "dry-run")),
				 &whole);

	if (code != EXIT_DONE)
		return code;
	answers = json_object_get(whole, "answers");
	if (!cli_flag(cli, "json"))
		print_answers(cli, answers);
	else if (output_json(cli, whole) != EXIT_DONE)
		return EXIT_FAILED;
	return code_of_all(answers);
}

const struct subcommand node_clean_command = {
	.name = "clean",
	.summary = "Have nodes try again to take back what is being taken back",
	.arguments = "NODES",
	.details = "Lanes in use stay as they are. What cannot be destroyed is "
		   "printed, and the exit\ncode is 75. 'fairlead clean' on a "
		   "node has more ways.",
	.options = options,
	.arguments_min = 1,
	.arguments_max = 1,
	.run = node_clean_run,
};
