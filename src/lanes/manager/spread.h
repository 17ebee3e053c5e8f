/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Commands on their way to many nodes by collectives, and their answers on the
 * way back (doc/rfc/fan-out.md). Pure.
 *
 *	spread_start -> rounds of collectives -> answered for each node -> done
 *
 * An order is one command to some nodes. It is sealed once and asked of all
 * that are up; who has not answered is asked again until he does, is gone for
 * SPREAD_GONE_MS, or the deadline has passed. Whoever was left out without a
 * word, or is in a set that is false, is asked again separately and with no
 * node in between; so is who has not answered SPREAD_REPEAT_MS after the
 * patience, since a silent node holds up those around it. An answer counts when its tag, node, op, grant, sequence,
 * epoch and life are right, and the first one does.
 *
 * A node that registers again meanwhile gets an APPLY under a new sequence, for
 * nodes obey none from before their registration; if it was rebooted, or had
 * not been asked, it counts as not reached. One that says that it is not
 * registered (-ENOTCONN) is about to be, and is asked to apply again.
 *
 * A REVOKE or LEASE that is over goes on to listen while its collectives do: a
 * lane that is gone, and a node that lives, are news also when the node was given
 * up.
 *
 * One thread. `answered`, `done` and `late` come from spreads_tick() only, and
 * may start further orders.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/bytes.h"
#include "base/cleanup.h"
#include "lanes/manager/collective.h"
#include "lanes/proto/keyfile.h"
#include "lanes/proto/message.h"

#define SPREAD_GONE_MS     3000 /* that a node which is down is waited for */
#define SPREAD_REPEAT_MS   2000 /* until a node is asked again */
#define SPREAD_EARLY_MS    250  /* the same for one that is not registered */
#define SPREAD_FLAT_MAX    128  /* nodes of one flat collective */
#define SPREAD_FLATS_MAX   8    /* of one order at once */
#define SPREAD_LETTERS_MAX 8    /* of one order at once, in one version */
#define SPREAD_PART_BYTES  65536

struct spreads;
struct spread;

/* A node that is up, as it has registered. */
struct spread_member {
	uint16_t version;
	uint8_t incarnation[INCARNATION_SIZE];
};

/* What a node has done when it was given up. */
struct spread_late {
	enum command_op op;
	const char *node;
	uint64_t grant_id;
	const uint8_t *incarnation;
	uint64_t asked_ms; /* it was alive then */
};

/* What came of one node. */
struct spread_answer {
	/* NULL: it said nothing but "done", or nothing. */
	const struct confirm *confirm;
	bool is_heard; /* by the node itself */
	int result;
	const char *text;                      /* reason or warnings */
	uint8_t incarnation[INCARNATION_SIZE]; /* that was asked or answered */
};

struct spread_order {
	enum command_op op; /* one that names nodes */
	uint64_t group;     /* see struct collective_request */
	uint32_t timeout_ms;
	const char *const *nodes; /* in the order of the command; copied */
	size_t node_count;
	void *arg; /* the caller's */
};

struct spread_ops {
	/* arg: of the order. False: the node is not up. */
	bool (*member)(void *ctx, const void *arg, const char *node,
		       struct spread_member *ret_member);
	/*
	 * Sign the order's command under the next sequence, in that version:
	 * append it to the writer, and say what is in its header.
	 */
	int (*seal)(void *ctx, void *arg, uint16_t version,
		    struct command *ret_command, struct writer *writer);
	/* What nodes' tags are made with. */
	size_t (*masters)(void *ctx, const struct node_master **ret_masters);
	/* One for each node; place: of the node in the order. */
	void (*answered)(void *ctx, void *arg, size_t place,
			 const struct spread_answer *answer);
	/* All have answered, and the order is over: its arg is not used again. */
	void (*done)(void *ctx, void *arg);
	/* A node has obeyed a REVOKE or LEASE after it was given up. */
	void (*late)(void *ctx, const struct spread_late *late);
};

struct spread_counters {
	uint64_t collective_count;
	uint64_t repeat_count;  /* nodes that were asked once more */
	uint64_t false_count;   /* sets and confirmations */
	uint64_t omitted_count; /* nodes that were left out */
	uint64_t timeout_count;
};

/* -ENOMEM. All by reference. */
int spreads_create(const struct spread_ops *ops, void *ctx,
		   const struct collective_seam *seam,
		   struct spreads **ret_spreads);
/* Nobody is told; what is under way is cancelled. */
void spreads_destroy(struct spreads *spreads);
DEFINE_AUTO(struct spreads, spreads_destroy)
void spreads_clear(struct spreads *spreads);

/* -ENOMEM; -EINVAL: no nodes, or too many for a gathered answer. */
int spread_start(struct spreads *spreads, const struct spread_order *order,
		 uint64_t now_ms);
/* A node has registered, and was greeted. */
void spreads_node_up(struct spreads *spreads, const char *node);
/* Some are down that were up. */
void spreads_nodes_lost(struct spreads *spreads);
void spreads_tick(struct spreads *spreads, uint64_t now_ms);
uint64_t spreads_deadline_ms(const struct spreads *spreads);
const struct spread_counters *spreads_counters(const struct spreads *spreads);

/* --- events of the seam --- */

void spreads_part(struct spreads *spreads, uint64_t id, const void *bytes,
		  size_t size);
/* result: 0, or why nothing of it has happened. */
void spreads_ended(struct spreads *spreads, uint64_t id, int result,
		   const struct collective_failure *failures, size_t count);
