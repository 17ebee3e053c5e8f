/* SPDX-License-Identifier: BSD-3-Clause */
/* fairlead-rms: the program descriptions of one node. */
#include <sodium.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "elan/service/server.h"
#include "sys/clock.h"
#include "sys/log.h"
#include "sys/secret.h"

#define EXIT_FAILED        1
#define EXIT_NOT_PERMITTED 77

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
