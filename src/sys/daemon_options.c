/* SPDX-License-Identifier: BSD-3-Clause */
#include "sys/daemon_options.h"

#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int daemon_options_fail(const struct daemon_options_table *table,
			int *ret_exit_code, const char *format, ...)
{
	va_list args;

	fprintf(stderr, "%s: ", table->program);
	va_start(args, format);
	vfprintf(stderr, format, args);
	va_end(args);
	fprintf(stderr, "\n%s", table->usage);
	*ret_exit_code = DAEMON_OPTIONS_EXIT_USAGE;
	return -EINVAL;
}

int daemon_options_read(const struct daemon_options_table *table, int argc,
			char **argv, void *ctx, int *ret_exit_code)
{
	int index = 0;
	int id;

	opterr = 0;
	while ((id = getopt_long(argc, argv, "+", table->options, &index)) >=
	       0) {
		if (id == '?')
			return daemon_options_fail(
				table, ret_exit_code,
				"'%s' is no option, or lacks a "
				"value",
				argv[optind - 1]);
		if (id == DAEMON_OPTIONS_HELP || id == DAEMON_OPTIONS_VERSION) {
			if (id == DAEMON_OPTIONS_HELP)
				fputs(table->usage, stdout);
			else
				printf("%s %s\n", table->program,
				       FAIRLEAD_VERSION);
			*ret_exit_code = EXIT_SUCCESS;
			return -ECANCELED;
		}
		if (table->take(ctx, id, optarg) < 0)
			return daemon_options_fail(table, ret_exit_code,
						   "'%s' is no value for --%s",
						   optarg,
						   table->options[index].name);
	}
	return optind;
}

int daemon_options_number(const char *text, uint64_t min, uint64_t max,
			  uint64_t *ret_number)
{
	unsigned long long number;
	char *end;

	errno = 0;
	number = strtoull(text, &end, 0);
	if (errno != 0 || end == text || *end != '\0' || text[0] == '-' ||
	    number < min || number > max)
		return -EINVAL;
	*ret_number = number;
	return 0;
}

int daemon_options_fd(const char *text, int *ret_fd)
{
	uint64_t number = 0;
	int result = daemon_options_number(text, 0, INT32_MAX, &number);

	if (result == 0 && fcntl((int)number, F_SETFD, FD_CLOEXEC) < 0)
		result = -EINVAL;
	if (result == 0)
		*ret_fd = (int)number;
	return result;
}

static int words_join(const struct daemon_options_table *table, int count,
		      char **words, char *text, size_t capacity,
		      int *ret_exit_code)
{
	size_t size = 0;

	if (count == 0)
		return daemon_options_fail(table, ret_exit_code,
					   "'ctl' needs a command");
	for (int i = 0; i < count; i++) {
		size_t left = capacity - size;
		int length = snprintf(text + size, left, "%s%s",
				      i > 0 ? " " : "", words[i]);

		if ((size_t)length >= left)
			return daemon_options_fail(table, ret_exit_code,
						   "the command is too long");
		size += (size_t)length;
	}
	return 0;
}

int daemon_options_read_ctl(const struct daemon_options_table *table, int argc,
			    char **argv, void *ctx, char *command,
			    size_t capacity, int *ret_exit_code)
{
	const bool is_ctl = argc > 1 && strcmp(argv[1], "ctl") == 0;
	int next;

	*command = '\0';
	argc -= is_ctl;
	argv += is_ctl;
	next = daemon_options_read(table, argc, argv, ctx, ret_exit_code);
	if (next < 0)
		return next;
	if (is_ctl)
		return words_join(table, argc - next, argv + next, command,
				  capacity, ret_exit_code);
	if (next < argc)
		return daemon_options_fail(table, ret_exit_code,
					   "'%s' is not expected", argv[next]);
	return 0;
}
