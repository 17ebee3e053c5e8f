/* SPDX-License-Identifier: BSD-3-Clause */
/* The parts of an order, which spread.c asks and spread_answer.c hears. */
#pragma once

#include "base/hash.h"
#include "manager/spread.h"

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
	struct letter *letter; /* the last one; NULL: not asked yet */
	struct round *round;   /* NULL: in none */
	uint8_t incarnation[INCARNATION_SIZE];
	UT_hash_handle hh; /* by nid */
};

struct round {
	uint64_t id;
	struct spread *spread;
	struct letter *letter;
	bool is_separate;
	uint64_t started_ms;
	uint64_t leave_ms;         /* its targets are asked otherwise then */
	struct round *prev, *next; /* of the order */
	UT_hash_handle hh;         /* by id */
};

/* An answer that was heard, until the next tick. */
struct heard {
	size_t place;
	bool is_heard;
	bool is_late; /* to a REVOKE, when it was told another one before */
	int result;
	const char *text; /* when there is no confirm */
	bool has_confirm;
	struct confirm confirm;
	struct heard *prev, *next;
};

struct spread {
	struct spread_order order;
	struct target *targets;
	struct target *by_nid;
	size_t open_count;
	struct letter *letters;
	struct round *rounds;
	size_t flat_count; /* of them, flat ones */
	struct heard *heard;
	bool is_over; /* it only listens for those who are late */
	uint64_t deadline_ms;
	uint64_t next_ms; /* when to look at it */
	struct spread *prev, *next;
};

struct spreads {
	const struct spread_ops *ops;
	void *ctx;
	const struct collective_seam *seam;
	struct spread *list;
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
/* The target has revoked the grant, which was given up; told likewise. */
void spread_hear_late(struct spread *spread, struct target *target,
		      const uint8_t incarnation[INCARNATION_SIZE]);
void spread_heard_destroy(struct heard *heard);

/* Start a collective for each kind of targets that are to be asked now. */
void spread_ask_all(struct spreads *spreads, struct spread *spread,
		    uint64_t now_ms);
/* Its targets are in no round then; the seam is not told. */
void spread_round_end(struct spreads *spreads, struct round *round);
