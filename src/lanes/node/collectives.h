/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A node's part in the manager's collectives (doc/rfc/fan-out.md): the service
 * of libscoll through which its agent passes on and gathers. Pure: everything
 * goes through the scoll_t, in whose progress the agent is called.
 *
 *	scoll_init -> collectives_create -> agent_create with an op `gathered`
 *	that calls collectives_gathered -> collectives_serve
 *	scoll_fini -> collectives_destroy -> agent_destroy
 *
 * After scoll_progress() the agent may want its tick at another time.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/cleanup.h"
#include "scoll.h"

#define COLLECTIVES_MAX 256 /* that go through this node; more are refused */

struct collectives;

/* As agent_collective_received() and its like. */
struct collectives_events {
	void (*received)(void *ctx, uint64_t collective, const void *payload,
			 size_t size, const void *bulk, size_t bulk_size);
	void (*gathered)(void *ctx, uint64_t collective, const void *bytes,
			 size_t size);
	void (*closed)(void *ctx, uint64_t collective);
};

/* ctx: the agent. */
extern const struct collectives_events collectives_agent_events;

/* -ENOMEM. */
int collectives_create(scoll_t *scoll, struct collectives **ret_collectives);
/* After scoll_fini(). NULL is allowed. */
void collectives_destroy(struct collectives *collectives);
DEFINE_AUTO(struct collectives, collectives_destroy)

/*
 * Take part from now on; the events by reference. As scoll_service_register().
 */
int collectives_serve(struct collectives *collectives,
		      const struct collectives_events *events, void *ctx);
/* As `gathered` of struct agent_ops. */
void collectives_gathered(struct collectives *collectives, uint64_t collective,
			  const void *bytes, size_t size, bool is_last);
/* As `returned` of struct agent_ops. */
void collectives_returned(struct collectives *collectives);
/* How many go through this node now: simulations look whether one is left. */
size_t collectives_count(const struct collectives *collectives);
