/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The variables of lanes in the environment of a task, as a JSON object: name
 * to value, null for one that is to be cleared.
 */
#pragma once

#include "lanes/cli/cli.h"

#define EXIT_CANNOT_RUN 126 /* as a shell has it */
#define EXIT_NO_PROGRAM 127

/* Every variable of every driver, cleared. The caller drops it. */
json_t *environment_clear(void);
/*
 * What this process has of lanes' variables, [[name, value], ...]: of a driver
 * all, where one is there that nobody but Fairlead sets. A value that is not
 * UTF-8 is null.
 */
json_t *environment_own(void);
/*
 * Put in what this process has of them, once the node's daemon has found it
 * still true. An exit code; an error was printed, and nothing is changed.
 */
int environment_inherit(struct cli *cli, json_t *variables,
			bool *ret_is_inherited);
/* Become the program that the arguments are, with them; else an exit code. */
int environment_run(struct cli *cli, const json_t *variables);
