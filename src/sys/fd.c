/* SPDX-License-Identifier: BSD-3-Clause */
/* A call may take a part only, and a signal may end it. */
#include "sys/fd.h"

#include <errno.h>
#include <unistd.h>

ssize_t fd_read(int fd, void *bytes, size_t capacity)
{
	size_t size = 0;

	while (size < capacity) {
		ssize_t count = read(fd, (char *)bytes + size, capacity - size);

		if (count < 0 && errno == EINTR)
			continue;
		if (count < 0)
			return -errno;
		if (count == 0)
			break;
		size += (size_t)count;
	}
	return (ssize_t)size;
}

int fd_write(int fd, const void *bytes, size_t size)
{
	size_t written = 0;

	while (written < size) {
		ssize_t count = write(fd, (const char *)bytes + written,
				      size - written);

		if (count < 0 && errno == EINTR)
			continue;
		if (count < 0)
			return -errno;
		written += (size_t)count;
	}
	return 0;
}
