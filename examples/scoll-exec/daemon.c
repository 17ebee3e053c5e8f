/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * scoll-execd: forks the launcher, which keeps the privileges, while nothing
 * else is there yet; makes the socket of the clients; gives the privileges up
 * in what is left, and joins the collectives.
 */
#include <errno.h>
#include <getopt.h>
#include <grp.h>
#include <pwd.h>
#include <signal.h>
#include <sodium.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <unistd.h>

#include "front.h"
#include "launcher.h"
#include "sys/descriptors.h"
#include "sys/log.h"
#include "sys/secret.h"

#define KEY_BYTES   32
#define DESCRIPTORS 65536

static const char help[] =
	"usage: scoll-execd [--config FILE] [--node NAME]\n"
	"\n"
	"Runs commands for scoll-exec on this node, and passes them on.\n"
	"\n"
	"  -c, --config FILE  the configuration (" EXEC_CONFIG ")\n"
	"  -n, --node NAME    which of its nodes this is (the host's name)\n"
	"  -v, --verbose      log more: nodes that come and go\n"
	"  -h, --help         print this\n";

struct exec_arguments {
	const char *config_path;
	char node[HOSTLIST_NAME_MAX + 1];
	enum log_level level;
};

/* 0: go on; else *ret_code is the exit code. */
static int arguments_read(int argc, char **argv,
			  struct exec_arguments *arguments, int *ret_code)
{
	static const struct option options[] = {
		{ "config", required_argument, NULL, 'c' },
		{ "node", required_argument, NULL, 'n' },
		{ "verbose", no_argument, NULL, 'v' },
		{ "help", no_argument, NULL, 'h' },
		{ 0 },
	};
	int option;

	*arguments = (struct exec_arguments){ .config_path = EXEC_CONFIG,
					      .level = LOG_LEVEL_WARNING };
	gethostname(arguments->node, sizeof(arguments->node) - 1);
	while ((option = getopt_long(argc, argv, "c:n:vh", options, NULL)) !=
	       -1) {
		switch (option) {
		case 'c':
			arguments->config_path = optarg;
			break;
		case 'n':
			snprintf(arguments->node, sizeof(arguments->node), "%s",
				 optarg);
			break;
		case 'v':
			arguments->level = LOG_LEVEL_INFO;
			break;
		case 'h':
			fputs(help, stdout);
			*ret_code = 0;
			return 1;
		default:
			*ret_code = 2;
			return 1;
		}
	}
	if (optind == argc)
		return 0;
	fprintf(stderr, "scoll-execd: '%s' is too much\n", argv[optind]);
	*ret_code = 2;
	return 1;
}

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

/*
 * libfabric looks for all that it knows, for a second, unless it is told what
 * is wanted; and the psm libraries handle signals unless these are there.
 */
static int environment_set(const struct exec_config *config)
{
	_auto_(freep) char *names = strdup(config->provider);

	if (names == NULL)
		return -ENOMEM;
	for (char *at = names; *at != 0; at++) {
		if (*at == ';')
			*at = ',';
	}
	return setenv("FI_PROVIDER", names, 0) < 0 ? -errno : 0;
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

static int run(const struct exec_arguments *arguments,
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
	if (result == 0 && environment_set(config) < 0)
		result = error_set(ret_error, -ENOMEM, "out of memory");
	if (result == 0)
		result = front_run(&front, &options, ret_error);
	sodium_memzero(key, sizeof(key));
	return result;
}

int main(int argc, char **argv)
{
	_auto_(config_destroyp) struct exec_config *config = NULL;
	struct fairlead_error error = { 0 };
	struct exec_arguments arguments;
	struct log log;
	int code, result;

	if (arguments_read(argc, argv, &arguments, &code) != 0)
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
