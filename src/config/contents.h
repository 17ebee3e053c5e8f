/* SPDX-License-Identifier: BSD-3-Clause */
/* Files that a driver's settings name, read for its manager half. */
#pragma once

#include "config/config.h"
#include "config/report.h"

/*
 * Fill in what the settings in the driver's `files` name. Who can write such a
 * file decides what jobs are given: it has to be root's, as the configuration.
 * What is wrong is added to report. is_needed: one that is not there is wrong
 * too, else it has no content. -ENOMEM.
 */
int contents_read(struct config_driver *driver, bool is_needed,
		  struct report *report);
