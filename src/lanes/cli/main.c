/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A command is one of the table, or a program of its own, as git has them:
 * `fairlead NAME` runs fairlead-NAME of ../lib/fairlead/commands, seen from
 * this program's folder, or of the build tree. `fairlead help ...` is `fairlead
 * ... --help`.
 */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/memory.h"
#include "lanes/cli/cli.h"

#define NAME_BYTES "abcdefghijklmnopqrstuvwxyz-"

static const struct {
	const char *name, *summary;
} programs[] = {
	{ "cluster", "Emulate a cluster on this machine" },
	{ "run", "Run a job with its lane on the emulated cluster" },
};
#define PROGRAMS (sizeof(programs) / sizeof(programs[0]))

static bool is_in_table(const char *name)
{
	for (size_t i = 0; cli_commands[i]; i++)
		if (strcmp(cli_commands[i]->name, name) == 0)
			return true;
	return false;
}

/* The path of the command's program; NULL: there is none. */
static char *program_path(const char *name)
{
	static const char *const folders[] = { "../lib/fairlead/commands",
					       "../../emu/commands", NULL };
	char own[4096];
	ssize_t size = readlink("/proc/self/exe", own, sizeof(own) - 1);

	if (size < 0 || name[strspn(name, NAME_BYTES)])
		return NULL;
	own[size] = 0;
	*(strrchr(own, '/') ?: own) = 0;
	for (size_t i = 0; folders[i]; i++) {
		_auto_(freep) char *path = memory_format("%s/%s/fairlead-%s",
							 own, folders[i], name);

		if (access(path, X_OK) == 0)
			return take_ptr(path);
	}
	return NULL;
}

static void print_programs(void)
{
	bool is_first = true;

	for (size_t i = 0; i < PROGRAMS; i++) {
		_auto_(freep) char *path = program_path(programs[i].name);

		if (path)
			printf("%s  %-14s %s\n",
			       is_first ? "\ncommands of fairlead-softnic:\n"
					: "",
			       programs[i].name, programs[i].summary);
		is_first = is_first && !path;
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
	if (argc > 1 && !is_in_table(words[0])) {
		_auto_(freep) char *path = program_path(words[0]);

		if (path)
			execv(path, words);
	}
	code = cli_main(argc - 1, words);
	if (argc == 2 && code == EXIT_DONE &&
	    (strcmp(words[0], "--help") == 0 || strcmp(words[0], "-h") == 0))
		print_programs();
	for (size_t i = 0; argc > 1 && code == EXIT_USAGE && i < PROGRAMS; i++)
		if (strcmp(words[0], programs[i].name) == 0)
			fputs("hint: install the package fairlead-softnic, "
			      "which has this command\n",
			      stderr);
	return code;
}
