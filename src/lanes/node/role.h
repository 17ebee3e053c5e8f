/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The node role of fairleadd: its guard as a process, and the agent with its
 * real input and output on a libuv loop.
 *
 *	with privileges:    node_guard_start
 *	without privileges: node_start -> uv_run ... node_reload ... node_stop
 *	                    -> guard_stop
 */
#pragma once

#include <stddef.h>
#include <uv.h>

#include "base/error.h"
#include "base/log.h"
#include "lanes/config/config.h"
#include "lanes/node/guard/guard.h"
#include "sys/descriptors.h"

struct node_role;

/*
 * Fork the guard, before privileges are given up, before there is a loop or a
 * thread. Errors as guard_start(). The configuration is borrowed.
 */
int node_guard_start(const struct config *config, const struct log *log,
		     struct guard_handle *ret_guard,
		     struct fairlead_error *ret_error);

struct node_options {
	uv_loop_t *loop;
	const char *config_path; /* for reloads; copied */
	unsigned int roles;      /* of the process: what reloads check */
	/* Those that are built in; constants. */
	const struct fairlead_driver *const *drivers;
	size_t driver_count;
	/* Borrowed until node_stop; stop it after the loop has ended. */
	const struct guard_handle *guard;
	const struct descriptor_shares *shares; /* read at the start */
	struct log *log; /* by reference; its level follows the file */
	/*
	 * The guard has ended: the node is of no use any more, and the daemon
	 * is to stop with an error, to be started again.
	 */
	void (*ended)(void *ctx, const char *why);
	void *ended_ctx;
};

/*
 * Listen on the node's socket, open the drivers, connect to the manager. The
 * configuration is kept and destroyed here, also on failure. Errors have a text
 * that says what to do; the loop is to be run until it has nothing to do then
 * too. A driver that cannot be opened is no error.
 */
int node_start(const struct node_options *options, struct config *config_owned,
	       struct node_role **ret_node, struct fairlead_error *ret_error);
/* Read configuration and keys again. What happens goes to the log. */
void node_reload(struct node_role *node);
/* Close all, at once. The loop is to be run until it has nothing to do. */
void node_stop(struct node_role *node);
