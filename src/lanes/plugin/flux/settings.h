/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The plugins' settings. The jobtap plugin has them from the table [fairlead]
 * of Flux's configuration, and from the `conf` of its own entry in
 * [job-manager.plugins], which beats it. Pure.
 *
 *   manager         socket, or "tcp://[USER@]HOST:PORT"; "": the library's own
 *   submitter       first part of keys; default "flux"
 *   default         a job that does not say gets a lane: "must" (default); "may":
 *                   as long as there are any (reserve_fatal = false); "none"
 *   prolog-timeout  how long a job waits for its lane; default "60s"
 *   epilog-timeout  how long its nodes wait for its end; default "60s"
 */
#pragma once

#include <jansson.h>

#include "fairlead/error.h"
#include "lanes/plugin/common/job_options.h"

struct flux_settings {
	char manager[256];
	char submitter[33];
	enum lane_expectation otherwise;
	double prolog_timeout_s;
	double epilog_timeout_s;
};

void settings_init(struct flux_settings *settings);
/*
 * Take in the members of an object (NULL: none). -EINVAL, with a text that
 * names the member; settings are then as they were.
 */
int settings_take(struct flux_settings *settings, const json_t *table,
		  struct fairlead_error *ret_error);
