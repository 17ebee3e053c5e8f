/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What an operator asks of nodes, and knows about them.
 *
 * A node's state is two things, up or down and drained or not; they share a
 * column, so that the line of a node in trouble is seen.
 *
 * query, clean: each node answers or fails by itself. An answer is shown, an
 * error goes to stderr. The exit code is 1 if a node did not answer, else 75 if
 * one could not destroy something.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/hostlist.h"
#include "base/memory.h"
#include "lanes/cli/output.h"
#include "lanes/cli/remote.h"
#include "lanes/cli/show.h"

/* --- list --- */

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

static const struct subcommand node_list_command = {
	.name = "list",
	.summary = "List nodes, and what the manager knows of them",
	.details = "PENDING counts grants that the node has not confirmed as "
		   "removed, LOST lanes of active\njobs that it no longer has.",
	.options = cli_options_table,
	.run = remote_run,
	.op = "node-list",
	.show = print_nodes,
};

/* --- drain, undrain, fence --- */

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

static const struct subcommand node_drain_command = {
	.name = "drain",
	.summary = "Stop giving nodes new jobs",
	.arguments = "NODES",
	.details = "Present jobs continue.",
	.options = drain_options,
	.run = remote_run,
	.op = "node-drain",
	.members = drain_members,
};

static const struct subcommand node_undrain_command = {
	.name = "undrain",
	.summary = "Give nodes new jobs again",
	.arguments = "NODES",
	.options = drain_options,
	.run = remote_run,
	.op = "node-undrain",
	.members = remote_node_members,
};

static const struct subcommand node_fence_command = {
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

/* --- status, devices, objects: of this node --- */

static void print_link(FILE *out, const json_t *manager)
{
	const json_t *seen = json_object_get(manager, "seen_ms");
	const char *error = output_text(manager, "error");
	char age[OUTPUT_DURATION_MAX];

	fprintf(out, "manager at %s: %s, epoch %lld",
		output_text(manager, "address"), output_text(manager, "state"),
		(long long)output_number(manager, "epoch"));
	if (json_is_integer(seen)) {
		output_duration(json_integer_value(seen) / 1000.0, age);
		fprintf(out, ", seen %s ago", age);
	}
	fprintf(out, "%s%s\n", *error ? ": " : "", error);
}

/* What the manager knows of this node. */
static void print_drained(FILE *out, const json_t *status)
{
	long long pending = output_number(status, "pending");

	if (json_is_true(json_object_get(status, "drained")))
		fprintf(out, "drained: %s\n", output_text(status, "reason"));
	if (pending > 0)
		fprintf(out, "%lld confirmations are pending\n", pending);
}

/* Changed settings that need a restart. */
static void print_restart(FILE *out, const json_t *lines)
{
	const json_t *line;
	size_t i;

	json_array_foreach (lines, i, line)
		if (json_is_string(line))
			fprintf(out, "%s\n", json_string_value(line));
}

static void print_drivers(struct cli *cli, const json_t *drivers)
{
	static const struct column columns[] = {
		{ "INTERCONNECT", 0, "name" },
		{ "STATE", COLUMN_STATE, "usable", show_usable },
		{ "DETAIL", COLUMN_WRAP, "detail" },
		{ "DESCRIPTION", COLUMN_WRAP, "description" },
		{ 0 },
	};

	output_table(cli, columns, drivers);
}

static void show_status(struct cli *cli, const json_t *status)
{
	const char *name = output_text(status, "name");
	char uptime[OUTPUT_DURATION_MAX];

	output_duration(output_real(status, "uptime_s"), uptime);
	if (*name)
		fprintf(cli->out,
			"node '%s', version %s, incarnation %s, up for %s\n",
			name, output_text(status, "version"),
			output_text(status, "incarnation"), uptime);
	if (json_object_get(status, "manager"))
		print_link(cli->out, json_object_get(status, "manager"));
	print_drained(cli->out, status);
	print_restart(cli->out, json_object_get(status, "restart"));
	print_drivers(cli, json_object_get(status, "drivers"));
	show_grants(cli, status);
}

static const struct subcommand node_status_command = {
	.name = "status",
	.summary = "Show this node: its link to the manager, and its grants",
	.options = cli_options_table,
	.run = remote_run,
	.op = "node-status",
	.is_of_node = true,
	.show = show_status,
};

static const struct subcommand node_devices_command = {
	.name = "devices",
	.summary = "Show the devices of this node and what is reserved",
	.options = cli_options_table,
	.run = remote_run,
	.op = "devices",
	.is_of_node = true,
	.show = show_devices,
};

static const struct subcommand node_objects_command = {
	.name = "objects",
	.summary = "Show what is on the devices of this node, ours or not",
	.details = "Of Slingshot these are the CXI services, of Ethernet lanes "
		   "on NICs.",
	.options = cli_options_table,
	.run = remote_run,
	.op = "objects",
	.is_of_node = true,
	.show = show_objects,
};

/* --- query, clean --- */

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
		{ "grants", show_status },
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

static const struct subcommand node_query_command = {
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

static const struct subcommand node_clean_command = {
	.name = "clean",
	.summary = "Make nodes retry to revoke lanes that are being released",
	.arguments = "NODES",
	.details = "Live jobs keep their lanes. What cannot be destroyed is "
		   "printed, and the exit code is\n75. 'fairlead clean' on a "
		   "node has more options.",
	.options = clean_options,
	.run = node_clean_run,
};

/* --- all --- */

static const struct subcommand *const commands[] = {
	&node_list_command,    &node_drain_command,
	&node_undrain_command, &node_fence_command,
	&node_query_command,   &node_clean_command,
	&node_status_command,  &node_devices_command,
	&node_objects_command, NULL,
};

const struct subcommand command_node = {
	.name = "node",
	.summary = "List and manage nodes",
	.details =
		"list, drain, undrain, fence, query and clean ask the manager; "
		"status, devices and\nobjects ask the daemon of this node.",
	.commands = commands,
};
