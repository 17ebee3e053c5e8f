/* SPDX-License-Identifier: BSD-3-Clause */
/* The parts of an order, which spread.c asks and spread_answer.c hears. */
#pragma once

#include "base/hash.h"
#include "lanes/manager/spread.h"

struct letter {
	uint16_t version;
	struct command head; /* without its body */
	struct writer bytes;
	struct letter *prev, *next;
};

struct target {
	char *node;
	uint64_t nid;
	bool is_answered;
	bool is_confirmed;     /* by the node itself */
	bool is_suspect;       /* to be asked separately */
	bool needs_new_letter; /* registered after it was asked to apply */
	int failure;           /* of the last round; 0: none */
	uint64_t due_ms;       /* not asked again before */
	uint64_t gone_ms;      /* since when it is down; 0: it is up */
	uint64_t sequence;     /* of its last letter; 0: not asked yet */
	struct round *round;   /* NULL: in none */
	struct spread_member member;           /* as it was looked up last */
	uint8_t incarnation[INCARNATION_SIZE]; /* that was asked */
	UT_hash_handle hh;                     /* by nid */
};

/* A target of a round that has registered as another incarnation since. */
struct former {
	uint32_t place;
	uint8_t incarnation[INCARNATION_SIZE];
	struct former *next;
};

struct round {
	uint64_t id;
	struct spread *spread;
	struct letter *letter;
	bool is_separate;
	uint64_t started_ms;
	uint64_t leave_ms; /* its targets are asked otherwise then */
	struct former *formers;
	size_t former_count;
	struct round *prev, *next; /* of the order */
	UT_hash_handle hh;         /* by id */
};

/* An answer that was heard, until the next tick. */
struct heard {
	size_t place;
	bool is_heard;
	bool is_late; /* another one was told before */
	uint64_t asked_ms;
	int result;
	const char *text; /* when there is no confirm */
	bool has_confirm;
	struct confirm confirm;
	struct heard *prev, *next;
};

struct spread {
	struct spreads *owner;
	struct spread_order order;
	struct target *targets;
	struct target *by_nid;
	size_t open_count;
	struct letter *letters;
	struct round *rounds;
	size_t flat_count; /* of them, flat ones */
	struct heard *heard;
	uint64_t grant_id; /* of its letters */
	bool is_over;      /* it only listens for those who are late */
	bool is_new;       /* who is up is to be looked up again */
	bool is_starved;   /* memory was out: look again soon */
	uint64_t deadline_ms;
	uint64_t next_ms; /* when to look at it */
	struct spread *prev, *next;
};

struct spreads {
	const struct spread_ops *ops;
	void *ctx;
	const struct collective_seam *seam;
	struct spread *list;
	uint64_t next_ms;     /* when to look at the list */
	struct round *rounds; /* by id */
	uint64_t id_last;
	struct spread_counters counters;
};

/*
 * An answer of a target that is open; it is told with the next tick. NULL:
 * memory is out, and the target is asked again.
 */
struct heard *spread_hear(struct spread *spread, struct target *target,
			  int result, const char *text);
/* The target has done it, and was given up; told likewise. */
void spread_hear_late(const struct round *round, struct target *target,
		      const uint8_t incarnation[INCARNATION_SIZE]);
void spread_heard_destroy(struct heard *heard);

void spread_letter_destroy(struct letter *letter);

/* Look at it with the next tick. */
void spread_wake(struct spread *spread);

/* True when who is late with it is news. */
static inline bool spread_wants_late(const struct spread *spread)
{
	return spread->order.op == COMMAND_REVOKE ||
	       spread->order.op == COMMAND_LEASE;
}

/* Start a collective for each kind of targets that are to be asked now. */
void spread_ask_all(struct spreads *spreads, struct spread *spread,
		    uint64_t now_ms);
/* The target is another incarnation from now on, but not in its rounds. */
void spread_reboot(struct spread *spread, struct target *target,
		   const uint8_t incarnation[INCARNATION_SIZE]);
/* NULL: the target is what it was when the round began. */
const struct former *round_former(const struct round *round, uint32_t place);
/* Its targets are in no round then; the seam is not told. */
void spread_round_end(struct spreads *spreads, struct round *round);
