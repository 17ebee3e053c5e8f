/* SPDX-License-Identifier: BSD-3-Clause */
/* The command line of fairlead-rms. */
#pragma once

#include "base/error.h"
#include "elan/service/server.h"

struct options {
	struct server_options server;
	const char *dir; /* borrowed from argv */
	bool shows_help;
	bool shows_version;
};

/* -EINVAL, with a text. argv is permuted. */
int options_parse(int argc, char **argv, struct options *ret_options,
		  struct fairlead_error *ret_error);
const char *options_usage(void);
