/* SPDX-License-Identifier: BSD-3-Clause */
/* The command line of scoll-exec. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

enum exec_exit_code {
	CODE_DONE = 0,
	CODE_FAILED = 1,
	CODE_USAGE = 2,
	CODE_LATER = 75,
	CODE_NOT_PERMITTED = 77,
};

struct exec_arguments {
	bool is_all, is_list;
	uint32_t timeout_ms;
	const char *socket, *munge_socket;
	char *nodes, *command;
};

/*
 * -1: go on; else the exit code, after an error or the help was printed. The
 * caller frees nodes and command in either case.
 */
int arguments_read(int argc, char **argv, struct exec_arguments *arguments);
