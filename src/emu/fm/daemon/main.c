/* SPDX-License-Identifier: BSD-3-Clause */
/* fairlead-softfm: a software fabric manager, and its control. */
#include <stdlib.h>

#include "emu/fm/daemon/ctl.h"
#include "emu/fm/daemon/server.h"
#include "sys/clock.h"
#include "sys/log.h"
#include "sys/rng.h"

static int run_daemon(struct softfm_options *options)
{
	/* Borrowed by the server, so they end after it. */
	const struct clock_seam clock = sys_clock();
	const struct rng_seam rng = sys_rng();
	struct log log;
	_auto_(softfm_server_destroyp) struct softfm_server *server = NULL;

	sys_log_init(&log, "fairlead-softfm", LOG_LEVEL_INFO);
	if (softfm_server_create(options, &clock, &rng, &log, &server) < 0)
		return EXIT_FAILURE;
	return softfm_server_run(server) < 0 ? EXIT_FAILURE : EXIT_SUCCESS;
}

int main(int argc, char **argv)
{
	struct softfm_options options;
	int exit_code;

	if (softfm_options_read(argc, argv, &options, &exit_code) < 0)
		return exit_code;
	if (options.command[0] != '\0')
		return softfm_ctl(options.dir, options.command);
	return run_daemon(&options);
}
