/* SPDX-License-Identifier: BSD-3-Clause */
/* The event queue. */
#pragma once

#include "link/compat.h"

/* Takes memory for so many events of ours (16 at most). 0 or -FI_ENOMEM. */
int eq_reserve(struct fid_eq *eq, size_t count);
/* The end of what was begun, or of a part of it by an error (positive). */
void eq_add(struct fid_eq *eq, uint32_t kind, struct fid *of_what,
	    void *context, uint64_t data);
void eq_fail(struct fid_eq *eq, struct fid *of_what, void *context,
	     uint64_t data, int error);
/* Who is bound to it keeps it open. */
void eq_hold(struct fid_eq *eq, int count);

int link_eq_open(struct fid_fabric *fabric, struct fi_eq_attr *attr,
		 struct fid_eq **ret_eq, void *context);
