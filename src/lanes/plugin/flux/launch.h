/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Lanes that want more of who starts a job's tasks than Flux's shell does: to
 * enter a network namespace, or to do something in each task (the operation
 * `task` of drivers; a test compares). A job in one would start without it.
 * Pure.
 */
#pragma once

#include "fairlead/error.h"

/*
 * Can the shell start tasks in such a lane? interconnect: its name, "" where it
 * is not known yet; options: of a job's wish, or of a grant. -ENOTSUP: the text
 * says what it would need, and what to do.
 */
int launch_check(const char *interconnect, const char *options,
		 struct fairlead_error *ret_error);
