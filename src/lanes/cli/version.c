/* SPDX-License-Identifier: BSD-3-Clause */
#include "lanes/cli/cli.h"
#include "fairlead.h"

static const struct option_spec options[] = { OPTION_JSON, { 0 } };

static int version_run(struct cli *cli)
{
	if (cli_flag(cli, "json"))
		fprintf(cli->out,
			"{\"version\": \"%s\", \"library\": \"%s\"}\n",
			FAIRLEAD_VERSION, fairlead_version());
	else
		fprintf(cli->out, "fairlead %s\n", FAIRLEAD_VERSION);
	return EXIT_DONE;
}

const struct subcommand command_version = {
	.name = "version",
	.summary = "Show the version of this program and its library",
	.arguments = "",
	.options = options,
	.run = version_run,
};
