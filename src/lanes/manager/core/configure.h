/* SPDX-License-Identifier: BSD-3-Clause */
/* A configuration on its way into the core. For core.c and start.c. */
#pragma once

#include "lanes/manager/core/state.h"

/* It has been checked and can be taken. */
struct config_plan {
	struct hostlist *nodes; /* NULL: none */
	struct driver_plan drivers;
};

/* -EINVAL with all errors; the plan is to be taken or ended in any case. */
int config_plan(const struct core *core, const struct core_config *config,
		struct config_plan *ret_plan, struct fairlead_error *ret_error);
void config_plan_fini(struct config_plan *plan);
/* All but the nodes. */
void config_take(struct core *core, const struct core_config *config,
		 struct config_plan *plan);
/* The nodes, once the journal has been read. -EINVAL. */
int config_nodes_start(struct core *core, const struct hostlist *list,
		       struct fairlead_error *ret_error);
