/* SPDX-License-Identifier: BSD-3-Clause */
/* The command line of fairlead-rms. */
#pragma once

#include "elan/service/keepers.h"

/* Texts are borrowed from argv. */
struct rms_options {
	const char *dir;
	enum keeper_mode mode;
	int ready_fd; /* gets a byte when clients can connect; or -1 */
	/* Which rails there are; not has_rails: those that were said before. */
	bool has_rails;
	uint32_t rails;
	const char *adapter; /* where other nodes reach this one; or NULL */
};

/* 0; or the program has to end with this exit code. */
int rms_options_read(int argc, char **argv, struct rms_options *ret_options,
		     int *ret_exit_code);
