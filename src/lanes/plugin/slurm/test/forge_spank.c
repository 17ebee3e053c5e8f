/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A SPANK plugin as a user makes one for himself: the job's hooks are given
 * what the file has that its line of plugstack.conf names, whatever that is. In
 * the file each NAME=VALUE, which hooks have as SPANK_NAME, ends with a zero
 * byte.
 */
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#pragma GCC visibility push(default)
#include <slurm/spank.h>

SPANK_PLUGIN(forge, 1)
#pragma GCC visibility pop

static char entries[4194304];

int slurm_spank_init_post_opt(spank_t spank, int argc, char **argv)
{
	spank_context_t context = spank_context();
	spank_err_t result = ESPANK_SUCCESS;
	char *end = entries;
	FILE *file;

	if (context != S_CTX_LOCAL && context != S_CTX_ALLOCATOR)
		return 0;
	file = argc == 1 ? fopen(argv[0], "r") : NULL;
	if (!file)
		return -1;
	end += fread(entries, 1, sizeof(entries) - 1, file);
	fclose(file);
	for (char *entry = entries; entry < end; entry += strlen(entry) + 1) {
		char *value = strchr(entry, '=');

		if (!value)
			return -1;
		*value++ = 0;
		if (result == ESPANK_SUCCESS)
			result = spank_job_control_setenv(spank, entry, value,
							  1);
		entry = value;
	}
	return result == ESPANK_SUCCESS ? 0 : -1;
}
