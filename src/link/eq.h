/* SPDX-License-Identifier: BSD-3-Clause */
/* The event queue. */
#pragma once

#include "link/compat.h"

/* Who is bound to it keeps it open. */
void eq_hold(struct fid_eq *eq, int count);

int link_eq_open(struct fid_fabric *fabric, struct fi_eq_attr *attr,
		 struct fid_eq **ret_eq, void *context);
