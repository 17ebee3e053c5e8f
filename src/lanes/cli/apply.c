/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Warnings and failures are for people: they go to stderr, a line each, and
 * only what the error has not said already. Scripts have --json.
 */
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/memory.h"
#include "lanes/cli/output.h"
#include "lanes/cli/remote.h"

/* Nodes and text of each element on stderr, unless `said` has them. */
static void print_nodes(struct cli *cli, const json_t *array, const char *said)
{
	const json_t *element;
	size_t i;

	json_array_foreach (array, i, element) {
		const char *nodes = output_text(element, "nodes");
		const char *text = output_text(element, "text");
		_auto_(freep) char *whole =
			memory_format("%s: %s", nodes, text);

		if (!strstr(said, whole))
			output_lines(cli, nodes, text);
	}
}

static int apply_run(struct cli *cli)
{
	json_auto_t *answer = NULL;
	uint64_t grant_id = 0;
	int code = remote_grant(cli, cli_argument(cli, 0), &grant_id);

	if (code == EXIT_DONE)
		code = remote_ask(
			cli, REMOTE_MANAGER, REMOTE_TIMEOUT_NONE, "apply",
			json_pack("{s:I}", "grant_id", (json_int_t)grant_id),
			&answer);
	print_nodes(cli, json_object_get(answer, "failures"),
		    output_text(answer, "error"));
	if (output_number(answer, "more") > 0)
		cli_fail(cli, EXIT_FAILED, "%lld more nodes failed",
			 (long long)output_number(answer, "more"));
	print_nodes(cli, json_object_get(answer, "warnings"), "");
	if (code == EXIT_DONE && cli_flag(cli, "json"))
		return output_json(cli, answer);
	return code;
}

const struct subcommand command_apply = {
	.name = "apply",
	.summary = "Create a lane on every node of its job, or on none",
	.arguments = "GRANT",
	.details =
		"GRANT is what 'fairlead reserve' printed. If a node fails, "
		"its "
		"reason is printed, the\nlane is removed everywhere, and the "
		"grant is released.",
	.options = cli_options_ask,
	.run = apply_run,
};
