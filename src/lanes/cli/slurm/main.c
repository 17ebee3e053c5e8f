/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * `fairlead slurm` alone, in a program that is small to start: each job starts
 * four. Slurm gives a hook no arguments, so the name of a link selects it.
 */
#include <signal.h>
#include <stdlib.h>

#include "base/memory.h"
#include "lanes/cli/slurm/slurm.h"

const struct subcommand *const cli_commands[] = { &command_slurm, NULL };

int main(int argc, char **argv)
{
	struct cli cli = { .out = stdout, .err = stderr };
	const char *hook = argc > 0 ? slurm_link_hook(argv[0]) : NULL;
	/* "slurm", the hook, what follows, NULL. */
	char **words = memory_array((size_t)argc + 3, sizeof(*words));
	int count = 0, code;

	/* Who calls a hook may ignore it: no child could be waited for then. */
	signal(SIGCHLD, SIG_DFL);
	/* And may be gone; what is said is for syslog, too. */
	signal(SIGPIPE, SIG_IGN);
	words[count++] = (char *)"slurm";
	if (hook)
		words[count++] = (char *)hook;
	for (int i = 1; i < argc; i++)
		words[count++] = argv[i];
	code = cli_run(&cli, count, words);
	free(words);
	return code;
}
