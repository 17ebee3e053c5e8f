/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A command is one of the table, or a program of its own, as git has them:
 * `fairlead NAME` runs fairlead-NAME of ../lib/fairlead/commands, seen from this
 * program's folder, or of the build tree. `fairlead help ...` is
 * `fairlead ... --help`.
 */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/memory.h"
#include "lanes/cli/cli.h"

#define NAME_BYTES "abcdefghijklmnopqrstuvwxyz-"

/* Of the package fairlead-softnic. */
static const char *const programs[] = { "cluster", "run", NULL };

static bool is_in_table(const char *name)
{
	for (size_t i = 0; cli_commands[i]; i++)
		if (strcmp(cli_commands[i]->name, name) == 0)
			return true;
	return false;
}

/* Become the program of the command words[0]. Returns when there is none. */
static void run_program(char **words)
{
	static const char *const folders[] = { "../lib/fairlead/commands",
					       "../../emu/commands", NULL };
	char own[4096];
	ssize_t size = readlink("/proc/self/exe", own, sizeof(own) - 1);

	if (size < 0 || words[0][strspn(words[0], NAME_BYTES)])
		return;
	own[size] = 0;
	*(strrchr(own, '/') ?: own) = 0;
	for (size_t i = 0; folders[i]; i++) {
		_auto_(freep) char *path = memory_format(
			"%s/%s/fairlead-%s", own, folders[i], words[0]);

		execv(path, words);
	}
}

int main(int argc, char **argv)
{
	char **words = argv + 1;
	int code;

	if (argc > 1 && strcmp(words[0], "help") == 0) {
		memmove(words, words + 1, (size_t)(argc - 2) * sizeof(*words));
		words[argc - 2] = (char *)"--help";
	}
	if (argc > 1 && !is_in_table(words[0]))
		run_program(words);
	code = cli_main(argc - 1, words);
	for (size_t i = 0; argc > 1 && code == EXIT_USAGE && programs[i]; i++)
		if (strcmp(words[0], programs[i]) == 0)
			fputs("hint: install the package fairlead-softnic, "
			      "which has this command\n",
			      stderr);
	return code;
}
