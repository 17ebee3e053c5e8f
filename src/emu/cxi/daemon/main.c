/* SPDX-License-Identifier: BSD-3-Clause */
/* fairlead-softnic: the software NICs of one node, and their control. */
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "emu/cxi/daemon/ctl.h"
#include "emu/cxi/daemon/server.h"
#include "sys/clock.h"
#include "sys/log.h"

static int run_daemon(const struct softnic_options *options)
{
	/* Borrowed by the server, so they end after it. */
	struct clock_seam clock = sys_clock();
	struct log log;
	_auto_(softnic_dir_closep) struct softnic_dir *dir = NULL;
	_auto_(softnic_server_destroyp) struct softnic_server *server = NULL;
	struct fairlead_error error;
	int result;

	umask(022); /* everyone may find the socket */
	sys_log_init(&log, "fairlead-softnic", LOG_LEVEL_INFO);
	result = softnic_dir_open(options->dir, &dir, &error);
	if (result < 0) {
		log_error(&log, "%s", error.text);
		return EXIT_FAILURE;
	}
	result = softnic_server_create(options, dir, &clock, &log, &server);
	if (result == 0)
		result = softnic_server_run(server, options->ready_fd);
	if (result < 0) {
		log_error(&log, "cannot serve dir=%s error=%s", options->dir,
			  strerror(-result));
		return EXIT_FAILURE;
	}
	return EXIT_SUCCESS;
}

int main(int argc, char **argv)
{
	struct softnic_options options;
	int exit_code;

	if (softnic_options_read(argc, argv, &options, &exit_code) < 0)
		return exit_code;
	if (options.command[0] != '\0')
		return ctl_run(options.dir, options.command);
	return run_daemon(&options);
}
