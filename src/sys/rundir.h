/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The directory of a small daemon, by which its clients find it:
 *
 *	socket    where requests go (packet.h)
 *	pid       the daemon's process id, locked while it runs
 *
 * One daemon a directory: the lock decides, and dies with its holder.
 */
#pragma once

#include <stdbool.h>

#include "base/error.h"

struct rundir {
	char *path;
	int lock; /* the pid file */
};

/*
 * Make the directory and its parents where they lack, and take the lock.
 * -EBUSY: another daemon has it; -EPERM: others than its owner, who runs this,
 * can write to it; -ENAMETOOLONG: the path does not fit into a socket address.
 * Close it in any case.
 */
int rundir_open(struct rundir *rundir, const char *program, const char *path,
		struct fairlead_error *ret_error);
/* Removes the socket; the rest stays. */
void rundir_close(struct rundir *rundir);
/* Is it a directory of ours that nobody else can write to. -ENOTDIR, -EPERM. */
int rundir_check(const char *path);
