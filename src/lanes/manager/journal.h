/* SPDX-License-Identifier: BSD-3-Clause */
/* From the store into an engine: at the start, and after a failed commit. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"
#include "lanes/manager/engine.h"
#include "lanes/manager/store/store.h"

/*
 * Begin a higher epoch and load every row that the engine wants. -ESTALE with
 * what to do when an earlier start was stopped by a newer manager and this is
 * no recovery; else the errors of the store and of engine_load().
 */
int journal_begin(struct store *store, bool is_recovery, struct engine *engine,
		  uint64_t *ret_epoch, struct fairlead_error *ret_error);
/*
 * The same in a process that has begun already, after a failed commit: a
 * recovery stays one for as long as nothing of it is on disk.
 */
int journal_replay(struct store *store, struct engine *engine,
		   uint64_t *ret_epoch, struct fairlead_error *ret_error);
