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

#define HTTP_CLIENT_CONNECTIONS_MAX 16

struct http_client;

/* Paths that are NULL are not used. Kept by reference. */
struct http_client_config {
	const char *ca;          /* PEM file; NULL: the system's authorities */
	const char *certificate; /* PEM file, with `key` */
	const char *key;
	uint32_t connect_timeout_ms;
};

/* done: how a request ended, in the order of their ends. */
struct http_client *http_client_create(
	uv_loop_t *loop, const struct http_client_config *config,
	void (*done)(void *ctx, uint64_t id, const struct http_reply *reply),
	void *ctx);
/* Requests that are under way end without a call. NULL is allowed. */
void http_client_destroy(struct http_client *client);
DEFINE_AUTO(struct http_client, http_client_destroy)

struct http_seam http_client_seam(struct http_client *client);
