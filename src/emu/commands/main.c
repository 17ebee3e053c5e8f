/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * `fairlead-cluster` and `fairlead-run`, which `fairlead` runs as its commands
 * `cluster` and `run`. The build names the COMMAND that this program is.
 */
#include "lanes/cli/cli.h"

extern const struct subcommand COMMAND;

const struct subcommand *const cli_commands[] = { &COMMAND, NULL };

int main(int argc, char **argv)
{
	argv[0] = (char *)COMMAND.name;
	return cli_main(argc, argv);
}
