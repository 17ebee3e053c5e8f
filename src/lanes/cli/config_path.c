/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Daemons of an emulated cluster have a configuration of their own, so a
 * command that looks at them must not look at the machine's.
 */
#include "lanes/cli/config_path.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/memory.h"
#include "lanes/driver/driver.h"

char *config_path(struct cli *cli)
{
	const char *given = cli_option(cli, "config");
	const char *cluster = secure_getenv("FAIRLEAD_CLUSTER");

	if (!given && cluster && *cluster == '/')
		return memory_format("%s/fairlead.conf", cluster);
	return memory_text(given ? given : CONFIG_FILE_DEFAULT);
}

int config_read(struct cli *cli, unsigned int roles, struct config **ret_config,
		char **ret_errors)
{
	_auto_(freep) char *path = config_path(cli);
	size_t drivers = 0;

	while (driver_table[drivers])
		drivers++;
	return memory_check(config_load(path, roles, driver_table, drivers,
					ret_config, ret_errors));
}
