/* SPDX-License-Identifier: BSD-3-Clause */
/* The command line of a daemon: long options with their values. */
#pragma once

#include <getopt.h>
#include <stddef.h>
#include <stdint.h>

#define DAEMON_OPTIONS_EXIT_USAGE 2

/* What every table has beside its own, which count from 1. */
enum {
	DAEMON_OPTIONS_HELP = 256,
	DAEMON_OPTIONS_VERSION,
};
#define DAEMON_OPTIONS_COMMON                                        \
	{ "help", no_argument, NULL, DAEMON_OPTIONS_HELP },          \
	{                                                            \
		"version", no_argument, NULL, DAEMON_OPTIONS_VERSION \
	}

struct daemon_options_table {
	const char *program;
	const char *usage;
	const struct option *options; /* ended by zeros */
	/* -EINVAL: it is no value for the option. */
	int (*take)(void *ctx, int option, const char *value);
};

/*
 * Read them, up to the first argument that is none: its index, at most argc.
 * Below 0: the program has to end with *ret_exit_code; help or version was
 * printed, or an error.
 */
int daemon_options_read(const struct daemon_options_table *table, int argc,
			char **argv, void *ctx, int *ret_exit_code);
/* Print an error and the usage: -EINVAL, with the exit code. */
int daemon_options_fail(const struct daemon_options_table *table,
			int *ret_exit_code, const char *format, ...)
	__attribute__((format(printf, 3, 4)));

/* Decimal, or in C's other forms. -EINVAL. */
int daemon_options_number(const char *text, uint64_t min, uint64_t max,
			  uint64_t *ret_number);
/* An open descriptor, which children do not get from now on. -EINVAL. */
int daemon_options_fd(const char *text, int *ret_fd);
/*
 * As daemon_options_read, for a daemon whose program also sends it commands:
 * "PROGRAM [OPTION...]" and "PROGRAM ctl [OPTION...] WORD...". *command becomes
 * the words with spaces between; "" for the daemon. 0, or below it as there.
 */
int daemon_options_read_ctl(const struct daemon_options_table *table, int argc,
			    char **argv, void *ctx, char *command,
			    size_t capacity, int *ret_exit_code);
