/* SPDX-License-Identifier: BSD-3-Clause */
#include "link/match/offload.h"

#include <utlist.h>

/*
 * Whether a receive that was posted before `r` and is kept here fits as well.
 */
static bool is_shadowed(const struct offload *o, const struct match_receive *r)
{
	const struct match_receive *before;

	DL_FOREACH2(o->match->watched, before, watched_next)
	{
		if (before == r)
			return false;
		if (match_overlap(before, r))
			return true;
	}
	return false;
}

static bool may_be_given(const struct offload *o, const struct match_receive *r)
{
	return !r->stays && r->is_watched &&
	       (r->source != MATCH_ANY || !o->has_others) && !is_shadowed(o, r);
}

static void given_add(struct offload *o, struct match_receive *r)
{
	DL_APPEND(o->given, r);
	o->given_count++;
}

enum offload_verdict offload_post(struct offload *o, struct match_receive *r,
				  bool is_for_core,
				  struct match_message **ret_message)
{
	struct match_message *message;

	if (o->returning > 0) {
		r->order = o->match->order++;
		match_insert(o->match, r);
		return OFFLOAD_HERE;
	}
	if (is_for_core && !o->is_claiming &&
	    match_find(o->match, r->source, r->tag, r->ignore) == NULL &&
	    may_be_given(o, r)) {
		r->order = o->match->order++;
		given_add(o, r);
		return OFFLOAD_GIVEN;
	}
	message = match_post(o->match, r);
	if (message == NULL)
		return OFFLOAD_HERE;
	*ret_message = message;
	return OFFLOAD_TAKEN;
}

struct match_receive *offload_first(const struct offload *o, uint64_t source,
				    uint64_t tag)
{
	return o->returning > 0 ? NULL : match_first(o->match, source, tag);
}

bool offload_must_claim(const struct offload *o, bool is_asked)
{
	return !o->is_claiming && o->returning == 0 &&
	       (is_asked || o->match->watched != NULL);
}

struct match_receive *offload_give(
	struct offload *o, bool (*can_go)(const struct match_receive *r))
{
	struct match_receive *r;

	if (o->is_claiming || o->returning > 0)
		return NULL;
	DL_FOREACH2(o->match->watched, r, watched_next)
	{
		if (!may_be_given(o, r) || !can_go(r))
			continue;
		match_remove(o->match, r);
		given_add(o, r);
		return r;
	}
	return NULL;
}

void offload_done(struct offload *o, struct match_receive *r)
{
	DL_DELETE(o->given, r);
	o->given_count--;
	if (o->returning > 0)
		o->returning--;
}

bool offload_recall(struct offload *o)
{
	if (o->has_others)
		return false;
	o->has_others = true;
	o->returning = o->given_count;
	return o->returning > 0;
}

void offload_returned(struct offload *o, struct match_receive *r)
{
	offload_done(o, r);
	match_insert(o->match, r);
}

struct match_receive *offload_settle(struct offload *o,
				     struct match_message **ret_message)
{
	struct match_message *message;

	if (o->returning > 0)
		return NULL;
	DL_FOREACH2(o->match->messages, message, by_order.next)
	{
		struct match_receive *r =
			match_arrive(o->match, message->source, message->tag);
		if (r == NULL)
			continue;
		match_take(o->match, message);
		*ret_message = message;
		return r;
	}
	return NULL;
}
