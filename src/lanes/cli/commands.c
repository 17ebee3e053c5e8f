/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The table of subcommands, in the order of --help. X(name) stands for
 * `const struct subcommand command_name`.
 */
#include "lanes/cli/cli.h"

#define CLI_COMMANDS(X) \
	X(reserve)      \
	X(apply)        \
	X(release)      \
	X(env)          \
	X(status)       \
	X(list)         \
	X(explain)      \
	X(eventlog)     \
	X(quarantine)   \
	X(pools)        \
	X(node)         \
	X(prolog)       \
	X(epilog)       \
	X(housekeeping) \
	X(clean)        \
	X(slurm)        \
	X(reconcile)    \
	X(key)          \
	X(manager)      \
	X(doctor)       \
	X(completion)

#define DECLARE(name) extern const struct subcommand command_##name;
#define ENTRY(name)   &command_##name,

CLI_COMMANDS(DECLARE)

const struct subcommand *const cli_commands[] = { CLI_COMMANDS(ENTRY) NULL };
