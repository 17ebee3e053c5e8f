/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The agent's end of the channel to the guard, on a libuv loop: messages after
 * their length. What is sent is written as the guard takes it.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <uv.h>

#include "lanes/proto/frame.h"

#define PIPE_QUEUE_BYTES_MAX (16u << 20) /* not written yet */

struct pipe_events {
	/* One whole message; borrowed. */
	void (*received)(void *ctx, const void *message, size_t size);
	/* The guard is gone (0), or a negative errno. Once, and the last. */
	void (*ended)(void *ctx, int reason);
};

struct pipe;

/*
 * Speak over a copy of fd. The loop and the events are kept by reference.
 * What the system says.
 */
int pipe_create(uv_loop_t *loop, int fd, const struct pipe_events *events,
		void *events_ctx, struct pipe **ret_pipe);
/* Without further events; the loop frees it. */
void pipe_destroy(struct pipe *pipe);
/* A copy is sent. -ENOBUFS: too much waits; -EPIPE: the guard is gone. */
int pipe_send(struct pipe *pipe, const void *message, size_t size);
