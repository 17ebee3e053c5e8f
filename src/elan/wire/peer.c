/* SPDX-License-Identifier: BSD-3-Clause */
/* Sequenced packets: what is sent at once is received at once, or not. */
#include "elan/wire/peer.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/cleanup.h"

const char *peer_dir(void)
{
	const char *dir = secure_getenv(WIRE_DIR_VARIABLE);

	return dir != NULL && dir[0] != '\0' ? dir : WIRE_DIR_DEFAULT;
}

void peer_reply_fini(struct peer_reply *reply)
{
	free(reply->packet);
	*reply = (struct peer_reply){ 0 };
}

static int connect_retry(int fd, const struct sockaddr_un *address)
{
	int result;

	do
		result = connect(fd, (const struct sockaddr *)address,
				 sizeof(*address));
	while (result < 0 && errno == EINTR);
	return result < 0 ? -errno : 0;
}

static int peer_connect(const char *dir)
{
	struct sockaddr_un address = { .sun_family = AF_UNIX };
	_auto_(closep) int fd = -1;
	int connected;
	int result;

	result = snprintf(address.sun_path, sizeof(address.sun_path),
			  "%s/socket", dir);
	if (result < 0 || (size_t)result >= sizeof(address.sun_path))
		return -ENAMETOOLONG;
	fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
	if (fd < 0)
		return -errno;
	result = connect_retry(fd, &address);
	if (result < 0)
		return result;
	connected = fd;
	fd = -1;
	return connected;
}

static int send_request(int fd, const struct wire_request *request)
{
	struct writer writer = { .limit = WIRE_REQUEST_MAX };
	ssize_t size = -1;
	int result;

	/* All of it at once: what grows leaves copies behind, of keys too. */
	writer.data = malloc(WIRE_REQUEST_MAX);
	if (writer.data == NULL)
		return -ENOMEM;
	writer.capacity = WIRE_REQUEST_MAX;
	wire_request_encode(request, &writer);
	result = writer.result;
	if (result == 0) {
		do
			size = send(fd, writer.data, writer.size, MSG_NOSIGNAL);
		while (size < 0 && errno == EINTR);
		result = size < 0 ? -errno : 0;
	}
	explicit_bzero(writer.data, writer.size);
	writer_fini(&writer);
	return result;
}

/* Descriptors that come with a packet; others are closed by the kernel. */
struct passed {
	int fds[WIRE_PORT_DESCRIPTORS];
	size_t count;
};

static void passed_close(struct passed *passed)
{
	while (passed->count > 0)
		close(passed->fds[--passed->count]);
}

static void passed_take(struct msghdr *message, struct passed *passed)
{
	struct cmsghdr *control = CMSG_FIRSTHDR(message);
	size_t size;

	if (control == NULL || control->cmsg_level != SOL_SOCKET ||
	    control->cmsg_type != SCM_RIGHTS)
		return;
	size = control->cmsg_len - CMSG_LEN(0);
	if (size > sizeof(passed->fds))
		size = sizeof(passed->fds);
	memcpy(passed->fds, CMSG_DATA(control), size);
	passed->count = size / sizeof(int);
}

static ssize_t receive_once(int fd, uint8_t *packet, struct passed *passed)
{
	_Alignas(struct cmsghdr)
		uint8_t control[CMSG_SPACE(sizeof(passed->fds))];
	struct iovec bytes = { packet, WIRE_REPLY_MAX };
	struct msghdr message = {
		.msg_iov = &bytes,
		.msg_iovlen = 1,
		.msg_control = control,
		.msg_controllen = sizeof(control),
	};
	ssize_t size = recvmsg(fd, &message, MSG_TRUNC | MSG_CMSG_CLOEXEC);

	if (size >= 0)
		passed_take(&message, passed);
	return size;
}

/*
 * When the daemon closes while our request is on its way, the error comes
 * before what it had sent: what it said is read after it.
 */
static ssize_t receive_packet(int fd, uint8_t *packet, struct passed *passed)
{
	bool was_reset = false;
	ssize_t size;

	for (;;) {
		size = receive_once(fd, packet, passed);
		if (size >= 0 || (errno != EINTR && errno != ECONNRESET))
			return size;
		if (errno == ECONNRESET && was_reset)
			return size;
		was_reset = errno == ECONNRESET;
	}
}

static int receive_reply(int fd, enum wire_op op, struct peer_reply *reply,
			 struct passed *passed)
{
	ssize_t size = receive_packet(fd, reply->packet, passed);
	int result;

	if (size <= 0)
		return -EIO;
	if (size > (ssize_t)WIRE_REPLY_MAX)
		return -EPROTO;
	result = wire_reply_decode(reply->packet, (size_t)size, &reply->reply);
	if (result < 0)
		return result;
	if (reply->reply.op == WIRE_NONE && reply->reply.result < 0)
		return reply->reply.result;
	return reply->reply.op == op ? reply->reply.result : -EPROTO;
}

static int call(const char *dir, const struct wire_request *request,
		struct peer_reply *ret_reply, struct passed *passed)
{
	_auto_(closep) int fd = -1;
	int result;

	*ret_reply = (struct peer_reply){ 0 };
	ret_reply->packet = malloc(WIRE_REPLY_MAX);
	if (ret_reply->packet == NULL)
		return -ENOMEM;
	fd = peer_connect(dir != NULL ? dir : peer_dir());
	if (fd < 0)
		return fd;
	result = send_request(fd, request);
	/* Who refuses a connection says why before it hangs up. */
	if (result < 0 && result != -EPIPE && result != -ECONNRESET)
		return result;
	return receive_reply(fd, request->op, ret_reply, passed);
}

int peer_call(const char *dir, const struct wire_request *request,
	      struct peer_reply *ret_reply)
{
	struct passed passed = { .count = 0 };
	int result = call(dir, request, ret_reply, &passed);

	passed_close(&passed);
	return result;
}

int peer_call_fds(const char *dir, const struct wire_request *request,
		  struct peer_reply *ret_reply,
		  int ret_fds[WIRE_PORT_DESCRIPTORS])
{
	struct passed passed = { .count = 0 };
	int result = call(dir, request, ret_reply, &passed);

	if (result == 0 && passed.count < WIRE_PORT_DESCRIPTORS)
		result = -EPROTO;
	if (result < 0)
		passed_close(&passed);
	else
		memcpy(ret_fds, passed.fds, sizeof(passed.fds));
	return result;
}
