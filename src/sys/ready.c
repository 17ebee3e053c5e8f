/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The protocol of sd_notify(3): one datagram of text to the Unix socket in
 * NOTIFY_SOCKET, whose name begins with '@' when it is abstract.
 */
#include "sys/ready.h"

#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>

#include "base/cleanup.h"

static void notify(const char *state)
{
	const char *path = getenv("NOTIFY_SOCKET");
	struct sockaddr_un address = { .sun_family = AF_UNIX };
	_auto_(closep) int fd = -1;
	size_t size;

	if (path == NULL || (path[0] != '/' && path[0] != '@'))
		return;
	size = strlen(path);
	if (size >= sizeof(address.sun_path))
		return;
	memcpy(address.sun_path, path, size);
	if (path[0] == '@')
		address.sun_path[0] = 0;
	fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	if (fd >= 0)
		sendto(fd, state, strlen(state), MSG_NOSIGNAL,
		       (struct sockaddr *)&address,
		       (socklen_t)(offsetof(struct sockaddr_un, sun_path) +
				   size));
}

void ready_tell(int fd)
{
	if (fd >= 0) {
		if (write(fd, "\n", 1) < 0)
			notify("STATUS=nobody waits at --ready-fd");
		close(fd);
	}
	notify("READY=1");
}

void ready_tell_stopping(void)
{
	notify("STOPPING=1");
}
