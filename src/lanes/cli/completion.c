/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Completion for bash, from the table: a case for each subcommand with the
 * words that can follow it. Where none fits, bash completes files.
 */
#include "lanes/cli/cli.h"

static void print_names(FILE *out, const struct subcommand *const *commands)
{
	for (; *commands; commands++)
		fprintf(out, "%s ", (*commands)->name);
}

static void print_case(FILE *out, const char *path,
		       const struct subcommand *command)
{
	const struct option_spec *option;

	fprintf(out, "\t\"%s\") words=\"", path);
	if (command->commands)
		print_names(out, command->commands);
	for (size_t i = 0; (option = cli_option_at(command, i)); i++)
		fprintf(out, "%s--%s", i > 0 ? " " : "", option->name);
	fputs("\" ;;\n", out);
}

static void print_cases(FILE *out, const char *above,
			const struct subcommand *const *commands)
{
	char path[CLI_PATH_MAX];

	for (; *commands; commands++) {
		snprintf(path, sizeof(path), "%s%s%s", above, *above ? " " : "",
			 (*commands)->name);
		print_case(out, path, *commands);
		if ((*commands)->commands)
			print_cases(out, path, (*commands)->commands);
	}
}

/* The path is made of the words so far that name subcommands. */
static const char completer[] =
	"_fairlead()\n"
	"{\n"
	"\tlocal cur=${COMP_WORDS[COMP_CWORD]}\n"
	"\tlocal path='' words='' i\n"
	"\t_fairlead_words \"\"\n"
	"\tfor ((i = 1; i < COMP_CWORD; i++)); do\n"
	"\t\t_fairlead_words \"${path:+$path }${COMP_WORDS[i]}\" &&\n"
	"\t\t\tpath=\"${path:+$path }${COMP_WORDS[i]}\"\n"
	"\tdone\n"
	"\tmapfile -t COMPREPLY < <(compgen -W \"$words\" -- \"$cur\")\n"
	"}\n"
	"\n"
	"complete -o default -F _fairlead fairlead\n";

static int completion_run(struct cli *cli)
{
	fputs("# bash completion for fairlead, made by 'fairlead completion'\n"
	      "# shellcheck shell=bash\n\n"
	      "# Sets words to what can follow a subcommand; fails if it is "
	      "none.\n"
	      "_fairlead_words()\n{\n\tcase \"$1\" in\n\t\"\") words=\"",
	      cli->out);
	print_names(cli->out, cli_commands);
	/* Programs of their own: see main.c. */
	fputs("cluster run --help --version\" ;;\n", cli->out);
	print_cases(cli->out, "", cli_commands);
	fprintf(cli->out, "\t*) return 1 ;;\n\tesac\n}\n\n%s", completer);
	return EXIT_DONE;
}

const struct subcommand command_completion = {
	.name = "completion",
	.summary = "Print the completion of this command for bash",
	.run = completion_run,
};
