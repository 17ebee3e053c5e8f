/* SPDX-License-Identifier: BSD-3-Clause */
/* Filters are the manager's; its answers come in pages (remote_ask_all). */
#include <unistd.h>

#include "lanes/cli/output.h"
#include "lanes/cli/remote.h"

static const struct option_spec options[] = {
	{ .name = "user",
	  .letter = 'u',
	  .value = "USER",
	  .help = "jobs of this user only",
	  .complete = COMPLETE_USERS },
	{ .name = "state",
	  .letter = 's',
	  .value = "STATE",
	  .help = "jobs in this state only: active, ..." },
	{ .name = "interconnect",
	  .letter = 'i',
	  .value = "NAME",
	  .help = "jobs on this interconnect only" },
	{ .name = "limit",
	  .letter = 'l',
	  .value = "COUNT",
	  .help = "at most so many" },
	OPTION_JSON,
	OPTION_NO_HEADER,
	OPTION_SOCKET,
	OPTION_TIMEOUT,
	{ 0 },
};

static const struct column columns[] = {
	{ .name = "GRANT", .flags = COLUMN_RIGHT },
	{ .name = "KEY" },
	{ .name = "STATE", .flags = COLUMN_STATE },
	{ .name = "INTERCONNECT" },
	{ .name = "USER" },
	{ .name = "COUNT", .flags = COLUMN_RIGHT },
	{ .name = "NODES", .flags = COLUMN_WRAP },
	{ .name = "IDS", .flags = COLUMN_WRAP },
	{ .name = "SINCE" },
	{ 0 },
};

static void print_jobs(struct cli *cli, const json_t *jobs)
{
	struct table *table = table_create(cli, columns);
	char since[OUTPUT_TIME_MAX];
	const json_t *job;
	size_t i;

	json_array_foreach (jobs, i, job) {
		table_row(table);
		table_number(table, output_number(job, "grant_id"));
		table_text(table, output_text(job, "key"));
		table_text(table, output_text(job, "state"));
		table_text(table, output_text(job, "interconnect"));
		table_owned(table, output_user(output_number(job, "uid")));
		table_number(table, output_number(job, "node_count"));
		table_text(table, output_text(job, "nodes"));
		table_owned(table, output_ids(json_object_get(job, "ids")));
		output_time(output_real(job, "since"), since);
		table_text(table, since);
	}
	table_finish(table);
}

static int make_members(struct cli *cli, json_t *members)
{
	static const char *const texts[] = { "state", "interconnect", NULL };
	const char *user = cli_option(cli, "user");
	uint64_t limit = 0;
	uid_t uid;
	int code = cli_number(cli, "limit", UINT32_MAX, &limit);

	if (code != EXIT_DONE)
		return code;
	if (limit > 0)
		json_object_set_new(members, "limit", json_integer(limit));
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

static int run(struct cli *cli)
{
	json_auto_t *members = json_object();
	json_auto_t *answer = NULL;
	int code = make_members(cli, members);

	if (code == EXIT_DONE)
		code = remote_ask_all(cli, "list", json_incref(members), "jobs",
				      &answer);
	if (code != EXIT_DONE)
		return code;
	if (cli_flag(cli, "json"))
		return output_json(cli, answer);
	print_jobs(cli, json_object_get(answer, "jobs"));
	return EXIT_DONE;
}

const struct subcommand command_list = {
	.name = "list",
	.summary = "List the grants that hold something",
	.arguments = "",
	.details = "Users see their own.",
	.options = options,
	.run = run,
};
