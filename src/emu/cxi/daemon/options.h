/* SPDX-License-Identifier: BSD-3-Clause */
/* The command line of fairlead-softnic. */
#pragma once

#include "emu/cxi/core/softnic.h"
#include "emu/cxi/wire/wire.h"

struct softnic_options {
	const char *dir; /* borrowed from argv */
	struct softnic_config config;
	bool owner_is_root;              /* the daemon's uid is privileged */
	int ready_fd;                    /* gets a byte when it serves; or -1 */
	char command[WIRE_TEXT_MAX + 1]; /* of `ctl`; "": run the daemon */
};

/* 0; or the program has to end with this exit code. */
int softnic_options_read(int argc, char **argv,
			 struct softnic_options *ret_options,
			 int *ret_exit_code);
