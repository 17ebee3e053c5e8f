/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * `fairlead slurm` alone, in a program that is small to start: each job starts
 * four. Slurm gives a hook no arguments, so it is told by the name of a link
 * which one it is.
 */
#include <signal.h>
#include <stdlib.h>
#include <string.h>

#include "cli/cli.h"

#define OWN_NAME "fairlead-slurm"

extern const struct subcommand command_slurm;

const struct subcommand *const cli_commands[] = { &command_slurm, NULL };

int main(int argc, char **argv)
{
	struct cli cli = { .out = stdout, .err = stderr };
	const char *slash = argc > 0 ? strrchr(argv[0], '/') : NULL;
	const char *name = slash ? slash + 1 : argc > 0 ? argv[0] : "";
	/* "slurm", the hook, what follows, NULL. */
	char **words = calloc((size_t)argc + 3, sizeof(*words));
	int count = 0, code;

	/* Who calls a hook may ignore it: no child could be waited for then. */
	signal(SIGCHLD, SIG_DFL);
	if (!words)
		return cli_fail(&cli, EXIT_FAILED, "memory is out");
	words[count++] = (char *)"slurm";
	if (strcmp(name, OWN_NAME) != 0)
		words[count++] = (char *)name;
	for (int i = 1; i < argc; i++)
		words[count++] = argv[i];
	code = cli_run(&cli, count, words);
	free(words);
	return code;
}
