/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Daemons of an emulated cluster have a configuration of their own, so a
 * command that looks at them must not look at the machine's.
 */
#include "cli/config_path.h"

#include <stdlib.h>
#include <string.h>

#include "emu/cluster/cluster.h"

char *config_path(struct cli *cli)
{
	const char *given = cli_option(cli, "config");
	char cluster[CLUSTER_CONFIG_MAX];
	char *path;

	if (!given)
		given = cluster_named_config(cluster, sizeof(cluster))
				? cluster
				: CONFIG_FILE_DEFAULT;
	path = strdup(given);
	if (!path)
		cli_fail(cli, EXIT_FAILED, "memory is out");
	return path;
}
