/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The driver for HPE Slingshot. A lane is a set of VNIs, and on every NIC of
 * every node of the job one CXI service that lets the job's owner, and nobody
 * else, use them.
 *
 * both halves (pure)         settings.h
 * manager half (pure)        policy.h: options of jobs
 * node half                  node.h: devices and services; limits.h: how much;
 *                            library.h: the vendor's library
 */
#pragma once

#include "fairlead_driver.h"

#define SLINGSHOT_EVENT "cray-slingshot" /* as flux-coral2 calls it */

extern const struct fairlead_driver slingshot_driver;
/* Of every lane, and those of hardware collectives. */
extern const char *const slingshot_variables[];
#define SLINGSHOT_VARIABLES                                         \
	"SLINGSHOT_VNIS", "SLINGSHOT_DEVICES", "SLINGSHOT_SVC_IDS", \
		"SLINGSHOT_TCS"

extern const struct fairlead_manager_ops slingshot_manager_ops;
extern const struct fairlead_node_ops slingshot_node_ops;
