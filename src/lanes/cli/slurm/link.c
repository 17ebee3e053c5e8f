/* SPDX-License-Identifier: BSD-3-Clause */
#include "lanes/cli/slurm/link.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/memory.h"
#include "lanes/cli/slurm/slurm.h"

#define LINKS_MAX 8

static const char *find_name(const char *name)
{
	const struct subcommand *const *hooks = command_slurm.commands;

	for (; *hooks; hooks++)
		if (strcmp((*hooks)->name, name) == 0)
			return (*hooks)->name;
	return NULL;
}

/* Where the link leads, from where path is seen. NULL: it is none. */
static char *follow(const char *path, size_t folder_size)
{
	char target[PATH_MAX];
	ssize_t size = readlink(path, target, sizeof(target) - 1);

	if (size <= 0)
		return NULL;
	target[size] = 0;
	return memory_format("%.*s%s", *target == '/' ? 0 : (int)folder_size,
			     path, target);
}

const char *slurm_link_hook(const char *path)
{
	_auto_(freep) char *at = memory_text(path);

	for (int i = 0; at && i < LINKS_MAX; i++) {
		const char *slash = strrchr(at, '/');
		const char *name = slash ? slash + 1 : at;
		const char *hook = find_name(name);
		char *next;

		if (hook)
			return hook;
		next = follow(at, (size_t)(name - at));
		free(at);
		at = next;
	}
	return NULL;
}
