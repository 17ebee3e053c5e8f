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

#include "lanes/driver/driver.h"
#include "lanes/daemon/daemon.h"
#include "lanes/daemon/library.h"
#include "lanes/daemon/options.h"
#include "lanes/daemon/user.h"
#include "lanes/manager/manager.h"
#include "lanes/node/role.h"
#include "sys/log.h"
#include "sys/secret.h"

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
	if (result == 0)
		result = library_open(config->fabric.provider, ret_error);
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
