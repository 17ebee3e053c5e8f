/* SPDX-License-Identifier: BSD-3-Clause */
/* Parts of `fairlead doctor --flux`: what Flux says, and our plugins in it. */
#pragma once

#include "lanes/cli/doctor_beside.h"
#include "lanes/cli/flux/said.h"

#define FLUX_PLUGINS "/usr/lib/fairlead/flux" /* where ours are installed */

struct doctor_flux {
	struct doctor *doctor;
	const struct config *config;
	uid_t owner;   /* the instance's */
	uint32_t rank; /* of the broker on this machine; 0 is the first */
	json_t *nodes; /* Flux's, an object; NULL: not known */
	bool is_node;  /* this machine is one */
	bool is_loaded;
	struct flux_jobtap jobtap; /* when is_loaded */
};

/* The value of a broker's attribute; NULL: it has none. The caller frees it. */
char *doctor_flux_attribute(const struct doctor_flux *flux, const char *name);

/* The files in Lua by which job shells on this machine load our plugin. */
void doctor_flux_shell(const struct doctor_flux *flux);
