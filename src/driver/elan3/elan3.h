/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The driver elan3: Quadrics QsNet, as RMS used it. Its manager half is here.
 *
 * A lane is a program number, and a run of contexts on all ElanIDs from the
 * job's lowest to its highest; identifiers {program, first, last}. Its secrets
 * are the capabilities (reply.h), one for each rail set, whose keys are drawn
 * for the job.
 *
 * The node half is to come. It will create the capabilities of the reply on
 * its devices, make the program description and give it the capabilities, for
 * the lane's owner alone; `task` will set the context of each task. Its objects
 * will have the identifiers of the lane, {program, first, last}, and its place
 * is that of place.h. Until it is there no table of drivers has elan3.
 */
#pragma once

#include "fairlead_driver.h"

#define ELAN3_NAME "elan3"

/* Where a lane's identifiers are. */
enum {
	ELAN3_ID_PROGRAM,
	ELAN3_ID_FIRST,
	ELAN3_ID_LAST,
	ELAN3_ID_COUNT,
};

/* The pools, in their order. */
enum {
	ELAN3_POOL_PROGRAM,
	ELAN3_POOL_CONTEXT,
	ELAN3_POOL_COUNT,
};

extern const char *const elan3_settings[]; /* ended by NULL */
extern const char *const elan3_files[];    /* those that name files */
extern const struct fairlead_manager_ops elan3_manager_ops;
