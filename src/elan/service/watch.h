/* SPDX-License-Identifier: BSD-3-Clause */
/* Processes whose end is waited for, by descriptor, on a loop. */
#pragma once

#include <uv.h>

#include "elan/core/keeper.h"

struct watches;

/* ended: called on the loop, once for each process. */
struct watches *watches_create(uv_loop_t *loop,
			       void (*ended)(void *ctx,
					     const struct rms_process *process),
			       void *ctx);
/* The loop has to run once more for what it still holds. NULL is allowed. */
void watches_destroy(struct watches *watches);
/* Who is watched already is no error. -ESRCH: it has ended; ... */
int watches_add(struct watches *watches, const struct rms_process *process);
