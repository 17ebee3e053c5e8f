/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The seam by which the manager runs collectives (doc/rfc/fan-out.md). Behind
 * it stands libscoll in the daemon, and a network in virtual time elsewhere.
 *
 *	start ---------> part, part, ... ---------> ended
 *
 * No event comes from within a call of the seam, none for an id before its
 * start or after its end or cancel, and each collective that was started ends.
 * What the parts say is not to be believed; who has failed neither.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "lanes/proto/parcel.h"

/* The group of all nodes; those of grants have the grant's id. */
#define COLLECTIVE_GROUP_ALL UINT64_MAX

struct collective_request {
	uint64_t id; /* the caller's, unique and rising */
	/*
	 * Nodes that will be asked together again have a group; it is made when
	 * it is named first, and again when a node is not in it. 0: none.
	 */
	uint64_t group;
	bool is_flat; /* no node stands between a node and the manager */
	const uint64_t *nids;
	size_t count;
	/* is_bulk is not set: the seam knows what fits. */
	struct parcel parcel;
};

/* A node that was not reached, or whose answer was not. */
struct collective_failure {
	uint64_t nid;
	int status; /* < 0 */
};

struct collective_counters {
	uint64_t group_count;      /* that are kept now */
	uint64_t collective_count; /* collectives under way now */
	uint64_t made_count;       /* groups, also those of the moment */
	uint64_t populate_count;   /* of them, populated first */
	uint64_t failed_count;     /* of them, in vain */
	uint64_t bulk_count;       /* commands that went as bulk data */
};

struct collective_ops {
	/* All is copied. An error: it is not begun, and has no end. */
	int (*start)(void *ctx, const struct collective_request *request);
	/* Nothing more of it is wanted. */
	void (*cancel)(void *ctx, uint64_t id);
	/* Where a node is; size 0 forgets it. Its groups are made again. */
	void (*address)(void *ctx, uint64_t nid, const void *address,
			size_t size);
	/* Not named any more; what is under way in it goes on. */
	void (*group_drop)(void *ctx, uint64_t group);
	/* NULL: nothing is counted. */
	void (*counters)(void *ctx, struct collective_counters *ret_counters);
};

struct collective_seam {
	const struct collective_ops *ops;
	void *ctx;
};
