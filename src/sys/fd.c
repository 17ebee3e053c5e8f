/* SPDX-License-Identifier: BSD-3-Clause */
/* A read may give less than there is, and a signal may end it. */
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
