/* SPDX-License-Identifier: BSD-3-Clause */
/* node status, devices, objects: from the daemon of this node. */
#include "lanes/cli/node.h"
#include "lanes/cli/remote.h"
#include "lanes/cli/show.h"

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

void node_show_status(struct cli *cli, const json_t *status)
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

const struct subcommand node_status_command = {
	.name = "status",
	.summary = "Show this node: its link to the manager, and its grants",
	.options = cli_options_table,
	.run = remote_run,
	.op = "node-status",
	.is_of_node = true,
	.show = node_show_status,
};

const struct subcommand node_devices_command = {
	.name = "devices",
	.summary = "Show the devices of this node and what is reserved",
	.options = cli_options_table,
	.run = remote_run,
	.op = "devices",
	.is_of_node = true,
	.show = show_devices,
};

const struct subcommand node_objects_command = {
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
