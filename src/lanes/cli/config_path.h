/* SPDX-License-Identifier: BSD-3-Clause */
/* Which configuration a command reads. */
#pragma once

#include "lanes/cli/cli.h"
#include "lanes/config/config.h"

#define OPTION_CONFIG                                             \
	{                                                         \
		.name = "config", .letter = 'f', .value = "FILE", \
		.help = "default: the emulated cluster's, "       \
			"or " CONFIG_FILE_DEFAULT                 \
	}

/*
 * The file that --config names, else that of the emulated cluster in
 * FAIRLEAD_CLUSTER, else CONFIG_FILE_DEFAULT. The caller frees it.
 */
char *config_path(struct cli *cli);
/* Read that file; as config_load(), also the errors. */
int config_read(struct cli *cli, unsigned int roles, struct config **ret_config,
		char **ret_errors);
