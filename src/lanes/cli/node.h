/* SPDX-License-Identifier: BSD-3-Clause */
/* The subcommands of `fairlead node`; their table is in node.c. */
#pragma once

#include "lanes/cli/output.h"

/* of the manager */
extern const struct subcommand node_list_command;
extern const struct subcommand node_drain_command;
extern const struct subcommand node_undrain_command;
extern const struct subcommand node_fence_command;
extern const struct subcommand node_query_command;
extern const struct subcommand node_clean_command;
/* of this node's daemon */
extern const struct subcommand node_status_command;
extern const struct subcommand node_devices_command;
extern const struct subcommand node_objects_command;

/* `node-status`, as `node status` and `node query NODES grants` show it. */
void node_show_status(struct cli *cli, const json_t *status);
