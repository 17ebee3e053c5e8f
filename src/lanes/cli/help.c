/* SPDX-License-Identifier: BSD-3-Clause */
/* The text of --help, from the table. */
#include <string.h>

#include "lanes/cli/cli.h"

#define COLUMN_MAX 30

static void print_commands(FILE *out, const struct subcommand *const *commands)
{
	size_t width = 14;

	for (size_t i = 0; commands[i]; i++)
		if (strlen(commands[i]->name) > width)
			width = strlen(commands[i]->name);
	fputs("\ncommands:\n", out);
	for (; *commands; commands++)
		fprintf(out, "  %-*s %s\n", (int)width, (*commands)->name,
			(*commands)->summary);
}

static void format_option(const struct option_spec *option,
			  char text[COLUMN_MAX])
{
	char letter[8] = "    ";

	if (option->letter)
		snprintf(letter, sizeof(letter), "-%c, ", option->letter);
	snprintf(text, COLUMN_MAX, "%s--%s%s%s", letter, option->name,
		 option->value ? " " : "", option->value ? option->value : "");
}

static void print_options(FILE *out, const struct subcommand *command)
{
	const struct option_spec *option;
	char text[COLUMN_MAX];
	size_t width = 0;

	for (size_t i = 0; (option = cli_option_at(command, i)); i++) {
		format_option(option, text);
		if (strlen(text) > width)
			width = strlen(text);
	}
	fputs("\noptions:\n", out);
	for (size_t i = 0; (option = cli_option_at(command, i)); i++) {
		format_option(option, text);
		fprintf(out, "  %-*s  %s\n", (int)width, text, option->help);
	}
}

void cli_help(FILE *out, const char *path, const struct subcommand *command)
{
	const char *arguments = command->arguments ? command->arguments : "";

	fprintf(out, "usage: fairlead %s%s%s%s\n\n%s.\n", path,
		*path ? " " : "", command->commands ? "" : "[OPTIONS] ",
		command->commands ? "COMMAND ..." : arguments,
		command->summary);
	if (command->details)
		fprintf(out, "\n%s\n", command->details);
	if (command->commands) {
		print_commands(out, command->commands);
		fprintf(out,
			"\n'fairlead %s%sCOMMAND --help' says more; so does "
			"fairlead(1).\n",
			path, *path ? " " : "");
	} else {
		print_options(out, command);
	}
}
