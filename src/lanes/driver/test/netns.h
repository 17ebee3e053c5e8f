/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Network namespaces for tests: the test process goes into one of its own, and
 * what it makes there goes with it. cmocka's headers come before this one.
 */
#pragma once

#include <sched.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

/* False, with the reason printed: the tests are to be skipped. */
static inline bool netns_enter(void)
{
	if (geteuid() != 0) {
		print_message("skipped: network namespaces need root\n");
		return false;
	}
	if (unshare(CLONE_NEWNET) != 0) {
		print_message("skipped: no network namespace can be made\n");
		return false;
	}
	return true;
}

/* Run a command in this namespace; it has to succeed. */
static inline void __attribute__((format(printf, 1, 2)))
netns_run(const char *format, ...)
{
	char command[512];
	va_list args;

	va_start(args, format);
	vsnprintf(command, sizeof(command), format, args);
	va_end(args);
	if (system(command) != 0)
		fail_msg("%s", command);
}

/* Does it succeed? It says nothing. */
static inline bool __attribute__((format(printf, 1, 2)))
netns_holds(const char *format, ...)
{
	char command[512];
	va_list args;
	int size;

	va_start(args, format);
	size = vsnprintf(command, sizeof(command), format, args);
	va_end(args);
	snprintf(command + size, sizeof(command) - (size_t)size,
		 " >/dev/null 2>&1");
	return system(command) == 0;
}
