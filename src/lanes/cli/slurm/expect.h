/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Whether a job was promised a lane, from what is written down alone: the
 * configuration and what the user asked for. No daemon is asked.
 */
#pragma once

#include "lanes/config/config.h"
#include "lanes/plugin/common/job_options.h"

/*
 * interconnect NULL: the configuration's. options: those for the driver, ""
 * when none. What cannot be known here, such as an interconnect that is off or
 * options that its driver refuses, is LANE_MUST: the manager will say. With
 * settings of the driver that are wrong it is LANE_MAY: the daemons, which run
 * with others, know better, and no node is to blame for the file.
 */
enum lane_expectation lane_expect(const struct config *config,
				  const char *interconnect,
				  const char *options);
