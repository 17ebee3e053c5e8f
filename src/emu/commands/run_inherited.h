/* SPDX-License-Identifier: BSD-3-Clause */
/* A job within a job: its tasks, in the lane that the outer one has. */
#pragma once

#include "lanes/cli/cli.h"

/*
 * Start the tasks that --tasks says on this machine, with the environment that
 * was inherited, checked by the node's daemon, and wait for them. Nothing is
 * reserved and no manager is asked. Signals are passed on as launch_run() does,
 * to the process group of each task; on a terminal, where tasks stay in the
 * caller's group, to the task. Returns the highest exit code of a task.
 */
int run_inherited(struct cli *cli);
