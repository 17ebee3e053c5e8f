/* SPDX-License-Identifier: BSD-3-Clause */
/* Finds a driver by name; names are exact, there are no aliases. */
#include "lanes/driver/driver.h"

#include <string.h>

const struct fairlead_driver *driver_find(const char *name)
{
	for (size_t i = 0; driver_table[i]; i++) {
		if (strcmp(driver_table[i]->name, name) == 0)
			return driver_table[i];
	}
	return NULL;
}
