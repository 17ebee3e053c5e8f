/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A node's state is two things, up or down and drained or not; they share a
 * column, so that the line of a node in trouble is seen.
 */
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "lanes/cli/node.h"
#include "lanes/cli/output.h"
#include "lanes/cli/remote.h"

#define WITHHELD_SHOWN 3

static const struct option_spec options[] = {
	OPTION_JSON, OPTION_NO_HEADER, OPTION_SOCKET, OPTION_TIMEOUT, { 0 },
};

static const struct column columns[] = {
	{ .name = "NODE" },
	{ .name = "STATE", .flags = COLUMN_STATE },
	{ .name = "HEARD" },
	{ .name = "VERSION" },
	{ .name = "INCARNATION" },
	{ .name = "GRANTS", .flags = COLUMN_RIGHT },
	{ .name = "OWES", .flags = COLUMN_RIGHT },
	{ .name = "WITHHELD", .flags = COLUMN_WRAP },
	{ .name = "REASON", .flags = COLUMN_WRAP },
	{ 0 },
};

static void cell_state(struct table *table, const json_t *node)
{
	bool is_drained = json_is_true(json_object_get(node, "drained"));
	char text[64];

	snprintf(text, sizeof(text), "%s%s", output_text(node, "state"),
		 is_drained ? ", drained" : "");
	table_text(table, text);
}

static void cell_heard(struct table *table, const json_t *node)
{
	const json_t *heard = json_object_get(node, "heard_ms");
	char text[OUTPUT_DURATION_MAX];

	if (json_is_integer(heard))
		output_duration(json_integer_value(heard) / 1000.0, text);
	table_text(table, json_is_integer(heard) ? text : NULL);
}

/* The first 8 digits tell two boots apart. */
static void cell_incarnation(struct table *table, const json_t *node)
{
	char text[9];

	snprintf(text, sizeof(text), "%.8s", output_text(node, "incarnation"));
	table_text(table, text);
}

/* "slingshot vni 1024: a service that is not ours"; --json has more of them. */
static void cell_withheld(struct table *table, const json_t *node)
{
	const json_t *withheld = json_object_get(node, "withheld");
	size_t count = json_array_size(withheld);
	size_t shown = count > WITHHELD_SHOWN ? WITHHELD_SHOWN : count;
	json_int_t more = output_number(node, "withheld_more") +
			  (json_int_t)(count - shown);
	_auto_(freep) char *text = NULL;
	size_t size = 0;
	FILE *stream = open_memstream(&text, &size);

	if (!stream)
		return;
	for (size_t i = 0; i < shown; i++) {
		const json_t *item = json_array_get(withheld, i);
		_auto_(freep) char *ids =
			output_ids(json_object_get(item, "ids"));
		const char *why = output_text(item, "why");

		fprintf(stream, "%s%s %s%s%s", i > 0 ? "; " : "",
			output_text(item, "interconnect"), ids,
			*why ? ": " : "", why);
	}
	if (more > 0)
		fprintf(stream, "; and %" JSON_INTEGER_FORMAT " more", more);
	fclose(stream);
	table_text(table, text);
}

static void print_nodes(struct cli *cli, const json_t *nodes)
{
	struct table *table = table_create(cli, columns);
	const json_t *node;
	size_t i;

	json_array_foreach (nodes, i, node) {
		table_row(table);
		table_text(table, output_text(node, "name"));
		cell_state(table, node);
		cell_heard(table, node);
		table_text(table, output_text(node, "version"));
		cell_incarnation(table, node);
		table_number(table, output_number(node, "grants"));
		table_number(table, output_number(node, "owes"));
		cell_withheld(table, node);
		table_text(table, output_text(node, "reason"));
	}
	table_finish(table);
}

static int run(struct cli *cli)
{
	json_auto_t *answer = NULL;
	int code = remote_ask_all(cli, "node-list", NULL, "nodes", &answer);

	if (code != EXIT_DONE)
		return code;
	if (cli_flag(cli, "json"))
		return output_json(cli, answer);
	print_nodes(cli, json_object_get(answer, "nodes"));
	return EXIT_DONE;
}

const struct subcommand node_list_command = {
	.name = "list",
	.summary = "List nodes, and what the manager knows of them",
	.arguments = "",
	.details = "OWES counts grants that the node has to confirm as taken "
		   "back.",
	.options = options,
	.run = run,
};
