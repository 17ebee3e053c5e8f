/* SPDX-License-Identifier: BSD-3-Clause */
/* The parts of a fan-out: fanout.c has the targets, round.c asks them. */
#pragma once

#include "base/hash.h"
#include "lanes/manager/fanout/fanout.h"

struct signed_command {
	struct command header; /* without its body */
	struct writer bytes;
	struct signed_command *prev, *next;
};

struct fanout_target {
	struct fanout_answer *answer;
	uint64_t nid;
	bool is_answered;
	bool is_confirmed;          /* by the node itself */
	bool is_suspect;            /* to be asked separately */
	bool needs_new_command;     /* registered after it was asked to apply */
	bool is_unnotified;         /* `answered` is to be called */
	bool is_late;               /* `late` is to be called */
	int failure;                /* of the last round; 0: none */
	uint64_t due_ms;            /* not asked again before */
	uint64_t gone_ms;           /* since when it is down; 0: it is up */
	uint64_t asked_ms;          /* when it was asked what it is late with */
	uint64_t sequence;          /* of its last command; 0: not asked yet */
	struct fanout_round *round; /* NULL: in none */
	uint8_t incarnation[INCARNATION_SIZE];     /* that was asked */
	uint8_t incarnation_now[INCARNATION_SIZE]; /* looked up last */
	struct fanout_target *prev, *next; /* of those that are pending */
	UT_hash_handle hh;                 /* by nid */
};

/* A target of a round that has registered as another incarnation since. */
struct fanout_former {
	uint32_t index;
	uint8_t incarnation[INCARNATION_SIZE];
	struct fanout_former *next;
};

struct fanout_round {
	uint64_t id;
	struct fanout *fanout;
	struct signed_command *command;
	bool is_separate;
	uint64_t started_ms;
	uint64_t leave_ms; /* its targets are asked otherwise then */
	struct fanout_former *formers;
	size_t former_count;
	struct fanout_round *prev, *next; /* of the fan-out */
	UT_hash_handle hh;                /* by id */
};

struct fanout {
	struct fanouts *owner;
	struct fanout_command *command;
	struct fanout_answer *answers;
	struct fanout_target *targets;
	struct fanout_target *by_nid;
	size_t open_count;
	struct signed_command *signed_commands;
	struct fanout_round *rounds;
	size_t flat_count; /* of them, separate ones */
	struct fanout_target *pending;
	bool is_over; /* it only waits for late answers */
	bool is_new;  /* liveness is to be looked up again */
	uint64_t deadline_ms;
	uint64_t next_ms; /* when to look at it */
	struct fanout *prev, *next;
};

struct fanouts {
	const struct fanout_ops *ops;
	void *ctx;
	const struct round_seam *seam;
	struct fanout *list;
	size_t count;                /* of them, not over */
	uint64_t next_ms;            /* when to look at the list */
	struct fanout_round *rounds; /* by id */
	uint64_t id_last;
	struct fanout_counters counters;
};

/* The answer of a target that is open; reported with the next tick. */
void fanout_answer_set(struct fanout *fanout, struct fanout_target *target,
		       int result, const char *text);

/* NULL: there is no such node in the fan-out. */
struct fanout_target *fanout_target_find(const struct fanout *fanout,
					 uint64_t nid);

/* Look at it with the next tick. */
void fanout_wake(struct fanout *fanout);

/* True when an answer of a node that was given up is to be reported. */
static inline bool fanout_wants_late(const struct fanout *fanout)
{
	return fanout->command->op == COMMAND_REVOKE ||
	       fanout->command->op == COMMAND_LEASE;
}

static inline uint32_t fanout_index(const struct fanout *fanout,
				    const struct fanout_target *target)
{
	return (uint32_t)(target - fanout->targets);
}

/* Start a round for each kind of targets that are to be asked now. */
void fanout_ask_all(struct fanouts *fanouts, struct fanout *fanout,
		    uint64_t now_ms);
/* NULL: the target is what it was when the round began. */
const struct fanout_former *fanout_round_former(
	const struct fanout_round *round, uint32_t index);
/* Its targets are in no round then; the seam is not called. */
void fanout_round_end(struct fanouts *fanouts, struct fanout_round *round);
/* The newest signature, or another one. NULL: wait for a round to end. */
struct signed_command *fanout_command_get(struct fanouts *fanouts,
					  struct fanout *fanout,
					  bool needs_new);
