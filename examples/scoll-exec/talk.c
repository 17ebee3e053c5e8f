/* SPDX-License-Identifier: BSD-3-Clause */
/* A frame is its length (u32) and so many bytes, as sys/net.h has them. */
#include "talk.h"

#include <munge.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/memory.h"
#include "sys/fd.h"

int talk_connect(const char *path, int *ret_fd, uid_t *ret_uid,
		 struct fairlead_error *ret_error)
{
	_auto_(closep) int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	struct sockaddr_un address = { .sun_family = AF_UNIX };
	struct ucred peer;
	socklen_t size = sizeof(peer);

	if (strlen(path) >= sizeof(address.sun_path))
		return error_set(ret_error, -ENAMETOOLONG, "%s: too long",
				 path);
	snprintf(address.sun_path, sizeof(address.sun_path), "%s", path);
	if (fd < 0 ||
	    connect(fd, (struct sockaddr *)&address, sizeof(address)) < 0)
		return error_set(ret_error, -errno, "%s: %s", path,
				 strerror(errno));
	if (getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &size) < 0)
		return error_set(ret_error, -errno, "%s: %s", path,
				 strerror(errno));
	if (peer.uid != 0 && peer.uid != geteuid())
		return error_set(ret_error, -EPERM,
				 "%s: is of user %u, neither root's nor yours",
				 path, (unsigned)peer.uid);
	*ret_uid = peer.uid;
	*ret_fd = fd;
	fd = -1;
	return 0;
}

static int write_all(int fd, const uint8_t *bytes, size_t size)
{
	while (size > 0) {
		ssize_t count = send(fd, bytes, size, MSG_NOSIGNAL);

		if (count < 0 && errno == EINTR)
			continue;
		if (count < 0)
			return -errno;
		bytes += count;
		size -= (size_t)count;
	}
	return 0;
}

int talk_send(int fd, const struct writer *frame)
{
	_auto_(writer_fini) struct writer whole = { 0 };

	write_blob(&whole, frame->data, frame->size);
	memory_check(frame->result);
	memory_check(whole.result);
	return write_all(fd, whole.data, whole.size);
}

int talk_receive(int fd, uint8_t **ret_frame, size_t *ret_size)
{
	_auto_(freep) uint8_t *frame = NULL;
	uint8_t head[4];
	uint32_t size = 0;

	if (fd_read(fd, head, sizeof(head)) != sizeof(head))
		return -EPIPE;
	for (int i = 0; i < 4; i++)
		size |= (uint32_t)head[i] << 8 * i;
	if (size == 0 || size > TALK_FRAME_MAX)
		return -EBADMSG;
	frame = memory_alloc(size);
	if (fd_read(fd, frame, size) != (ssize_t)size)
		return -EPIPE;
	*ret_frame = take_ptr(frame);
	*ret_size = size;
	return 0;
}

int talk_seal(const struct exec_order *order, const char *munge_socket,
	      uid_t reader, char **ret_credential,
	      struct fairlead_error *ret_error)
{
	_auto_(writer_fini) struct writer payload = { 0 };
	munge_ctx_t ctx = memory_have(munge_ctx_create());
	munge_err_t error = EMUNGE_SUCCESS;
	const char *text;
	int result = 0;

	order_encode(order, &payload);
	memory_check(payload.result);
	if (munge_socket != NULL)
		error = munge_ctx_set(ctx, MUNGE_OPT_SOCKET, munge_socket);
	if (error == EMUNGE_SUCCESS)
		error = munge_ctx_set(ctx, MUNGE_OPT_UID_RESTRICTION, reader);
	if (error == EMUNGE_SUCCESS)
		error = munge_encode(ret_credential, ctx, payload.data,
				     (int)payload.size);
	text = munge_ctx_strerror(ctx);
	if (error != EMUNGE_SUCCESS)
		result = error_set(ret_error, -EHOSTDOWN, "MUNGE: %s",
				   text != NULL ? text : munge_strerror(error));
	munge_ctx_destroy(ctx);
	return result;
}
