/* SPDX-License-Identifier: BSD-3-Clause */
/* The command line of fairleadd(8). */
#pragma once

#include <stdbool.h>

#include "base/log.h"
#include "lanes/config/config.h"

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

/* 0; or the program has to end with this exit code. */
int fairleadd_options_read(int argc, char **argv,
			   struct fairleadd_options *ret_options,
			   int *ret_exit_code);
