/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Silent when all nodes have confirmed; what stays in quarantine is printed,
 * since the pool lacks it.
 */
#include <stdlib.h>

#include "base/cleanup.h"
#include "lanes/cli/output.h"
#include "lanes/cli/remote.h"

static void print_quarantined(struct cli *cli, const json_t *answer)
{
	const json_t *grant;
	size_t i;

	json_array_foreach (json_object_get(answer, "grants"), i, grant) {
		const json_t *ids = json_object_get(grant, "quarantined");
		_auto_(freep) char *nodes =
			output_join(json_object_get(grant, "nodes"));
		_auto_(freep) char *text = output_ids(ids);

		if (json_object_size(ids) == 0)
			continue;
		fprintf(cli->out,
			"grant %lld is released; %s stays in quarantine until "
			"%s has confirmed\n",
			(long long)output_number(grant, "grant_id"), text,
			nodes);
	}
}

const struct subcommand command_release = {
	.name = "release",
	.summary = "Release the lanes of a grant, an attempt or a job",
	.arguments = "GRANT|KEY|JOB",
	.details =
		"Returns when all nodes have answered or timed out; the job is "
		"over then. Identifiers\nthat a node may still hold stay in "
		"quarantine. Releasing twice is no error.",
	.options = cli_options_ask,
	.run = remote_run,
	.op = "release",
	.waits_for_nodes = true,
	.members = remote_selector_members,
	.show = print_quarantined,
};
