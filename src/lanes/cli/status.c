/* SPDX-License-Identifier: BSD-3-Clause */
/* One screen: the manager in a line, nodes and jobs in counts, pools. */
#include "lanes/cli/show.h"

#include "base/cleanup.h"
#include "lanes/cli/remote.h"

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
}

static void print_status(struct cli *cli, const json_t *status)
{
	print_head(cli, status);
	putc('\n', cli->out);
	show_pools(cli, status);
}

static int status_run(struct cli *cli)
{
	return remote_show(cli, REMOTE_MANAGER, REMOTE_TIMEOUT_MS, "status",
			   NULL, print_status);
}

const struct subcommand command_status = {
	.name = "status",
	.summary = "Show the manager, its nodes, jobs and pools in numbers",
	.arguments = "",
	.options = cli_options_table,
	.run = status_run,
};
