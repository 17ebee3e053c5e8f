/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The guard as a process: fork it before privileges are given up, before any
 * thread is started and before anything secret is read.
 *
 *	guard_start -> requests and replies on handle.fd -> guard_stop
 */
#pragma once

#include <stdint.h>
#include <sys/types.h>

#include "base/error.h"
#include "base/log.h"
#include "fairlead_driver.h"
#include "lanes/node/guard/core.h"

#define GUARD_DRIVERS_MAX REGISTRATION_DRIVERS_MAX

/* A driver that the configuration turns on. */
struct guard_driver_options {
	const struct fairlead_driver *driver;
	const struct fairlead_setting *settings;
	size_t setting_count;
};

/* Everything is borrowed for the call; the child has its own copy. */
struct guard_options {
	const char *name;        /* of the node */
	const char *run;         /* directory of the journal; made if need be */
	const char *jobs;        /* of the environment files; likewise */
	const char *key;         /* the key file */
	const char *incarnation; /* file with a UUID, or a directory in which
				    boot_id is one */
	const struct guard_driver_options *drivers;
	size_t driver_count;
	/* How long to wait for a guard before us that is still finishing. */
	uint32_t patience_ms;
	const struct log *log;
};

struct guard_handle {
	int fd; /* the agent's end: a stream socket, blocking */
	pid_t pid;
	uint8_t incarnation[INCARNATION_SIZE];
};

/*
 * Fork the guard and wait until it has begun. An error, with the text of what
 * failed there, when it could not: of the key file (-EPERM, -EINVAL), the
 * directories, the journal (-EUCLEAN), -EBUSY when another guard has the
 * journal, and so on; nothing is left then. A driver that cannot be opened is
 * no error: the node says so when it registers.
 */
int guard_start(const struct guard_options *options,
		struct guard_handle *ret_handle,
		struct fairlead_error *ret_error);
/* Close the channel and wait until the guard has finished what it is in. */
void guard_stop(struct guard_handle *handle);

/*
 * Open drivers, in the guard or to look only. One that cannot be opened says
 * why in its detail, and in the log unless that is NULL. ret_drivers: zeroed.
 */
void guard_drivers_open(const struct guard_driver_options *wanted, size_t count,
			const struct log *log,
			struct guard_driver *ret_drivers);
void guard_drivers_close(const struct guard_driver *drivers, size_t count);
