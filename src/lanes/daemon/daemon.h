/* SPDX-License-Identifier: BSD-3-Clause */
/* The roles of this process on one loop, until a signal ends it. */
#pragma once

#include <stdbool.h>

#include "base/error.h"
#include "base/log.h"
#include "lanes/config/config.h"
#include "lanes/node/guard/guard.h"

/* What the command line says. */
enum daemon_action {
	ACTION_RUN,
	ACTION_CHECK_CONFIG,
	ACTION_CHECK_JOURNAL,
};

struct fairleadd_options {
	enum daemon_action action;
	unsigned int roles; /* flags of enum config_role */
	const char *config_path;
	bool is_recovery;
	const char *waive; /* host list, or NULL */
	bool has_log_level;
	enum log_level log_level; /* over the configuration's */
	int ready_fd;             /* -1: nobody waits */
};

/* Drivers that are built in: entries of driver_table. */
size_t daemon_driver_count(void);

/*
 * Warn when the limit of descriptors, raised as far as it may be, is too low
 * for the nodes of a manager.
 */
void daemon_check_capacity(const struct config *config, unsigned int roles,
			   const struct log *log);

/*
 * Run, without privileges. guard: of the node role. The configuration is read
 * here, since each reload has to be able to. SIGHUP reads configuration and
 * keys again, SIGTERM and SIGINT stop. 0, or a negative errno with a text when
 * it could not start, or had to end.
 */
int daemon_run(const struct fairleadd_options *options,
	       const struct guard_handle *guard, struct log *log,
	       struct fairlead_error *ret_error);
