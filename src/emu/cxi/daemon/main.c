/* SPDX-License-Identifier: BSD-3-Clause */
/* fairlead-softnic: the software NICs of one node, and their control. */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "emu/cxi/daemon/ctl.h"
#include "emu/cxi/daemon/options.h"
#include "emu/cxi/daemon/server.h"
#include "sys/clock.h"
#include "sys/log.h"

#define EXIT_FAILED 1
#define EXIT_USAGE  2

static int run_daemon(const struct options *options)
{
	/* Borrowed by the server, so they end after it. */
	struct clock_seam clock = sys_clock();
	struct log log;
	_auto_(rundir_closep) struct rundir *rundir = NULL;
	_auto_(server_destroyp) struct server *server = NULL;
	struct fairlead_error error;
	int result;

	umask(022); /* everyone may find the socket */
	sys_log_init(&log, "fairlead-softnic", LOG_LEVEL_INFO);
	result = rundir_open(options->dir, &rundir, &error);
	if (result < 0) {
		log_error(&log, "%s", error.text);
		return EXIT_FAILED;
	}
	result = server_create(&options->server, rundir, &clock, &log, &server);
	if (result == 0)
		result = server_run(server);
	if (result < 0) {
		log_error(&log, "cannot serve dir=%s error=%s", options->dir,
			  strerror(-result));
		return EXIT_FAILED;
	}
	return 0;
}

int main(int argc, char **argv)
{
	struct fairlead_error error;
	struct options options;

	if (options_parse(argc, argv, &options, &error) < 0) {
		fprintf(stderr, "fairlead-softnic: %s\n%s", error.text,
			options_usage());
		return EXIT_USAGE;
	}
	if (options.shows_help) {
		fputs(options_usage(), stdout);
		return 0;
	}
	if (options.shows_version) {
		puts("fairlead-softnic " FAIRLEAD_VERSION);
		return 0;
	}
	if (options.command != NULL)
		return ctl_run(options.dir, options.command);
	return run_daemon(&options);
}
