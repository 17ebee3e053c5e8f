/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What ends a test that hangs, wherever it does: in its loop, in a call that
 * blocks, or in its teardown after a failure. Started by the setup, and stopped
 * at the end of the teardown.
 */
#pragma once

/* Of one test; far beyond what any of them needs, at a load of 30, too. */
#define WATCHDOG_S 240

/*
 * From now on the process has WATCHDOG_S to come to watchdog_stop(): else it
 * says so on standard error, with these lines, and aborts. `lines` is a text
 * that may grow until then, NULL for none. One at a time; SIGALRM is its.
 */
void watchdog_start(const char *lines);
void watchdog_stop(void);
