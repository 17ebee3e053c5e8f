/* SPDX-License-Identifier: BSD-3-Clause */
/* Where the files of a cluster are: for programs that only read some of them. */
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "emu/cluster/cluster.h"

void cluster_default_dir(char *dir, size_t capacity)
{
	const char *named = secure_getenv("FAIRLEAD_CLUSTER");

	if (named != NULL && named[0] == '/')
		snprintf(dir, capacity, "%s", named);
	else if (geteuid() == 0)
		snprintf(dir, capacity, "/var/lib/fairlead-cluster");
	else
		snprintf(dir, capacity, "/tmp/fairlead-cluster-%u", geteuid());
}

bool cluster_named_config(char *path, size_t capacity)
{
	const char *named = secure_getenv("FAIRLEAD_CLUSTER");

	if (named == NULL || named[0] != '/')
		return false;
	snprintf(path, capacity, "%s/fairlead.conf", named);
	return true;
}
