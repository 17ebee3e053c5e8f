/* SPDX-License-Identifier: BSD-3-Clause */
/* Finds a driver by name; names are exact, there are no aliases. */
#include "lanes/driver/driver.h"

#include <errno.h>
#include <string.h>

#include "base/error.h"

const struct fairlead_driver *driver_find(const char *name)
{
	for (size_t i = 0; driver_table[i]; i++) {
		if (strcmp(driver_table[i]->name, name) == 0)
			return driver_table[i];
	}
	return NULL;
}

static bool is_own(const struct fairlead_driver *driver, const char *name)
{
	size_t size = strlen(driver->name);

	return strncmp(name, "FAIRLEAD_", 9) == 0 ||
	       (strncasecmp(name, driver->name, size) == 0 &&
		name[size] == '_');
}

static bool has_own(const struct fairlead_driver *driver,
		    bool (*is_there)(void *arg, const char *name), void *arg)
{
	for (const char *const *name = driver->variables; *name; name++)
		if (is_own(driver, *name) && is_there(arg, *name))
			return true;
	return false;
}

static bool names_lane(const struct fairlead_driver *driver,
		       bool (*is_there)(void *arg, const char *name), void *arg)
{
	return has_own(driver, is_there, arg) &&
	       (!driver->lane_variable || is_there(arg, driver->lane_variable));
}

static void visit_all(const struct fairlead_driver *driver,
		      void (*visit)(void *arg, const char *name), void *arg)
{
	for (const char *const *name = driver->variables; *name; name++)
		visit(arg, *name);
}

void driver_visit_variables(bool (*is_there)(void *arg, const char *name),
			    void (*visit)(void *arg, const char *name),
			    void *arg)
{
	for (size_t i = 0; driver_table[i]; i++)
		if (!is_there || has_own(driver_table[i], is_there, arg))
			visit_all(driver_table[i], visit, arg);
}

void driver_visit_inherited(bool (*is_there)(void *arg, const char *name),
			    void (*visit)(void *arg, const char *name),
			    void *arg)
{
	for (size_t i = 0; driver_table[i]; i++)
		if (names_lane(driver_table[i], is_there, arg))
			visit_all(driver_table[i], visit, arg);
}

const struct fairlead_driver *driver_of_steps(
	bool (*is_there)(void *arg, const char *name), void *arg)
{
	for (size_t i = 0; driver_table[i]; i++)
		if (driver_table[i]->step_variable_of &&
		    is_there(arg, driver_table[i]->step_variable_of))
			return driver_table[i];
	return NULL;
}

const char *driver_event(const char *name)
{
	const struct fairlead_driver *driver = driver_find(name);

	return driver && driver->event ? driver->event : name;
}

int driver_check_launch(const char *name, const char *options,
			const char *launcher, struct fairlead_error *ret_error)
{
	const struct fairlead_driver *driver = driver_find(name);
	const char *needs = driver && driver->launch_needs
				    ? driver->launch_needs(options)
				    : NULL;

	if (!needs)
		return 0;
	return error_set(ret_error, -ENOTSUP,
			 "%s cannot start tasks in such a lane of '%s', which "
			 "needs %s; 'interconnect=' names another one",
			 launcher, name, needs);
}
