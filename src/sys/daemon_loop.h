/* SPDX-License-Identifier: BSD-3-Clause */
/* The libuv loop of a small daemon, which runs until SIGTERM or SIGINT. */
#pragma once

#include <uv.h>

#include "base/log.h"

struct daemon_loop {
	uv_loop_t uv;
	uv_signal_t signals[2];
	const struct log *log;
};

/* Borrows the log. -errno of libuv. */
int daemon_loop_init(struct daemon_loop *loop, const struct log *log);
/* Report to ready_fd (or -1) that the daemon serves, and do so until the end. */
int daemon_loop_run(struct daemon_loop *loop, int ready_fd);
/* Closes all handles of the loop, and runs it until they are. */
void daemon_loop_fini(struct daemon_loop *loop);
