/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * One process for each command: it starts the command as its user, and kills all
 * its processes after the timeout, on request, or when the daemon is gone.
 */
#pragma once

#include <pwd.h>
#include <stdint.h>

#define REPORT_BYTES 5 /* u8 enum outcome_kind, u32 code: to control_fd */

struct supervision {
	const struct passwd *user;
	const char *command;
	const char *node; /* our name, for the environment */
	uint32_t timeout_ms;
	int output_fd;  /* where the command writes */
	int control_fd; /* a byte, or its end: stop */
};

/* In a process of its own, with the signals of the launcher blocked. */
_Noreturn void supervise(const struct supervision *supervision);
