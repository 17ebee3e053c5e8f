/* SPDX-License-Identifier: BSD-3-Clause */
/* The command line of fairlead-softfm. */
#pragma once

#include "emu/fm/core/softfm.h"

#define SOFTFM_DIR_DEFAULT "/run/fairlead-softfm"
#define SOFTFM_COMMAND_MAX 1024 /* bytes */

struct softfm_options {
	const char *dir; /* as the others, borrowed from argv */
	const char *listen;
	const char *name;  /* a further name in the certificate, or NULL */
	const char *state; /* a file, or NULL: forget all at the end */
	bool is_plain;     /* HTTP without TLS */
	bool has_foreign_ca;
	int ready_fd;
	struct softfm_config config;
	char command[SOFTFM_COMMAND_MAX + 1]; /* of `ctl`; "": the daemon */
};

/* 0; or the program has to end with this exit code. */
int softfm_options_read(int argc, char **argv,
			struct softfm_options *ret_options, int *ret_exit_code);
