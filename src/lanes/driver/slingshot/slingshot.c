/* SPDX-License-Identifier: BSD-3-Clause */
/* Names of the driver: itself, its settings, its environment variables. */
#include "lanes/driver/slingshot/slingshot.h"

#include <linux/capability.h>
#include <stddef.h>

const char *const slingshot_settings[] = {
	/* the manager's */
	"vni_pool",
	"default_vnis",
	"reserve_fatal",
	"traffic_classes",
	"max_ptes",
	"max_txqs",
	"max_tgqs",
	"max_eqs",
	"max_cts",
	"max_les",
	"max_tles",
	"max_acs",
	"per_core_ptes",
	"per_core_txqs",
	"per_core_tgqs",
	"per_core_eqs",
	"per_core_cts",
	"per_core_les",
	"per_core_tles",
	"per_core_acs",
	/* the nodes' */
	"library",
	"emulation",
	"device_path",
	"require_devices",
	NULL,
};

static const char *const node_settings[] = {
	"library", "emulation", "device_path", "require_devices", NULL,
};

static const char *const variables[] = {
	"SLINGSHOT_VNIS",
	"SLINGSHOT_DEVICES",
	"SLINGSHOT_SVC_IDS",
	"SLINGSHOT_TCS",
	NULL,
};

const struct fairlead_driver slingshot_driver = {
	.abi = FAIRLEAD_DRIVER_ABI,
	.name = "slingshot",
	.description = "HPE Slingshot: VNIs, and a CXI service on every NIC",
	.settings = slingshot_settings,
	.variables = variables,
	.event = SLINGSHOT_EVENT,
	.manager = &slingshot_manager_ops,
#ifndef DRIVER_WITHOUT_NODE
	.node = &slingshot_node_ops,
#endif
	.node_settings = node_settings,
	/* To make and destroy services; to name the processes that hold one. */
	.capabilities = 1ull << CAP_SYS_ADMIN | 1ull << CAP_SYS_PTRACE |
			1ull << CAP_DAC_READ_SEARCH,
};
