/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * GET /metrics over HTTP, on a libuv loop. Unencrypted, and read only. The port
 * takes turns as one user does who does not go first. A connection has one
 * answer, so that a turn has HTTP_CONNECTIONS_MAX at most.
 */
#pragma once

#include <stdint.h>
#include <uv.h>

#include "base/cleanup.h"
#include "base/error.h"
#include "sys/turns.h"

#define HTTP_CONNECTIONS_MAX 16
#define HTTP_OF_ADDRESS_MAX  8  /* of these, from one address */
#define HTTP_TIMEOUT_S       10 /* of a silent connection */

struct http;

/*
 * Serve on numeric "ADDRESS:PORT" (port 0: any). render gives the text, which
 * is freed here; NULL: memory is out. *ret_port may be NULL. -EADDRINUSE and
 * the like with a text.
 */
int http_start(uv_loop_t *loop, struct turns *turns, const char *address,
	       char *(*render)(void *ctx), void *ctx, struct http **ret_http,
	       uint16_t *ret_port, struct fairlead_error *ret_error);
/* The loop frees the rest: run it before it is closed. NULL is allowed. */
void http_stop(struct http *http);
DEFINE_AUTO(struct http, http_stop)
