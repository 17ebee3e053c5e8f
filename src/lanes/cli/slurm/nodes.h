/* SPDX-License-Identifier: BSD-3-Clause */
/* Nodes, as `scontrol --oneliner show node` lists them. Pure. */
#pragma once

#include <stdbool.h>

#include "base/error.h"

/* What the reasons of our own drains begin with. */
#define SLURM_NODES_OURS "fairlead:"

/*
 * Which of the nodes may be drained by us, as a host list: all but those that
 * somebody else has drained or set down, whose reason has to stay, and which
 * nobody but them should resume. NULL: none. text is changed; the caller frees
 * *ret_nodes. -EINVAL with a text: a line is no node.
 */
int slurm_nodes_free(char *text, char **ret_nodes,
		     struct fairlead_error *ret_error);
