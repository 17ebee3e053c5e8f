/* SPDX-License-Identifier: BSD-3-Clause */
#include "lanes/cli/commands.h"

#include "lanes/cli/cli.h"

#define DECLARE(name) extern const struct subcommand command_##name;
#define ENTRY(name)   &command_##name,

CLI_COMMANDS(DECLARE)

const struct subcommand *const cli_commands[] = { CLI_COMMANDS(ENTRY) NULL };
