/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Streams of bytes, as the transport wants them of a host: stream.c has the
 * real ones. One set for a transport. Calls do not block; a stream that was
 * closed causes no event.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <sys/uio.h>

#include "base/error.h"

struct stream_set;
struct tcp_stream;

struct stream_events {
	/* A peer has connected. */
	void (*accepted)(void *ctx, struct tcp_stream *stream);
	/* It may be read from or written to; `owner` is stream_own's. */
	void (*ready)(void *ctx, void *owner, bool is_readable,
		      bool is_writable);
};

/* A numeric address or a name; NULL: any. Where it listens is in ret_address. */
int stream_set_open(const char *node, const char *service,
		    const struct stream_events *events, void *ctx,
		    struct stream_set **ret_set, void *ret_address,
		    size_t *ret_size, struct fairlead_error *ret_error);
/* All streams are closed. */
void stream_set_close(struct stream_set *set);
/* No more streams are accepted. */
void stream_set_stop(struct stream_set *set);
int stream_set_fd(const struct stream_set *set);
/* Report what has come and is due. */
void stream_set_run(struct stream_set *set, uint64_t now_ns);
uint64_t stream_set_deadline_ns(const struct stream_set *set);

/*
 * Connect. It becomes writable when it is connected, or has failed: see
 * stream_error. `owner` is what events name. A negative errno: at once.
 */
int stream_connect(struct stream_set *set, const uint8_t *address, size_t size,
		   void *owner, struct tcp_stream **ret_stream);
void stream_own(struct tcp_stream *stream, void *owner);
/* 0, or why it is not connected. */
int stream_error(struct tcp_stream *stream);
/* Bytes; 0: the peer has closed it; -EAGAIN: nothing now. */
ssize_t stream_read(struct tcp_stream *stream, const struct iovec *pieces,
		    int count);
/* Bytes; -EAGAIN: none now. */
ssize_t stream_write(struct tcp_stream *stream, const struct iovec *pieces,
		     int count);
/* Whether to report that it is writable. */
void stream_watch(struct tcp_stream *stream, bool is_writable);
void stream_close(struct tcp_stream *stream);

bool stream_address_is_valid(const uint8_t *address, size_t size);
/* The whole size of one whose end was cut; 0: it is none. */
size_t stream_address_size(const uint8_t *address, size_t size);
int stream_resolve(const char *node, const char *service, void *ret_address,
		   size_t *size, struct fairlead_error *ret_error);
