/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * status: the manager in a line, nodes and jobs in counts, pools; pools: their
 * sets, for people who look for one identifier.
 */
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
	if (json_is_true(json_object_get(status, "halted")))
		fprintf(cli->out,
			"halted: a node has obeyed a manager with a higher "
			"epoch; see 'fairlead manager recover'\n");
}

static void print_status(struct cli *cli, const json_t *status)
{
	print_head(cli, status);
	putc('\n', cli->out);
	show_pools(cli, status);
}

const struct subcommand command_status = {
	.name = "status",
	.summary = "Show the manager, its nodes, jobs and pools in numbers",
	.options = cli_options_table,
	.run = remote_run,
	.op = "status",
	.show = print_status,
};

const struct subcommand command_pools = {
	.name = "pools",
	.summary = "Show which identifiers are free, held and quarantined",
	.options = cli_options_table,
	.run = remote_run,
	.op = "pools",
	.show = show_pools,
};
