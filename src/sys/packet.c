/* SPDX-License-Identifier: BSD-3-Clause */
#include "sys/packet.h"

#include <errno.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>

#include "base/cleanup.h"

#define BACKLOG 512

void packet_fds_close(struct packet_fds *fds)
{
	while (fds->count > 0)
		close(fds->fds[--fds->count]);
}

static int address_of(const char *dir, struct sockaddr_un *ret_address)
{
	int size;

	*ret_address = (struct sockaddr_un){ .sun_family = AF_UNIX };
	size = snprintf(ret_address->sun_path, sizeof(ret_address->sun_path),
			"%s/socket", dir);
	return size < 0 || (size_t)size >= sizeof(ret_address->sun_path)
		       ? -ENAMETOOLONG
		       : 0;
}

int packet_listen(const char *dir)
{
	struct sockaddr_un address;
	_auto_(closep) int fd = -1;
	int result = address_of(dir, &address);
	int listening;

	if (result < 0)
		return result;
	if (unlink(address.sun_path) < 0 && errno != ENOENT)
		return -errno;
	fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (fd < 0 ||
	    bind(fd, (const struct sockaddr *)&address, sizeof(address)) < 0 ||
	    chmod(address.sun_path, 0666) < 0 || listen(fd, BACKLOG) < 0)
		return -errno;
	listening = fd;
	fd = -1;
	return listening;
}

int packet_connect(const char *dir)
{
	struct sockaddr_un address;
	_auto_(closep) int fd = -1;
	int result = address_of(dir, &address);
	int connected;

	if (result < 0)
		return result;
	fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
	if (fd < 0)
		return -errno;
	do
		result = connect(fd, (const struct sockaddr *)&address,
				 sizeof(address));
	while (result < 0 && errno == EINTR);
	if (result < 0)
		return -errno;
	connected = fd;
	fd = -1;
	return connected;
}

int packet_send(int fd, const void *bytes, size_t size,
		const struct packet_fds *fds)
{
	_Alignas(struct cmsghdr)
		uint8_t control[CMSG_SPACE(PACKET_FDS_MAX * sizeof(int))] = {
			0
		};
	struct iovec iovec = { (void *)bytes, size };
	struct msghdr message = { .msg_iov = &iovec, .msg_iovlen = 1 };
	ssize_t sent;

	if (fds != NULL && fds->count > 0) {
		struct cmsghdr *head = (struct cmsghdr *)control;

		message.msg_control = control;
		message.msg_controllen = CMSG_SPACE(fds->count * sizeof(int));
		head->cmsg_level = SOL_SOCKET;
		head->cmsg_type = SCM_RIGHTS;
		head->cmsg_len = CMSG_LEN(fds->count * sizeof(int));
		memcpy(CMSG_DATA(head), fds->fds, fds->count * sizeof(int));
	}
	do
		sent = sendmsg(fd, &message, MSG_NOSIGNAL);
	while (sent < 0 && errno == EINTR);
	return sent < 0 ? -errno : 0;
}

/* More than PACKET_FDS_MAX are closed by the kernel. */
static void take_fds(struct msghdr *message, struct packet_fds *fds)
{
	struct cmsghdr *control = CMSG_FIRSTHDR(message);
	size_t size;

	if (control == NULL || control->cmsg_level != SOL_SOCKET ||
	    control->cmsg_type != SCM_RIGHTS)
		return;
	size = control->cmsg_len - CMSG_LEN(0);
	if (size > sizeof(fds->fds))
		size = sizeof(fds->fds);
	memcpy(fds->fds, CMSG_DATA(control), size);
	fds->count = size / sizeof(int);
}

static ssize_t receive_once(int fd, void *bytes, size_t capacity,
			    struct packet_fds *fds)
{
	_Alignas(struct cmsghdr) uint8_t control[CMSG_SPACE(sizeof(fds->fds))];
	struct iovec iovec = { bytes, capacity };
	struct msghdr message = {
		.msg_iov = &iovec,
		.msg_iovlen = 1,
		.msg_control = control,
		.msg_controllen = sizeof(control),
	};
	ssize_t size = recvmsg(fd, &message, MSG_TRUNC | MSG_CMSG_CLOEXEC);

	if (size >= 0)
		take_fds(&message, fds);
	return size;
}

/*
 * When the daemon closes while our request is on its way, the error comes
 * before the reply that it had sent: that is read after it.
 */
static ssize_t receive(int fd, void *bytes, size_t capacity,
		       struct packet_fds *fds)
{
	bool was_reset = false;
	ssize_t size;

	for (;;) {
		size = receive_once(fd, bytes, capacity, fds);
		if (size >= 0 || (errno != EINTR && errno != ECONNRESET))
			return size;
		if (errno == ECONNRESET && was_reset)
			return size;
		was_reset = errno == ECONNRESET;
	}
}

ssize_t packet_receive(int fd, void *bytes, size_t capacity,
		       struct packet_fds *ret_fds)
{
	struct packet_fds fds = { .count = 0 };
	ssize_t size = receive(fd, bytes, capacity, &fds);

	if (size > 0 && (size_t)size <= capacity && ret_fds != NULL)
		*ret_fds = fds;
	else
		packet_fds_close(&fds);
	if (size < 0)
		return -errno;
	if (size == 0)
		return -ECONNRESET;
	return (size_t)size > capacity ? -EMSGSIZE : size;
}

ssize_t packet_call(int fd, const void *request, size_t request_size,
		    void *reply, size_t capacity, struct packet_fds *ret_fds)
{
	int result = packet_send(fd, request, request_size, NULL);

	/* A daemon that refuses a connection sends why before it closes it. */
	if (result < 0 && result != -EPIPE && result != -ECONNRESET)
		return result;
	return packet_receive(fd, reply, capacity, ret_fds);
}

int packet_file_make(const void *bytes, size_t size)
{
	int fd = memfd_create("packet", MFD_CLOEXEC);

	if (fd >= 0 && (write(fd, bytes, size) != (ssize_t)size ||
			lseek(fd, 0, SEEK_SET) < 0)) {
		close(fd);
		return -EIO;
	}
	return fd < 0 ? -errno : fd;
}

int packet_file_print(int fd)
{
	char bytes[4096];
	ssize_t size;

	while ((size = read(fd, bytes, sizeof(bytes))) > 0)
		if (fwrite(bytes, 1, (size_t)size, stdout) != (size_t)size)
			return -EIO;
	return size < 0 || fflush(stdout) != 0 ? -errno : 0;
}
