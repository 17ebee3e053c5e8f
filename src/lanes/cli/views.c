/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What the manager has. status: itself in a line, nodes and jobs in counts,
 * pools; pools: their sets, for people who look for one identifier.
 *
 * To free an identifier of the quarantine by hand asserts that no node uses it,
 * which cannot be checked: pool and ids have to be written out. A node that is
 * up overrules it.
 */
#include <stdlib.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/memory.h"
#include "lanes/cli/output.h"
#include "lanes/cli/remote.h"
#include "lanes/cli/show.h"

/* --- status, pools --- */

/* How lanes are guarded, where there is more than one way. */
static void print_levels(struct cli *cli, const json_t *levels)
{
	const char *driver;
	json_t *counts;

	json_object_foreach ((json_t *)levels, driver, counts) {
		_auto_(freep) char *text = output_counts(counts);

		fprintf(cli->out, "level of %s: %s\n", driver, text);
	}
}

static void print_head(struct cli *cli, const json_t *status)
{
	char uptime[OUTPUT_DURATION_MAX];
	_auto_(freep) char *nodes =
		output_counts(json_object_get(status, "nodes"));
	_auto_(freep) char *jobs =
		output_counts(json_object_get(status, "jobs"));

	output_duration(output_real(status, "uptime_s"), uptime);
	fprintf(cli->out,
		"manager of '%s', version %s, epoch %lld, up for %s\n",
		output_text(status, "cluster"), output_text(status, "version"),
		(long long)output_number(status, "epoch"), uptime);
	fprintf(cli->out, "nodes: %s\n", nodes);
	print_levels(cli, json_object_get(status, "levels"));
	fprintf(cli->out, "jobs: %s\n", jobs);
	if (json_is_true(json_object_get(status, "recovering")))
		fprintf(cli->out,
			"recovering: every identifier counts as used until "
			"these nodes have registered: %s\n",
			output_text(status, "awaited"));
	if (json_is_true(json_object_get(status, "halted")))
		fprintf(cli->out,
			"halted: a node has obeyed a manager with a higher "
			"epoch; see 'fairlead manager recover'\n");
}

static char *format_seconds(const json_t *seconds)
{
	char text[OUTPUT_DURATION_MAX];

	if (seconds == NULL)
		return NULL;
	output_duration(json_number_value(seconds), text);
	return memory_text(text);
}

/* One row for each driver, with its name. */
static json_t *rows_by_driver(const json_t *external)
{
	json_t *rows = json_array();
	const char *driver;
	json_t *row;

	json_object_foreach ((json_t *)external, driver, row) {
		row = json_copy(row);
		json_object_set_new(row, "interconnect", json_string(driver));
		json_array_append_new(rows, row);
	}
	return rows;
}

/* Nothing where there are no rows. */
static void print_section(struct cli *cli, const struct column *columns,
			  json_t *rows)
{
	if (json_array_size(rows) == 0)
		return;
	putc('\n', cli->out);
	output_table(cli, columns, rows);
}

/* Fabric managers, and what is reserved there. */
static void print_external(struct cli *cli, const json_t *external)
{
	static const struct column columns[] = {
		{ "INTERCONNECT", 0, "interconnect" },
		{ "FABRIC-MANAGER", COLUMN_STATE, "connection" },
		{ "FOR", 0, "connection_s", format_seconds },
		{ "WANTED", COLUMN_RIGHT, "wanted" },
		{ "HELD", COLUMN_RIGHT, "held" },
		{ "REFUSED", COLUMN_RIGHT, "refused" },
		{ "DEBTS", COLUMN_RIGHT, "debts" },
		{ "OLDEST", 0, "oldest_s", format_seconds },
		{ "MEAN-MS", COLUMN_RIGHT, "make_ms" },
		{ "RESULTS", COLUMN_WRAP, "results", output_counts },
		{ "WHY", COLUMN_WRAP, "why" },
		{ 0 },
	};
	json_auto_t *rows = rows_by_driver(external);

	print_section(cli, columns, rows);
}

static void print_status(struct cli *cli, const json_t *status)
{
	print_head(cli, status);
	putc('\n', cli->out);
	show_pools(cli, status);
	print_external(cli, json_object_get(status, "external"));
}

const struct subcommand command_status = {
	.name = "status",
	.summary = "Show the manager, its nodes, jobs and pools in numbers",
	.options = cli_options_table,
	.run = remote_run,
	.op = "status",
	.show = print_status,
};

/* What a job reserves at the fabric manager, and what the vendor recommends. */
static void print_shares(struct cli *cli, const json_t *external)
{
	static const struct column columns[] = {
		{ "INTERCONNECT", 0, "interconnect" },
		{ "TREES/JOB", COLUMN_RIGHT, "per_job" },
		{ "MIN-NODES", COLUMN_RIGHT, "min_nodes" },
		{ "ADDRESSES", COLUMN_RIGHT, "total" },
		{ "JOBS", COLUMN_RIGHT, "jobs" },
		{ "RECOMMENDED TREES/JOB", COLUMN_WRAP, "formula" },
		{ 0 },
	};
	json_auto_t *rows = rows_by_driver(external);
	json_t *row;
	size_t i;

	json_array_foreach (rows, i, row) {
		if (json_object_get(row, "recommended") != NULL)
			json_object_set_new(
				row, "formula",
				json_sprintf(
					"(%lld / (%lld / %lld)) / 1 = %lld",
					output_number(row, "total"),
					output_number(row, "nodes"),
					output_number(row, "min_nodes"),
					output_number(row, "recommended")));
	}
	print_section(cli, columns, rows);
}

static void print_pools(struct cli *cli, const json_t *answer)
{
	show_pools(cli, answer);
	print_shares(cli, json_object_get(answer, "external"));
}

const struct subcommand command_pools = {
	.name = "pools",
	.summary = "Show which identifiers are free, held and quarantined",
	.options = cli_options_table,
	.run = remote_run,
	.op = "pools",
	.show = print_pools,
};

/* --- list --- */

static const struct option_spec list_options[] = {
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

static int list_members(struct cli *cli, json_t *members)
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
	.options = list_options,
	.run = remote_run,
	.op = "list",
	.members = list_members,
	.show = print_jobs,
};

/* --- quarantine --- */

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

static const struct subcommand quarantine_list = {
	.name = "list",
	.summary = "List identifiers that wait for a node, and why",
	.options = cli_options_table,
	.run = remote_run,
	.op = "quarantine",
	.show = print_identifiers,
};

static const struct subcommand quarantine_release = {
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
	&quarantine_list,
	&quarantine_release,
	NULL,
};

const struct subcommand command_quarantine = {
	.name = "quarantine",
	.summary = "List and free identifiers in quarantine",
	.commands = commands,
};
