/* SPDX-License-Identifier: BSD-3-Clause */
#include "lanes/cli/slurm/launch.h"

#include <errno.h>
#include <string.h>

#include "base/error.h"
#include "lanes/driver/common/options.h"

int slurm_launch_check(const struct fairlead_driver *driver,
		       const char *options, struct fairlead_error *ret_error)
{
	struct options list;

	if (driver->has_part_in_tasks)
		return error_set(ret_error, -ENOTSUP,
				 "Slurm cannot start tasks on interconnect "
				 "'%s', which has a part in each of them; "
				 "'interconnect=' names another one",
				 driver->name);
	/* The driver has completed them. */
	if (options_parse(&list, options, NULL) < 0)
		return 0;
	for (size_t i = 0; i < list.count; i++)
		if (strcmp(list.items[i].name, "isolation") == 0 &&
		    list.items[i].value &&
		    strcmp(list.items[i].value, "netns") == 0)
			return error_set(ret_error, -ENOTSUP,
					 "Slurm cannot start tasks in a lane "
					 "with 'isolation=netns': it does not "
					 "enter a network namespace; ask for "
					 "'isolation=host'");
	return 0;
}
