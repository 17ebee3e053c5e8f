/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * libmicrohttpd without a thread: its epoll descriptor is watched by a libuv
 * loop, and a timer stands for the timeouts of its connections.
 */
#pragma once

#include <microhttpd.h>
#include <stdint.h>
#include <uv.h>

#include "base/cleanup.h"
#include "base/error.h"

struct http_server;

/* Borrowed in the call, but ctx. */
struct http_server_config {
	const char *address; /* numeric "ADDRESS:PORT"; port 0: any */
	const char *purpose; /* of an error: "metrics" */
	unsigned int flags;  /* of libmicrohttpd, besides */
	const struct MHD_OptionItem *options; /* ended by MHD_OPTION_END */
	MHD_AccessHandlerCallback on_request;
	/*
	 * There is something to do: call http_server_run, now or later. NULL:
	 * that is done at once.
	 */
	void (*on_ready)(void *ctx);
	void *ctx; /* of both */
};

/* *ret_port may be NULL. -EADDRINUSE and the like with a text. */
int http_server_start(uv_loop_t *loop, const struct http_server_config *config,
		      struct http_server **ret_server, uint16_t *ret_port,
		      struct fairlead_error *ret_error);
/* Serve what is there, and wait for more. */
void http_server_run(struct http_server *server);
/* The loop frees the rest: run it before it is closed. NULL is allowed. */
void http_server_stop(struct http_server *server);
DEFINE_AUTO(struct http_server, http_server_stop)
