/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Processes of the emulated cluster that outlive the command that started
 * them. A process is known by its id and the time it started, so that an id
 * that was used again is never taken for it.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/error.h"

struct cluster_process {
	pid_t pid;      /* 0: none */
	uint64_t start; /* field 22 of /proc/PID/stat */
};

/* What the process is now, or -ESRCH. */
int process_of(pid_t pid, struct cluster_process *ret_process);
bool process_is_alive(const struct cluster_process *process);

struct process_spec {
	const char *const *argv; /* ended by NULL; argv[0] is a path */
	const char *log_path;    /* takes stdout and stderr, appended */
	/* In the child, before exec; not 0 ends it. May be NULL. */
	int (*prepare)(void *arg);
	void *prepare_arg;
	/*
	 * The number of the descriptor on which the program writes a byte
	 * when it serves, as "--ready-fd"; it is always PROCESS_READY_FD.
	 */
	bool tells_ready;
	uint32_t timeout_ms; /* to become ready */
};

#define PROCESS_READY_FD 3

/*
 * Start a program in the background, in a session of its own, and wait until
 * it is ready. -ETIMEDOUT, or -ECHILD when it ended; the text has the last
 * line of its log.
 */
int process_start(const struct process_spec *spec,
		  struct cluster_process *ret_process,
		  struct fairlead_error *ret_error);

/*
 * End it: SIGTERM, and SIGKILL after grace_ms. Waits until it is gone. A
 * process that is gone, or none, is no error.
 */
int process_stop(struct cluster_process *process, uint32_t grace_ms);
