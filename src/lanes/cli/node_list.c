/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A node's state is two things, up or down and drained or not; they share a
 * column, so that the line of a node in trouble is seen.
 */
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/memory.h"
#include "lanes/cli/node.h"
#include "lanes/cli/output.h"
#include "lanes/cli/remote.h"

#define WITHHELD_SHOWN 3

static char *format_state(const json_t *node)
{
	bool is_drained = json_is_true(json_object_get(node, "drained"));

	return memory_format("%s%s", output_text(node, "state"),
			     is_drained ? ", drained" : "");
}

static char *format_seen(const json_t *seen_ms)
{
	char text[OUTPUT_DURATION_MAX];

	if (!json_is_integer(seen_ms))
		return NULL;
	output_duration(json_integer_value(seen_ms) / 1000.0, text);
	return memory_text(text);
}

/* The first 8 digits tell two boots apart. */
static char *format_incarnation(const json_t *incarnation)
{
	return json_is_string(incarnation)
		       ? memory_format("%.8s", json_string_value(incarnation))
		       : NULL;
}

/* "slingshot vni 1024: a service that is not ours"; --json has more of them. */
static char *format_withheld(const json_t *node)
{
	const json_t *withheld = json_object_get(node, "withheld");
	size_t count = json_array_size(withheld);
	size_t shown = count > WITHHELD_SHOWN ? WITHHELD_SHOWN : count;
	json_int_t more = output_number(node, "withheld_more") +
			  (json_int_t)(count - shown);
	char *text = NULL;
	size_t size = 0;
	FILE *stream = memory_have(open_memstream(&text, &size));

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
	return text;
}

static char *format_count(const json_t *array)
{
	return memory_format("%zu", json_array_size(array));
}

static void print_nodes(struct cli *cli, const json_t *answer)
{
	static const struct column columns[] = {
		{ "NODE", 0, "name" },
		{ "STATE", COLUMN_STATE, NULL, format_state },
		{ "SEEN", 0, "seen_ms", format_seen },
		{ "VERSION", 0, "version" },
		{ "INCARNATION", 0, "incarnation", format_incarnation },
		{ "GRANTS", COLUMN_RIGHT, "grants" },
		{ "PENDING", COLUMN_RIGHT, "pending" },
		{ "LOST", COLUMN_RIGHT, "lost", format_count },
		{ "WITHHELD", COLUMN_WRAP, NULL, format_withheld },
		{ "REASON", COLUMN_WRAP, "reason" },
		{ 0 },
	};

	output_table(cli, columns, json_object_get(answer, "nodes"));
}

const struct subcommand node_list_command = {
	.name = "list",
	.summary = "List nodes, and what the manager knows of them",
	.details = "PENDING counts grants that the node has not confirmed as "
		   "removed, LOST lanes of active\njobs that it no longer has.",
	.options = cli_options_table,
	.run = remote_run,
	.op = "node-list",
	.show = print_nodes,
};
