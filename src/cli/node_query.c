/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Nodes answer or fail one by one. What came is shown, what failed is on
 * stderr, and one that failed makes the exit code 1.
 */
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/hostlist.h"
#include "cli/node.h"
#include "cli/remote.h"
#include "cli/show.h"

static const struct option_spec options[] = {
	OPTION_JSON, OPTION_NO_HEADER, OPTION_SOCKET, OPTION_TIMEOUT, { 0 },
};

static void show(struct cli *cli, const char *what, const json_t *answer)
{
	if (strcmp(what, "devices") == 0)
		show_devices(cli, json_object_get(answer, "devices"));
	else if (strcmp(what, "objects") == 0)
		show_objects(cli, json_object_get(answer, "objects"));
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

/* Ask a few at a time, so that their answers fit into a frame. */
static int ask(struct cli *cli, const struct hostlist *nodes, const char *what,
	       json_t *answers)
{
	_auto_(fairlead_closep) struct fairlead *handle = NULL;
	int code = remote_open(cli, REMOTE_MANAGER, REMOTE_TIMEOUT_MS, &handle);

	for (size_t at = 0; at < nodes->count && code == EXIT_DONE;
	     at += REMOTE_QUERY_NODES) {
		size_t left = nodes->count - at;
		_auto_(freep) char *some = hostlist_format(
			(const char *const *)nodes->names + at,
			left < REMOTE_QUERY_NODES ? left : REMOTE_QUERY_NODES);
		json_auto_t *answer = NULL;

		code = remote_call(cli, handle, "node-query",
				   json_pack("{s:s*, s:s}", "nodes", some,
					     "what", what),
				   &answer);
		if (code == EXIT_DONE)
			json_array_extend(answers,
					  json_object_get(answer, "answers"));
	}
	return code;
}

static int run(struct cli *cli)
{
	_auto_(hostlist_destroyp) struct hostlist *nodes = NULL;
	const char *what = cli_argument(cli, 1);
	json_auto_t *answers = json_array();
	json_auto_t *whole = NULL;
	struct fairlead_error error;
	int code;

	if (!what)
		what = "grants";
	if (strcmp(what, "grants") != 0 && strcmp(what, "devices") != 0 &&
	    strcmp(what, "objects") != 0)
		return cli_misuse(cli,
				  "a node can be asked for grants, devices or "
				  "objects, not '%s'",
				  what);
	if (hostlist_parse(cli_argument(cli, 0), &nodes, &error) < 0)
		return cli_misuse(cli, "%s", error.text);
	code = ask(cli, nodes, what, answers);
	if (code != EXIT_DONE)
		return code;
	if (!cli_flag(cli, "json"))
		return print_answers(cli, what, answers);
	whole = json_pack("{s:O}", "answers", answers);
	return output_json(cli, whole);
}

const struct subcommand node_query_command = {
	.name = "query",
	.summary = "Ask nodes, through the manager, what they hold",
	.arguments = "NODES [grants|devices|objects]",
	.options = options,
	.arguments_min = 1,
	.arguments_max = 2,
	.words = "grants devices objects",
	.run = run,
};
