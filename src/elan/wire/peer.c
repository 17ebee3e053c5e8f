/* SPDX-License-Identifier: BSD-3-Clause */
#include "elan/wire/peer.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"

const char *rms_peer_dir(void)
{
	const char *dir = secure_getenv(RMS_DIR_VARIABLE);

	return dir != NULL && dir[0] != '\0' ? dir : RMS_DIR_DEFAULT;
}

void rms_answer_fini(struct rms_answer *reply)
{
	free(reply->packet);
	*reply = (struct rms_answer){ 0 };
}

/* All of it at once: a buffer that grows leaves copies of keys behind. */
static int encode(const struct rms_request *request, struct writer *writer)
{
	*writer = (struct writer){ .limit = RMS_REQUEST_MAX,
				   .data = malloc(RMS_REQUEST_MAX),
				   .capacity = RMS_REQUEST_MAX };
	if (writer->data == NULL)
		return -ENOMEM;
	rms_request_encode(request, writer);
	return writer->result;
}

static ssize_t exchange(const char *dir, const struct rms_request *request,
			uint8_t *packet, struct packet_fds *fds)
{
	_auto_(closep) int fd =
		packet_connect(dir != NULL ? dir : rms_peer_dir());
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
	size = packet_call(fd, writer.data, writer.size, packet, RMS_REPLY_MAX,
			   fds);
	explicit_bzero(writer.data, writer.size);
	writer_fini(&writer);
	if (size == -EMSGSIZE)
		return -EPROTO;
	return size == -ECONNRESET ? -EIO : size;
}

int rms_call_fds(const char *dir, const struct rms_request *request,
		 struct rms_answer *ret_reply, struct packet_fds *ret_fds)
{
	struct rms_reply *reply = &ret_reply->reply;
	ssize_t size;
	int result;

	*ret_reply = (struct rms_answer){ 0 };
	ret_reply->packet = malloc(RMS_REPLY_MAX);
	if (ret_reply->packet == NULL)
		return -ENOMEM;
	size = exchange(dir, request, ret_reply->packet, ret_fds);
	if (size < 0)
		return (int)size;
	result = rms_reply_decode(ret_reply->packet, (size_t)size, reply);
	if (result < 0)
		return result;
	if (reply->op == RMS_NONE && reply->result < 0)
		return reply->result;
	return reply->op == request->op ? reply->result : -EPROTO;
}

int rms_call(const char *dir, const struct rms_request *request,
	     struct rms_answer *ret_reply)
{
	return rms_call_fds(dir, request, ret_reply, NULL);
}
