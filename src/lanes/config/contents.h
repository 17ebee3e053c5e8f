/* SPDX-License-Identifier: BSD-3-Clause */
/* Files that a driver's settings name, read for its halves. */
#pragma once

#include "lanes/config/config.h"
#include "lanes/config/report.h"

/* For whom: */
enum contents_reader {
	CONTENTS_ANYBODY, /* one that is not there has no content */
	CONTENTS_MANAGER, /* one that is not there is wrong */
	CONTENTS_NODE, /* as for anybody, of what the node half reads alone */
};

/*
 * Fill in what the settings in the driver's `files` name. Who can write such a
 * file decides what jobs are given: it has to be root's, as the configuration.
 * What is wrong is added to report. -ENOMEM.
 */
int contents_read(struct config_driver *config, enum contents_reader reader,
		  struct report *report);
