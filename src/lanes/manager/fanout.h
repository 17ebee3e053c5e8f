/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The fan-out: one command to a set of nodes, one answer from each, or why
 * there is none. Here is what is asked, and what is done with the answers; how
 * the command gets to its nodes is the matter of spread.h.
 */
#pragma once

#include "lanes/manager/internal.h"
#include "lanes/manager/spread.h"

#define FANOUTS_MAX 262144 /* under way; more are answered with -EAGAIN */

/* Whose it is: to whom the answers go. */
enum fanout_owner {
	FANOUT_OF_CORE,   /* all together: core_fanout_done() */
	FANOUT_OF_CLIENT, /* all together: query_done() */
	FANOUT_OF_LOOK,   /* one by one: look_answer() */
	FANOUT_OF_LEASE,  /* one by one: member_leased() */
	FANOUT_OF_RECALL, /* to nobody: who hears it registers */
};

/* What is to be asked, ready to be signed. */
struct fanout_plan {
	enum command_op op;
	uint64_t grant_id;
	uint64_t apply_floor;
	uint64_t group; /* see struct collective_request */
	uint32_t timeout_ms;
	char **nodes;
	size_t node_count;
	/* The command's body in each version that is spoken. */
	struct fanout_body {
		uint8_t *bytes;
		size_t size;
	} bodies[VERSION_COUNT];
	int error; /* < 0: it cannot be sent, and all answers are this */
	enum fanout_owner owner;
	/* The core's fan-out, a client's request, or a look. */
	uint64_t id;
};

/* A node of a fan-out and its answer. */
struct fanout_target {
	const char *node;
	int result;   /* see struct core_answer */
	char *text;   /* reason or warnings; NULL: "" */
	char *answer; /* of QUERY: JSON text, or NULL */
	uint8_t incarnation[INCARNATION_SIZE]; /* that was asked or answered */
};

/* A plan with copies of the names; -ENOMEM. */
int fanout_plan_create(enum command_op op, const char *const *nodes,
		       size_t node_count, struct fanout_plan **ret_plan);
/* Fill in the bodies. The errors of `encode`. */
int fanout_plan_encode(struct fanout_plan *plan,
		       int (*encode)(const void *arg, uint16_t version,
				     struct writer *writer),
		       const void *arg);
void fanout_plan_destroy(struct fanout_plan *plan);
DEFINE_AUTO(struct fanout_plan, fanout_plan_destroy)

int fanouts_create(struct engine *engine, struct fanouts **ret_fanouts);
void fanouts_destroy(struct fanouts *fanouts);
/* Forget all; nobody is told, and what is under way is cancelled. */
void fanouts_clear(struct fanouts *fanouts);

/* Sign and send. Its end comes from fanouts_tick. -ENOMEM. */
int fanouts_start(struct fanouts *fanouts, struct fanout_plan *plan_owned);
/* Nothing is left of a grant, and so none of its group. */
void fanouts_grant_over(struct fanouts *fanouts, uint64_t grant_id);
/* A node has registered, and HELLO was sent: go on with it. */
void fanouts_node_up(struct fanouts *fanouts, const char *node);
/* The leases of some have run out. */
void fanouts_nodes_lost(struct fanouts *fanouts);
/* As spreads_part() and spreads_ended(). */
void fanouts_part(struct fanouts *fanouts, uint64_t id, const void *bytes,
		  size_t size);
void fanouts_ended(struct fanouts *fanouts, uint64_t id, int result,
		   const struct collective_failure *failures, size_t count);
/* What the time decides, and the ends of those that are answered. */
void fanouts_tick(struct fanouts *fanouts, uint64_t now_ms);
uint64_t fanouts_deadline_ms(const struct fanouts *fanouts);
size_t fanouts_count(const struct fanouts *fanouts);
const struct spread_counters *fanouts_counters(const struct fanouts *fanouts);
