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

/* The driver of that name, or NULL. */
const struct fairlead_driver *driver_find(const char *name);

/*
 * Visit the names of all variables, driver by driver; where is_there is given,
 * those of drivers only of which a variable that nobody but Fairlead sets is
 * there.
 */
void driver_visit_variables(bool (*is_there)(void *arg, const char *name),
			    void (*visit)(void *arg, const char *name),
			    void *arg);
/*
 * Visit the names of what a job within a job can inherit: all variables of the
 * drivers of which a lane is named.
 */
void driver_visit_inherited(bool (*is_there)(void *arg, const char *name),
			    void (*visit)(void *arg, const char *name),
			    void *arg);
/*
 * The driver whose step_variable the tasks of a step need, by the variables
 * that they have; NULL: none.
 */
const struct fairlead_driver *driver_of_steps(
	bool (*is_there)(void *arg, const char *name), void *arg);
/* The event of a lane on that interconnect; an unknown name is its own. */
const char *driver_event(const char *name);
/*
 * Can `launcher` ("Slurm"), which gives tasks their variables and no more,
 * start them in a lane with these options? 0 also for a driver that is not
 * known here. -ENOTSUP: the text says what is missing.
 */
int driver_check_launch(const char *name, const char *options,
			const char *launcher, struct fairlead_error *ret_error);
