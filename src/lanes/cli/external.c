/* SPDX-License-Identifier: BSD-3-Clause */
#include "lanes/cli/external.h"

#include <glob.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/memory.h"

#define NAME_BYTES "abcdefghijklmnopqrstuvwxyz-"

/* Installed, built; from the folder of this program. */
static const char *const folders[] = { "../lib/fairlead/commands",
				       "../../emu/commands" };
#define FOLDERS (sizeof(folders) / sizeof(folders[0]))

/* The path fairlead-NAME, or a pattern of such, in one of the folders. */
static char *path_in(size_t folder, const char *name)
{
	char program[4096];
	ssize_t size = readlink("/proc/self/exe", program, sizeof(program) - 1);

	program[size < 0 ? 0 : size] = 0;
	*(strrchr(program, '/') ?: program) = 0;
	return memory_format("%s/%s/fairlead-%s", program, folders[folder],
			     name);
}

void external_exec(char **words)
{
	if (words[0][strspn(words[0], NAME_BYTES)])
		return;
	for (size_t i = 0; i < FOLDERS; i++) {
		_auto_(freep) char *path = path_in(i, words[0]);

		execv(path, words);
	}
}

char *external_names(void)
{
	char *names = memory_text("");

	for (size_t i = 0; i < FOLDERS && !*names; i++) {
		_auto_(freep) char *pattern = path_in(i, "*");
		glob_t found = { 0 };

		if (glob(pattern, 0, NULL, &found) == 0)
			for (size_t j = 0; j < found.gl_pathc; j++) {
				const char *name =
					found.gl_pathv[j] + strlen(pattern) - 1;
				_auto_(freep) char *before = names;

				names = name[strspn(name, NAME_BYTES)]
						? take_ptr(before)
						: memory_format(
							  "%s%s%s", before,
							  *before ? ", " : "",
							  name);
			}
		globfree(&found);
	}
	return names;
}
