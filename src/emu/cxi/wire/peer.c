/* SPDX-License-Identifier: BSD-3-Clause */
/* Sequenced packets: what is sent at once is received at once, or not. */
#include "emu/cxi/wire/peer.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>

#include "base/cleanup.h"

static int connect_retry(int fd, const struct sockaddr_un *address)
{
	int result;

	do
		result = connect(fd, (const struct sockaddr *)address,
				 sizeof(*address));
	while (result < 0 && errno == EINTR);
	return result < 0 ? -errno : 0;
}

int peer_connect(const char *dir)
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

	wire_request_encode(request, &writer);
	result = writer.result;
	if (result == 0) {
		do
			size = send(fd, writer.data, writer.size, MSG_NOSIGNAL);
		while (size < 0 && errno == EINTR);
		result = size < 0 ? -errno : 0;
	}
	writer_fini(&writer);
	return result;
}

/*
 * When the daemon closes while our request is on its way, the error comes
 * before what it had sent: what it said is read after it.
 */
static ssize_t receive_packet(int fd, uint8_t *packet, size_t capacity)
{
	bool was_reset = false;
	ssize_t size;

	for (;;) {
		size = recv(fd, packet, capacity, MSG_TRUNC);
		if (size >= 0 || (errno != EINTR && errno != ECONNRESET))
			return size;
		if (errno == ECONNRESET && was_reset)
			return size;
		was_reset = errno == ECONNRESET;
	}
}

int peer_receive(int fd, uint8_t *packet, size_t capacity,
		 struct wire_reply *ret_reply)
{
	struct wire_reply reply;
	ssize_t size;
	int result;

	size = receive_packet(fd, packet, capacity);
	if (size < 0)
		return -errno;
	if (size == 0)
		return -ECONNRESET;
	if ((size_t)size > capacity)
		return -EPROTO;
	result = wire_reply_decode(packet, (size_t)size, &reply);
	if (result < 0)
		return result;
	if (reply.op == WIRE_NONE)
		return reply.result < 0 ? reply.result : -EPROTO;
	*ret_reply = reply;
	return 0;
}

int peer_call(int fd, const struct wire_request *request, uint8_t *packet,
	      size_t capacity, struct wire_reply *ret_reply)
{
	struct wire_reply reply;
	int result;

	result = send_request(fd, request);
	/* Who refuses a connection says why before it hangs up. */
	if (result < 0 && result != -EPIPE && result != -ECONNRESET)
		return result;
	result = peer_receive(fd, packet, capacity, &reply);
	if (result < 0)
		return result;
	if (reply.op != request->op)
		return -EPROTO;
	*ret_reply = reply;
	return 0;
}
