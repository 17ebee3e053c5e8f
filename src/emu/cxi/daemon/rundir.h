/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The daemon's directory, by which clients find their node:
 *
 *	socket    where requests go (anyone may connect)
 *	boot_id   the node's incarnation, another one after each start or reboot
 *	dev/cxiN  a file for each NIC that is present; who has it open holds it
 *	pid       the daemon's process id, locked while it runs
 */
#pragma once

#include <stdint.h>

#include "base/cleanup.h"
#include "base/error.h"
#include "emu/cxi/daemon/dispatch.h"

struct rundir {
	char *path;
	int dir;
	int dev_dir;
	int lock; /* the pid file */
	char boot_id[BOOT_ID_SIZE];
};

/*
 * Make the directory and its parents where they lack, take the lock, and
 * remove what an earlier daemon left. -EBUSY: another daemon has it;
 * -ENAMETOOLONG: no socket address has room for the path.
 */
int rundir_open(const char *path, struct rundir **ret_rundir,
		struct fairlead_error *ret_error);
/* Removes all files: a node without its daemon is off. NULL is allowed. */
void rundir_close(struct rundir *rundir);
DEFINE_AUTO(struct rundir, rundir_close)

/* A new incarnation. */
int rundir_new_boot_id(struct rundir *rundir);
/* Make dev/cxiN, or remove it. What is already so is no error. */
int rundir_set_device(struct rundir *rundir, uint32_t nic, bool is_present);
/* Bind and listen. Returns the descriptor, which the caller closes. */
int rundir_listen(struct rundir *rundir);
