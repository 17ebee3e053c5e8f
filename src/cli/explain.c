/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The answer to "why is it not going on?": sentences about the grant, a table
 * of its nodes by state, and a sentence for each thing that is awaited.
 */
#include <stdlib.h>
#include <time.h>

#include "base/cleanup.h"
#include "cli/output.h"
#include "cli/remote.h"

static const struct option_spec options[] = {
	OPTION_JSON, OPTION_NO_HEADER, OPTION_SOCKET, OPTION_TIMEOUT, { 0 },
};

static void format_age(double since, char text[OUTPUT_DURATION_MAX])
{
	struct timespec now;

	clock_gettime(CLOCK_REALTIME, &now);
	output_duration(now.tv_sec + now.tv_nsec / 1e9 - since, text);
}

static void print_head(FILE *out, const json_t *grant)
{
	const char *with = output_text(grant, "options");
	const char *reason = output_text(grant, "reason");
	_auto_(freep) char *ids = output_ids(json_object_get(grant, "ids"));
	_auto_(freep) char *user = output_user(output_number(grant, "uid"));
	char since[OUTPUT_TIME_MAX];
	char age[OUTPUT_DURATION_MAX];

	output_time(output_real(grant, "since"), since);
	format_age(output_real(grant, "since"), age);
	fprintf(out, "Grant %lld, for %s, is %s since %s (%s).\n",
		(long long)output_number(grant, "grant_id"),
		output_text(grant, "key"), output_text(grant, "state"), since,
		age);
	fprintf(out, "It belongs to %s and asks for %s", user,
		output_text(grant, "interconnect"));
	if (*with)
		fprintf(out, " (%s)", with);
	fprintf(out, " on %s.\n", output_text(grant, "nodes"));
	if (json_object_size(json_object_get(grant, "ids")) > 0)
		fprintf(out, "It holds %s.\n", ids);
	else
		fprintf(out, "It holds no identifiers.\n");
	if (*reason)
		fprintf(out, "Reason: %s.\n", reason);
}

static void print_holds(struct cli *cli, const json_t *holds)
{
	static const struct column columns[] = {
		{ .name = "NODES" },
		{ .name = "STATE", .flags = COLUMN_STATE },
		{ 0 },
	};
	struct table *table = table_create(cli, columns);
	const json_t *hold;
	size_t i;

	json_array_foreach (holds, i, hold) {
		table_row(table);
		table_text(table, output_text(hold, "nodes"));
		table_text(table, output_text(hold, "state"));
	}
	table_finish(table);
}

static void print_waits(FILE *out, const json_t *waits)
{
	const json_t *wait;
	size_t i;

	if (json_array_size(waits) == 0)
		fprintf(out, "It waits for nothing.\n");
	json_array_foreach (waits, i, wait) {
		double since = output_real(wait, "since");
		const char *nodes = output_text(wait, "nodes");
		const char *why = output_text(wait, "why");
		char age[OUTPUT_DURATION_MAX];

		fprintf(out, "It waits for %s%s%s", output_text(wait, "what"),
			*nodes ? " from " : "", nodes);
		if (since > 0) {
			format_age(since, age);
			fprintf(out, ", for %s now", age);
		}
		fprintf(out, "%s%s.\n", *why ? ": " : "", why);
	}
}

static void print_grant(struct cli *cli, const json_t *grant)
{
	const json_t *quarantined = json_object_get(grant, "quarantined");

	print_head(cli->out, grant);
	print_holds(cli, json_object_get(grant, "holds"));
	print_waits(cli->out, json_object_get(grant, "waits"));
	if (json_object_size(quarantined) > 0) {
		_auto_(freep) char *ids = output_ids(quarantined);

		fprintf(cli->out,
			"In quarantine until the nodes have confirmed: %s.\n",
			ids);
	}
}

static int run(struct cli *cli)
{
	json_auto_t *answer = NULL;
	json_t *members = NULL;
	const json_t *grant;
	size_t i;
	int code = remote_selector(cli, cli_argument(cli, 0), &members);

	if (code == EXIT_DONE)
		code = remote_ask(cli, REMOTE_MANAGER, REMOTE_TIMEOUT_MS,
				  "explain", members, &answer);
	if (code != EXIT_DONE)
		return code;
	if (cli_flag(cli, "json"))
		return output_json(cli, answer);
	json_array_foreach (json_object_get(answer, "grants"), i, grant) {
		if (i > 0)
			putc('\n', cli->out);
		print_grant(cli, grant);
	}
	return EXIT_DONE;
}

const struct subcommand command_explain = {
	.name = "explain",
	.summary = "Say what a grant or a job holds where, and what it waits "
		   "for",
	.arguments = "GRANT|KEY|JOB",
	.options = options,
	.arguments_min = 1,
	.arguments_max = 1,
	.run = run,
};
