/* SPDX-License-Identifier: BSD-3-Clause */
#include "lanes/plugin/flux/launch.h"

#include <errno.h>
#include <stdbool.h>
#include <string.h>

#include "lanes/plugin/flux/complain.h"

/* Is the item one of those that stand between commas? */
static bool has_item(const char *options, const char *item)
{
	size_t length = strlen(item);

	for (;;) {
		size_t size = strcspn(options, ",");

		if (size == length && strncmp(options, item, size) == 0)
			return true;
		if (!options[size])
			return false;
		options += size + 1;
	}
}

int launch_check(const char *interconnect, const char *options,
		 struct fairlead_error *ret_error)
{
	if (strcmp(interconnect, "elan3") == 0)
		return complain(ret_error, -ENOTSUP,
				"Flux cannot start tasks on interconnect "
				"'elan3': its shell makes no program "
				"description, and takes no context for a "
				"task; 'interconnect=' names another one");
	if (has_item(options, "isolation=netns"))
		return complain(ret_error, -ENOTSUP,
				"Flux cannot start tasks in a lane with "
				"'isolation=netns': its shell does not enter "
				"a network namespace; ask for "
				"'isolation=host'");
	return 0;
}
