/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * fairleadd(8). The guard of the node role is forked first; then privileges
 * are given up, and the roles run.
 */
#include <errno.h>
#include <signal.h>
#include <sodium.h>
#include <sqlite3.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lanes/driver/driver.h"
#include "lanes/daemon/daemon.h"
#include "lanes/daemon/libfabric.h"
#include "lanes/daemon/user.h"
#include "lanes/manager/manager.h"
#include "lanes/node/role.h"
#include "sys/daemon_options.h"
#include "sys/log.h"
#include "sys/secret.h"

/* --- the command line: what contradicts each other is refused --- */

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

/* 0; or the program has to end with this exit code. */
static int fairleadd_options_read(int argc, char **argv,
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

/* --- running --- */

/* Print all errors of the configuration; NULL then. */
static struct config *load(const struct fairleadd_options *options)
{
	_auto_(freep) char *errors = NULL;
	_auto_(config_destroyp) struct config *config = NULL;
	int result =
		config_load(options->config_path, options->roles, driver_table,
			    daemon_driver_count(), &config, &errors);

	if (result == 0)
		result = config_check_files(config, options->roles, &errors);
	if (result == 0)
		return take_ptr(config);
	fprintf(stderr, "%s\n", errors);
	return NULL;
}

static int check_journal(const struct config *config,
			 struct fairlead_error *ret_error)
{
	int result = user_become(config->manager.user, CONFIG_ROLE_MANAGER,
				 ret_error);

	return result < 0 ? result
			  : manager_check_journal(config, stdout, ret_error);
}

static int run(const struct fairleadd_options *options,
	       const struct config *config, struct log *log,
	       struct fairlead_error *ret_error)
{
	bool is_node = (options->roles & CONFIG_ROLE_NODE) != 0;
	struct guard_handle guard;
	const char *user;
	int result = user_choose(config, options->roles, &user, ret_error);

	if (result == 0)
		result = user_prepare(config, options->roles, ret_error);
	if (result == 0 && is_node)
		result = node_guard_start(config, log, &guard, ret_error);
	if (result < 0)
		return result;
	result = user_become(user, options->roles, ret_error);
	secret_hide_process();
	if (strcmp(config->fabric.provider, "tcp") != 0)
		libfabric_prepare(config->fabric.provider);
	if (result == 0)
		result = daemon_run(options, &guard, log, ret_error);
	if (is_node)
		guard_stop(&guard);
	return result;
}

int main(int argc, char **argv)
{
	struct fairlead_error error;
	struct fairleadd_options options;
	_auto_(config_destroyp) struct config *config = NULL;
	struct log log;
	int result = 0;
	int exit_code;

	if (fairleadd_options_read(argc, argv, &options, &exit_code) < 0)
		return exit_code;
	if (sodium_init() < 0 || signal(SIGPIPE, SIG_IGN) == SIG_ERR)
		return EXIT_FAILURE;
	/* Nobody asks SQLite for its memory; to count it takes a lock. */
	if (sqlite3_config(SQLITE_CONFIG_MEMSTATUS, 0) != SQLITE_OK)
		return EXIT_FAILURE;
	config = load(&options);
	if (config == NULL)
		return EXIT_FAILURE;
	sys_log_init(&log, "fairleadd",
		     options.has_log_level ? options.log_level
					   : config->log_level);
	if (options.action != ACTION_CHECK_JOURNAL)
		daemon_check_capacity(config, options.roles, &log);
	if (options.action == ACTION_CHECK_JOURNAL)
		result = check_journal(config, &error);
	else if (options.action == ACTION_RUN)
		result = run(&options, config, &log, &error);
	if (result < 0)
		log_error(&log, "failed error=\"%s\"", error.text);
	return result < 0 ? EXIT_FAILURE : EXIT_SUCCESS;
}
