/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The driver elan3: Quadrics QsNet, as RMS used it.
 *
 * A lane is a program number, and a run of contexts on all ElanIDs from the
 * job's lowest to its highest; identifiers {program, first, last}. Its secrets
 * are the capabilities (reply.h), one for each rail set, whose keys are drawn
 * for the job.
 *
 * On a node the capabilities of the reply are left with fairlead-rms, for
 * programs of the lane's owner alone; the job manager makes the program and
 * gives it them, and `task` sets the context of each task.
 *
 * both halves (pure)   settings.h, hosts.h
 * manager half (pure)  policy.h, geometry.h, reply.h
 * node half            node.h, record.h; place.h is said by one and read by
 *                      the other
 */
#pragma once

#include "lanes/driver/elan3/hosts.h"
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

extern const struct fairlead_driver elan3_driver;
extern const struct fairlead_manager_ops elan3_manager_ops;
extern const struct fairlead_node_ops elan3_node_ops;
