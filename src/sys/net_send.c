/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Sending. A frame is given to the socket at once, from where it is; only what
 * the socket does not take is copied and queued.
 */
#include "base/memory.h"
#include "sys/net_internal.h"

#include <stdlib.h>
#include <string.h>

struct pending_write {
	uv_write_t request;
	struct connection *connection;
	uint8_t bytes[];
};

static void on_written(uv_write_t *request, int status)
{
	struct pending_write *pending = request->data;

	if (status < 0)
		connection_drop(pending->connection, status);
	else
		connection_flowed(pending->connection);
	free(pending);
}

/* What the socket does not take at once, from `written` bytes on. */
static int queue_rest(struct connection *connection, const uv_buf_t parts[2],
		      size_t written)
{
	size_t size = parts[0].len + parts[1].len;
	struct pending_write *pending = memory_alloc(sizeof(*pending) + size);
	uv_buf_t buffer;
	int result;

	pending->connection = connection;
	pending->request.data = pending;
	memcpy(pending->bytes, parts[0].base, parts[0].len);
	memcpy(pending->bytes + parts[0].len, parts[1].base, parts[1].len);
	buffer = uv_buf_init((char *)pending->bytes + written,
			     (unsigned int)(size - written));
	result = uv_write(&pending->request, &connection->stream, &buffer, 1,
			  on_written);
	if (result < 0)
		free(pending);
	return result;
}

int net_send(void *ctx, uint64_t peer, const void *frame, size_t size)
{
	struct net *net = ctx;
	struct connection *connection = net_find(net, peer);
	uint8_t header[NET_HEADER_SIZE];
	uv_buf_t parts[2] = {
		{ .base = (char *)header, .len = sizeof(header) },
		{ .base = (char *)frame, .len = size },
	};
	size_t written;
	int result;

	if (connection == NULL || connection->state != CONNECTION_OPEN)
		return -ENOTCONN;
	if (size < NET_FRAME_SIZE_MIN || size > net->options.frame_bytes_max)
		return -EMSGSIZE;
	if (uv_stream_get_write_queue_size(&connection->stream) +
		    NET_HEADER_SIZE + size >
	    net->options.queue_bytes_max)
		return -ENOBUFS;
	for (size_t i = 0; i < NET_HEADER_SIZE; i++)
		header[i] = (uint8_t)(size >> (8 * i));
	/* An error is met again by the queue, which tells the loop. */
	result = uv_try_write(&connection->stream, parts, 2);
	written = result < 0 ? 0 : (size_t)result;
	if (written == NET_HEADER_SIZE + size)
		return 0;
	result = queue_rest(connection, parts, written);
	if (result < 0) {
		connection_drop(connection, result);
		return -ENOTCONN;
	}
	return 0;
}
