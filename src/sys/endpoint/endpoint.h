/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * libscoll on a daemon's libuv loop (doc/rfc/fan-out.md).
 *
 *	endpoint_open -> what is done with endpoint_scoll() -> endpoint_close
 *
 * It is opened after all forks, by a process without privileges.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>
#include <uv.h>

#include "base/error.h"
#include "scoll.h"

#define ENDPOINT_ADDRESS_MAX 64 /* bytes: no provider of longer ones */

struct endpoint;

struct endpoint_options {
	uv_loop_t *loop;
	uint64_t nid;
	const char *provider; /* "tcp", or one of libfabric */
	const char *host;     /* numeric, of this machine */
	uint16_t port;        /* 0: any */
	uint64_t started;     /* as in struct scoll_params */
	/* Of all messages; by reference. */
	const struct scoll_authenticator *authenticator;
	/* Callbacks of libscoll have been called. May be NULL. */
	void (*progressed)(void *ctx);
	void *ctx;
};

/*
 * Errors have a text that says what to do. The loop and what ctx is are kept by
 * reference; texts are not kept.
 */
int endpoint_open(const struct endpoint_options *options,
		  struct endpoint **ret_endpoint,
		  struct fairlead_error *ret_error);
/*
 * At once: callbacks of what is under way come from inside, `progressed` does
 * not. The loop frees it. NULL is allowed.
 */
void endpoint_close(struct endpoint *endpoint);
/* Valid until endpoint_close. Who calls it need not wake the loop. */
scoll_t *endpoint_scoll(const struct endpoint *endpoint);
/* The size of its address. */
size_t endpoint_address(const struct endpoint *endpoint,
			uint8_t ret_address[ENDPOINT_ADDRESS_MAX]);
