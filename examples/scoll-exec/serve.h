/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The collective service: what a node does with a request, and how answers are
 * merged on their way. The payload:
 *
 *	u8 version, u8 op
 *	RUN: u32 places in the caller's list, u32 bytes of credential (0: it
 *	is the bulk data), credential
 *	STOP: 16 bytes digest of the credential, 16 bytes secret
 *
 * A target's tag is its place in the caller's list (u32) and zeros.
 */
#pragma once

#include <scoll.h>

#include "front.h"
#include "results.h"

#define SERVE_ID      0x65786563 /* "exec" */
#define SERVE_VERSION 1

enum serve_op {
	SERVE_RUN = 1,
	SERVE_STOP,
};

/* At the root. */
struct serve_root {
	/* A part came: look at the results. */
	void (*gathered)(void *ctx);
	/* We are a target. */
	void (*asked)(void *ctx);
	/* Look at the failures; the request goes after it. */
	void (*over)(void *ctx, const scoll_request_t *request);
	void *ctx;
};

extern const struct scoll_service_ops serve_ops;

/*
 * The root's end of a request that is about to be sent: posts buffers. root is
 * copied; results is borrowed, NULL for STOP. -ENOMEM and so on.
 */
int serve_root_begin(struct front *front, scoll_request_t *request,
		     struct results *results, const struct serve_root *root);
/* Instead of the end, when it could not be sent. */
void serve_root_cancel(scoll_request_t *request);
/* Every now and then: pass on what has come so far. */
void serve_tick(struct front *front);

void serve_tag(uint32_t place, scoll_tag_t *ret_tag);
