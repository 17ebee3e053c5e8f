/* SPDX-License-Identifier: BSD-3-Clause */
/* Sets for people who look for one identifier; `status` has the counts. */
#include "lanes/cli/remote.h"
#include "lanes/cli/show.h"

static int pools_run(struct cli *cli)
{
	return remote_show(cli, REMOTE_MANAGER, REMOTE_TIMEOUT_MS, "pools",
			   NULL, show_pools);
}

const struct subcommand command_pools = {
	.name = "pools",
	.summary = "Show which identifiers are free, held and quarantined",
	.arguments = "",
	.options = cli_options_table,
	.run = pools_run,
};
