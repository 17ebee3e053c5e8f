/* SPDX-License-Identifier: BSD-3-Clause */
#include "emu/cxi/wire/peer.h"

#include <errno.h>

int peer_call(int fd, const struct wire_request *request, uint8_t *packet,
	      struct softnic_wire_reply *ret_reply, struct packet_fds *ret_fds)
{
	struct writer writer = { .limit = WIRE_REQUEST_MAX };
	struct softnic_wire_reply reply;
	ssize_t size;
	int result;

	wire_request_encode(request, &writer);
	size = writer.result < 0 ? writer.result
				 : packet_call(fd, writer.data, writer.size,
					       packet, WIRE_REPLY_MAX, ret_fds);
	writer_fini(&writer);
	if (size < 0)
		return size == -EMSGSIZE ? -EPROTO : (int)size;
	result = wire_reply_decode(packet, (size_t)size, &reply);
	if (result < 0)
		return result;
	if (reply.op == WIRE_NONE && reply.result < 0)
		return reply.result;
	if (reply.op != request->op)
		return -EPROTO;
	*ret_reply = reply;
	return 0;
}
