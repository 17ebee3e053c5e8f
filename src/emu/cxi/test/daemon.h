/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * For tests of whole programs: a fairlead-softnic of the test's own in a
 * folder of its own. Nothing here waits for a time; starting waits for the
 * daemon's ready byte, stopping for its end.
 */
#pragma once

#include <stdbool.h>
#include <sys/types.h>

#define DAEMON_ARGUMENT_MAX 16

struct daemon {
	const char *program; /* path of fairlead-softnic */
	char folder[64];     /* mkdtemp's; world-readable */
	char dir[80];        /* the daemon's --dir, in it */
	pid_t pid;           /* 0: not running */
};

/* Make the folder and let the library find the daemon there. */
void daemon_init(struct daemon *daemon, const char *program);
/* Stop it and remove the folder. */
void daemon_fini(struct daemon *daemon);
/* Start with further arguments, NULL at the end. False: it did not start. */
bool daemon_start(struct daemon *daemon, ...) __attribute__((sentinel));
/* As daemon_start, with these ids. */
bool daemon_start_as(struct daemon *daemon, uid_t uid, gid_t gid, ...)
	__attribute__((sentinel));
/* Send a signal and wait. Returns the wait status. */
int daemon_stop(struct daemon *daemon, int signal);
/* Run `ctl` with one command; its exit code. */
int daemon_ctl(const struct daemon *daemon, const char *command);
/* The content of a file in its dir, to be freed, or NULL. */
char *daemon_read(const struct daemon *daemon, const char *name);
/* The exit code of run(ctx) in a child with these ids and no other groups. */
int run_as(uid_t uid, gid_t gid, int (*run)(void *ctx), void *ctx);
