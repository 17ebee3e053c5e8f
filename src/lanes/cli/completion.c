/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Completion for bash, from the table: a case for each subcommand with the
 * words that can stand there. --words prints the table itself, a line for each
 * subcommand, against which the manual is checked.
 */
#include <string.h>

#include "lanes/cli/cli.h"

static const struct option_spec options[] = {
	{ .name = "words", .help = "print subcommands and options instead" },
	{ 0 },
};

typedef void visit_fn(FILE *out, const char *path,
		      const struct subcommand *command);

static void visit(FILE *out, const char *above,
		  const struct subcommand *const *commands, visit_fn *fn)
{
	char path[CLI_PATH_MAX];

	for (; *commands; commands++) {
		snprintf(path, sizeof(path), "%s%s%s", above, *above ? " " : "",
			 (*commands)->name);
		fn(out, path, *commands);
		if ((*commands)->commands)
			visit(out, path, (*commands)->commands, fn);
	}
}

static void print_names(FILE *out, const struct subcommand *const *commands)
{
	for (; *commands; commands++)
		fprintf(out, "%s%s", (*commands)->name, commands[1] ? " " : "");
}

/* "PATH: --option ... -x", or "PATH: subcommand ..." */
static void print_words(FILE *out, const char *path,
			const struct subcommand *command)
{
	const struct option_spec *option;

	fprintf(out, "%s:", path);
	if (command->commands) {
		putc(' ', out);
		print_names(out, command->commands);
	}
	for (size_t i = 0;
	     !command->commands && (option = cli_option_at(command, i)); i++) {
		fprintf(out, " --%s", option->name);
		if (option->letter)
			fprintf(out, " -%c", option->letter);
	}
	putc('\n', out);
}

/* How an option's value is completed, where it has one. */
static void print_value_case(FILE *out, const char *path,
			     const struct option_spec *option)
{
	static const char *const actions[] = {
		[COMPLETE_NOTHING] = "none",
		[COMPLETE_FILES] = "-f",
		[COMPLETE_USERS] = "-u",
	};

	fprintf(out, "\t\"%s --%s\"", path, option->name);
	if (option->letter)
		fprintf(out, " | \"%s -%c\"", path, option->letter);
	fprintf(out, ") action=%s ;;\n", actions[option->complete]);
}

static void print_value_cases(FILE *out, const char *path,
			      const struct subcommand *command)
{
	const struct option_spec *option;

	for (size_t i = 0;
	     !command->commands && (option = cli_option_at(command, i)); i++)
		if (option->value)
			print_value_case(out, path, option);
}

static void print_word_case(FILE *out, const char *path,
			    const struct subcommand *command)
{
	const struct option_spec *option;

	fprintf(out, "\t\"%s\") words=\"", path);
	if (command->commands) {
		print_names(out, command->commands);
		fputs(" --help\" ;;\n", out);
		return;
	}
	for (size_t i = 0; (option = cli_option_at(command, i)); i++)
		fprintf(out, "%s--%s", i > 0 ? " " : "", option->name);
	fprintf(out, "%s%s\" ;;\n", command->words ? " " : "",
		command->words ? command->words : "");
}

/* The path is made of the words so far that name subcommands. */
static const char completer[] =
	"_fairlead()\n"
	"{\n"
	"\tlocal cur=${COMP_WORDS[COMP_CWORD]}\n"
	"\tlocal path='' words='' action='' i\n"
	"\t_fairlead_words \"\"\n"
	"\tfor ((i = 1; i < COMP_CWORD; i++)); do\n"
	"\t\t_fairlead_words \"${path:+$path }${COMP_WORDS[i]}\" &&\n"
	"\t\t\tpath=\"${path:+$path }${COMP_WORDS[i]}\"\n"
	"\tdone\n"
	"\t_fairlead_action \"$path ${COMP_WORDS[COMP_CWORD - 1]}\"\n"
	"\tCOMPREPLY=()\n"
	"\tcase $action in\n"
	"\tnone) ;;\n"
	"\t-*) mapfile -t COMPREPLY < <(compgen \"$action\" -- \"$cur\") ;;\n"
	"\t*) mapfile -t COMPREPLY < <(compgen -W \"$words\" -- \"$cur\") ;;\n"
	"\tesac\n"
	"}\n"
	"\n"
	"complete -F _fairlead fairlead\n";

static void print_bash(FILE *out)
{
	fputs("# bash completion for fairlead, made by 'fairlead completion'\n"
	      "# shellcheck shell=bash\n\n"
	      "# Sets words to what can follow a subcommand; fails if it is "
	      "none.\n"
	      "_fairlead_words()\n{\n\tcase \"$1\" in\n\t\"\") words=\"",
	      out);
	print_names(out, cli_commands);
	fputs(" --help --version\" ;;\n", out);
	visit(out, "", cli_commands, print_word_case);
	fputs("\t*) return 1 ;;\n\tesac\n}\n\n"
	      "# Sets action to how the value of an option is completed.\n"
	      "_fairlead_action()\n{\n\tcase \"$1\" in\n",
	      out);
	visit(out, "", cli_commands, print_value_cases);
	fprintf(out, "\tesac\n}\n\n%s", completer);
}

static int completion_run(struct cli *cli)
{
	if (cli_flag(cli, "words"))
		visit(cli->out, "", cli_commands, print_words);
	else
		print_bash(cli->out);
	return EXIT_DONE;
}

const struct subcommand command_completion = {
	.name = "completion",
	.summary = "Print the completion of this command for bash",
	.arguments = "",
	.options = options,
	.run = completion_run,
};
