/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Requests over HTTPS on a libuv loop, by libcurl. The server is always
 * verified. Redirects, compression, proxies and other protocols are off, and
 * headers and bodies of replies are bounded.
 */
#pragma once

#include <uv.h>

#include "base/cleanup.h"
#include "base/http.h"

#define HTTP_CLIENT_CONNECTIONS_MAX 32

struct http_client;

/* Paths that are NULL are not used. Kept by reference. */
struct http_client_config {
	const char *ca;          /* PEM file; NULL: the system's authorities */
	const char *certificate; /* PEM file, with `key` */
	const char *key;
	uint32_t connect_timeout_ms;
};

/*
 * The functions are in a library of their own, libfairlead-http, so that only
 * managers with a fabric manager load libcurl and its many dependencies.
 */
struct http_client_library {
	/* done: how a request ended, in the order of their ends. */
	struct http_client *(*create)(
		uv_loop_t *loop, const struct http_client_config *config,
		void (*done)(void *ctx, uint64_t id,
			     const struct http_reply *reply),
		void *ctx);
	/* Requests under way end without a call. NULL is allowed. */
	void (*destroy)(struct http_client *client);
	struct http_seam (*seam)(struct http_client *client);
};

#define HTTP_CLIENT_LIBRARY "libfairlead-http.so"
#define HTTP_CLIENT_SYMBOL  "fairlead_http_client"

extern const struct http_client_library fairlead_http_client;
