/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Work of all kinds that the provider does, always the same. Calls may be refused
 * for want of memory, and are made again; each operation ends well, and once, and
 * messages come whole and in their order. Both of two processes do it.
 */
#pragma once

#include "link/test/pair.h"

#define COUNT_OF(array) (sizeof(array) / sizeof((array)[0]))
#define SWEEP_ROOM      1500000
#define SWEEP_MANY      12

/* An operation, and how it ended. */
struct waiting {
	struct fi_context2 context; /* first */
	unsigned int ended;
	int error;
	fi_addr_t source;
	/* The last completion, and the first ones. */
	struct fi_cq_tagged_entry entry, all[SWEEP_MANY];
};

extern uint8_t sweep_in[SWEEP_ROOM], sweep_out[SWEEP_ROOM];
/* Words that were left with writes. */
extern uint64_t sweep_words[8];
extern unsigned int sweep_word_count;

/* --- sweep_wait.c --- */

/* Takes a completion from each queue. */
void go_on(struct pair *pair);
/* Until it has ended, once: well, or with this error. */
void await(struct pair *pair, struct waiting *it);
void await_error(struct pair *pair, struct waiting *it, int error);
/* A call that may be refused for now. */
#define tried(pair, call)                                       \
	do {                                                    \
		long result;                                    \
		while ((result = (long)(call)) == -FI_EAGAIN || \
		       result == -FI_ENOMEM)                    \
			go_on(pair);                            \
		pair_do_at(result, #call, __FILE__, __LINE__);  \
	} while (0)
void post_receive(struct pair *pair, struct waiting *it, void *to, size_t size,
		  fi_addr_t from, uint64_t tag);
void post_send(struct pair *pair, struct waiting *it, const void *from,
	       size_t size, uint64_t tag);
/* All that the other has sent before is here when this returns. */
void mark(struct pair *pair);
/* Puts the other into a vector, in spite of a refusal. */
void insert(struct pair *pair);

/* --- what is done --- */

/* sweep_messages.c */
void sweep_messages(struct pair *pair);
/* The second process does not have the first one in its vector before. */
void sweep_unlisted(struct pair *pair);
/* sweep_memory.c */
void sweep_memory(struct pair *pair);
/* A vector that says by events what became of insertions. */
void sweep_events(struct pair *pair);
/* sweep_open.c: one process, from its fabric on. */
void sweep_open(struct fi_info *info);
