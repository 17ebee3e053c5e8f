/* SPDX-License-Identifier: BSD-3-Clause */
#include "lanes/manager/outside/name.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MARK "-g" /* Slurm deletes what has digits after the dash */

void outside_name_format(const char *prefix, uint64_t grant_id,
			 char name[FABRIC_MANAGER_NAME_MAX + 1])
{
	snprintf(name, FABRIC_MANAGER_NAME_MAX + 1, "%s" MARK "%" PRIu64,
		 prefix, grant_id);
}

uint64_t outside_name_grant(const char *prefix, const char *name)
{
	size_t size = strlen(prefix);
	char again[FABRIC_MANAGER_NAME_MAX + 1];
	uint64_t grant_id;

	if (strncmp(name, prefix, size) != 0 ||
	    strncmp(name + size, MARK, strlen(MARK)) != 0)
		return 0;
	grant_id = strtoull(name + size + strlen(MARK), NULL, 10);
	/* Nothing before or after the number, and no other form of it. */
	outside_name_format(prefix, grant_id, again);
	return strcmp(name, again) == 0 ? grant_id : 0;
}
