/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Lanes that want more of who starts a job's tasks than Slurm and our plugin
 * do: to enter a network namespace, or something of the driver's in each task.
 * A job in one would run outside of its lane. Pure.
 */
#pragma once

#include "lanes/driver/driver.h"

/*
 * Can Slurm start tasks in such a lane? options: completed ones, of a grant.
 * -ENOTSUP: the text says what it would need, and what to do.
 */
int slurm_launch_check(const struct fairlead_driver *driver,
		       const char *options, struct fairlead_error *ret_error);
