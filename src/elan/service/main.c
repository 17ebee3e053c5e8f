/* SPDX-License-Identifier: BSD-3-Clause */
/* fairlead-rms: the program descriptions of one node. */
#include <errno.h>
#include <sodium.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/idset.h"
#include "elan/service/server.h"
#include "elan/wire/wire.h"
#include "sys/clock.h"
#include "sys/daemon_options.h"
#include "sys/log.h"
#include "sys/secret.h"

#define EXIT_FAILED        1
#define EXIT_NOT_PERMITTED 77

enum {
	OPTION_ADAPTER = 1,
	OPTION_DIR,
	OPTION_KEEPER,
	OPTION_RAILS,
	OPTION_READY_FD,
};

static const struct option option_table[] = {
	{ "adapter", required_argument, NULL, OPTION_ADAPTER },
	{ "dir", required_argument, NULL, OPTION_DIR },
	{ "keeper", required_argument, NULL, OPTION_KEEPER },
	{ "rails", required_argument, NULL, OPTION_RAILS },
	{ "ready-fd", required_argument, NULL, OPTION_READY_FD },
	DAEMON_OPTIONS_COMMON,
	{ 0 },
};

static const char usage[] =
	"usage: fairlead-rms [OPTION...]\n"
	"\n"
	"  --adapter ADDRESS[:PORT]    where other nodes reach this one\n"
	"  --dir DIR                   where socket and state are\n"
	"  --keeper auto|group|search  how processes are kept in programs\n"
	"  --rails SET                 rails that the node has, as 0-1\n"
	"  --ready-fd N                write a byte there when ready\n"
	"  --help\n"
	"  --version\n";

static int parse_keeper(const char *text, enum keeper_mode *ret_mode)
{
	static const char *const names[] = {
		[KEEPER_AUTO] = "auto",
		[KEEPER_GROUP] = "group",
		[KEEPER_SEARCH] = "search",
	};

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		if (strcmp(names[i], text) == 0) {
			*ret_mode = (enum keeper_mode)i;
			return 0;
		}
	}
	return -EINVAL;
}

static int parse_rails(const char *text, struct rms_options *options)
{
	_auto_(idset_destroyp) struct idset *set = NULL;

	if (idset_parse(text, ELAN_MAX_RAILS, &set, NULL) < 0)
		return -EINVAL;
	options->has_rails = true;
	options->rails = 0;
	idset_foreach (rail, set)
		options->rails |= UINT32_C(1) << rail;
	return 0;
}

static int take(void *ctx, int id, const char *value)
{
	struct rms_options *options = ctx;

	switch (id) {
	case OPTION_ADAPTER:
		options->adapter = *value != '\0' ? value : NULL;
		return 0;
	case OPTION_DIR:
		options->dir = value;
		return 0;
	case OPTION_KEEPER:
		return parse_keeper(value, &options->mode);
	case OPTION_RAILS:
		return parse_rails(value, options);
	case OPTION_READY_FD:
		return daemon_options_fd(value, &options->ready_fd);
	}
	return -EINVAL;
}

/* 0; or the program has to end with this exit code. */
static int rms_options_read(int argc, char **argv,
			    struct rms_options *ret_options, int *ret_exit_code)
{
	static const struct daemon_options_table table = { "fairlead-rms",
							   usage, option_table,
							   take };
	int next;

	*ret_options = (struct rms_options){
		.dir = RMS_DIR_DEFAULT,
		.ready_fd = -1,
	};
	next = daemon_options_read(&table, argc, argv, ret_options,
				   ret_exit_code);
	if (next >= 0 && next < argc)
		return daemon_options_fail(&table, ret_exit_code,
					   "'%s' is not expected", argv[next]);
	return next < 0 ? next : 0;
}

static int run_daemon(const struct rms_options *options)
{
	/* Borrowed by the server, so they end after it. */
	struct clock_seam clock = sys_clock();
	struct log log;
	_auto_(notes_closep) struct notes *notes = NULL;
	_auto_(rms_server_destroyp) struct rms_server *server = NULL;
	struct fairlead_error error;
	int result;

	umask(022); /* everyone may find the socket, and see cgroups */
	secret_hide_process();
	sys_log_init(&log, "fairlead-rms", LOG_LEVEL_INFO);
	result = secret_lock_process();
	if (result < 0)
		log_warning(&log,
			    "keys are not locked in memory, and may be swapped "
			    "error=\"%s\"",
			    strerror(-result));
	if (sodium_init() < 0) {
		log_error(&log, "libsodium cannot be used");
		return EXIT_FAILED;
	}
	if (geteuid() != 0) {
		log_error(&log, "only root can keep the processes of others");
		return EXIT_NOT_PERMITTED;
	}
	result = notes_open(options->dir, &notes, &error);
	if (result == 0)
		result = rms_server_create(options, notes, &clock, &log,
					   &server, &error);
	if (result < 0) {
		log_error(&log, "%s", error.text);
		return EXIT_FAILED;
	}
	return rms_server_run(server, options->ready_fd) < 0 ? EXIT_FAILED : 0;
}

int main(int argc, char **argv)
{
	struct rms_options options;
	int exit_code;

	if (rms_options_read(argc, argv, &options, &exit_code) < 0)
		return exit_code;
	return run_daemon(&options);
}
