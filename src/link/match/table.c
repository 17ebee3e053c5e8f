/* SPDX-License-Identifier: BSD-3-Clause */
/* Buckets are lists in order; a table that grows keeps the order in each. */
#include "link/match/table.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <utlist.h>

#define BUCKETS_MIN 64

static size_t bucket(const struct match_shape *s, size_t buckets,
		     uint64_t source, uint64_t tag)
{
	uint64_t h = (tag & ~s->ignore) * UINT64_C(0x9e3779b97f4a7c15);
	if (!s->any_source)
		h ^= (source + 1) * UINT64_C(0xc2b2ae3d27d4eb4f);
	h ^= h >> 32;
	h *= UINT64_C(0xd6e8feb86659fd93);
	return (h >> 32) & (buckets - 1);
}

int table_init(struct match_shape *s)
{
	s->receives = calloc(BUCKETS_MIN, sizeof(struct match_receive *));
	s->messages = calloc(BUCKETS_MIN, sizeof(struct match_message *));
	s->receive_buckets = s->message_buckets = BUCKETS_MIN;
	return s->receives == NULL || s->messages == NULL ? -ENOMEM : 0;
}

void table_fini(struct match_shape *s)
{
	free(s->receives);
	free(s->messages);
}

struct match_receive **table_receives(const struct match_shape *s,
				      uint64_t source, uint64_t tag)
{
	return &s->receives[bucket(s, s->receive_buckets, source, tag)];
}

struct match_message **table_messages(const struct match_shape *s,
				      uint64_t source, uint64_t tag)
{
	return &s->messages[bucket(s, s->message_buckets, source, tag)];
}

/*
 * How many buckets a table with `count` entries should have: as it has, or four
 * times as many.
 */
static size_t wanted(size_t buckets, size_t count)
{
	return count > buckets ? buckets * 4 : buckets;
}

static void receives_grow(struct match_shape *s)
{
	size_t had = s->receive_buckets;
	size_t want = wanted(had, s->posted_count);
	struct match_receive **old = s->receives, *r, *next;
	if (want == had)
		return;
	struct match_receive **grown = calloc(want, sizeof(*grown));
	if (grown == NULL)
		return;
	for (size_t b = 0; b < had; b++)
		DL_FOREACH_SAFE (old[b], r, next)
			DL_APPEND(grown[bucket(s, want, r->source, r->tag)], r);
	s->receives = grown;
	s->receive_buckets = want;
	free(old);
}

void table_add_receive(struct match_shape *s, struct match_receive *r)
{
	s->posted_count++;
	receives_grow(s);
	DL_APPEND(*table_receives(s, r->source, r->tag), r);
}

void table_insert_receive(struct match_shape *s, struct match_receive *r,
			  int (*compare)(const struct match_receive *a,
					 const struct match_receive *b))
{
	s->posted_count++;
	receives_grow(s);
	DL_INSERT_INORDER(*table_receives(s, r->source, r->tag), r, compare);
}

void table_remove_receive(struct match_shape *s, struct match_receive *r)
{
	s->posted_count--;
	DL_DELETE(*table_receives(s, r->source, r->tag), r);
}

static void messages_grow(struct match_shape *s, unsigned shape)
{
	size_t had = s->message_buckets;
	size_t want = wanted(had, s->message_count);
	struct match_message **old = s->messages, *m, *next;
	if (want == had)
		return;
	struct match_message **grown = calloc(want, sizeof(*grown));
	if (grown == NULL)
		return;
	for (size_t b = 0; b < had; b++)
		for (m = old[b]; m != NULL; m = next) {
			next = m->by_shape[shape].next;
			DL_APPEND2(grown[bucket(s, want, m->source, m->tag)], m,
				   by_shape[shape].prev, by_shape[shape].next);
		}
	s->messages = grown;
	s->message_buckets = want;
	free(old);
}

void table_add_message(struct match_shape *s, unsigned shape,
		       struct match_message *msg)
{
	s->message_count++;
	messages_grow(s, shape);
	DL_APPEND2(*table_messages(s, msg->source, msg->tag), msg,
		   by_shape[shape].prev, by_shape[shape].next);
}

void table_remove_message(struct match_shape *s, unsigned shape,
			  struct match_message *msg)
{
	s->message_count--;
	DL_DELETE2(*table_messages(s, msg->source, msg->tag), msg,
		   by_shape[shape].prev, by_shape[shape].next);
}

void table_forget_messages(struct match_shape *s)
{
	memset(s->messages, 0,
	       s->message_buckets * sizeof(struct match_message *));
	s->message_count = 0;
}

void table_replace_message(struct match_shape *s, unsigned shape,
			   struct match_message *msg, struct match_message *by)
{
	DL_REPLACE_ELEM2(*table_messages(s, msg->source, msg->tag), msg, by,
			 by_shape[shape].prev, by_shape[shape].next);
}
