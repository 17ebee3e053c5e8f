/* SPDX-License-Identifier: BSD-3-Clause */
/* Where the gate is attached. */
#pragma once

#include <limits.h>
#include <stdint.h>

#include "base/error.h"

/*
 * Where cgroup v2 is mounted: also beside v1, as systemd's hybrid mode has it.
 * -EOPNOTSUPP with a text: nowhere.
 */
int gate_cgroup_root(char path[PATH_MAX], struct fairlead_error *ret_error);
/* gate_cgroup_id for the root as well, and however deep. */
int gate_cgroup_handle(const char *path, uint64_t *ret_id,
		       struct fairlead_error *ret_error);
