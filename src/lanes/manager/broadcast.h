/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The seam of lanes/manager/collective.h on libscoll (doc/rfc/fan-out.md): which
 * groups there are, what goes in one message and what beside it, and what has
 * come back. Pure: everything goes through the scoll_t, in whose progress it
 * is told what has come.
 *
 *	scoll_init -> broadcasts_create -> engine_create with broadcasts_seam
 *	loop: scoll_progress, broadcasts_settle
 *	engine_destroy -> scoll_fini -> broadcasts_destroy
 *
 * A group that is named is kept until it is dropped, or BROADCAST_GROUPS_MAX
 * others were used later. It is made with the first broadcast over it when its
 * list fits beside the command; else it is populated first, and when that
 * fails (a node is dead) the command goes out in several small groups of the
 * moment, as it does without a named group, so that each node that was not
 * reached is known. So do those after it, until one of its nodes has come or
 * gone, or BROADCAST_SCATTERS_MAX have gone so. A command for which there is no
 * room for one more group goes out likewise.
 */
#pragma once

#include "base/cleanup.h"
#include "lanes/manager/collective.h"
#include "scoll.h"

#define BROADCAST_GROUPS_MAX   1024
#define BROADCAST_SCATTERS_MAX 8

struct broadcasts;

/* What the seam's owner hears, from broadcasts_settle() only. */
struct broadcast_events {
	void (*part)(void *ctx, uint64_t id, const void *bytes, size_t size);
	void (*ended)(void *ctx, uint64_t id, int result,
		      const struct collective_failure *failures, size_t count);
};

/* By reference. -ENOMEM; as scoll_service_register(). */
int broadcasts_create(scoll_t *scoll, const struct broadcast_events *events,
		      void *ctx, struct broadcasts **ret_broadcasts);
/* After scoll_fini(). NULL is allowed. */
void broadcasts_destroy(struct broadcasts *broadcasts);
DEFINE_AUTO(struct broadcasts, broadcasts_destroy)

struct collective_seam broadcasts_seam(struct broadcasts *broadcasts);
/*
 * Hand out what has come; wanted after each scoll_progress(). The events may
 * collective the seam.
 */
void broadcasts_settle(struct broadcasts *broadcasts);

const struct collective_counters *broadcasts_counters(
	const struct broadcasts *broadcasts);
