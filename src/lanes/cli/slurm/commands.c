/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * SQUEUE_USERS=alice makes a list that is good and has only Alice's jobs: all
 * others would count as forgotten.
 */
#include "lanes/cli/slurm/commands.h"

#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"

extern char **environ;

static bool is_choosing(const char *variable)
{
	static const char *const prefixes[] = { "SQUEUE_", "SINFO_",
						"SCONTROL_",
						"SLURM_CLUSTERS=" };

	for (size_t i = 0; i < sizeof(prefixes) / sizeof(*prefixes); i++)
		if (strncmp(variable, prefixes[i], strlen(prefixes[i])) == 0)
			return true;
	return false;
}

void slurm_commands_prepare(const struct config_job_manager *section)
{
	size_t i = 0;

	while (environ && environ[i]) {
		_auto_(freep) char *name =
			is_choosing(environ[i])
				? strndup(environ[i], strcspn(environ[i], "="))
				: NULL;

		if (!name || unsetenv(name) < 0)
			i++;
	}
	if (*section->conf)
		setenv("SLURM_CONF", section->conf, 1);
}
