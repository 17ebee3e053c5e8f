/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The manager role of fairleadd: the engine with its real input and output on
 * a libuv loop. Runs without privileges.
 *
 *	manager_start -> uv_run ... manager_reload ... -> manager_stop
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <uv.h>

#include "base/error.h"
#include "base/log.h"
#include "lanes/config/config.h"
#include "sys/descriptors.h"

struct manager;

struct manager_options {
	uv_loop_t *loop;
	const char *config_path; /* for reloads; copied */
	unsigned int roles;      /* of the process: what reloads check */
	/* Those that are built in; constants. */
	const struct fairlead_driver *const *drivers;
	size_t driver_count;
	bool is_recovery;
	const char *waive; /* host list: nodes nobody waits for; or NULL */
	const struct descriptor_shares *shares; /* read at the start */
	struct log *log; /* by reference; its level follows the file */
};

/*
 * Read keys and journal, begin an epoch, listen. The configuration is kept and
 * destroyed here, also on failure. Errors have a text that says what to do;
 * the loop is to be run until it has nothing to do then too.
 */
int manager_start(const struct manager_options *options,
		  struct config *config_owned, struct manager **ret_manager,
		  struct fairlead_error *ret_error);
/*
 * Warn when the configured nodes are more than the limit of descriptors lets be
 * connected at once, with the limit that would do: with less some stay down
 * when all come at once, as after a start. roles: how many this process has,
 * which share its limit.
 */
void manager_limits_check(const struct config *config, size_t roles,
			  const struct descriptor_shares *shares,
			  const struct log *log);
/* Read configuration and keys again. What happens goes to the log. */
void manager_reload(struct manager *manager);
/*
 * Take no more, finish what is on its way to the disk, close all. stopped is
 * called when it is over and the manager is freed.
 */
void manager_stop(struct manager *manager, void (*stopped)(void *ctx),
		  void *ctx);

/*
 * --check-journal: replay the events of every grant, and compare what comes
 * out with the records of jobs and with the pools. For people who have restored
 * a disk, and for tests that have killed a manager.
 */
#define CHECK_LINES_MAX 100 /* contradictions that are written out */

/*
 * Write each contradiction and a summary, one a line. 0: all agrees; -EUCLEAN:
 * something does not; else the journal cannot be read (the text says why; a
 * manager that runs has it).
 */
int manager_check_journal(const struct config *config, FILE *out,
			  struct fairlead_error *ret_error);
