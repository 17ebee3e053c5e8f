/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * To free an identifier by hand is to say that no node uses it, which nobody
 * here can check: pool and ids have to be written out. A node that is up is
 * believed more.
 */
#include <stdlib.h>

#include "base/cleanup.h"
#include "lanes/cli/show.h"
#include "lanes/cli/remote.h"

static const struct option_spec list_options[] = {
	OPTION_JSON, OPTION_NO_HEADER, OPTION_SOCKET, OPTION_TIMEOUT, { 0 },
};

static const struct option_spec release_options[] = {
	{ .name = "interconnect",
	  .letter = 'i',
	  .value = "NAME",
	  .help = "whose pool, where two have one of that name" },
	OPTION_FORCE,
	OPTION_JSON,
	OPTION_SOCKET,
	OPTION_TIMEOUT,
	{ 0 },
};

static const struct column columns[] = {
	{ .name = "INTERCONNECT" },
	{ .name = "POOL" },
	{ .name = "ID", .flags = COLUMN_RIGHT },
	{ .name = "GRANT", .flags = COLUMN_RIGHT },
	{ .name = "SINCE" },
	{ .name = "NODES", .flags = COLUMN_WRAP },
	{ .name = "WHY", .flags = COLUMN_WRAP },
	{ 0 },
};

/* Of a run both its ends. */
static void print_id(struct table *table, const json_t *identifier)
{
	long long first = output_number(identifier, "id");
	char *text;

	if (json_object_get(identifier, "last") == NULL) {
		table_number(table, first);
		return;
	}
	if (asprintf(&text, "%lld-%lld", first,
		     (long long)output_number(identifier, "last")) < 0)
		text = NULL;
	table_owned(table, text);
}

static void print_identifiers(struct cli *cli, const json_t *identifiers)
{
	struct table *table = table_create(cli, columns);
	char since[OUTPUT_TIME_MAX];
	const json_t *identifier;
	size_t i;

	json_array_foreach (identifiers, i, identifier) {
		table_row(table);
		table_text(table, output_text(identifier, "interconnect"));
		table_text(table, output_text(identifier, "pool"));
		print_id(table, identifier);
		table_number(table, output_number(identifier, "grant_id"));
		output_time(output_real(identifier, "since"), since);
		table_text(table, since);
		table_owned(table,
			    output_join(json_object_get(identifier, "nodes")));
		table_text(table, output_text(identifier, "why"));
	}
	table_finish(table);
}

static int run_list(struct cli *cli)
{
	json_auto_t *answer = NULL;
	int code =
		remote_ask_all(cli, "quarantine", NULL, "identifiers", &answer);

	if (code != EXIT_DONE)
		return code;
	if (cli_flag(cli, "json"))
		return output_json(cli, answer);
	print_identifiers(cli, json_object_get(answer, "identifiers"));
	return EXIT_DONE;
}

static int run_release(struct cli *cli)
{
	json_auto_t *answer = NULL;
	int code;

	code = remote_ask(
		cli, REMOTE_MANAGER, REMOTE_TIMEOUT_MS, "quarantine-release",
		json_pack("{s:s, s:s, s:s*, s:o*}", "pool",
			  cli_argument(cli, 0), "ids", cli_argument(cli, 1),
			  "interconnect", cli_option(cli, "interconnect"),
			  "force", cli_flag(cli, "force") ? json_true() : NULL),
		&answer);
	if (code != EXIT_DONE)
		return code;
	if (cli_flag(cli, "json"))
		return output_json(cli, answer);
	show_freed(cli, answer);
	return EXIT_DONE;
}

static const struct subcommand list_command = {
	.name = "list",
	.summary = "List identifiers that wait for a node, and why",
	.arguments = "",
	.options = list_options,
	.run = run_list,
};

static const struct subcommand release_command = {
	.name = "release",
	.summary = "Free identifiers by an operator's word",
	.arguments = "POOL IDS",
	.details =
		"IDS is a set: 1024-1030,1040. Whoever does this says that no "
		"node uses them any more;\nif one does, two jobs share a lane. "
		"It is refused while a node that is up may hold\none of them; "
		"forced, they are withheld until that node says that they are "
		"gone.\n'fairlead node fence' is for a node that is gone.",
	.options = release_options,
	.arguments_min = 2,
	.arguments_max = 2,
	.run = run_release,
};

static const struct subcommand *const commands[] = {
	&list_command,
	&release_command,
	NULL,
};

const struct subcommand command_quarantine = {
	.name = "quarantine",
	.summary = "See and free identifiers in quarantine",
	.arguments = "COMMAND",
	.commands = commands,
};
