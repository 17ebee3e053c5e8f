/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Nodes answer or fail one by one. What came is shown, what failed is on
 * stderr, and one that failed makes the exit code 1.
 */
#include <string.h>

#include "lanes/cli/node.h"
#include "lanes/cli/show.h"

static void show(struct cli *cli, const char *what, const json_t *answer)
{
	if (strcmp(what, "devices") == 0)
		show_devices(cli, answer);
	else if (strcmp(what, "objects") == 0)
		show_objects(cli, answer);
	else
		node_show_status(cli, answer);
}

/* Each node under its name; EXIT_FAILED when one did not answer. */
static int print_answers(struct cli *cli, const char *what,
			 const json_t *answers)
{
	int code = EXIT_DONE;
	const json_t *answer;
	size_t i;

	json_array_foreach (answers, i, answer) {
		const char *node = output_text(answer, "node");
		const char *text = output_text(answer, "error");
		int result = output_number(answer, "result");

		if (result < 0) {
			fflush(cli->out);
			code = cli_fail(cli, EXIT_FAILED, "%s: %s", node,
					*text ? text : strerror(-result));
			continue;
		}
		fprintf(cli->out, "%s%s:\n", i > 0 ? "\n" : "", node);
		show(cli, what, json_object_get(answer, "answer"));
	}
	return code;
}

static int node_query_run(struct cli *cli)
{
	const char *what = cli_argument(cli, 1);
	json_auto_t *whole = NULL;
	int code;

	if (!what)
		what = "grants";
	if (strcmp(what, "grants") != 0 && strcmp(what, "devices") != 0 &&
	    strcmp(what, "objects") != 0)
		return cli_misuse(cli,
				  "a node can be asked for grants, devices or "
				  "objects, not '%s'",
				  what);
	code = node_ask_each(cli, "node-query",
			     json_pack("{s:s}", "what", what), &whole);
	if (code != EXIT_DONE)
		return code;
	if (cli_flag(cli, "json"))
		return output_json(cli, whole);
	return print_answers(cli, what, json_object_get(whole, "answers"));
}

const struct subcommand node_query_command = {
	.name = "query",
	.summary = "Ask nodes, through the manager, what they hold",
	.arguments = "NODES [grants|devices|objects]",
	.options = cli_options_table,
	.arguments_min = 1,
	.arguments_max = 2,
	.words = "grants devices objects",
	.run = node_query_run,
};
