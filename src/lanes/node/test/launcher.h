/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A process that forks the guards of a test. A test has threads (a store's
 * worker, those that resolve names), and a fork beside a thread that allocates
 * leaves the child an allocator that is locked for ever.
 *
 *	launcher_start, first of all -> launcher_guard_start ->
 *	launcher_guard_stop ... launcher_stop
 */
#pragma once

#include "lanes/config/config.h"
#include "lanes/node/guard/guard.h"

struct launcher {
	int fd;
	pid_t pid;
};

/* Before there is any thread. The drivers are those of the configurations. */
void launcher_start(unsigned int roles,
		    const struct fairlead_driver *const *drivers,
		    struct launcher *ret_launcher);
/* Guards that are left end with it. */
void launcher_stop(struct launcher *launcher);

/*
 * node_guard_start() there, with this configuration. One guard at a time; it
 * is no child of this process, and guard_stop() would not wait for it.
 */
int launcher_guard_start(const struct launcher *launcher,
			 const char *config_path,
			 struct guard_handle *ret_guard,
			 struct fairlead_error *ret_error);
/* guard_stop(), there as well. */
void launcher_guard_stop(const struct launcher *launcher,
			 struct guard_handle *guard);
