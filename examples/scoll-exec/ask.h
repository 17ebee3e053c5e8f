/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A client's command at its own node: the root of the collectives that run it.
 * Nodes that were lost with a relay are asked again, by collectives without the
 * relay; each node runs the command once, so that asking twice does no harm. The
 * client gets the name of each node that is dead or does not answer in time.
 *
 *	ask_create -> ask_checked -> ask_tick ... -> over
 */
#pragma once

#include "front.h"
#include "launcher.h"

#define ASKS_MAX         64 /* of a daemon */
#define ASKS_OF_USER_MAX 16

struct ask_client {
	void (*send)(void *ctx, const void *frame, size_t size);
	/* The last call: 0 and "", or the reason why nothing was done. */
	void (*over)(void *ctx, int result, const char *text);
	void *ctx;
};

/* client is copied. -EBUSY. */
int ask_create(struct front *front, const struct ask_client *client, uid_t uid,
	       const void *credential, size_t size,
	       const uint8_t secret[EXEC_ID_BYTES], struct exec_ask **ret_ask);
/* The launcher has checked it: begin, or end. */
void ask_checked(struct front *front, uint64_t tag,
		 const struct launcher_answer *answer);
/* Stop the commands. The client still gets their outcomes. */
void ask_stop(struct exec_ask *ask);
/* The client is gone: stop the commands. */
void ask_orphan(struct exec_ask *ask);
void ask_tick(struct front *front);
/* After scoll_fini: all that are left. */
void ask_destroy_all(struct front *front);
