/* SPDX-License-Identifier: BSD-3-Clause */
/* The counter. */
#pragma once

#include "link/domain.h"
#include "link/wait.h"

struct link_cntr {
	struct fid_cntr fid;
	struct link_domain *domain;
	uint64_t value, errors;
	uint64_t reported; /* of both, before the program waited last */
	struct wait wait;
	struct endpoints endpoints; /* that count in it */
	struct link_domain *memory; /* memory of which counts in it, or NULL */
};

/* Counts the end of an operation. NULL: nothing counts it. */
void cntr_count(struct link_cntr *cntr, bool is_well);

int link_cntr_open(struct fid_domain *domain, struct fi_cntr_attr *attr,
		   struct fid_cntr **ret_cntr, void *context);
