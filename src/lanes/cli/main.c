/* SPDX-License-Identifier: BSD-3-Clause */
#include <locale.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "lanes/cli/cli.h"

/* https://no-color.org: set and not empty. */
static bool is_colored(void)
{
	const char *no_color = getenv("NO_COLOR");
	const char *term = getenv("TERM");

	return isatty(STDOUT_FILENO) && !(no_color && *no_color) && term &&
	       strcmp(term, "dumb") != 0;
}

int main(int argc, char **argv)
{
	struct cli cli = { .out = stdout, .err = stderr };
	int code;

	setlocale(LC_ALL, "");
	setlocale(LC_NUMERIC, "C");
	cli.is_colored = is_colored();
	code = cli_run(&cli, argc - 1, argv + 1);
	if (fflush(stdout) != 0 || ferror(stdout))
		return cli_fail(&cli, EXIT_FAILED, "cannot write to stdout: %s",
				strerror(errno));
	return code;
}
