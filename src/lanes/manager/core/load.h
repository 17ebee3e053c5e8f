/* SPDX-License-Identifier: BSD-3-Clause */
/* Between core_load and core_start. For load.c and start.c. */
#pragma once

#include "lanes/manager/core/state.h"

/* A TOMBSTONE row until all are there and can be put into order. */
struct loaded_tombstone {
	uint64_t grant_id;
	uint64_t number;
	char *key;
	uid_t uid;
	gid_t gid;
};

/* All rows are there: fit them together. -EBADMSG. */
int core_loaded(struct core *core, struct fairlead_error *ret_error);
void core_loaded_free(struct core *core);
