/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * From the command line to a subcommand's run(), and how errors look. Which
 * subcommands and options there are is data (commands.c); a wrong command line
 * is refused before anything is done, with the name of what is wrong and of
 * the help that applies.
 */
#include "lanes/cli/cli.h"

#include <assert.h>
#include <getopt.h>
#include <limits.h>
#include <locale.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/memory.h"
#include "base/text.h"

#define TIMEOUT_MAX_S 86400

static const struct option_spec help_option = {
	.name = "help",
	.letter = 'h',
	.help = "show this text",
};

const struct option_spec cli_options_ask[] = {
	OPTION_JSON,
	OPTION_SOCKET,
	OPTION_TIMEOUT,
	{ 0 },
};

const struct option_spec cli_options_table[] = {
	OPTION_JSON, OPTION_NO_HEADER, OPTION_SOCKET, OPTION_TIMEOUT, { 0 },
};

const struct option_spec *cli_option_at(const struct subcommand *command,
					size_t index)
{
	size_t count = 0;

	while (command->options && command->options[count].name) {
		if (count == index)
			return &command->options[count];
		count++;
	}
	return index == count ? &help_option : NULL;
}

/* --- errors --- */

static void print_error(struct cli *cli, const char *format, va_list args)
{
	_auto_(freep) char *text = NULL;

	if (vasprintf(&text, format, args) < 0)
		memory_end();
	text_clean(text);
	fprintf(cli->err, "fairlead: %s\n", text);
}

int cli_fail(struct cli *cli, int code, const char *format, ...)
{
	va_list args;

	va_start(args, format);
	print_error(cli, format, args);
	va_end(args);
	return code;
}

int cli_misuse(struct cli *cli, const char *format, ...)
{
	va_list args;

	va_start(args, format);
	print_error(cli, format, args);
	va_end(args);
	fprintf(cli->err, "hint: 'fairlead %s%s--help' shows what it takes\n",
		cli->path, *cli->path ? " " : "");
	return EXIT_USAGE;
}

int cli_error(struct cli *cli, const struct fairlead_error *error)
{
	return cli_fail(cli, cli_exit_code(error->code), "%s", error->text);
}

void cli_hint(struct cli *cli, const char *text)
{
	_auto_(freep) char *copy = memory_text(text ? text : "");

	text_clean(copy);
	if (*copy)
		fprintf(cli->err, "hint: %s\n", copy);
}

int cli_exit_code(int result)
{
	switch (-result) {
	case 0:
		return EXIT_DONE;
	case EPERM:
	case EACCES:
		return EXIT_DENIED;
	case EAGAIN:
	case EBUSY:
	case ECONNREFUSED:
	case ECONNRESET:
	case EHOSTUNREACH:
	case ENOTCONN:
	case ETIMEDOUT:
		return EXIT_LATER;
	default:
		return EXIT_FAILED;
	}
}

/* --- options --- */

const char *cli_option(const struct cli *cli, const char *name)
{
	const struct option_spec *option;

	for (size_t i = 0; (option = cli_option_at(cli->command, i)); i++)
		if (strcmp(option->name, name) == 0)
			return cli->values[i];
	return NULL;
}

bool cli_flag(const struct cli *cli, const char *name)
{
	return cli_option(cli, name);
}

const char *cli_argument(const struct cli *cli, int index)
{
	return index < cli->argument_count ? cli->arguments[index] : NULL;
}

int cli_number(struct cli *cli, const char *name, uint64_t least, uint64_t most,
	       uint64_t *ret_number)
{
	const char *text = cli_option(cli, name);
	unsigned long long number;
	char *end;

	if (!text)
		return EXIT_DONE;
	errno = 0;
	number = strtoull(text, &end, 10);
	if (errno || *end || *text < '0' || *text > '9' || number < least ||
	    number > most)
		return cli_misuse(
			cli,
			"--%s takes a whole number from %llu to %llu, "
			"not '%s'",
			name, (unsigned long long)least,
			(unsigned long long)most, text);
	*ret_number = number;
	return EXIT_DONE;
}

int cli_timeout(struct cli *cli, uint32_t *ret_ms)
{
	const char *text = cli_option(cli, "timeout");
	double seconds;
	char *end;

	if (!text)
		return EXIT_DONE;
	seconds = strtod(text, &end);
	if (*end || text[strspn(text, "0123456789.")] || !(seconds >= 0.001) ||
	    seconds > TIMEOUT_MAX_S)
		return cli_misuse(cli,
				  "--timeout takes seconds from 0.001 to %d, "
				  "not '%s'",
				  TIMEOUT_MAX_S, text);
	*ret_ms = seconds * 1000;
	return EXIT_DONE;
}

/* Keep a value; given again, the last one counts, or they are joined. */
static void take_value(struct cli *cli, const struct option_spec *option,
		       size_t index, const char *value)
{
	_auto_(freep) char *before = cli->values[index];
	bool is_joined = before && option->is_joined;

	cli->values[index] = memory_format("%s%s%s", is_joined ? before : "",
					   is_joined ? "," : "", value);
}

/* Values of getopt's for option i: above all letters. */
#define VALUE_FIRST 256

struct getopt_tables {
	struct option longs[CLI_OPTIONS_MAX + 1];
	char shorts[2 * CLI_OPTIONS_MAX + 3];
};

static void make_tables(const struct subcommand *command,
			struct getopt_tables *tables)
{
	const struct option_spec *option;
	char *at = tables->shorts;

	memset(tables, 0, sizeof(*tables));
	if (command->is_prefix)
		*at++ = '+';
	*at++ = ':';
	for (size_t i = 0; (option = cli_option_at(command, i)); i++) {
		assert(i < CLI_OPTIONS_MAX);
		tables->longs[i].name = option->name;
		tables->longs[i].has_arg =
			option->value ? required_argument : no_argument;
		tables->longs[i].val = VALUE_FIRST + i;
		if (!option->letter)
			continue;
		*at++ = option->letter;
		if (option->value)
			*at++ = ':';
	}
}

static const struct option_spec *find_option(const struct subcommand *command,
					     int found, size_t *ret_index)
{
	const struct option_spec *option;

	for (size_t i = 0; (option = cli_option_at(command, i)); i++)
		if (found == VALUE_FIRST + (int)i ||
		    (option->letter && found == option->letter)) {
			*ret_index = i;
			return option;
		}
	return NULL;
}

/* What getopt did not like: its optopt is a letter, a value of ours or 0. */
static int refuse_option(struct cli *cli, int found, char **argv)
{
	const struct option_spec *option;
	size_t i;

	option = optopt ? find_option(cli->command, optopt, &i) : NULL;
	if (found == ':')
		return cli_misuse(cli, "option --%s needs a value: %s",
				  option->name, option->value);
	if (option)
		return cli_misuse(cli, "option --%s takes no value",
				  option->name);
	if (optopt)
		return cli_misuse(cli, "there is no option -%c", optopt);
	return cli_misuse(cli, "there is no option %s", argv[optind - 1]);
}

/* Else jansson would leave a member out, and the request mean another thing. */
static bool is_utf8(const char *text)
{
	json_auto_t *string = json_string(text);

	return string;
}

/* How many the text of the help stands for. */
static void count_arguments(const char *text, int *ret_least, int *ret_most)
{
	int depth = 0;

	*ret_least = *ret_most = 0;
	if (strstr(text, "..."))
		*ret_most = INT_MAX / 2;
	for (size_t size; *text; text += size + strspn(text + size, " ")) {
		bool is_argument = *text != '-' && *text != '|';

		size = strcspn(text, " ");
		*ret_most += is_argument;
		*ret_least += is_argument && depth == 0 && *text != '[';
		for (size_t i = 0; i < size; i++)
			depth += (text[i] == '[') - (text[i] == ']');
	}
}

static int check_arguments(struct cli *cli)
{
	const char *text =
		cli->command->arguments ? cli->command->arguments : "";
	bool takes_program = strstr(text, "...");
	int least, most;

	count_arguments(text, &least, &most);
	if (cli->argument_count < least)
		return cli_misuse(cli, "'fairlead %s' needs %s", cli->path,
				  text);
	if (cli->argument_count > most)
		return cli_misuse(
			cli, "'fairlead %s' does not take the argument '%s'",
			cli->path, cli->arguments[most]);
	for (int i = 0; i < cli->argument_count && !takes_program; i++)
		if (!is_utf8(cli->arguments[i]))
			return cli_misuse(cli, "argument '%s' is not UTF-8",
					  cli->arguments[i]);
	return EXIT_DONE;
}

/* *ret_is_help: the help was asked for, and shown. */
static int parse(struct cli *cli, int argc, char **argv, bool *ret_is_help)
{
	struct getopt_tables tables;
	const struct option_spec *option;
	size_t i = 0;
	int found;

	make_tables(cli->command, &tables);
	optind = 0;
	opterr = 0;
	while ((found = getopt_long(argc, argv, tables.shorts, tables.longs,
				    NULL)) != -1) {
		option = find_option(cli->command, found, &i);
		if (!option)
			return refuse_option(cli, found, argv);
		if (option == &help_option) {
			cli_help(cli->out, cli->path, cli->command);
			*ret_is_help = true;
			return EXIT_DONE;
		}
		if (option->value && !is_utf8(optarg))
			return cli_misuse(cli,
					  "the value of --%s is not UTF-8: "
					  "'%s'",
					  option->name, optarg);
		take_value(cli, option, i, option->value ? optarg : "");
	}
	cli->arguments = argv + optind;
	cli->argument_count = argc - optind;
	return check_arguments(cli);
}

/* --- subcommands --- */

static const struct subcommand *find_command(
	const struct subcommand *const *commands, const char *name)
{
	for (; *commands; commands++)
		if (strcmp((*commands)->name, name) == 0)
			return *commands;
	return NULL;
}

static const struct subcommand top = {
	.name = "fairlead",
	.summary = "Give jobs their lanes through the interconnect",
	.commands = cli_commands,
};

/* Follow the words of a subcommand's name; an exit code. */
static int choose(struct cli *cli, int *argc, char ***argv)
{
	const struct subcommand *command = &top;

	while (command->commands) {
		const char *word = *argc > 0 ? (*argv)[0] : NULL;
		size_t size = strlen(cli->path);

		cli->command = command;
		if (!word)
			return cli_misuse(cli, "'fairlead%s%s' needs a command",
					  size ? " " : "", cli->path);
		if (*word == '-')
			return EXIT_DONE;
		command = find_command(command->commands, word);
		if (!command)
			return cli_misuse(cli,
					  "'fairlead%s%s' has no command '%s'",
					  size ? " " : "", cli->path, word);
		snprintf(cli->path + size, sizeof(cli->path) - size, "%s%s",
			 size ? " " : "", word);
		(*argc)--;
		(*argv)++;
	}
	cli->command = command;
	return EXIT_DONE;
}

/* An option in the place of a subcommand's name. */
static int run_option(struct cli *cli, const char *word)
{
	if (strcmp(word, "--help") == 0 || strcmp(word, "-h") == 0) {
		cli_help(cli->out, cli->path, cli->command);
		return EXIT_DONE;
	}
	if (strcmp(word, "--version") == 0 && !*cli->path) {
		fprintf(cli->out, "fairlead %s\n", FAIRLEAD_VERSION);
		return EXIT_DONE;
	}
	return cli_misuse(cli, "there is no option %s here", word);
}

int cli_run(struct cli *cli, int argc, char **argv)
{
	bool is_help = false;
	int code;

	*cli->path = 0;
	code = choose(cli, &argc, &argv);
	if (code != EXIT_DONE)
		return code;
	if (!cli->command->run)
		return run_option(cli, argv[0]);
	/* getopt wants a program's name: the word before. */
	code = parse(cli, argc + 1, argv - 1, &is_help);
	if (code == EXIT_DONE && !is_help)
		code = cli->command->run(cli);
	for (size_t i = 0; i < CLI_OPTIONS_MAX; i++) {
		free(cli->values[i]);
		cli->values[i] = NULL;
	}
	return code;
}

/* https://no-color.org: set and not empty. */
static bool is_colored(void)
{
	const char *no_color = getenv("NO_COLOR");
	const char *term = getenv("TERM");

	return isatty(STDOUT_FILENO) && !(no_color && *no_color) && term &&
	       strcmp(term, "dumb") != 0;
}

int cli_main(int argc, char **argv)
{
	struct cli cli = { .out = stdout, .err = stderr };
	int code;

	setlocale(LC_ALL, "");
	setlocale(LC_NUMERIC, "C");
	cli.is_colored = is_colored();
	code = cli_run(&cli, argc, argv);
	if (fflush(stdout) != 0 || ferror(stdout))
		return cli_fail(&cli, EXIT_FAILED, "cannot write to stdout: %s",
				strerror(errno));
	return code;
}
