/* SPDX-License-Identifier: BSD-3-Clause */
/* What a driver makes of a job's random bytes. */
#pragma once

#include "lanes/manager/core/state.h"

/* Draw them; the job is on no disk yet. */
void core_secret_draw(struct core *core, struct job *job, uint32_t size);
/*
 * Append the job's secrets, sealed to its nodes; nothing where it has none.
 * -EINVAL with the driver's text.
 */
int core_secret_seal(struct core *core, const struct job *job,
		     struct writer *writer, struct fairlead_error *ret_error);
