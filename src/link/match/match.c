/* SPDX-License-Identifier: BSD-3-Clause */
/* Posted receives and queued messages; the tables are in table.c. */
#include "link/match/match.h"

#include <errno.h>
#include <string.h>
#include <utlist.h>

#include "link/match/table.h"

static bool fits(const struct match_receive *r, uint64_t source, uint64_t tag)
{
	return (r->source == MATCH_ANY || r->source == source) &&
	       ((r->tag ^ tag) & ~r->ignore) == 0;
}

int match_init(struct match *m)
{
	memset(m, 0, sizeof *m);
	for (unsigned i = 0; i < MATCH_SHAPES_MAX; i++)
		if (table_init(&m->shapes[i]) != 0) {
			match_fini(m);
			return -ENOMEM;
		}
	return 0;
}

void match_fini(struct match *m)
{
	for (unsigned i = 0; i < MATCH_SHAPES_MAX; i++)
		table_fini(&m->shapes[i]);
	memset(m, 0, sizeof *m);
}

/*
 * The index of a shape, made if it fits: one without receives may be
 * made into another. MATCH_SHAPES_MAX if there is none.
 */
static unsigned shape_of(struct match *m, bool any_source, uint64_t ignore)
{
	unsigned spare = MATCH_SHAPES_MAX;
	for (unsigned i = 0; i < MATCH_SHAPES_MAX; i++) {
		const struct match_shape *s = &m->shapes[i];
		if (s->is_used && s->any_source == any_source &&
		    s->ignore == ignore)
			return i;
		if (s->posted_count == 0 &&
		    (spare == MATCH_SHAPES_MAX ||
		     (m->shapes[spare].is_used && !s->is_used)))
			spare = i;
	}
	if (spare == MATCH_SHAPES_MAX)
		return spare;
	struct match_shape *s = &m->shapes[spare];
	table_forget_messages(s);
	s->any_source = any_source;
	s->ignore = ignore;
	s->is_used = true;
	struct match_message *msg;
	DL_FOREACH2(m->messages, msg, by_order.next)
	table_add_message(s, spare, msg);
	return spare;
}

static void receive_list(struct match *m, struct match_receive *r,
			 unsigned shape)
{
	r->shape = (uint8_t)shape;
	r->is_posted = true;
	m->posted_count++;
	DL_APPEND2(m->receives, r, all_prev, all_next);
}

/* Looks for a message where it would be, by the index of its shape. */
static struct match_message *message_for(const struct match *m, unsigned shape,
					 const struct match_receive *r)
{
	struct match_message *msg;
	if (m->message_count == 0)
		return NULL;
	if (shape != MATCH_SHAPES_MAX) {
		DL_FOREACH2(*table_messages(&m->shapes[shape], r->source,
					    r->tag),
			    msg, by_shape[shape].next)
		if (fits(r, msg->source, msg->tag))
			return msg;
		return NULL;
	}
	DL_FOREACH2(m->messages, msg, by_order.next)
	if (fits(r, msg->source, msg->tag))
		return msg;
	return NULL;
}

struct match_message *match_find(struct match *m, uint64_t source, uint64_t tag,
				 uint64_t ignore)
{
	const struct match_receive r = { .source = source,
					 .tag = tag,
					 .ignore = ignore };
	if (m->message_count == 0)
		return NULL;
	return message_for(m, shape_of(m, source == MATCH_ANY, ignore), &r);
}

struct match_message *match_post(struct match *m, struct match_receive *r)
{
	unsigned shape = shape_of(m, r->source == MATCH_ANY, r->ignore);
	struct match_message *msg = message_for(m, shape, r);
	if (msg != NULL) {
		match_take(m, msg);
		return msg;
	}
	r->order = m->order++;
	receive_list(m, r, shape);
	if (r->is_watched)
		DL_APPEND2(m->watched, r, watched_prev, watched_next);
	if (shape == MATCH_SHAPES_MAX)
		DL_APPEND(m->unshaped, r);
	else
		table_add_receive(&m->shapes[shape], r);
	return NULL;
}

static int by_order(const struct match_receive *a,
		    const struct match_receive *b)
{
	return a->order < b->order ? -1 : a->order > b->order;
}

void match_insert(struct match *m, struct match_receive *r)
{
	unsigned shape = shape_of(m, r->source == MATCH_ANY, r->ignore);

	receive_list(m, r, shape);
	if (r->is_watched)
		DL_INSERT_INORDER2(m->watched, r, by_order, watched_prev,
				   watched_next);
	if (shape == MATCH_SHAPES_MAX)
		DL_INSERT_INORDER(m->unshaped, r, by_order);
	else
		table_insert_receive(&m->shapes[shape], r, by_order);
}

bool match_overlap(const struct match_receive *a, const struct match_receive *b)
{
	return (a->source == MATCH_ANY || b->source == MATCH_ANY ||
		a->source == b->source) &&
	       ((a->tag ^ b->tag) & ~(a->ignore | b->ignore)) == 0;
}

void match_remove(struct match *m, struct match_receive *r)
{
	if (!r->is_posted)
		return;
	if (r->shape == MATCH_SHAPES_MAX)
		DL_DELETE(m->unshaped, r);
	else
		table_remove_receive(&m->shapes[r->shape], r);
	if (r->is_watched)
		DL_DELETE2(m->watched, r, watched_prev, watched_next);
	DL_DELETE2(m->receives, r, all_prev, all_next);
	r->is_posted = false;
	m->posted_count--;
}

static struct match_receive *oldest_for(const struct match *m, uint64_t source,
					uint64_t tag)
{
	struct match_receive *r, *best = NULL;
	for (unsigned i = 0; i < MATCH_SHAPES_MAX; i++) {
		const struct match_shape *s = &m->shapes[i];
		if (s->posted_count == 0)
			continue;
		DL_FOREACH (*table_receives(s, source, tag), r) {
			if (best != NULL && best->order < r->order)
				break;
			if (fits(r, source, tag)) {
				best = r;
				break;
			}
		}
	}
	DL_FOREACH (m->unshaped, r) {
		if (best != NULL && best->order < r->order)
			break;
		if (fits(r, source, tag))
			return r;
	}
	return best;
}

struct match_receive *match_first(const struct match *m, uint64_t source,
				  uint64_t tag)
{
	return m->posted_count == 0 ? NULL : oldest_for(m, source, tag);
}

struct match_receive *match_arrive(struct match *m, uint64_t source,
				   uint64_t tag)
{
	struct match_receive *r = match_first(m, source, tag);

	if (r != NULL && !r->stays)
		match_remove(m, r);
	return r;
}

void match_queue(struct match *m, struct match_message *msg)
{
	DL_APPEND2(m->messages, msg, by_order.prev, by_order.next);
	m->message_count++;
	for (unsigned i = 0; i < MATCH_SHAPES_MAX; i++)
		if (m->shapes[i].is_used)
			table_add_message(&m->shapes[i], i, msg);
}

void match_take(struct match *m, struct match_message *msg)
{
	DL_DELETE2(m->messages, msg, by_order.prev, by_order.next);
	m->message_count--;
	for (unsigned i = 0; i < MATCH_SHAPES_MAX; i++)
		if (m->shapes[i].is_used)
			table_remove_message(&m->shapes[i], i, msg);
}

void match_replace(struct match *m, struct match_message *msg,
		   struct match_message *by)
{
	by->source = msg->source;
	by->tag = msg->tag;
	DL_REPLACE_ELEM2(m->messages, msg, by, by_order.prev, by_order.next);
	for (unsigned i = 0; i < MATCH_SHAPES_MAX; i++)
		if (m->shapes[i].is_used)
			table_replace_message(&m->shapes[i], i, msg, by);
}

void match_rename(struct match *m, uint64_t source, uint64_t name,
		  void (*taken)(void *arg, struct match_receive *r,
				struct match_message *msg),
		  void *arg)
{
	struct match_message *msg, *next;
	bool has_any = false;

	DL_FOREACH_SAFE2(m->messages, msg, next, by_order.next)
	{
		if (msg->source != source)
			continue;
		has_any = true;
		struct match_receive *r = match_arrive(m, name, msg->tag);
		if (r != NULL) {
			match_take(m, msg);
			taken(arg, r, msg);
			continue;
		}
		for (unsigned i = 0; i < MATCH_SHAPES_MAX; i++)
			if (m->shapes[i].is_used)
				table_remove_message(&m->shapes[i], i, msg);
		msg->source = name;
	}
	/* Again, so that each bucket keeps the order of arrival. */
	for (unsigned i = 0; has_any && i < MATCH_SHAPES_MAX; i++) {
		if (!m->shapes[i].is_used)
			continue;
		table_forget_messages(&m->shapes[i]);
		DL_FOREACH2(m->messages, msg, by_order.next)
		table_add_message(&m->shapes[i], i, msg);
	}
}

struct match_receive *match_search(struct match *m,
				   bool (*is_it)(void *arg,
						 const struct match_receive *r),
				   void *arg)
{
	struct match_receive *old = m->receives, *young;

	if (old == NULL)
		return NULL;
	for (young = old->all_prev;;
	     old = old->all_next, young = young->all_prev) {
		if (is_it(arg, old))
			return old;
		if (is_it(arg, young))
			return young;
		if (old == young || old->all_next == young)
			return NULL;
	}
}
