/* SPDX-License-Identifier: BSD-3-Clause */
/* Options come before the nodes: what follows them is the command's. */
#include "arguments.h"

#include <errno.h>
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/bytes.h"
#include "base/memory.h"
#include "limits.h"

#define TIMEOUT_S 300

static const char help[] =
	"usage: scoll-exec [OPTION...] NODES [--] COMMAND...\n"
	"       scoll-exec [OPTION...] --all [--] COMMAND...\n"
	"       scoll-exec [OPTION...] --list\n"
	"\n"
	"Runs a shell command on nodes, as you. Prints equal outputs once, "
	"with\n"
	"their nodes.\n"
	"\n"
	"  -a, --all             on all live nodes\n"
	"  -l, --list            print the live nodes and the dead ones\n"
	"  -t, --timeout SECONDS kill the command then (300)\n"
	"      --socket PATH     the daemon's (SCOLL_EXEC_SOCKET, or\n"
	"                        " EXEC_SOCKET ")\n"
	"      --munge-socket PATH  munged's (SCOLL_EXEC_MUNGE_SOCKET)\n"
	"  -h, --help            print this\n"
	"\n"
	"Exit code: 0 all nodes ran it, 1 not all, 2 usage, 75 try again "
	"later,\n"
	"77 not permitted.\n";

static int usage(const char *what)
{
	fprintf(stderr, "scoll-exec: %s; see scoll-exec --help\n", what);
	return CODE_USAGE;
}

static int timeout_parse(const char *text, uint32_t *ret_timeout_ms)
{
	char *end;
	double seconds = strtod(text, &end);

	if (end == text || *end != 0 || !(seconds >= 0.001) ||
	    seconds > EXEC_TIMEOUT_MS_MAX / 1000)
		return -EINVAL;
	*ret_timeout_ms = (uint32_t)(seconds * 1000);
	return 0;
}

static char *words_join(char **words, int count)
{
	struct writer text = { 0 };

	for (int i = 0; i < count; i++) {
		write_plain(&text, i > 0 ? " " : "");
		write_plain(&text, words[i]);
	}
	write_u8(&text, 0);
	return memory_have((char *)writer_take(&text, NULL));
}

static const char *from_environment(const char *name, const char *otherwise)
{
	const char *value = secure_getenv(name);

	return value != NULL && *value != 0 ? value : otherwise;
}

static int option_take(struct exec_arguments *arguments, int option)
{
	switch (option) {
	case 'a':
		arguments->is_all = true;
		return 0;
	case 'l':
		arguments->is_list = true;
		return 0;
	case 't':
		return timeout_parse(optarg, &arguments->timeout_ms);
	case 's':
		arguments->socket = optarg;
		return 0;
	case 'm':
		arguments->munge_socket = optarg;
		return 0;
	default:
		return -EINVAL;
	}
}

static int operands_take(struct exec_arguments *arguments, int argc,
			 char **argv)
{
	int at = optind;

	if (arguments->is_list)
		return at == argc ? -1 : usage("--list takes no command");
	if (!arguments->is_all) {
		/* "scoll-exec -- uptime" names no node. */
		if (at == argc || strcmp(argv[at - 1], "--") == 0)
			return usage("no nodes");
		arguments->nodes = memory_text(argv[at++]);
		if (at < argc && strcmp(argv[at], "--") == 0)
			at++;
	}
	arguments->command = words_join(argv + at, argc - at);
	if (*arguments->command == 0)
		return usage("no command");
	if (strlen(arguments->command) > EXEC_COMMAND_MAX)
		return usage("the command is too long");
	return -1;
}

int arguments_read(int argc, char **argv, struct exec_arguments *arguments)
{
	static const struct option options[] = {
		{ "all", no_argument, NULL, 'a' },
		{ "list", no_argument, NULL, 'l' },
		{ "timeout", required_argument, NULL, 't' },
		{ "socket", required_argument, NULL, 's' },
		{ "munge-socket", required_argument, NULL, 'm' },
		{ "help", no_argument, NULL, 'h' },
		{ 0 },
	};
	int option;

	arguments->timeout_ms = TIMEOUT_S * 1000;
	arguments->socket = from_environment("SCOLL_EXEC_SOCKET", EXEC_SOCKET);
	arguments->munge_socket =
		from_environment("SCOLL_EXEC_MUNGE_SOCKET", NULL);
	while ((option = getopt_long(argc, argv, "+alt:h", options, NULL)) !=
	       -1) {
		if (option == 'h') {
			fputs(help, stdout);
			return CODE_DONE;
		}
		if (option == '?')
			return CODE_USAGE;
		if (option_take(arguments, option) < 0)
			return usage("--timeout is 0.001 to 86400 seconds");
	}
	return operands_take(arguments, argc, argv);
}
