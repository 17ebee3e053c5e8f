/* SPDX-License-Identifier: BSD-3-Clause */
/* Control commands, by a socket in the folder. */
#pragma once

#include <sys/types.h>

#include "base/bytes.h"
#include "base/error.h"
#include "emu/fm/core/softfm.h"

/*
 * Run "VERB key=value ...". Text for the caller is appended to output. -EINVAL
 * and the like with a text.
 */
int softfm_control_run(struct softfm *softfm, const char *command,
		       struct writer *output, struct fairlead_error *ret_error);
