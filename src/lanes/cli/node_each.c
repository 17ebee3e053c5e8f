/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * node query, clean: each node answers or fails by itself. An answer is shown,
 * an error goes to stderr. The exit code is 1 if a node did not answer, else 75
 * if one could not destroy something.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/hostlist.h"
#include "lanes/cli/node.h"
#include "lanes/cli/remote.h"
#include "lanes/cli/show.h"

/* The answers are appended. */
static int ask_some(struct cli *cli, struct fairlead *handle, const char *op,
		    const char *nodes, const json_t *members, json_t *answers)
{
	json_t *message = json_copy((json_t *)members);
	json_auto_t *answer = NULL;
	int code;

	json_object_set_new(message, "nodes", json_string(nodes));
	code = remote_call(cli, handle, op, message, &answer);
	if (code == EXIT_DONE)
		json_array_extend(answers, json_object_get(answer, "answers"));
	return code;
}

/* The nodes of the first argument, a few at a time: all `answers` in one. */
static int ask_each(struct cli *cli, const char *op, json_t *members_owned,
		    json_t **ret_whole)
{
	_auto_(hostlist_destroyp) struct hostlist *nodes = NULL;
	_auto_(fairlead_closep) struct fairlead *handle = NULL;
	json_auto_t *members = members_owned;
	json_auto_t *answers = json_array();
	struct fairlead_error error;
	int code;

	if (hostlist_parse(cli_argument(cli, 0), &nodes, &error) < 0)
		return cli_misuse(cli, "%s", error.text);
	code = remote_open(cli, REMOTE_MANAGER, REMOTE_TIMEOUT_MS, &handle);
	for (size_t at = 0; at < nodes->count && code == EXIT_DONE;
	     at += REMOTE_QUERY_NODES) {
		size_t left = nodes->count - at;
		_auto_(freep) char *some = hostlist_format(
			(const char *const *)nodes->names + at,
			left < REMOTE_QUERY_NODES ? left : REMOTE_QUERY_NODES);

		code = ask_some(cli, handle, op, some, members, answers);
	}
	if (code == EXIT_DONE)
		*ret_whole = json_pack("{s:O}", "answers", answers);
	return code;
}

static int code_of(const json_t *answer)
{
	int result = (int)output_number(answer, "result");

	if (result == -EBUSY && json_object_get(answer, "answer") != NULL)
		return EXIT_LATER;
	return result < 0 ? EXIT_FAILED : EXIT_DONE;
}

static void print_answer(struct cli *cli, const json_t *answer,
			 void (*show)(struct cli *cli, const json_t *answer))
{
	const char *node = output_text(answer, "node");
	const char *text = output_text(answer, "error");
	int result = (int)output_number(answer, "result");

	if (json_object_get(answer, "answer") != NULL) {
		fprintf(cli->out, "%s:\n", node);
		show(cli, json_object_get(answer, "answer"));
	}
	fflush(cli->out);
	if (code_of(answer) == EXIT_FAILED)
		cli_fail(cli, EXIT_FAILED, "%s: %s", node,
			 *text ? text : strerror(-result));
}

static int show_each(struct cli *cli, const char *op, json_t *members_owned,
		     void (*show)(struct cli *cli, const json_t *answer))
{
	json_auto_t *whole = NULL;
	const json_t *answer;
	size_t i;
	int code = ask_each(cli, op, members_owned, &whole);

	if (code == EXIT_DONE && cli_flag(cli, "json"))
		code = output_json(cli, whole);
	if (code != EXIT_DONE)
		return code;
	json_array_foreach (json_object_get(whole, "answers"), i, answer) {
		int one = code_of(answer);

		if (!cli_flag(cli, "json") && i > 0)
			putc('\n', cli->out);
		if (!cli_flag(cli, "json"))
			print_answer(cli, answer, show);
		if (one == EXIT_FAILED || code == EXIT_DONE)
			code = one;
	}
	return code;
}

/* --- query --- */

static int node_query_run(struct cli *cli)
{
	static const struct {
		const char *what;
		void (*show)(struct cli *cli, const json_t *answer);
	} known[] = {
		{ "grants", node_show_status },
		{ "devices", show_devices },
		{ "objects", show_objects },
	};
	const char *what = cli_argument(cli, 1);

	for (size_t i = 0; i < sizeof(known) / sizeof(known[0]); i++)
		if (strcmp(what ? what : "grants", known[i].what) == 0)
			return show_each(cli, "node-query",
					 json_pack("{s:s}", "what",
						   known[i].what),
					 known[i].show);
	return cli_misuse(cli, "'%s' is none of grants, devices and objects",
			  what);
}

const struct subcommand node_query_command = {
	.name = "query",
	.summary = "Ask nodes, through the manager, what they hold",
	.arguments = "NODES [grants|devices|objects]",
	.options = cli_options_table,
	.run = node_query_run,
};

/* --- clean --- */

static const struct option_spec clean_options[] = {
	OPTION_DRY_RUN, OPTION_JSON, OPTION_SOCKET, OPTION_TIMEOUT, { 0 },
};

static void print_cleaned(struct cli *cli, const json_t *answer)
{
	show_cleaned(cli, answer, cli_flag(cli, "dry-run"));
}

static int node_clean_run(struct cli *cli)
{
	return show_each(cli, "node-clean",
			 json_pack("{s:b}", "dry_run",
				   cli_flag(cli, "dry-run")),
			 print_cleaned);
}

const struct subcommand node_clean_command = {
	.name = "clean",
	.summary = "Make nodes retry to revoke lanes that are being released",
	.arguments = "NODES",
	.details = "Live jobs keep their lanes. What cannot be destroyed is "
		   "printed, and the exit code is\n75. 'fairlead clean' on a "
		   "node has more options.",
	.options = clean_options,
	.run = node_clean_run,
};
