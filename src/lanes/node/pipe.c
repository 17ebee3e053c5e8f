/* SPDX-License-Identifier: BSD-3-Clause */
/* One stream, one splitter, one buffer for input. */
#include "lanes/node/pipe.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/memory.h"
#include "lanes/node/guard/channel.h"

#define READ_SIZE 65536

struct pipe {
	uv_pipe_t stream;
	struct splitter splitter;
	const struct pipe_events *events;
	void *events_ctx;
	bool is_over; /* no more events */
	char buffer[READ_SIZE];
};

struct node_message {
	uv_write_t write;
	uint8_t bytes[]; /* length and message */
};

static void pipe_end(struct pipe *pipe, int reason)
{
	if (pipe->is_over)
		return;
	pipe->is_over = true;
	uv_read_stop((uv_stream_t *)&pipe->stream);
	pipe->events->ended(pipe->events_ctx, reason);
}

static void on_alloc(uv_handle_t *handle, size_t suggested, uv_buf_t *ret_buf)
{
	struct pipe *pipe = handle->data;

	*ret_buf = uv_buf_init(pipe->buffer, sizeof(pipe->buffer));
}

static void on_read(uv_stream_t *stream, ssize_t got, const uv_buf_t *buf)
{
	struct pipe *pipe = stream->data;
	const uint8_t *message;
	size_t size;
	int result;

	if (got < 0) {
		pipe_end(pipe, got == UV_EOF ? 0 : (int)got);
		return;
	}
	result = splitter_feed(&pipe->splitter, buf->base, (size_t)got);
	while (result >= 0 && !pipe->is_over &&
	       (result = splitter_next(&pipe->splitter, &message, &size)) > 0)
		pipe->events->received(pipe->events_ctx, message, size);
	if (result < 0)
		pipe_end(pipe, result);
}

static void on_written(uv_write_t *write, int status)
{
	struct pipe *pipe = write->handle->data;

	free(write->data);
	if (status < 0 && status != UV_ECANCELED)
		pipe_end(pipe, status);
}

int pipe_send(struct pipe *pipe, const void *bytes, size_t size)
{
	uv_stream_t *stream = (uv_stream_t *)&pipe->stream;
	struct node_message *message;
	uv_buf_t buf;
	int result;

	if (pipe->is_over)
		return -EPIPE;
	if (uv_stream_get_write_queue_size(stream) + size >
	    PIPE_QUEUE_BYTES_MAX)
		return -ENOBUFS;
	message = memory_alloc(sizeof(*message) + FRAME_LENGTH_SIZE + size);
	frame_length(size, message->bytes);
	memcpy(message->bytes + FRAME_LENGTH_SIZE, bytes, size);
	buf = uv_buf_init((char *)message->bytes,
			  (unsigned int)(FRAME_LENGTH_SIZE + size));
	message->write.data = message;
	result = uv_write(&message->write, stream, &buf, 1, on_written);
	if (result < 0)
		free(message);
	return result;
}

static void on_closed(uv_handle_t *handle)
{
	struct pipe *pipe = handle->data;

	splitter_fini(&pipe->splitter);
	free(pipe);
}

int pipe_create(uv_loop_t *loop, int fd, const struct pipe_events *events,
		void *events_ctx, struct pipe **ret_pipe)
{
	struct pipe *pipe = memory_alloc(sizeof(*pipe));
	int copy, result;

	pipe->events = events;
	pipe->events_ctx = events_ctx;
	splitter_init(&pipe->splitter, GUARD_MESSAGE_MAX);
	copy = fcntl(fd, F_DUPFD_CLOEXEC, 3);
	if (copy < 0) {
		result = -errno;
		free(pipe);
		return result;
	}
	result = uv_pipe_init(loop, &pipe->stream, 0);
	pipe->stream.data = pipe;
	if (result == 0)
		result = uv_pipe_open(&pipe->stream, copy);
	if (result < 0)
		close(copy);
	else
		result = uv_read_start((uv_stream_t *)&pipe->stream, on_alloc,
				       on_read);
	if (result < 0) {
		pipe_destroy(pipe);
		return result;
	}
	*ret_pipe = pipe;
	return 0;
}

void pipe_destroy(struct pipe *pipe)
{
	if (!pipe)
		return;
	pipe->is_over = true;
	uv_close((uv_handle_t *)&pipe->stream, on_closed);
}
