/* SPDX-License-Identifier: BSD-3-Clause */
/* The table of `fairlead node`. */
#include "lanes/cli/node.h"

static const struct subcommand *const commands[] = {
	&node_list_command,    &node_drain_command,
	&node_undrain_command, &node_fence_command,
	&node_query_command,   &node_clean_command,
	&node_status_command,  &node_devices_command,
	&node_objects_command, NULL,
};

const struct subcommand command_node = {
	.name = "node",
	.summary = "List and manage nodes",
	.details =
		"list, drain, undrain, fence, query and clean ask the manager; "
		"status, devices and\nobjects ask the daemon of this node.",
	.commands = commands,
};
