/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The collective service: how a node handles a request, and how replies are
 * merged on their way. The payload:
 *
 *	u8 version, u8 op
 *	RUN: u32 nodes in the caller's list, u32 bytes of credential (0: it
 *	is the bulk data), credential
 *	STOP: 16 bytes digest of the credential, 16 bytes secret
 *
 * The tag of a target is its index in the caller's list (u32) and zeros.
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
	/* A part was merged into the results. */
	void (*merged)(void *ctx);
	/* This node is a target itself. */
	void (*start)(void *ctx);
	/* The request ends after it: its failures can be read. */
	void (*over)(void *ctx, const scoll_request_t *request);
	void *ctx;
};

extern const struct scoll_service_ops serve_ops;

/*
 * The root's end of a request that is about to be sent: posts buffers. root is
 * copied; results is borrowed, NULL for STOP. Errors are libscoll's.
 */
int serve_root_begin(struct front *front, scoll_request_t *request,
		     struct results *results, const struct serve_root *root);
/* The request could not be sent. */
void serve_root_cancel(scoll_request_t *request);
/* Called regularly: sends early parts. */
void serve_tick(struct front *front);

void serve_tag(uint32_t index, scoll_tag_t *ret_tag);
