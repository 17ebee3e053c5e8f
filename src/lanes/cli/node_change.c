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

static int drain_members(struct cli *cli, json_t *members)
{
	const char *reason = cli_option(cli, "reason");

	if (!reason || !*reason)
		return cli_misuse(cli, "--reason is missing");
	return remote_node_members(cli, members);
}

const struct subcommand node_drain_command = {
	.name = "drain",
	.summary = "Stop giving nodes new jobs",
	.arguments = "NODES",
	.details = "Present jobs continue.",
	.options = drain_options,
	.run = remote_run,
	.op = "node-drain",
	.members = drain_members,
};

const struct subcommand node_undrain_command = {
	.name = "undrain",
	.summary = "Give nodes new jobs again",
	.arguments = "NODES",
	.options = drain_options,
	.run = remote_run,
	.op = "node-undrain",
	.members = remote_node_members,
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
	.run = remote_run,
	.op = "node-fence",
	.members = remote_node_members,
	.show = show_freed,
};
