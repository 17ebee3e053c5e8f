/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The engine against two lists that are searched from their beginning, by many
 * seeds. LINK_SEED: that seed only.
 */
#include "link/match/match.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "sim/heap.h"
#include "sim/rng.h"

#define ENTRIES    1024
#define SOURCES    5
#define STEPS      50000
#define SEEDS      8
#define SEEDS_LONG 400

struct receive {
	struct match_receive r;
	bool used;
};

struct message {
	struct match_message m;
	bool used;
};

/* What is posted and queued by the reference: numbers, the oldest first. */
struct order {
	unsigned at[ENTRIES];
	unsigned count;
};

static struct world {
	struct match match;
	struct sim_rng rng;
	struct receive receives[ENTRIES];
	struct message messages[ENTRIES];
	struct order posted, queued;
	unsigned receive_next, message_next;
	size_t met_posted, met_queued, most;
} world;

static void order_add(struct order *o, unsigned which)
{
	assert_true(o->count < ENTRIES);
	o->at[o->count++] = which;
}

static void order_remove(struct order *o, unsigned which)
{
	unsigned i = 0;
	while (i < o->count && o->at[i] != which)
		i++;
	assert_true(i < o->count);
	memmove(&o->at[i], &o->at[i + 1], (o->count - i - 1) * sizeof o->at[0]);
	o->count--;
}

static bool takes(const struct match_receive *r, uint64_t source, uint64_t tag)
{
	return (r->source == MATCH_ANY || r->source == source) &&
	       (r->tag & ~r->ignore) == (tag & ~r->ignore);
}

static uint64_t below(struct world *w, uint64_t limit)
{
	return sim_rng_u64(&w->rng) % limit;
}

/* Few tags, and bits of all the tag. */
static uint64_t some_tag(struct world *w)
{
	uint64_t tag = below(w, 6);
	return below(w, 3) == 0 ? tag | UINT64_C(1) << 62 : tag;
}

static uint64_t some_ignore(struct world *w)
{
	static const uint64_t ignores[] = { 0,
					    0,
					    0,
					    UINT64_C(1) << 62,
					    UINT64_C(1) << 62,
					    3,
					    UINT64_MAX,
					    ~UINT64_C(1) };
	return ignores[below(w, sizeof ignores / sizeof ignores[0])];
}

static struct match_message *reference_message(struct world *w,
					       const struct match_receive *r)
{
	for (unsigned i = 0; i < w->queued.count; i++) {
		struct match_message *m = &w->messages[w->queued.at[i]].m;
		if (takes(r, m->source, m->tag))
			return m;
	}
	return NULL;
}

static struct match_receive *reference_receive(struct world *w, uint64_t source,
					       uint64_t tag)
{
	for (unsigned i = 0; i < w->posted.count; i++) {
		struct match_receive *r = &w->receives[w->posted.at[i]].r;
		if (takes(r, source, tag))
			return r;
	}
	return NULL;
}

static unsigned number_of_message(struct world *w, struct match_message *m)
{
	return (unsigned)((struct message *)m - w->messages);
}

static unsigned number_of_receive(struct world *w, struct match_receive *r)
{
	return (unsigned)((struct receive *)r - w->receives);
}

static void message_gone(struct world *w, struct match_message *m)
{
	unsigned which = number_of_message(w, m);
	order_remove(&w->queued, which);
	w->messages[which].used = false;
}

static void receive_gone(struct world *w, struct match_receive *r)
{
	unsigned which = number_of_receive(w, r);
	order_remove(&w->posted, which);
	w->receives[which].used = false;
	assert_false(r->is_posted);
}

static void post_one(struct world *w)
{
	while (w->receives[w->receive_next].used)
		w->receive_next = (w->receive_next + 1) % ENTRIES;
	struct receive *new = &w->receives[w->receive_next];
	new->r = (struct match_receive){ .source = below(w, 3) == 0
							   ? MATCH_ANY
							   : below(w, SOURCES),
					 .tag = some_tag(w),
					 .ignore = some_ignore(w),
					 .stays = below(w, 40) == 0 };
	struct match_message *want = reference_message(w, &new->r);
	struct match_message *got = match_post(&w->match, &new->r);
	assert_ptr_equal(got, want);
	if (got != NULL) {
		message_gone(w, got);
		w->met_queued++;
		return;
	}
	new->used = true;
	order_add(&w->posted, w->receive_next);
}

static void let_one_come(struct world *w)
{
	uint64_t source = below(w, SOURCES), tag = some_tag(w);
	struct match_receive *want = reference_receive(w, source, tag);
	struct match_receive *got = match_arrive(&w->match, source, tag);
	assert_ptr_equal(got, want);
	if (got != NULL) {
		w->met_posted++;
		if (got->stays && below(w, 3) == 0)
			match_remove(&w->match, got);
		if (!got->is_posted)
			receive_gone(w, got);
		return;
	}
	while (w->messages[w->message_next].used)
		w->message_next = (w->message_next + 1) % ENTRIES;
	struct message *new = &w->messages[w->message_next];
	new->m = (struct match_message){ .source = source, .tag = tag };
	new->used = true;
	match_queue(&w->match, &new->m);
	order_add(&w->queued, w->message_next);
}

static void peek_one(struct world *w, bool take)
{
	struct match_receive r = { .source = below(w, 2) == 0
						     ? MATCH_ANY
						     : below(w, SOURCES),
				   .tag = some_tag(w),
				   .ignore = some_ignore(w) };
	struct match_message *want = reference_message(w, &r);
	struct match_message *got =
		match_find(&w->match, r.source, r.tag, r.ignore);
	assert_ptr_equal(got, want);
	if (take && got != NULL) {
		match_take(&w->match, got);
		message_gone(w, got);
	}
}

/* Another message stands where one stood. */
static void replace_one(struct world *w)
{
	if (w->queued.count == 0)
		return;
	unsigned at = (unsigned)below(w, w->queued.count);
	struct message *old = &w->messages[w->queued.at[at]];
	while (w->messages[w->message_next].used)
		w->message_next = (w->message_next + 1) % ENTRIES;
	struct message *new = &w->messages[w->message_next];
	memset(&new->m, 0x77, sizeof new->m);
	match_replace(&w->match, &old->m, &new->m);
	memset(&old->m, 0x77, sizeof old->m);
	old->used = false;
	new->used = true;
	w->queued.at[at] = w->message_next;
}

static void cancel_one(struct world *w)
{
	if (w->posted.count == 0)
		return;
	struct match_receive *r =
		&w->receives[w->posted.at[below(w, w->posted.count)]].r;
	match_remove(&w->match, r);
	receive_gone(w, r);
	match_remove(&w->match, r);
}

/* Only messages have another name: receives name the new one. */
static void record_taken(void *arg, struct match_receive *r,
			 struct match_message *msg)
{
	struct world *w = arg;
	uint64_t name = msg->source == 0 ? 1 : 0;
	assert_ptr_equal(r, reference_receive(w, name, msg->tag));
	if (!r->stays)
		receive_gone(w, r);
	message_gone(w, msg);
}

static void rename_some(struct world *w)
{
	uint64_t source = below(w, 2), name = 1 - source;
	match_rename(&w->match, source, name, record_taken, w);
	for (unsigned i = 0; i < w->queued.count; i++)
		assert_int_not_equal(w->messages[w->queued.at[i]].m.source,
				     source);
}

/* Now more receives than messages, now the other way round. */
static void step(struct world *w, bool posts)
{
	uint64_t what = below(w, 100);
	if (w->posted.count > ENTRIES / 2 && what < 85)
		what = 97;
	if (w->queued.count > ENTRIES / 2 && what < 85)
		what = 92;
	if (what < (posts ? 60 : 25))
		post_one(w);
	else if (what < 85)
		let_one_come(w);
	else if (what < 90)
		peek_one(w, false);
	else if (what < 94)
		peek_one(w, true);
	else if (what < 99)
		cancel_one(w);
	else if (below(w, 20) == 0)
		rename_some(w);
	else
		replace_one(w);
	assert_int_equal(w->match.posted_count, w->posted.count);
	assert_int_equal(w->match.message_count, w->queued.count);
	if (w->posted.count + w->queued.count > w->most)
		w->most = w->posted.count + w->queued.count;
}

static bool any_receive(void *arg, const struct match_receive *r)
{
	return arg == NULL || r == arg;
}

static void start(uint64_t seed)
{
	memset(&world, 0, sizeof world);
	sim_rng_init(&world.rng, seed);
	assert_int_equal(match_init(&world.match), 0);
}

static void run_seed(uint64_t seed)
{
	struct match_receive *r;

	start(seed);
	for (unsigned i = 0; i < STEPS; i++)
		step(&world, i / 2000 % 2 == 0);
	assert_true(world.met_posted > STEPS / 10);
	assert_true(world.met_queued > STEPS / 50);
	assert_true(world.most > 100);
	while ((r = match_search(&world.match, any_receive, NULL)) != NULL) {
		match_remove(&world.match, r);
		receive_gone(&world, r);
	}
	assert_int_equal(world.posted.count, 0);
	match_fini(&world.match);
}

static uint64_t last_seed;

static void it_does_what_two_lists_do(void **state)
{
	const char *length = getenv("FAIRLEAD_TEST"),
		   *only = getenv("LINK_SEED");
	bool is_long = length != NULL && strcmp(length, "long") == 0;
	uint64_t seeds = is_long ? SEEDS_LONG : SEEDS;

	last_seed = only != NULL ? strtoull(only, NULL, 10) : 1;
	run_seed(last_seed);
	while (only == NULL && last_seed < seeds)
		run_seed(++last_seed);
}

static int say_seed(void **state)
{
	print_message("the last seed was %llu\n",
		      (unsigned long long)last_seed);
	return 0;
}

static struct match_receive posted(uint64_t source, uint64_t tag,
				   uint64_t ignore)
{
	return (struct match_receive){ .source = source,
				       .tag = tag,
				       .ignore = ignore };
}

static void a_wildcard_that_was_posted_first_comes_first(void **state)
{
	start(1);
	struct match_receive wild = posted(MATCH_ANY, 0, UINT64_MAX);
	struct match_receive exact = posted(3, 9, 0);
	assert_null(match_post(&world.match, &wild));
	assert_null(match_post(&world.match, &exact));
	assert_ptr_equal(match_arrive(&world.match, 3, 9), &wild);
	assert_ptr_equal(match_arrive(&world.match, 3, 9), &exact);
	assert_null(match_arrive(&world.match, 3, 9));
	match_fini(&world.match);
}

static void a_receive_that_stays_keeps_its_place(void **state)
{
	start(1);
	struct match_receive many = posted(MATCH_ANY, 0, UINT64_MAX);
	struct match_receive later = posted(3, 9, 0);
	many.stays = true;
	assert_null(match_post(&world.match, &many));
	assert_null(match_post(&world.match, &later));
	assert_ptr_equal(match_arrive(&world.match, 3, 9), &many);
	assert_ptr_equal(match_arrive(&world.match, 3, 9), &many);
	match_remove(&world.match, &many);
	assert_ptr_equal(match_arrive(&world.match, 3, 9), &later);
	match_fini(&world.match);
}

static void more_shapes_than_are_indexed_keep_their_order(void **state)
{
	enum {
		SHAPES = 4 * MATCH_SHAPES_MAX
	};
	struct match_receive r[SHAPES];
	start(1);
	for (unsigned i = 0; i < SHAPES; i++) {
		r[i] = posted(MATCH_ANY, 0, UINT64_C(1) << i | 1);
		assert_null(match_post(&world.match, &r[i]));
	}
	for (unsigned i = 0; i < SHAPES; i++)
		assert_ptr_equal(match_arrive(&world.match, 3, 1), &r[i]);
	match_fini(&world.match);
}

struct wanted {
	const struct match_receive *it;
	unsigned looks;
};

static bool is_wanted(void *arg, const struct match_receive *r)
{
	struct wanted *wanted = arg;

	wanted->looks++;
	return r == wanted->it;
}

/* Who takes all receives back is no slower with many of them. */
static void the_oldest_and_the_youngest_are_found_at_once(void **state)
{
	enum {
		COUNT = 1000
	};
	static struct match_receive r[COUNT];
	start(1);
	for (unsigned i = 0; i < COUNT; i++) {
		r[i] = posted(i % 7 == 0 ? MATCH_ANY : 3, i,
			      i % MATCH_SHAPES_MAX);
		assert_null(match_post(&world.match, &r[i]));
	}
	for (unsigned i = 0; i < COUNT; i++) {
		unsigned at = i < COUNT / 2 ? i : 3 * COUNT / 2 - 1 - i;
		struct wanted wanted = { .it = &r[at] };
		assert_ptr_equal(match_search(&world.match, is_wanted, &wanted),
				 &r[at]);
		assert_true(wanted.looks <= 2);
		match_remove(&world.match, &r[at]);
	}
	assert_null(match_search(&world.match, any_receive, NULL));
	match_fini(&world.match);
}

static int fill_and_empty(void *ctx)
{
	enum {
		COUNT = 1000
	};
	static struct match_receive r[COUNT];
	static struct match_message m[COUNT];
	struct match match;
	int result = match_init(&match);
	if (result != 0)
		return result;
	for (unsigned i = 0; i < COUNT; i++) {
		r[i] = posted(1, i, 0);
		assert_null(match_post(&match, &r[i]));
		m[i] = (struct match_message){ .source = 2, .tag = i };
		match_queue(&match, &m[i]);
	}
	for (unsigned i = 0; i < COUNT; i++) {
		assert_ptr_equal(match_arrive(&match, 1, i), &r[i]);
		assert_ptr_equal(match_find(&match, 2, i, 0), &m[i]);
	}
	match_fini(&match);
	return 0;
}

static void a_table_that_cannot_grow_forgets_nothing(void **state)
{
	unsigned n = 1, survived = 0;
	int result;
	while (sim_heap_fails(n++, &result, fill_and_empty, NULL))
		survived += result == 0;
	assert_int_equal(result, 0);
	assert_true(survived >= 4);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_teardown(it_does_what_two_lists_do, say_seed),
		cmocka_unit_test(a_wildcard_that_was_posted_first_comes_first),
		cmocka_unit_test(a_receive_that_stays_keeps_its_place),
		cmocka_unit_test(more_shapes_than_are_indexed_keep_their_order),
		cmocka_unit_test(the_oldest_and_the_youngest_are_found_at_once),
		cmocka_unit_test(a_table_that_cannot_grow_forgets_nothing),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
