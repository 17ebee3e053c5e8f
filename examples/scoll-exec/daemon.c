/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * scoll-execd: forks the launcher, which keeps the privileges, before anything
 * else; opens the clients' socket; drops the privileges, and joins the
 * collectives.
 */
#include <errno.h>
#include <grp.h>
#include <pwd.h>
#include <signal.h>
#include <sodium.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <unistd.h>

#include "base/memory.h"
#include "front.h"
#include "launcher.h"
#include "sys/daemon_options.h"
#include "sys/descriptors.h"
#include "sys/log.h"
#include "sys/secret.h"

#define KEY_BYTES   32
#define DESCRIPTORS 65536

enum daemon_option {
	OPTION_CONFIG = 1,
	OPTION_NODE,
	OPTION_VERBOSE,
};

struct daemon_arguments {
	const char *config_path;
	char node[HOSTLIST_NAME_MAX + 1];
	enum log_level level;
};

static int option_take(void *ctx, int option, const char *value)
{
	struct daemon_arguments *arguments = ctx;

	if (option == OPTION_CONFIG)
		arguments->config_path = value;
	else if (option == OPTION_NODE)
		snprintf(arguments->node, sizeof(arguments->node), "%s", value);
	else
		arguments->level = LOG_LEVEL_INFO;
	return 0;
}

static const struct daemon_options_table options_table = {
	.program = "scoll-execd",
	.usage = "usage: scoll-execd [--config FILE] [--node NAME]\n"
		 "\n"
		 "Runs commands for scoll-exec on this node, and forwards "
		 "them.\n"
		 "\n"
		 "  --config FILE  the configuration (" EXEC_CONFIG ")\n"
		 "  --node NAME    this node's name in it (the host's name)\n"
		 "  --verbose      also log nodes that come and go\n"
		 "  --help, --version\n",
	.options =
		(const struct option[]){
			{ "config", required_argument, NULL, OPTION_CONFIG },
			{ "node", required_argument, NULL, OPTION_NODE },
			{ "verbose", no_argument, NULL, OPTION_VERBOSE },
			DAEMON_OPTIONS_COMMON,
			{ 0 },
		},
	.take = option_take,
};

static int become(const char *name, struct fairlead_error *ret_error)
{
	const struct passwd *user;

	if (geteuid() != 0)
		return 0;
	user = getpwnam(name);
	if (user == NULL)
		return error_set(ret_error, -ENOENT, "there is no user '%s'",
				 name);
	if (setgroups(0, NULL) < 0 ||
	    setresgid(user->pw_gid, user->pw_gid, user->pw_gid) < 0 ||
	    setresuid(user->pw_uid, user->pw_uid, user->pw_uid) < 0)
		return error_set(ret_error, -errno, "cannot become '%s': %s",
				 name, strerror(errno));
	prctl(PR_SET_DUMPABLE, 0);
	return 0;
}

/* Otherwise libfabric initialises all its providers, which takes a second. */
static void environment_set(const struct exec_config *config)
{
	_auto_(freep) char *names = memory_text(config->provider);

	for (char *at = names; *at != 0; at++) {
		if (*at == ';')
			*at = ',';
	}
	if (setenv("FI_PROVIDER", names, 0) < 0)
		memory_end();
}

static int key_read(const struct exec_config *config,
		    uint8_t ret_key[KEY_BYTES],
		    struct fairlead_error *ret_error)
{
	uint8_t bytes[KEY_BYTES + 1];
	ssize_t size =
		secret_read(config->key_path, bytes, sizeof(bytes), ret_error);

	if (size >= 0 && size != KEY_BYTES)
		size = error_set(ret_error, -EINVAL, "%s: not %d bytes",
				 config->key_path, KEY_BYTES);
	if (size >= 0)
		memcpy(ret_key, bytes, KEY_BYTES);
	sodium_memzero(bytes, sizeof(bytes));
	return size < 0 ? (int)size : 0;
}

static int run(const struct daemon_arguments *arguments,
	       const struct exec_config *config, const struct log *log,
	       struct fairlead_error *ret_error)
{
	uint8_t key[KEY_BYTES];
	struct front_options options = { .config = config,
					 .log = log,
					 .key = key };
	struct front front;
	int result;

	if (config->self < 0)
		return error_set(ret_error, -ENOENT,
				 "%s: no node has the name '%s'",
				 arguments->config_path, arguments->node);
	result = key_read(config, key, ret_error);
	if (result == 0)
		result = launcher_start(config, log, &options.launcher_fd,
					ret_error);
	descriptors_want(DESCRIPTORS); /* not for commands */
	if (result == 0)
		result = front_open(&front, &options, ret_error);
	if (result == 0)
		result = become(config->user, ret_error);
	environment_set(config);
	if (result == 0)
		result = front_run(&front, &options, ret_error);
	sodium_memzero(key, sizeof(key));
	return result;
}

int main(int argc, char **argv)
{
	_auto_(config_destroyp) struct exec_config *config = NULL;
	struct fairlead_error error = { 0 };
	struct daemon_arguments arguments = { .config_path = EXEC_CONFIG,
					      .level = LOG_LEVEL_WARNING };
	struct log log;
	int code, result;

	gethostname(arguments.node, sizeof(arguments.node) - 1);
	result = daemon_options_read(&options_table, argc, argv, &arguments,
				     &code);
	if (result >= 0 && result < argc)
		result = daemon_options_fail(&options_table, &code,
					     "unexpected argument '%s'",
					     argv[result]);
	if (result < 0)
		return code;
	if (sodium_init() < 0 || signal(SIGPIPE, SIG_IGN) == SIG_ERR)
		return EXIT_FAILURE;
	sys_log_init(&log, "scoll-execd", arguments.level);
	result = config_load(arguments.config_path, arguments.node, &config,
			     &error);
	if (result == 0)
		result = run(&arguments, config, &log, &error);
	if (result < 0)
		log_error(&log, "%s", error.text);
	return result < 0 ? EXIT_FAILURE : EXIT_SUCCESS;
}
