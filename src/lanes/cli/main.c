/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A command is one of the table, or a program of its own. `fairlead help ...` is
 * `fairlead ... --help`.
 */
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "lanes/cli/cli.h"
#include "lanes/cli/external.h"

static bool is_in_table(const char *name)
{
	for (size_t i = 0; cli_commands[i]; i++)
		if (strcmp(cli_commands[i]->name, name) == 0)
			return true;
	return false;
}

static void print_externals(void)
{
	_auto_(freep) char *names = external_names();

	if (*names)
		printf("\nmore commands, as programs of their own: %s\n",
		       names);
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
		external_exec(words);
	code = cli_main(argc - 1, words);
	if (argc == 2 && code == EXIT_DONE &&
	    (strcmp(words[0], "--help") == 0 || strcmp(words[0], "-h") == 0))
		print_externals();
	if (argc > 1 && code == EXIT_USAGE &&
	    (strcmp(words[0], "cluster") == 0 || strcmp(words[0], "run") == 0))
		fputs("hint: 'cluster' and 'run' are in the package "
		      "fairlead-softnic\n",
		      stderr);
	return code;
}
