/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A core that matches tags, and takes its time, in a world of random receives
 * and messages. At the end it is checked that no message overtook another, and
 * no receive another. LINK_SEED: that seed only.
 */
#include "link/match/offload.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>
#include <utlist.h>

#include "sim/rng.h"

#define ENTRIES    600
#define CORE_PEERS 3 /* sources; those above are reached otherwise */
#define SOURCES    5
#define SEEDS      400
#define SEEDS_LONG 20000
#define NONE       UINT32_MAX

enum where {
	UNUSED,
	HERE,
	GIVEN,
	MATCHED,
	CANCELLED
};

struct receive {
	struct match_receive r;
	enum where where;
	bool is_cancelled; /* the program has asked for it */
	uint32_t message;
};

struct message {
	struct match_message m;
	bool is_used, is_at_core;
	uint32_t receive;
};

enum command_kind {
	POST,
	CLAIM,
	CANCEL
};
enum event_kind {
	DONE,
	CANCELED,
	CLAIMED,
	NOTHING
};

struct queue_entry {
	int kind;
	uint32_t receive, message;
};

struct queue {
	struct queue_entry at[4 * ENTRIES];
	unsigned int head, tail;
};

static struct world {
	struct sim_rng rng;
	struct match match;
	struct offload offload;
	struct receive receives[ENTRIES];
	struct message messages[ENTRIES];
	uint32_t receive_count, message_count;
	/* The core's own: receives in the order in which it was given them. */
	uint32_t posted[ENTRIES];
	unsigned int posted_count;
	struct queue commands, events;
} world;

static struct {
	unsigned long given, claimed, promoted, returned, here;
} seen;

static void push(struct queue *q, int kind, uint32_t receive, uint32_t message)
{
	unsigned int next = (q->tail + 1) % (4 * ENTRIES);

	assert_int_not_equal(next, q->head);
	q->at[q->tail] = (struct queue_entry){ kind, receive, message };
	q->tail = next;
}

static bool pop(struct queue *q, struct queue_entry *ret)
{
	if (q->head == q->tail)
		return false;
	*ret = q->at[q->head];
	q->head = (q->head + 1) % (4 * ENTRIES);
	return true;
}

static bool fits(const struct match_receive *r, const struct match_message *m)
{
	return (r->source == MATCH_ANY || r->source == m->source) &&
	       ((r->tag ^ m->tag) & ~r->ignore) == 0;
}

static uint32_t number_of_receive(struct world *w, struct match_receive *r)
{
	return (uint32_t)((struct receive *)r - w->receives);
}

static uint32_t number_of_message(struct world *w, struct match_message *m)
{
	return (uint32_t)((struct message *)m - w->messages);
}

static void pair(struct world *w, uint32_t receive, uint32_t message)
{
	assert_int_equal(w->messages[message].receive, NONE);
	assert_int_equal(w->receives[receive].message, NONE);
	w->messages[message].receive = receive;
	w->receives[receive].message = message;
	w->receives[receive].where = MATCHED;
}

/* --- the core --- */

static void core_takes(struct world *w, uint32_t receive, uint32_t message)
{
	w->messages[message].is_at_core = false;
	push(&w->events, DONE, receive, message);
}

static void core_posts(struct world *w, uint32_t receive)
{
	for (uint32_t i = 0; i < w->message_count; i++)
		if (w->messages[i].is_at_core &&
		    fits(&w->receives[receive].r, &w->messages[i].m)) {
			core_takes(w, receive, i);
			return;
		}
	w->posted[w->posted_count++] = receive;
}

static void core_forgets(struct world *w, unsigned int at)
{
	memmove(&w->posted[at], &w->posted[at + 1],
		(w->posted_count - at - 1) * sizeof(w->posted[0]));
	w->posted_count--;
}

static void core_cancels(struct world *w, uint32_t receive)
{
	for (unsigned int i = 0; i < w->posted_count; i++)
		if (w->posted[i] == receive) {
			core_forgets(w, i);
			push(&w->events, CANCELED, receive, NONE);
			return;
		}
}

static void core_claims(struct world *w)
{
	for (uint32_t i = 0; i < w->message_count; i++)
		if (w->messages[i].is_at_core) {
			w->messages[i].is_at_core = false;
			push(&w->events, CLAIMED, NONE, i);
			return;
		}
	push(&w->events, NOTHING, NONE, NONE);
}

static void core_works(struct world *w)
{
	struct queue_entry command;

	if (!pop(&w->commands, &command))
		return;
	if (command.kind == POST)
		core_posts(w, command.receive);
	else if (command.kind == CLAIM)
		core_claims(w);
	else
		core_cancels(w, command.receive);
}

static void core_gets(struct world *w, uint32_t message)
{
	for (unsigned int i = 0; i < w->posted_count; i++)
		if (fits(&w->receives[w->posted[i]].r,
			 &w->messages[message].m)) {
			uint32_t receive = w->posted[i];
			core_forgets(w, i);
			core_takes(w, receive, message);
			return;
		}
	w->messages[message].is_at_core = true;
}

/* --- what the rules are followed by --- */

static void settle(struct world *w)
{
	struct match_message *m;
	struct match_receive *r;

	while ((r = offload_settle(&w->offload, &m)) != NULL)
		pair(w, number_of_receive(w, r), number_of_message(w, m));
}

static void come_here(struct world *w, uint32_t message)
{
	struct match_message *m = &w->messages[message].m;
	struct match_receive *r = offload_first(&w->offload, m->source, m->tag);

	if (r == NULL) {
		match_queue(&w->match, m);
		return;
	}
	match_remove(&w->match, r);
	pair(w, number_of_receive(w, r), message);
	seen.here++;
}

static void claim(struct world *w)
{
	if (!offload_must_claim(&w->offload, false))
		return;
	w->offload.is_claiming = true;
	push(&w->commands, CLAIM, NONE, NONE);
}

static bool goes(const struct match_receive *r)
{
	return true;
}

static void nothing_to_claim(struct world *w)
{
	struct match_receive *r;

	w->offload.is_claiming = false;
	while ((r = offload_give(&w->offload, goes)) != NULL) {
		w->receives[number_of_receive(w, r)].where = GIVEN;
		push(&w->commands, POST, number_of_receive(w, r), NONE);
		seen.promoted++;
	}
}

static void came_back(struct world *w, struct receive *receive)
{
	if (receive->is_cancelled) {
		offload_done(&w->offload, &receive->r);
		receive->where = CANCELLED;
	} else {
		offload_returned(&w->offload, &receive->r);
		receive->where = HERE;
		seen.returned++;
	}
	settle(w);
}

static void core_says(struct world *w)
{
	struct queue_entry event;

	if (!pop(&w->events, &event))
		return;
	switch ((enum event_kind)event.kind) {
	case DONE:
		offload_done(&w->offload, &w->receives[event.receive].r);
		pair(w, event.receive, event.message);
		settle(w);
		break;
	case CANCELED:
		came_back(w, &w->receives[event.receive]);
		break;
	case CLAIMED:
		w->offload.is_claiming = false;
		come_here(w, event.message);
		seen.claimed++;
		break;
	case NOTHING:
		nothing_to_claim(w);
		break;
	}
}

/* --- the program and its peers --- */

static uint64_t below(struct world *w, uint64_t limit)
{
	return sim_rng_below(&w->rng, limit);
}

static void post_one(struct world *w, unsigned int any_of_ten)
{
	static const uint64_t ignores[] = { 0, 0, 0, 0, 1, UINT64_MAX };
	struct receive *new = &w->receives[w->receive_count];
	struct match_message *m = NULL;
	bool is_any = below(w, 10) < any_of_ten;
	uint64_t source = is_any ? MATCH_ANY : below(w, SOURCES);
	bool is_core_s = is_any || source < CORE_PEERS;

	if (w->receive_count == ENTRIES)
		return;
	*new = (struct receive){ .r = { .source = source,
					.tag = below(w, 4),
					.ignore = ignores[below(w, 6)],
					.is_watched = is_core_s },
				 .where = HERE,
				 .message = NONE };
	switch (offload_post(&w->offload, &new->r,
			     is_core_s && below(w, 20) != 0, &m)) {
	case OFFLOAD_HERE:
		break;
	case OFFLOAD_GIVEN:
		new->where = GIVEN;
		push(&w->commands, POST, w->receive_count, NONE);
		seen.given++;
		break;
	case OFFLOAD_TAKEN:
		pair(w, w->receive_count, number_of_message(w, m));
		break;
	}
	w->receive_count++;
}

static void send_one(struct world *w)
{
	uint64_t sources = w->offload.has_others ? SOURCES : CORE_PEERS;
	struct message *new = &w->messages[w->message_count];

	if (w->message_count == ENTRIES)
		return;
	*new = (struct message){ .m = { .source = below(w, sources),
					.tag = below(w, 4) },
				 .is_used = true,
				 .receive = NONE };
	w->message_count++;
	if (new->m.source < CORE_PEERS)
		core_gets(w, w->message_count - 1);
	else
		come_here(w, w->message_count - 1);
}

static void cancel_one(struct world *w)
{
	uint32_t at = w->receive_count == 0
			      ? NONE
			      : (uint32_t)below(w, w->receive_count);

	if (at == NONE)
		return;
	if (w->receives[at].where == HERE) {
		match_remove(&w->match, &w->receives[at].r);
		w->receives[at].where = CANCELLED;
	} else if (w->receives[at].where == GIVEN &&
		   !w->receives[at].is_cancelled) {
		w->receives[at].is_cancelled = true;
		push(&w->commands, CANCEL, at, NONE);
	}
}

/* The youngest first: an older one is still there for what fits both. */
static void recall(struct world *w)
{
	struct match_receive *r;

	if (!offload_recall(&w->offload))
		return;
	r = w->offload.given->prev;
	for (unsigned int i = 0; i < w->offload.given_count; i++, r = r->prev)
		push(&w->commands, CANCEL, number_of_receive(w, r), NONE);
}

static void step(struct world *w, unsigned int any_of_ten, uint64_t posts)
{
	uint64_t what = below(w, 100);

	if (what < posts)
		post_one(w, any_of_ten);
	else if (what < 36)
		send_one(w);
	else if (what < 38)
		cancel_one(w);
	else if (what < 60)
		core_works(w);
	else if (what < 82)
		core_says(w);
	else if (what < 99)
		claim(w);
	else if (below(w, 4) == 0)
		recall(w);
}

/* --- what must hold --- */

static bool is_out(const struct receive *r)
{
	return r->where == CANCELLED || r->is_cancelled;
}

static void check_message(struct world *w, uint32_t at)
{
	const struct message *m = &w->messages[at];

	for (uint32_t i = 0; i < w->receive_count; i++) {
		const struct receive *r = &w->receives[i];
		if (is_out(r) || !fits(&r->r, &m->m) || m->receive == i)
			continue;
		if (m->receive == NONE) {
			/* Else it would have gone there. */
			assert_int_equal(r->where, MATCHED);
		} else if (i < m->receive) {
			/* Posted before, and so matched to another one. */
			assert_int_equal(r->where, MATCHED);
		} else {
			continue;
		}
		/* Which was no later one of the same sender. */
		if (w->messages[r->message].m.source == m->m.source)
			assert_true(r->message < at);
	}
}

static void run_until_quiet(struct world *w)
{
	unsigned int quiet = 0;

	while (quiet < 3) {
		bool is_idle = w->commands.head == w->commands.tail &&
			       w->events.head == w->events.tail;
		unsigned long before = seen.claimed + seen.promoted;
		claim(w);
		core_works(w);
		core_says(w);
		quiet = is_idle && before == seen.claimed + seen.promoted
				? quiet + 1
				: 0;
	}
}

static void run(uint64_t seed)
{
	struct world *w = &world;

	memset(w, 0, sizeof(*w));
	sim_rng_init(&w->rng, seed);
	assert_int_equal(match_init(&w->match), 0);
	w->offload.match = &w->match;
	w->offload.has_others = below(w, 4) == 0;
	unsigned int any_of_ten = (unsigned int)below(w, 5);
	uint64_t steps = 100 + below(w, 2500), posts = 14 + below(w, 10);
	for (uint64_t i = 0; i < steps; i++)
		step(w, any_of_ten, posts);
	run_until_quiet(w);
	assert_int_equal(w->offload.returning, 0);
	for (uint32_t i = 0; i < w->message_count; i++)
		check_message(w, i);
	match_fini(&w->match);
}

static uint64_t last_seed;

static void nothing_overtakes_anything(void **state)
{
	const char *length = getenv("FAIRLEAD_TEST"),
		   *only = getenv("LINK_SEED");
	bool is_long = length != NULL && strcmp(length, "long") == 0;
	uint64_t seeds = is_long ? SEEDS_LONG : SEEDS;

	if (only != NULL) {
		run(strtoull(only, NULL, 10));
		return;
	}
	for (last_seed = 1; last_seed <= seeds; last_seed++)
		run(last_seed);
	print_message("given %lu, promoted %lu, claimed %lu, returned %lu, "
		      "met here %lu\n",
		      seen.given, seen.promoted, seen.claimed, seen.returned,
		      seen.here);
	assert_true(seen.given > seeds * 10 && seen.promoted > seeds);
	assert_true(seen.claimed > seeds * 10 && seen.returned > seeds / 2);
}

/* --- single rules --- */

static struct match match;

static struct offload fresh(bool has_others)
{
	match_fini(&match);
	assert_int_equal(match_init(&match), 0);
	return (struct offload){ .match = &match, .has_others = has_others };
}

static struct match_receive receive(uint64_t source, uint64_t tag)
{
	return (struct match_receive){ .source = source,
				       .tag = tag,
				       .is_watched = true };
}

static void what_names_its_source_goes_to_the_core(void **state)
{
	struct offload o = fresh(true);
	struct match_receive named = receive(1, 5);
	struct match_message *m;

	assert_int_equal(offload_post(&o, &named, true, &m), OFFLOAD_GIVEN);
	assert_false(offload_must_claim(&o, false));
}

static void from_any_source_goes_where_nothing_else_comes_from(void **state)
{
	struct offload o = fresh(false);
	struct match_receive any = receive(MATCH_ANY, 5);
	struct match_message *m;

	assert_int_equal(offload_post(&o, &any, true, &m), OFFLOAD_GIVEN);
	o = fresh(true);
	any = receive(MATCH_ANY, 5);
	assert_int_equal(offload_post(&o, &any, true, &m), OFFLOAD_HERE);
	assert_true(offload_must_claim(&o, false));
}

static void a_wildcard_shadows_only_what_it_fits(void **state)
{
	struct offload o = fresh(true);
	struct match_receive any = receive(MATCH_ANY, 5);
	struct match_receive before = receive(1, 5), behind = receive(1, 5),
			     other = receive(1, 6);
	struct match_message *m;

	assert_int_equal(offload_post(&o, &before, true, &m), OFFLOAD_GIVEN);
	assert_int_equal(offload_post(&o, &any, true, &m), OFFLOAD_HERE);
	assert_int_equal(offload_post(&o, &behind, true, &m), OFFLOAD_HERE);
	assert_int_equal(offload_post(&o, &other, true, &m), OFFLOAD_GIVEN);
	assert_null(offload_give(&o, goes));
	match_remove(&match, &any);
	assert_ptr_equal(offload_give(&o, goes), &behind);
	assert_null(offload_give(&o, goes));
}

static void nothing_is_given_while_a_claim_is_under_way(void **state)
{
	struct offload o = fresh(true);
	struct match_receive named = receive(1, 5);
	struct match_message *m;

	o.is_claiming = true;
	assert_int_equal(offload_post(&o, &named, true, &m), OFFLOAD_HERE);
	assert_null(offload_give(&o, goes));
	o.is_claiming = false;
	assert_ptr_equal(offload_give(&o, goes), &named);
}

static void what_comes_back_keeps_its_place(void **state)
{
	struct offload o = fresh(false);
	struct match_receive first = receive(MATCH_ANY, 5),
			     later = receive(7, 5);
	struct match_message message = { .source = 7, .tag = 5 }, *m = NULL;

	assert_int_equal(offload_post(&o, &first, true, &m), OFFLOAD_GIVEN);
	assert_true(offload_recall(&o));
	later.is_watched = false;
	assert_int_equal(offload_post(&o, &later, false, &m), OFFLOAD_HERE);
	assert_null(offload_first(&o, 7, 5));
	match_queue(&match, &message);
	assert_null(offload_settle(&o, &m));
	offload_returned(&o, &first);
	assert_ptr_equal(offload_settle(&o, &m), &first);
	assert_ptr_equal(m, &message);
	assert_null(offload_settle(&o, &m));
	assert_ptr_equal(offload_first(&o, 7, 5), &later);
}

static int drop(void **state)
{
	print_message("the last seed was %llu\n",
		      (unsigned long long)last_seed);
	match_fini(&match);
	return 0;
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_names_its_source_goes_to_the_core),
		cmocka_unit_test(
			from_any_source_goes_where_nothing_else_comes_from),
		cmocka_unit_test(a_wildcard_shadows_only_what_it_fits),
		cmocka_unit_test(nothing_is_given_while_a_claim_is_under_way),
		cmocka_unit_test(what_comes_back_keeps_its_place),
		cmocka_unit_test(nothing_overtakes_anything),
	};
	return cmocka_run_group_tests(tests, NULL, drop);
}
