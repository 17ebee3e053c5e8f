/* SPDX-License-Identifier: BSD-3-Clause */
/* One table of options; what contradicts each other is refused. */
#include "lanes/daemon/options.h"

#include <errno.h>
#include <fcntl.h>
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char usage[] =
	"Usage: fairleadd --role manager|node|both [OPTION]...\n"
	"\n"
	"  --role ROLE      what this process is: manager, node or both\n"
	"  --config FILE    the configuration (" CONFIG_FILE_DEFAULT ")\n"
	"  --log-level L    error, warning, info or debug\n"
	"  --ready-fd N     write a byte to this descriptor when serving\n"
	"  --check-config   check the configuration and the files it names\n"
	"  --check-journal  compare the manager's journal with its events\n"
	"  --recover        the manager counts everything as used until each\n"
	"                   node has registered\n"
	"  --waive NODES    with --recover: nodes that will not come back\n"
	"  --version        print the version\n"
	"  --help           print this\n";

enum {
	OPTION_ROLE = 256,
	OPTION_CONFIG,
	OPTION_LOG_LEVEL,
	OPTION_READY_FD,
	OPTION_CHECK_CONFIG,
	OPTION_CHECK_JOURNAL,
	OPTION_RECOVER,
	OPTION_WAIVE,
	OPTION_VERSION,
	OPTION_HELP,
};

static const struct option table[] = {
	{ "role", required_argument, NULL, OPTION_ROLE },
	{ "config", required_argument, NULL, OPTION_CONFIG },
	{ "log-level", required_argument, NULL, OPTION_LOG_LEVEL },
	{ "ready-fd", required_argument, NULL, OPTION_READY_FD },
	{ "check-config", no_argument, NULL, OPTION_CHECK_CONFIG },
	{ "check-journal", no_argument, NULL, OPTION_CHECK_JOURNAL },
	{ "recover", no_argument, NULL, OPTION_RECOVER },
	{ "waive", required_argument, NULL, OPTION_WAIVE },
	{ "version", no_argument, NULL, OPTION_VERSION },
	{ "help", no_argument, NULL, OPTION_HELP },
	{ 0 },
};

static int refuse(const char *what, const char *value)
{
	fprintf(stderr, "fairleadd: %s%s%s%s; see --help\n", what,
		value == NULL ? "" : ": '", value == NULL ? "" : value,
		value == NULL ? "" : "'");
	return -EINVAL;
}

static int parse_role(const char *text, unsigned int *ret_roles)
{
	if (strcmp(text, "manager") == 0)
		*ret_roles = CONFIG_ROLE_MANAGER;
	else if (strcmp(text, "node") == 0)
		*ret_roles = CONFIG_ROLE_NODE;
	else if (strcmp(text, "both") == 0)
		*ret_roles = CONFIG_ROLE_MANAGER | CONFIG_ROLE_NODE;
	else
		return refuse("--role is manager, node or both", text);
	return 0;
}

static int parse_fd(const char *text, int *ret_fd)
{
	char *end;
	long fd = strtol(text, &end, 10);

	if (*text == 0 || *end != 0 || fd < 0 || fd > 1023 ||
	    fcntl((int)fd, F_SETFD, FD_CLOEXEC) < 0)
		return refuse("--ready-fd is an open descriptor", text);
	*ret_fd = (int)fd;
	return 0;
}

static int take(int option, struct options *options)
{
	switch (option) {
	case OPTION_ROLE:
		return parse_role(optarg, &options->roles);
	case OPTION_CONFIG:
		options->config_path = optarg;
		return 0;
	case OPTION_LOG_LEVEL:
		options->has_log_level = true;
		if (log_level_parse(optarg, &options->log_level) < 0)
			return refuse("--log-level is error, warning, info or "
				      "debug",
				      optarg);
		return 0;
	case OPTION_READY_FD:
		return parse_fd(optarg, &options->ready_fd);
	case OPTION_CHECK_CONFIG:
		options->action = ACTION_CHECK_CONFIG;
		return 0;
	case OPTION_CHECK_JOURNAL:
		options->action = ACTION_CHECK_JOURNAL;
		return 0;
	case OPTION_RECOVER:
		options->is_recovery = true;
		return 0;
	case OPTION_WAIVE:
		options->waive = optarg;
		return 0;
	default:
		return -EINVAL; /* getopt has said why */
	}
}

static int check(const struct options *options)
{
	bool is_manager = (options->roles & CONFIG_ROLE_MANAGER) != 0;

	if (options->waive != NULL && !options->is_recovery)
		return refuse("--waive goes with --recover", NULL);
	if (options->action == ACTION_CHECK_CONFIG)
		return 0;
	if (options->action == ACTION_CHECK_JOURNAL)
		return options->is_recovery ? refuse("--check-journal changes "
						     "nothing",
						     NULL)
					    : 0;
	if (options->roles == 0)
		return refuse("--role is missing", NULL);
	if (options->is_recovery && !is_manager)
		return refuse("--recover is for the manager role", NULL);
	return 0;
}

int command_line_parse(int argc, char **argv, struct options *ret_options,
		       int *ret_exit_code)
{
	struct options options = {
		.config_path = CONFIG_FILE_DEFAULT,
		.ready_fd = -1,
	};
	int option;

	*ret_exit_code = EXIT_USAGE;
	while ((option = getopt_long(argc, argv, "", table, NULL)) != -1) {
		if (option == OPTION_HELP || option == OPTION_VERSION) {
			fputs(option == OPTION_HELP
				      ? usage
				      : "fairleadd " FAIRLEAD_VERSION "\n",
			      stdout);
			*ret_exit_code = EXIT_SUCCESS;
			return -ECANCELED;
		}
		if (take(option, &options) < 0)
			return -EINVAL;
	}
	if (optind < argc)
		return refuse("no such argument", argv[optind]);
	if (check(&options) < 0)
		return -EINVAL;
	*ret_options = options;
	return 0;
}
