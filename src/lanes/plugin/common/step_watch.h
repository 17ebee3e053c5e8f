/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Clean up after a step, whose programs may leave something outside the nodes:
 * multicast trees at a fabric manager.
 */
#pragma once

#include "fairlead_driver.h"

/* Environment: another program than the installed fairlead-step-clean. */
#define STEP_WATCH_PROGRAM "FAIRLEAD_STEP_CLEAN"

/*
 * Start a process that runs fairlead-step-clean once this one has ended, also
 * by SIGKILL. It has the driver's variables and the effective user of this
 * process, and nothing else of it. get: a variable of the step's tasks, or
 * NULL; valid until the next call. -ENOENT: the program is missing; -ENOMEM,
 * -EMFILE, ...
 */
int step_watch(const struct fairlead_driver *driver,
	       const char *(*get)(void *arg, const char *name), void *arg);
