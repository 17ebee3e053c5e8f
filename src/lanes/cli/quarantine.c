/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * To free an identifier by hand asserts that no node uses it, which cannot be
 * checked: pool and ids have to be written out. A node that is up overrules it.
 */
#include <stdlib.h>

#include "base/cleanup.h"
#include "base/memory.h"
#include "lanes/cli/show.h"
#include "lanes/cli/remote.h"

static const struct option_spec release_options[] = {
	{ .name = "interconnect",
	  .letter = 'i',
	  .value = "NAME",
	  .help = "driver of the pool, if two have a pool of that name" },
	OPTION_FORCE,
	OPTION_JSON,
	OPTION_SOCKET,
	OPTION_TIMEOUT,
	{ 0 },
};

/* Of a run both its ends. */
static char *format_id(const json_t *identifier)
{
	long long first = output_number(identifier, "id");

	return json_object_get(identifier, "last")
		       ? memory_format("%lld-%lld", first,
				       (long long)output_number(identifier,
								"last"))
		       : memory_format("%lld", first);
}

static void print_identifiers(struct cli *cli, const json_t *answer)
{
	static const struct column columns[] = {
		{ "INTERCONNECT", 0, "interconnect" },
		{ "POOL", 0, "pool" },
		{ "ID", COLUMN_RIGHT, NULL, format_id },
		{ "GRANT", COLUMN_RIGHT, "grant_id" },
		{ "SINCE", 0, "since", output_moment },
		{ "NODES", COLUMN_WRAP, "nodes", output_join },
		{ "WHY", COLUMN_WRAP, "why" },
		{ 0 },
	};

	output_table(cli, columns, json_object_get(answer, "identifiers"));
}

static int release_members(struct cli *cli, json_t *members)
{
	json_object_update_new(
		members,
		json_pack("{s:s, s:s, s:s*, s:o*}", "pool",
			  cli_argument(cli, 0), "ids", cli_argument(cli, 1),
			  "interconnect", cli_option(cli, "interconnect"),
			  "force",
			  cli_flag(cli, "force") ? json_true() : NULL));
	return EXIT_DONE;
}

static const struct subcommand list_command = {
	.name = "list",
	.summary = "List identifiers that wait for a node, and why",
	.options = cli_options_table,
	.run = remote_run,
	.op = "quarantine",
	.show = print_identifiers,
};

static const struct subcommand release_command = {
	.name = "release",
	.summary = "Free identifiers by hand",
	.arguments = "POOL IDS",
	.details =
		"IDS is a set: 1024-1030,1040. Only for identifiers that no "
		"node uses: if one does, two\njobs share a lane. The manager "
		"refuses while a node that is up may hold one; with --force\n"
		"these are withheld until the node reports them gone. For a "
		"node that is gone use\n'fairlead node fence'.",
	.options = release_options,
	.run = remote_run,
	.op = "quarantine-release",
	.members = release_members,
	.show = show_freed,
};

static const struct subcommand *const commands[] = {
	&list_command,
	&release_command,
	NULL,
};

const struct subcommand command_quarantine = {
	.name = "quarantine",
	.summary = "List and free identifiers in quarantine",
	.commands = commands,
};
