/* SPDX-License-Identifier: BSD-3-Clause */
/* One request, and its text in as many packets as the daemon says. */
#include "emu/cxi/daemon/ctl.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/memory.h"
#include "emu/cxi/wire/peer.h"

#define EXIT_FAILED        1
#define EXIT_TRY_AGAIN     75
#define EXIT_NOT_PERMITTED 77

static int exit_code(int result)
{
	switch (result) {
	case 0:
		return 0;
	case -EPERM:
	case -EACCES:
		return EXIT_NOT_PERMITTED;
	case -ENOENT:
	case -ECONNREFUSED:
		return EXIT_TRY_AGAIN;
	default:
		return EXIT_FAILED;
	}
}

static int fail(int result, const char *dir, const char *text)
{
	fprintf(stderr, "fairlead-softnic: '%s': %s\n", dir, text);
	return exit_code(result);
}

static int fail_reply(const struct softnic_wire_reply *reply, const char *dir)
{
	if (reply->body.left == 0)
		return fail(reply->result, dir, strerror(-reply->result));
	fprintf(stderr, "fairlead-softnic: %.*s\n", (int)reply->body.left,
		(const char *)reply->body.at);
	return EXIT_FAILED;
}

int ctl_run(const char *dir, const char *command)
{
	struct wire_request request = { .op = WIRE_CONTROL };
	struct softnic_wire_reply reply;
	_auto_(packet_fds_close) struct packet_fds fds = { .count = 0 };
	_auto_(freep) uint8_t *packet = memory_alloc(WIRE_REPLY_MAX);
	_auto_(closep) int fd = -1;
	int result;

	snprintf(request.text, sizeof(request.text), "%s", command);
	fd = packet_connect(dir);
	if (fd < 0)
		return fail(fd, dir, strerror(-fd));
	result = peer_call(fd, &request, packet, &reply, &fds);
	if (result < 0)
		return fail(-EIO, dir, strerror(-result));
	if (reply.result < 0)
		return fail_reply(&reply, dir);
	if (fds.count > 0)
		result = packet_file_print(fds.fds[0]);
	return result < 0 ? fail(-EIO, dir, strerror(-result)) : 0;
}
