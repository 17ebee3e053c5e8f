/* SPDX-License-Identifier: BSD-3-Clause */
/* Filters are the manager's. */
#include <unistd.h>

#include "lanes/cli/output.h"
#include "lanes/cli/remote.h"

static const struct option_spec options[] = {
	{ .name = "user",
	  .letter = 'u',
	  .value = "USER",
	  .help = "jobs of this user only" },
	{ .name = "state",
	  .value = "STATE",
	  .help = "jobs in this state only: active, ..." },
	{ .name = "interconnect",
	  .letter = 'i',
	  .value = "NAME",
	  .help = "jobs on this interconnect only" },
	OPTION_JSON,
	OPTION_NO_HEADER,
	OPTION_SOCKET,
	OPTION_TIMEOUT,
	{ 0 },
};

static void print_jobs(struct cli *cli, const json_t *answer)
{
	static const struct column columns[] = {
		{ "GRANT", COLUMN_RIGHT, "grant_id" },
		{ "KEY", 0, "key" },
		{ "STATE", COLUMN_STATE, "state" },
		{ "INTERCONNECT", 0, "interconnect" },
		{ "USER", 0, "uid", output_uid },
		{ "COUNT", COLUMN_RIGHT, "node_count" },
		{ "NODES", COLUMN_WRAP, "nodes" },
		{ "LOST", COLUMN_WRAP, "lost" },
		{ "IDS", COLUMN_WRAP, "ids", output_ids },
		{ "SINCE", 0, "since", output_moment },
		{ 0 },
	};

	output_table(cli, columns, json_object_get(answer, "jobs"));
}

static int make_members(struct cli *cli, json_t *members)
{
	static const char *const texts[] = { "state", "interconnect", NULL };
	const char *user = cli_option(cli, "user");
	uid_t uid;

	if (user && !output_parse_user(user, &uid))
		return cli_misuse(cli, "there is no user '%s'", user);
	if (user)
		json_object_set_new(members, "uid", json_integer(uid));
	for (size_t i = 0; texts[i]; i++)
		if (cli_option(cli, texts[i]))
			json_object_set_new(
				members, texts[i],
				json_string(cli_option(cli, texts[i])));
	return EXIT_DONE;
}

const struct subcommand command_list = {
	.name = "list",
	.summary = "List grants that hold identifiers or nodes",
	.details = "Users see their own. LOST are the nodes that do not have "
		   "the lane any more\nwhile the job is active.",
	.options = options,
	.run = remote_run,
	.op = "list",
	.members = make_members,
	.show = print_jobs,
};
