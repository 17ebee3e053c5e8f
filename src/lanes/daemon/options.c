/* SPDX-License-Identifier: BSD-3-Clause */
/* One table of options; what contradicts each other is refused. */
#include "lanes/daemon/options.h"

#include <errno.h>
#include <string.h>

#include "sys/daemon_options.h"

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
	OPTION_ROLE = 1,
	OPTION_CONFIG,
	OPTION_LOG_LEVEL,
	OPTION_READY_FD,
	OPTION_CHECK_CONFIG,
	OPTION_CHECK_JOURNAL,
	OPTION_RECOVER,
	OPTION_WAIVE,
};

static const struct option option_table[] = {
	{ "role", required_argument, NULL, OPTION_ROLE },
	{ "config", required_argument, NULL, OPTION_CONFIG },
	{ "log-level", required_argument, NULL, OPTION_LOG_LEVEL },
	{ "ready-fd", required_argument, NULL, OPTION_READY_FD },
	{ "check-config", no_argument, NULL, OPTION_CHECK_CONFIG },
	{ "check-journal", no_argument, NULL, OPTION_CHECK_JOURNAL },
	{ "recover", no_argument, NULL, OPTION_RECOVER },
	{ "waive", required_argument, NULL, OPTION_WAIVE },
	DAEMON_OPTIONS_COMMON,
	{ 0 },
};

static int parse_role(const char *text, unsigned int *ret_roles)
{
	if (strcmp(text, "manager") == 0)
		*ret_roles = CONFIG_ROLE_MANAGER;
	else if (strcmp(text, "node") == 0)
		*ret_roles = CONFIG_ROLE_NODE;
	else if (strcmp(text, "both") == 0)
		*ret_roles = CONFIG_ROLE_MANAGER | CONFIG_ROLE_NODE;
	else
		return -EINVAL;
	return 0;
}

static int take(void *ctx, int option, const char *value)
{
	struct fairleadd_options *options = ctx;

	switch (option) {
	case OPTION_ROLE:
		return parse_role(value, &options->roles);
	case OPTION_CONFIG:
		options->config_path = value;
		return 0;
	case OPTION_LOG_LEVEL:
		options->has_log_level = true;
		return log_level_parse(value, &options->log_level);
	case OPTION_READY_FD:
		return daemon_options_fd(value, &options->ready_fd);
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
		options->waive = value;
		return 0;
	}
	return -EINVAL;
}

/* What contradicts something else; NULL: nothing. */
static const char *find_contradiction(const struct fairleadd_options *options)
{
	if (options->waive != NULL && !options->is_recovery)
		return "--waive goes with --recover";
	if (options->action == ACTION_CHECK_CONFIG)
		return NULL;
	if (options->action == ACTION_CHECK_JOURNAL)
		return options->is_recovery ? "--check-journal changes nothing"
					    : NULL;
	if (options->roles == 0)
		return "--role is missing";
	if (options->is_recovery && !(options->roles & CONFIG_ROLE_MANAGER))
		return "--recover is for the manager role";
	return NULL;
}

int fairleadd_options_read(int argc, char **argv,
			   struct fairleadd_options *ret_options,
			   int *ret_exit_code)
{
	static const struct daemon_options_table table = { "fairleadd", usage,
							   option_table, take };
	const char *contradiction;
	int next;

	*ret_options = (struct fairleadd_options){
		.config_path = CONFIG_FILE_DEFAULT,
		.ready_fd = -1,
	};
	next = daemon_options_read(&table, argc, argv, ret_options,
				   ret_exit_code);
	if (next < 0)
		return next;
	if (next < argc)
		return daemon_options_fail(&table, ret_exit_code,
					   "'%s' is not expected", argv[next]);
	contradiction = find_contradiction(ret_options);
	return contradiction != NULL
		       ? daemon_options_fail(&table, ret_exit_code, "%s",
					     contradiction)
		       : 0;
}
