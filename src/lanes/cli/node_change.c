/* SPDX-License-Identifier: BSD-3-Clause */
/* node drain, undrain, fence: what an operator knows about nodes. */
#include "lanes/cli/node.h"
#include "lanes/cli/remote.h"
#include "lanes/cli/show.h"

#define OPTION_REASON                                             \
	{                                                         \
		.name = "reason", .letter = 'r', .value = "TEXT", \
		.help = "why, for people"                         \
	}

static const struct option_spec drain_options[] = {
	OPTION_REASON, OPTION_JSON, OPTION_SOCKET, OPTION_TIMEOUT, { 0 },
};

static const struct option_spec fence_options[] = {
	OPTION_FORCE, OPTION_JSON, OPTION_SOCKET, OPTION_TIMEOUT, { 0 },
};

static int change(struct cli *cli, const char *op, json_t **ret_answer)
{
	const char *reason = cli_option(cli, "reason");
	json_t *force = cli_flag(cli, "force") ? json_true() : NULL;
	int code;

	code = remote_ask(cli, REMOTE_MANAGER, REMOTE_TIMEOUT_MS, op,
			  json_pack("{s:s, s:s*, s:o*}", "nodes",
				    cli_argument(cli, 0), "reason", reason,
				    "force", force),
			  ret_answer);
	if (code == EXIT_DONE && cli_flag(cli, "json"))
		return output_json(cli, *ret_answer);
	return code;
}

static int run_drain(struct cli *cli)
{
	const char *reason = cli_option(cli, "reason");
	json_auto_t *answer = NULL;

	if (!reason || !*reason)
		return cli_misuse(cli, "--reason is missing");
	return change(cli, "node-drain", &answer);
}

static int run_undrain(struct cli *cli)
{
	json_auto_t *answer = NULL;

	return change(cli, "node-undrain", &answer);
}

static int run_fence(struct cli *cli)
{
	json_auto_t *answer = NULL;
	int code = change(cli, "node-fence", &answer);

	if (code == EXIT_DONE && !cli_flag(cli, "json"))
		show_freed(cli, answer);
	return code;
}

const struct subcommand node_drain_command = {
	.name = "drain",
	.summary = "Stop giving nodes new jobs",
	.arguments = "NODES",
	.details = "Present jobs continue.",
	.options = drain_options,
	.run = run_drain,
};

const struct subcommand node_undrain_command = {
	.name = "undrain",
	.summary = "Give nodes new jobs again",
	.arguments = "NODES",
	.options = drain_options,
	.run = run_undrain,
};

const struct subcommand node_fence_command = {
	.name = "fence",
	.summary = "Declare that nodes no longer hold anything",
	.arguments = "NODES",
	.details =
		"Only for nodes that are off or removed: it frees what waits "
		"for them. If one still runs,\ntwo jobs may share a lane. A "
		"node that reboots is fenced by itself. More than 8 grants\n"
		"and 5 % of all need --force.",
	.options = fence_options,
	.run = run_fence,
};
