/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The fan-out: one command to a set of nodes, one answer from each, or why
 * there is none. Behind it stands one connection per node; how a command gets
 * to its nodes is known here only.
 *
 * The command is signed once and sent again to each node that has not answered
 * until it answers, is gone for ENGINE_GONE_MS, or the deadline has passed. An
 * answer counts when its MAC, node, op, grant, sequence, epoch and life are
 * right, and the first one does.
 *
 * A node that registers again meanwhile (its connection broke) gets an APPLY
 * under a new sequence, for nodes obey none from before their registration;
 * if it was rebooted, it counts as not reached.
 */
#pragma once

#include "manager/internal.h"

#define FANOUTS_MAX 262144 /* under way; more are answered with -EAGAIN */

/* What is to be asked, ready to be signed. */
struct fanout_plan {
	enum command_op op;
	uint64_t grant_id;
	uint64_t apply_floor;
	uint32_t timeout_ms;
	char **nodes;
	size_t node_count;
	/* The command's body in each version that is spoken. */
	struct fanout_body {
		uint8_t *bytes;
		size_t size;
	} bodies[VERSION_COUNT];
	int error; /* < 0: it cannot be sent, and all answers are this */
	/* Whose it is: the core's fan-out, or a client's request. */
	uint64_t core_id;
	uint64_t token;
};

/* A node of a fan-out and its answer. */
struct fanout_target {
	char *node;
	bool is_answered;
	bool is_heard;    /* by the node itself */
	int result;       /* see struct core_answer */
	char *text;       /* reason or warnings; NULL: "" */
	char *answer;     /* of QUERY: JSON text, or NULL */
	uint64_t gone_ms; /* since when it has no session; 0: it has one */
	uint8_t incarnation[INCARNATION_SIZE]; /* that was asked or answered */
	bool was_asked;
	struct fanout_command *command; /* the one that it was sent last */
	UT_hash_handle hh;
};

/* A plan with copies of the names; -ENOMEM. */
int fanout_plan_create(enum command_op op, const char *const *nodes,
		       size_t node_count, struct fanout_plan **ret_plan);
void fanout_plan_destroy(struct fanout_plan *plan);
DEFINE_AUTO(struct fanout_plan, fanout_plan_destroy)

int fanouts_create(struct engine *engine, struct fanouts **ret_fanouts);
void fanouts_destroy(struct fanouts *fanouts);
/* Forget all; nobody is told. */
void fanouts_clear(struct fanouts *fanouts);

/* Sign and send. Its end comes from fanouts_tick. */
void fanouts_start(struct fanouts *fanouts, struct fanout_plan *plan_owned);
enum fanout_match {
	FANOUT_TAKEN,   /* it answers a command under way, perhaps again */
	FANOUT_OVER,    /* it came after the node was given up */
	FANOUT_FOREIGN, /* it answers nothing that this life has sent */
};

/* Take in an answer whose MAC was right. */
enum fanout_match fanouts_answer(struct fanouts *fanouts,
				 const struct confirm *confirm);
/* A node has registered, and HELLO was sent: go on with it. */
void fanouts_node_up(struct fanouts *fanouts, const struct session *session);
/* What the time decides, and the ends of those that are answered. */
void fanouts_tick(struct fanouts *fanouts, uint64_t now_ms);
uint64_t fanouts_deadline_ms(const struct fanouts *fanouts);
size_t fanouts_count(const struct fanouts *fanouts);
