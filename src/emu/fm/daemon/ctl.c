/* SPDX-License-Identifier: BSD-3-Clause */
#include "emu/fm/daemon/ctl.h"

#include <errno.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/error.h"
#include "sys/packet.h"

#define EXIT_TRY_AGAIN     75
#define EXIT_NOT_PERMITTED 77

static int fail(const char *dir, int error)
{
	const bool is_absent = error == ENOENT || error == ECONNREFUSED;

	fprintf(stderr, "fairlead-softfm: '%s': %s%s\n", dir, strerror(error),
		is_absent ? "; is a daemon running with this --dir?" : "");
	if (error == EPERM || error == EACCES)
		return EXIT_NOT_PERMITTED;
	return is_absent ? EXIT_TRY_AGAIN : EXIT_FAILURE;
}

int softfm_ctl(const char *dir, const char *command)
{
	char answer[SOFTFM_RESULT_SIZE + FAIRLEAD_ERROR_TEXT_MAX];
	_auto_(packet_fds_close) struct packet_fds fds = { .count = 0 };
	_auto_(closep) int fd = packet_connect(dir);
	int32_t result;
	ssize_t size;

	if (fd < 0)
		return fail(dir, -fd);
	size = packet_call(fd, command, strlen(command), answer, sizeof(answer),
			   &fds);
	if (size < (ssize_t)sizeof(result))
		return fail(dir, size < 0 ? (int)-size : EPROTO);
	memcpy(&result, answer, sizeof(result));
	if (result == 0) {
		size = fds.count > 0 ? packet_file_print(fds.fds[0]) : 0;
		return size < 0 ? fail(dir, (int)-size) : EXIT_SUCCESS;
	}
	fprintf(stderr, "fairlead-softfm: %.*s\n",
		(int)(size - SOFTFM_RESULT_SIZE), answer + SOFTFM_RESULT_SIZE);
	return result == -EPERM ? EXIT_NOT_PERMITTED : EXIT_FAILURE;
}
