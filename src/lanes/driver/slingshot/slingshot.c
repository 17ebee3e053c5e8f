/* SPDX-License-Identifier: BSD-3-Clause */
/* The driver's table. */
#include "lanes/driver/slingshot/slingshot.h"

#include <linux/capability.h>
#include <stddef.h>

#include "lanes/driver/slingshot/hwcoll.h"
#include "lanes/driver/slingshot/policy.h"

const char *const slingshot_variables[] = {
	SLINGSHOT_VARIABLES, HWCOLL_VARIABLES, HWCOLL_STEP, HWCOLL_CACERT, NULL,
};

const struct fairlead_driver slingshot_driver = {
	.abi = FAIRLEAD_DRIVER_ABI,
	.name = "slingshot",
	.description = "HPE Slingshot: VNIs, and a CXI service on every NIC",
	.settings = &slingshot_settings,
	.variables = slingshot_variables,
	.lane_variable = "SLINGSHOT_VNIS",
	.step_variable = HWCOLL_STEP,
	.step_variable_of = HWCOLL_JOB,
	.event = SLINGSHOT_EVENT,
	.manager = &slingshot_manager_ops,
#ifndef DRIVER_WITHOUT_NODE
	.node = &slingshot_node_ops,
#endif
	/* To make and destroy services; to name the processes that hold one. */
	.capabilities = 1ull << CAP_SYS_ADMIN | 1ull << CAP_SYS_PTRACE |
			1ull << CAP_DAC_READ_SEARCH,
};
