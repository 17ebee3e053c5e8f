/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The table of subcommands, in the order of --help. X(name) stands for
 * `const struct subcommand command_name`, which a file of its own defines.
 */
#pragma once

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
