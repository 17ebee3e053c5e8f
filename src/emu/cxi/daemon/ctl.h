/* SPDX-License-Identifier: BSD-3-Clause */
/* `fairlead-softnic ctl`: send a control command, print what comes back. */
#pragma once

/*
 * Returns the exit code: 0 done, 1 failed, 75 no daemon there, 77 not
 * permitted. Text of the daemon goes to standard output, of errors to
 * standard error.
 */
int ctl_run(const char *dir, const char *command);
