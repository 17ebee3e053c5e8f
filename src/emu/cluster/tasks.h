/* SPDX-License-Identifier: BSD-3-Clause */
/* Tasks of a job, from their start (tasks.c) to their end (launch.c). */
#pragma once

#include "emu/cluster/launch.h"

struct stream {
	int fd;      /* -1: ended */
	int task_fd; /* its end, until it is started; else -1 */
	int out_fd;
	size_t size;
	char line[LAUNCH_LINE_MAX];
};

struct launch_task {
	pid_t pid; /* 0: has ended */
	int status;
	uint32_t rank;
	uint32_t local_rank;
	uint32_t node_index;
	char label[32];
	struct stream streams[2]; /* stdout, stderr */
};

struct launch {
	const struct launch_spec *spec;
	struct launch_task *tasks;
	uint32_t task_count;
	uint32_t running_count;
	int signal_fd;
	uint32_t interrupts;
	pid_t pid;     /* ours */
	pid_t *groups; /* of the tasks, also when they have ended */
	sigset_t old_mask;
};

/* All of them, or an error; some may run then. */
int tasks_start(struct launch *launch, struct fairlead_error *ret_error);
