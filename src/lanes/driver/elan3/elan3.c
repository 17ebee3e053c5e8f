/* SPDX-License-Identifier: BSD-3-Clause */
/* The driver's table, and what of it are names. */
#include "lanes/driver/elan3/elan3.h"

#include "lanes/driver/elan3/record.h"
#include "lanes/driver/elan3/settings.h"

static const char *launch_needs(const char *options)
{
	return "a program description and contexts on each node";
}

const struct fairlead_driver elan3_driver = {
	.abi = FAIRLEAD_DRIVER_ABI,
	.name = ELAN3_NAME,
	.description = "Quadrics QsNet: programs, contexts and capabilities",
	.settings = &elan3_settings,
	.variables = elan3_variables,
	.manager = &elan3_manager_ops,
#ifndef DRIVER_WITHOUT_NODE
	.node = &elan3_node_ops,
#endif
	.launch_needs = launch_needs,
};
