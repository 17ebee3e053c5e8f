/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Which receive gets which message: the rules of fi_tagged(3) and fi_msg(3),
 * pure. Receives are taken in the order in which they were posted, messages in
 * the order in which they came; a receive takes the oldest message that it
 * matches, a message the oldest receive.
 *
 * The *shape* of a receive is what it leaves open: whether its source, and
 * which bits of the tag. Receives of one shape are hashed by the rest, so that
 * a message looks into one bucket for each shape in use. Programs use few
 * shapes; those beyond MATCH_SHAPES_MAX share a list in the order of posting.
 *
 * Nothing is allocated for a receive or a message: they are the caller's, and
 * linked by what is in them. The caller locks. Tables grow with what is in
 * them; one that cannot grow for want of memory gets slower, and nothing fails.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define MATCH_SHAPES_MAX 4
#define MATCH_ANY        UINT64_MAX /* a receive from any source */

/* A posted receive. The caller sets the first part. */
struct match_receive {
	uint64_t source; /* or MATCH_ANY */
	uint64_t tag;
	uint64_t ignore; /* bits of the tag that do not count */
	bool stays;      /* posted until it is removed: takes many messages */
	bool is_watched; /* listed in `watched` while it is posted */

	struct match_receive *next, *prev;
	struct match_receive *watched_next, *watched_prev;
	struct match_receive *all_next, *all_prev;
	uint64_t order;
	uint8_t shape; /* MATCH_SHAPES_MAX: in the list */
	bool is_posted;
};

/* A message that came before its receive. The caller sets the first part. */
struct match_message {
	uint64_t source; /* never MATCH_ANY */
	uint64_t tag;

	struct {
		struct match_message *next, *prev;
	} by_shape[MATCH_SHAPES_MAX], by_order;
};

struct match_shape {
	uint64_t ignore;
	bool any_source;
	bool is_used;         /* by a receive, or asked for since it was made */
	size_t posted_count;  /* receives */
	size_t message_count; /* in its table: all, or none before it is used */
	/* Buckets: the oldest first, its prev is the youngest. */
	struct match_receive **receives;
	struct match_message **messages;
	size_t receive_buckets, message_buckets; /* powers of two */
};

struct match {
	struct match_shape shapes[MATCH_SHAPES_MAX];
	struct match_receive
		*receives; /* all, as they were posted or inserted */
	struct match_receive *unshaped; /* in the order of posting */
	struct match_receive *watched;  /* likewise; see offload.h */
	struct match_message *messages; /* in the order of arrival */
	size_t posted_count, message_count;
	uint64_t order;
};

/* Returns 0 or -ENOMEM. */
int match_init(struct match *m);

/* Forgets what is posted and queued; it stays the caller's. */
void match_fini(struct match *m);

/*
 * Posts `r`, unless a message is there for it: that is taken out and returned,
 * and `r` is not posted, also when it `stays` (post it again).
 */
struct match_message *match_post(struct match *m, struct match_receive *r);

/*
 * Posts `r` where its `order` says, as if it had been posted then. No message
 * is looked for.
 */
void match_insert(struct match *m, struct match_receive *r);

/* Whether there are messages that both of them would take. */
bool match_overlap(const struct match_receive *a,
		   const struct match_receive *b);

/*
 * The receive for a message that comes now, or NULL. It is no longer posted,
 * unless it `stays`.
 */
struct match_receive *match_arrive(struct match *m, uint64_t source,
				   uint64_t tag);

/* The same receive, still posted. */
struct match_receive *match_first(const struct match *m, uint64_t source,
				  uint64_t tag);

/* Keeps a message for which match_arrive() had no receive. */
void match_queue(struct match *m, struct match_message *msg);

/* The oldest message that such a receive would take; it stays queued. */
struct match_message *match_find(struct match *m, uint64_t source, uint64_t tag,
				 uint64_t ignore);

/* Puts `by` into the place of a queued message, which is as if taken out. */
void match_replace(struct match *m, struct match_message *msg,
		   struct match_message *by);

/* Takes a queued message out. */
void match_take(struct match *m, struct match_message *msg);

/* Takes a posted receive out; nothing if it is not posted. */
void match_remove(struct match *m, struct match_receive *r);

/*
 * Messages from `source` are from `name` from now on, as when the address of a
 * sender becomes known, or is no more its. In their order, those that a posted
 * receive takes now are taken out and passed to `taken`, which may not call
 * this module.
 */
void match_rename(struct match *m, uint64_t source, uint64_t name,
		  void (*taken)(void *arg, struct match_receive *r,
				struct match_message *msg),
		  void *arg);

/*
 * A posted receive for which `is_it` holds, or NULL: to cancel one, or to empty
 * the tables. Looks at each, from either end in turns: those that were posted
 * first and last are found at once.
 */
struct match_receive *match_search(struct match *m,
				   bool (*is_it)(void *arg,
						 const struct match_receive *r),
				   void *arg);
