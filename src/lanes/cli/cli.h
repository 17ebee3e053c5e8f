/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The command `fairlead`: what every subcommand is made of.
 *
 * A subcommand is a `struct subcommand`, and a line in commands.c. Its options
 * are a list, from which come their parsing, --help, the bash completion, and
 * the check of the manual page.
 *
 *	static const struct option_spec options[] = {
 *		OPTION_JSON,
 *		{ .name = "reason", .letter = 'r', .value = "TEXT",
 *		  .help = "why, for people" },
 *		{ 0 },
 *	};
 *	static int run(struct cli *cli) { ... return EXIT_DONE; }
 *	const struct subcommand command_drain = { ... };
 *
 * Errors go to stderr as `fairlead: what failed`, and `hint: what to do`
 * where there is something to do. Functions that can fail have printed their
 * error when they return an exit code other than EXIT_DONE.
 */
#pragma once

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "base/error.h"

enum cli_exit_code {
	EXIT_DONE = 0,
	EXIT_FAILED = 1,
	EXIT_USAGE = 2,
	EXIT_LATER = 75,  /* as EX_TEMPFAIL: try again later */
	EXIT_DENIED = 77, /* as EX_NOPERM: not permitted */
};

#define CLI_OPTIONS_MAX 20 /* of one subcommand, with --help */
#define CLI_PATH_MAX    32 /* "quarantine release" */

struct option_spec {
	const char *name;  /* "dry-run"; NULL ends a list */
	char letter;       /* -n; 0: none */
	bool is_joined;    /* given again, the values are joined by ',' */
	const char *value; /* "SECONDS"; NULL: a flag */
	const char *help;  /* lower case, no full stop */
};

#define OPTION_JSON                                                      \
	{                                                                \
		.name = "json", .help = "print the whole answer as JSON" \
	}
#define OPTION_NO_HEADER                                                   \
	{                                                                  \
		.name = "no-header", .help = "print tables without header" \
	}
#define OPTION_SOCKET                              \
	{                                          \
		.name = "socket", .value = "PATH", \
		.help = "the daemon's socket"      \
	}
#define OPTION_TIMEOUT                                                \
	{                                                             \
		.name = "timeout", .letter = 't', .value = "SECONDS", \
		.help = "time limit for the answer"                   \
	}
#define OPTION_FORCE                                                         \
	{                                                                    \
		.name = "force", .help = "proceed however many are affected" \
	}
#define OPTION_DRY_RUN                                              \
	{                                                           \
		.name = "dry-run",                                  \
		.help = "report what would be done, change nothing" \
	}
#define OPTION_USER                                             \
	{                                                       \
		.name = "user", .letter = 'u', .value = "USER", \
		.help = "owner of the job (default: you)"       \
	}
#define OPTION_INTERCONNECT                                             \
	{                                                               \
		.name = "interconnect", .letter = 'i', .value = "NAME", \
		.help = "driver of the lane (default: the manager's)"   \
	}
#define OPTION_DRIVER_OPTION                                        \
	{                                                           \
		.name = "option", .letter = 'o', .is_joined = true, \
		.value = "NAME=VALUE",                              \
		.help = "an option of the driver: vnis=2, off"      \
	}

/* --json, --socket, --timeout; and --no-header, of what prints a table. */
extern const struct option_spec cli_options_ask[];
extern const struct option_spec cli_options_table[];

struct cli;

struct subcommand {
	const char *name;    /* of a subcommand of another: the last word */
	const char *summary; /* one line: imperative, no full stop */
	/*
	 * Expected words, such as "NODES [WHAT]": [WORD] is optional, `...`
	 * repeats. NULL: none.
	 */
	const char *arguments;
	const char *details;               /* further text of --help, or NULL */
	const struct option_spec *options; /* NULL: none */
	bool is_prefix; /* options end at the first argument: `-- PROGRAM` */
	/* Subcommands, ended by NULL; run is NULL then. */
	const struct subcommand *const *commands;
	int (*run)(struct cli *cli); /* an exit code */
	/* With remote_run(): the request, and how its answer is shown. */
	const char *op;
	bool is_of_node; /* for the daemon of this node, else the manager */
	bool waits_for_nodes; /* no time limit of ours but --timeout */
	/* Set its members; an exit code. NULL: it has none. */
	int (*members)(struct cli *cli, json_t *members);
	/* NULL: nothing is printed without --json. */
	void (*show)(struct cli *cli, const json_t *answer);
};

/* One call of a subcommand. */
struct cli {
	FILE *out, *err;
	bool is_colored;
	bool has_warned; /* an answer's warning was printed */
	const struct subcommand *command;
	char path[CLI_PATH_MAX];       /* "node drain" */
	char *values[CLI_OPTIONS_MAX]; /* by option; flags are "" */
	int argument_count;
	char **arguments;
	/* Where the configuration says that the daemons are; NULL: not read. */
	const char *manager, *node;
};

/* All subcommands, ended by NULL. */
extern const struct subcommand *const cli_commands[];

/*
 * Run the subcommand that the arguments name (without the program's name): an
 * exit code.
 */
int cli_run(struct cli *cli, int argc, char **argv);
/* The same with stdout and stderr, which is written out: for main(). */
int cli_main(int argc, char **argv);

/* --- options and arguments of the subcommand --- */

/* False also for an option that the subcommand does not have. */
bool cli_flag(const struct cli *cli, const char *name);
/* NULL when it was not given. */
const char *cli_option(const struct cli *cli, const char *name);
/* NULL when there are not so many. */
const char *cli_argument(const struct cli *cli, int index);
/* A whole number; *ret_number is left alone when it was not given. */
int cli_number(struct cli *cli, const char *name, uint64_t least, uint64_t most,
	       uint64_t *ret_number);
/* --timeout in ms; *ret_ms is left alone when it was not given. */
int cli_timeout(struct cli *cli, uint32_t *ret_ms);

/* --- errors --- */

/* Print `fairlead: ...`; returns code. */
int cli_fail(struct cli *cli, int code, const char *format, ...)
	__attribute__((format(printf, 3, 4)));
/* The same, for a command line that is wrong: names --help. EXIT_USAGE. */
int cli_misuse(struct cli *cli, const char *format, ...)
	__attribute__((format(printf, 2, 3)));
/* The same, with the error's text and the exit code of its errno. */
int cli_error(struct cli *cli, const struct fairlead_error *error);
/* Print `hint: ...`; nothing when the text is NULL or empty. */
void cli_hint(struct cli *cli, const char *text);
/* Exit code for a negative errno. */
int cli_exit_code(int result);

/* --- for --help, completion and the check of the manual --- */

/* Options of a command with --help: `count` of them. */
const struct option_spec *cli_option_at(const struct subcommand *command,
					size_t index);
void cli_help(FILE *out, const char *path, const struct subcommand *command);
