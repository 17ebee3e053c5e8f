/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The drivers that are built in. The build makes the table from its option
 * `drivers`; a driver is added by a folder of its name that defines
 * `const struct fairlead_driver NAME_driver`.
 */
#pragma once

#include "fairlead_driver.h"

/* In the order of the build option, ended by NULL. */
extern const struct fairlead_driver *const driver_table[];

/* The driver of that name, or NULL; for tests, programs walk the table. */
const struct fairlead_driver *driver_find(const char *name);
