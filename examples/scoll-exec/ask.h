/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What a client has asked for, at its own node: the root of the collectives
 * that carry it out. Nodes that were lost with a relay are asked again, by
 * collectives without it; each node does a thing once, so that asking twice
 * does no harm. A node that is dead, or does not answer in time, is named.
 *
 *	ask_create -> ask_check -> ask_begin -> ask_tick ... -> over
 */
#pragma once

#include "front.h"
#include "launcher.h"

#define ASKS_MAX         64 /* of a daemon */
#define ASKS_OF_USER_MAX 16

struct ask_client {
	/* Frames for it. */
	void (*send)(void *ctx, const void *frame, size_t size);
	/* The last call: with 0 and "", or why nothing was done. */
	void (*over)(void *ctx, int result, const char *text);
	void *ctx;
};

/* client is copied. -ENOMEM, -EBUSY. */
int ask_create(struct front *front, const struct ask_client *client, uid_t uid,
	       const void *credential, size_t size,
	       const uint8_t secret[EXEC_ID_BYTES], struct exec_ask **ret_ask);
/* The launcher has said whether it may be: begin, or be over. */
void ask_checked(struct front *front, uint64_t tag,
		 const struct launcher_answer *answer);
/* Have the commands stopped. The client still hears what comes. */
void ask_stop(struct exec_ask *ask);
/* The client is gone: nobody hears any more, and commands are stopped. */
void ask_orphan(struct exec_ask *ask);
void ask_tick(struct front *front);
/* After scoll_fini: all that are left. */
void ask_destroy_all(struct front *front);
