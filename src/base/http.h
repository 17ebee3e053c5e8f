/* SPDX-License-Identifier: BSD-3-Clause */
/* Requests over HTTP, and their end, for modules that leave the sending to others. */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "base/error.h"

#define HTTP_HEADERS_MAX 4

/* Borrowed in the call. */
struct http_request {
	const char *method;
	const char *url;
	/* "Name: value", without line ends; NULL after the last one. */
	const char *headers[HTTP_HEADERS_MAX + 1];
	const char *body; /* NULL: none */
	size_t size;
	size_t reply_max; /* bytes of the reply's body */
	uint32_t timeout_ms;
};

/* Valid in the call. */
struct http_reply {
	/*
	 * 0: there is a status and a body. -ETIMEDOUT, -ECONNREFUSED,
	 * -EHOSTUNREACH, -EKEYREJECTED: the certificate is not accepted,
	 * -EMSGSIZE: the reply is too large, -EPROTO, -EIO.
	 */
	int result;
	const char *text; /* why; no header or body of the request is in it */
	unsigned int status;
	const char *body; /* not ended by a zero */
	size_t size;
};

struct http_ops {
	/*
	 * Send the request. Its end comes with the id, after this call has
	 * returned.
	 */
	void (*send)(void *ctx, uint64_t id,
		     const struct http_request *request);
};

struct http_seam {
	const struct http_ops *ops;
	void *ctx;
};

static inline void http_send(const struct http_seam *http, uint64_t id,
			     const struct http_request *request)
{
	http->ops->send(http->ctx, id, request);
}
