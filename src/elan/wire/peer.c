/* SPDX-License-Identifier: BSD-3-Clause */
#include "elan/wire/peer.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

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

/* All of it at once: a buffer that grows leaves copies of keys behind. */
static int encode(const struct wire_request *request, struct writer *writer)
{
	*writer = (struct writer){ .limit = WIRE_REQUEST_MAX,
				   .data = malloc(WIRE_REQUEST_MAX),
				   .capacity = WIRE_REQUEST_MAX };
	if (writer->data == NULL)
		return -ENOMEM;
	wire_request_encode(request, writer);
	return writer->result;
}

static ssize_t exchange(const char *dir, const struct wire_request *request,
			uint8_t *packet, struct packet_fds *fds)
{
	_auto_(closep) int fd = packet_connect(dir != NULL ? dir : peer_dir());
	struct writer writer;
	ssize_t size;
	int result;

	if (fd < 0)
		return fd;
	result = encode(request, &writer);
	if (result < 0) {
		writer_fini(&writer);
		return result;
	}
	size = packet_call(fd, writer.data, writer.size, packet, WIRE_REPLY_MAX,
			   fds);
	explicit_bzero(writer.data, writer.size);
	writer_fini(&writer);
	if (size == -EMSGSIZE)
		return -EPROTO;
	return size == -ECONNRESET ? -EIO : size;
}

int peer_call_fds(const char *dir, const struct wire_request *request,
		  struct peer_reply *ret_reply, struct packet_fds *ret_fds)
{
	struct wire_reply *reply = &ret_reply->reply;
	ssize_t size;
	int result;

	*ret_reply = (struct peer_reply){ 0 };
	ret_reply->packet = malloc(WIRE_REPLY_MAX);
	if (ret_reply->packet == NULL)
		return -ENOMEM;
	size = exchange(dir, request, ret_reply->packet, ret_fds);
	if (size < 0)
		return (int)size;
	result = wire_reply_decode(ret_reply->packet, (size_t)size, reply);
	if (result < 0)
		return result;
	if (reply->op == WIRE_NONE && reply->result < 0)
		return reply->result;
	return reply->op == request->op ? reply->result : -EPROTO;
}

int peer_call(const char *dir, const struct wire_request *request,
	      struct peer_reply *ret_reply)
{
	return peer_call_fds(dir, request, ret_reply, NULL);
}
