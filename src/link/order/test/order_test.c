/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Two endpoints and the rails between them, simulated: what is underway is lost
 * with a connection, reported to one side, both or none; rails go silent for a
 * while, and then deliver what they had or not; cores refuse; processes pause.
 * Each frame has to be taken in once and in order, and all of them in the end.
 * LINK_SEED: that seed only.
 */
#include "link/order/order.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "link/order/stripe.h"
#include "sim/rng.h"

#define SEEDS   3000
#define FLIGHT  2048 /* things under way on one rail, in one direction */
#define STEP_US 500

enum thing_kind {
	FRAME,
	ACK,
	PROBE
};

struct thing {
	enum thing_kind kind;
	uint32_t number, answer;
	bool is_missing;
	uint64_t body;
};

struct wire {
	struct thing things[FLIGHT];
	unsigned int count;
};

struct side {
	struct order order;
	struct wire wires[RAILS_MAX]; /* that lead here */
	uint64_t kept[2 * ORDER_WINDOW];
	uint64_t made, taken, wanted;
	uint32_t first_number;
	bool knows_peer; /* a probe has come */
	uint64_t paused_until;
	uint64_t seen[RAILS_MAX]; /* frames taken by rail */
};

struct world {
	struct sim_rng rng;
	uint64_t now;
	unsigned int rails;
	bool is_silent[RAILS_MAX]; /* nothing gets through */
	uint64_t silent_until[RAILS_MAX];
	uint32_t troubles; /* per million steps and rail */
	struct side sides[2];
};

static struct world w;

static uint64_t below(uint64_t n)
{
	return sim_rng_below(&w.rng, n);
}

static bool chance(uint32_t per_million)
{
	return sim_rng_chance(&w.rng, per_million);
}

/* A core refuses now and then, and where it has too much to do. */
static bool give(unsigned int to, unsigned int rail, const struct thing *thing)
{
	struct wire *wire = &w.sides[to].wires[rail];

	if (wire->count == FLIGHT || chance(50000))
		return false;
	wire->things[wire->count++] = *thing;
	return true;
}

static void say_words(unsigned int from)
{
	struct order *o = &w.sides[from].order;
	struct order_control word;
	unsigned int refused = 0;

	while (order_next_control(o, refused, &word)) {
		const struct thing thing = {
			.kind = word.is_probe ? PROBE : ACK,
			.number = word.up_to,
			.answer = word.probe,
			.is_missing = word.is_missing,
		};
		/* It cannot send to an unknown peer. */
		assert_true(word.is_probe || w.sides[from].knows_peer);
		if (give(1 - from, word.rail, &thing))
			order_control_sent(o, &word, w.now);
		else
			refused |= 1U << word.rail;
	}
}

static void send_frames(unsigned int from)
{
	struct side *side = &w.sides[from];
	uint32_t number;

	say_words(from);
	while ((number = order_next(&side->order)) != 0) {
		const struct thing thing = {
			.kind = FRAME,
			.number = number,
			.body = side->kept[number % (2 * ORDER_WINDOW)],
		};
		if (!give(1 - from, side->order.rail, &thing))
			break;
		order_sent(&side->order, number);
	}
}

static void make_frames(unsigned int from)
{
	struct side *side = &w.sides[from];

	for (uint64_t i = below(40); i > 0 && side->made < side->wanted; i--) {
		if (!order_accepts(&side->order))
			return;
		uint32_t number = order_number(&side->order, w.now);
		side->kept[number % (2 * ORDER_WINDOW)] = ++side->made;
	}
}

static void take(unsigned int to, unsigned int rail, const struct thing *thing)
{
	struct side *side = &w.sides[to];
	struct order *o = &side->order;

	switch (thing->kind) {
	case PROBE:
		side->knows_peer = true;
		order_probed(o, rail, thing->answer);
		return;
	case ACK:
		assert_int_equal(order_acked(o, rail, thing->number,
					     thing->answer, thing->is_missing,
					     w.now),
				 0);
		return;
	case FRAME:
		if (!side->knows_peer ||
		    order_came(o, rail, thing->number) != ORDER_TAKE)
			return;
		assert_int_equal(thing->body, side->taken + 1);
		side->taken++;
		side->seen[rail]++;
		order_taken(o, rail, thing->number, chance(20000));
		return;
	}
}

static void receive(unsigned int to)
{
	struct side *side = &w.sides[to];

	for (unsigned int i = 0; i < w.rails; i++) {
		struct wire *wire = &side->wires[i];
		unsigned int count = (unsigned int)below(60);
		if (w.is_silent[i])
			continue;
		if (count > wire->count)
			count = wire->count;
		for (unsigned int j = 0; j < count; j++)
			take(to, i, &wire->things[j]);
		wire->count -= count;
		memmove(wire->things, wire->things + count,
			wire->count * sizeof(wire->things[0]));
	}
}

static void connection_breaks(unsigned int rail)
{
	for (unsigned int i = 0; i < 2; i++) {
		struct wire *wire = &w.sides[i].wires[rail];
		/* A part of what was under way came through. */
		wire->count = (unsigned int)below(wire->count + 1);
		if (chance(500000))
			order_rail_failed(&w.sides[i].order, rail, w.now);
	}
}

static void trouble(unsigned int rail)
{
	if (w.is_silent[rail]) {
		if (w.now < w.silent_until[rail])
			return;
		w.is_silent[rail] = false;
		if (chance(500000))
			connection_breaks(rail);
		return;
	}
	if (!chance(w.troubles))
		return;
	if (chance(600000)) {
		connection_breaks(rail);
		return;
	}
	w.is_silent[rail] = true;
	w.silent_until[rail] = w.now + below(8000000);
}

static void side_step(unsigned int i)
{
	struct side *side = &w.sides[i];

	if (w.now < side->paused_until)
		return;
	if (chance(w.troubles / 4))
		side->paused_until = w.now + below(5000000);
	receive(i);
	make_frames(i);
	order_tick(&side->order, w.now);
	send_frames(i);
}

static bool is_done(void)
{
	return w.sides[0].taken == w.sides[1].wanted &&
	       w.sides[1].taken == w.sides[0].wanted &&
	       !order_is_busy(&w.sides[0].order) &&
	       !order_is_busy(&w.sides[1].order);
}

static void world_start(uint64_t seed, unsigned int rails, uint32_t troubles)
{
	uint64_t speeds[RAILS_MAX] = { 0 };
	uint32_t number;

	memset(&w, 0, sizeof(w));
	sim_rng_init(&w.rng, seed);
	w.rails = rails;
	w.troubles = troubles;
	w.now = 1;
	/* Some begin shortly before the numbers go round. */
	number = chance(300000) ? UINT32_MAX - (uint32_t)below(500) : 0;
	for (unsigned int i = 0; i < 2; i++) {
		struct side *side = &w.sides[i];
		order_init(&side->order, rails, (1U << rails) - 1, speeds,
			   seed);
		side->order.last = side->order.sent = side->order.acked =
			side->order.taken = number;
		side->order.lost_us = UINT64_MAX;
		side->wanted = below(3000);
	}
}

static void run_seed(uint64_t seed)
{
	world_start(seed, 1 + (unsigned int)(seed % 3), 2000);
	for (unsigned int step = 0; !is_done(); step++) {
		/* At some time troubles end, and then all has to arrive. */
		if (step == 40000)
			w.troubles = 0;
		if (step > 400000)
			fail_msg("seed %llu: %llu of %llu, %llu of %llu",
				 (unsigned long long)seed,
				 (unsigned long long)w.sides[0].taken,
				 (unsigned long long)w.sides[1].wanted,
				 (unsigned long long)w.sides[1].taken,
				 (unsigned long long)w.sides[0].wanted);
		for (unsigned int i = 0; i < w.rails; i++)
			trouble(i);
		side_step(0);
		side_step(1);
		w.now += STEP_US;
	}
}

static void all_arrives_once_and_in_order(void **state)
{
	const char *only = getenv("LINK_SEED");

	if (only != NULL) {
		run_seed(strtoull(only, NULL, 10));
		return;
	}
	for (uint64_t seed = 1; seed <= SEEDS; seed++)
		run_seed(seed);
}

static void run_for(uint64_t time_us)
{
	for (uint64_t end = w.now + time_us; w.now < end; w.now += STEP_US) {
		side_step(0);
		side_step(1);
	}
}

static void silent_rail_is_left_while_another_answers(void **state)
{
	unsigned int first;

	world_start(7, 2, 0);
	w.sides[0].wanted = 1000000;
	w.sides[1].wanted = 0;
	first = w.sides[0].order.rail;
	run_for(100000);
	assert_true(w.sides[1].seen[first] > 0);
	assert_int_equal(w.sides[1].seen[1 - first], 0);
	w.is_silent[first] = true;
	run_for(ORDER_SILENCE_US + 500000);
	assert_false(order_is_usable(&w.sides[0].order, first));
	assert_int_equal(w.sides[0].order.rail, 1 - first);
	assert_true(w.sides[1].seen[1 - first] > 0);
	/* It is back when it answers. */
	w.is_silent[first] = false;
	run_for(2 * ORDER_SILENCE_US);
	assert_true(order_is_usable(&w.sides[0].order, first));
	assert_int_equal(w.sides[0].order.rail, first);
}

static void rail_that_was_silent_for_long_is_no_slow_one(void **state)
{
	struct order *o = &w.sides[0].order;
	unsigned int first;

	world_start(7, 2, 0);
	w.sides[0].wanted = 10;
	w.sides[1].wanted = 0;
	first = o->rail;
	run_for(100000);
	/*
	 * Something is waited for all the time: so both are asked, again and
	 * again.
	 */
	order_read(o, 1 - first, true, w.now);
	for (unsigned int i = 0; i < 3; i++) {
		w.is_silent[first] = true;
		run_for(2 * ORDER_SILENCE_US);
		assert_false(order_is_usable(o, first));
		run_for(4 * ORDER_SILENCE_US);
		w.is_silent[first] = false;
		run_for(4 * ORDER_SILENCE_US);
		assert_true(order_is_usable(o, first));
	}
}

static void slow_rail_is_waited_for_longer_but_not_for_ever(void **state)
{
	struct order *o = &w.sides[0].order;
	const uint64_t times[] = { 3 * ORDER_SILENCE_US / 4,
				   3 * ORDER_SILENCE_US, 3 * ORDER_SILENCE_US };
	unsigned int first;

	world_start(7, 2, 0);
	w.sides[0].wanted = 10;
	w.sides[1].wanted = 0;
	first = o->rail;
	run_for(100000);
	order_read(o, 1 - first, true, w.now);
	for (unsigned int i = 0; i < 3; i++) {
		w.is_silent[first] = true;
		run_for(times[i]);
		assert_true(order_is_usable(o, first));
		w.is_silent[first] = false;
		run_for(ORDER_SILENCE_US);
	}
	w.is_silent[first] = true;
	run_for(ORDER_SILENCE_MAX + ORDER_SILENCE_US);
	assert_false(order_is_usable(o, first));
}

static void peer_that_is_busy_loses_no_rail(void **state)
{
	world_start(7, 2, 0);
	w.sides[0].wanted = 1000000;
	w.sides[1].wanted = 0;
	run_for(100000);
	w.sides[1].paused_until = w.now + UINT64_C(3600000000);
	run_for(UINT64_C(60000000));
	for (unsigned int i = 0; i < 2; i++)
		assert_true(order_is_usable(&w.sides[0].order, i));
	w.sides[1].paused_until = 0;
	run_for(100000);
	for (unsigned int i = 0; i < 2; i++)
		assert_true(order_is_usable(&w.sides[0].order, i));
}

static void rail_that_stays_silent_with_reads_fails(void **state)
{
	struct order *o = &w.sides[0].order;

	world_start(7, 2, 0);
	w.sides[0].wanted = 10;
	w.sides[1].wanted = 0;
	run_for(1000000);
	assert_false(order_is_busy(o));
	order_read(o, 1 - o->first, true, w.now);
	w.is_silent[1 - o->first] = true;
	run_for(ORDER_SILENCE_US + 500000);
	assert_false(order_is_usable(o, 1 - o->first));
	assert_true(order_is_usable(o, o->first));
}

/* It may have been in the kernel already, when the cable was cut. */
static void rail_fails_though_a_read_came_after_it_was_asked(void **state)
{
	struct order *o = &w.sides[0].order;
	unsigned int rail;

	world_start(7, 2, 0);
	w.sides[0].wanted = 10;
	w.sides[1].wanted = 0;
	run_for(1000000);
	rail = 1 - o->first;
	order_read(o, rail, true, w.now);
	order_read(o, rail, true, w.now);
	w.is_silent[rail] = true;
	while (o->rails[rail].others_us == 0)
		run_for(STEP_US);
	order_read(o, rail, false, w.now);
	run_for(2 * ORDER_SILENCE_US);
	assert_false(order_is_usable(o, rail));
}

static void peer_is_lost_when_all_rails_have_failed_for_long(void **state)
{
	struct order *o = &w.sides[0].order;
	struct order_control word;

	world_start(7, 2, 0);
	w.sides[0].wanted = 1000000;
	o->lost_us = ORDER_LOST_US;
	run_for(100000);
	for (unsigned int i = 0; i < 2; i++) {
		w.is_silent[i] = true;
		order_rail_failed(o, i, w.now);
	}
	run_for(ORDER_LOST_US / 2);
	assert_false(o->is_lost);
	run_for(ORDER_LOST_US);
	assert_true(o->is_lost);
	assert_int_equal(order_next(o), 0);
	/* Nothing is sent to it any more, whatever was due. */
	order_probed(o, 0, 1);
	assert_false(order_next_control(o, 0, &word));
	assert_false(order_is_busy(o));
}

static void peer_is_lost_when_it_is_refused_by_all_rails(void **state)
{
	struct order *o = &w.sides[0].order;

	world_start(7, 2, 0);
	assert_true(order_rail_refused(o, 0));
	assert_false(order_rail_refused(o, 0));
	assert_false(o->is_lost);
	assert_true(order_rail_refused(o, 1));
	assert_true(o->is_lost);
}

static void ack_of_what_was_never_sent_is_refused(void **state)
{
	struct order *o = &w.sides[0].order;

	world_start(7, 2, 0);
	w.sides[0].wanted = 5;
	run_for(1000);
	uint32_t last = o->last, acked = o->acked;
	assert_true(order_acked(o, 0, last + 1, 0, false, w.now) < 0);
	assert_true(order_acked(o, 0, last + 1000, 0, false, w.now) < 0);
	assert_int_equal(o->acked, acked);
	assert_int_equal(order_acked(o, 0, last, 0, false, w.now), 0);
	assert_int_equal(o->acked, last);
}

static void what_is_missing_is_sent_again_at_once(void **state)
{
	struct order *from = &w.sides[0].order, *to = &w.sides[1].order;
	struct order_control word;

	world_start(7, 2, 0);
	from->last = from->sent = from->acked = to->taken = 0;
	from->is_known = true;
	for (uint32_t i = 1; i <= 3; i++)
		order_sent(from, order_number(from, w.now));
	assert_int_equal(order_next(from), 0);
	assert_int_equal(order_came(to, 0, 1), ORDER_TAKE);
	order_taken(to, 0, 1, false);
	assert_false(order_next_control(to, 0, &word));
	assert_int_equal(order_came(to, 0, 3), ORDER_LEAVE);
	assert_true(order_next_control(to, 0, &word));
	assert_true(word.is_missing && !word.is_probe);
	assert_int_equal(word.up_to, 1);
	order_control_sent(to, &word, w.now);
	/* It says so once. */
	assert_int_equal(order_came(to, 0, 3), ORDER_LEAVE);
	assert_false(order_next_control(to, 0, &word));
	assert_int_equal(order_acked(from, 0, 1, 0, true, w.now), 0);
	assert_int_equal(order_next(from), 2);
}

static void peers_are_spread_by_speed(void **state)
{
	const uint64_t speeds[] = { 10, 30, 5, 10 };
	const uint64_t unknown[] = { 10, 0, 5, 10 };
	unsigned int counts[4] = { 0 }, equal[4] = { 0 };
	struct order o;

	for (uint64_t i = 0; i < 1100; i++) {
		order_init(&o, 4, 15, speeds, i);
		counts[o.first]++;
		order_init(&o, 4, 15, unknown, i);
		equal[o.first]++;
		order_init(&o, 4, 4, speeds, i);
		assert_int_equal(o.first, 2);
	}
	assert_int_equal(counts[0], 200);
	assert_int_equal(counts[1], 600);
	assert_int_equal(counts[2], 100);
	assert_int_equal(counts[3], 200);
	for (unsigned int i = 0; i < 4; i++)
		assert_int_equal(equal[i], 275);
}

/* Bytes that each rail reads of a large message, at its true speed. */
static void stripe_all(const uint64_t *assumed, const uint64_t *speeds,
		       uint64_t size, uint64_t done[2])
{
	struct stripe_rail rails[2] = { { assumed[0], 0 }, { assumed[1], 0 } };
	uint64_t piece = stripe_size(size, 2), rest = size;
	double part_done[2] = { 0, 0 };

	done[0] = done[1] = 0;
	while (rest > 0 || rails[0].load + rails[1].load > 0) {
		uint64_t part = rest < piece ? rest : piece;
		int rail =
			rest == 0 ? -1 : stripe_pick(rails, 2, 3, part, rest);
		if (rail >= 0) {
			rails[rail].load += part;
			rest -= part;
			continue;
		}
		/* Time goes by until one has a piece more. */
		for (unsigned int i = 0; i < 2; i++) {
			uint64_t load = rails[i].load;
			if (load > piece)
				load = piece;
			part_done[i] += load == 0 ? 0 : (double)speeds[i];
			if (load == 0 || part_done[i] < 400)
				continue;
			part_done[i] -= 400;
			rails[i].load -= load;
			done[i] += load;
		}
	}
}

static void pieces_are_shared_by_speed(void **state)
{
	const uint64_t equal[] = { 10, 10 }, fast[] = { 10, 40 },
		       none[] = { 0, 0 };
	const uint64_t size = UINT64_C(256) << 20;
	uint64_t done[2];

	stripe_all(equal, equal, size, done);
	assert_in_range(done[0], size * 48 / 100, size * 52 / 100);
	stripe_all(fast, fast, size, done);
	assert_in_range(done[0], size * 18 / 100, size * 22 / 100);
	/* Speeds that are not known are found out. */
	stripe_all(none, fast, size, done);
	assert_in_range(done[0], size * 15 / 100, size * 25 / 100);
	/* A medium one uses both; a small one goes by one. */
	stripe_all(equal, equal, 256 << 10, done);
	assert_int_equal(done[0], done[1]);
	stripe_all(equal, equal, 20 << 10, done);
	assert_true(done[0] == 0 || done[1] == 0);
}

static void pieces_wait_for_the_rail_that_is_sooner(void **state)
{
	struct stripe_rail rails[] = { { 100, STRIPE_LOAD }, { 1, 0 } };

	const uint64_t size = STRIPE_MAX, rest = 8 * STRIPE_MAX;

	assert_int_equal(stripe_pick(rails, 2, 3, size, rest), -1);
	assert_int_equal(stripe_pick(rails, 2, 3, size, 200 * size), 1);
	assert_int_equal(stripe_pick(rails, 2, 2, size, rest), 1);
	assert_int_equal(stripe_pick(rails, 2, 0, size, rest), -1);
	rails[0].load = 0;
	assert_int_equal(stripe_pick(rails, 2, 3, size, rest), 0);
	/* However large, an idle rail takes it. */
	assert_int_equal(stripe_pick(rails, 2, 1, rest << 12, rest << 12), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(silent_rail_is_left_while_another_answers),
		cmocka_unit_test(rail_that_was_silent_for_long_is_no_slow_one),
		cmocka_unit_test(
			slow_rail_is_waited_for_longer_but_not_for_ever),
		cmocka_unit_test(peer_that_is_busy_loses_no_rail),
		cmocka_unit_test(rail_that_stays_silent_with_reads_fails),
		cmocka_unit_test(
			rail_fails_though_a_read_came_after_it_was_asked),
		cmocka_unit_test(
			peer_is_lost_when_all_rails_have_failed_for_long),
		cmocka_unit_test(peer_is_lost_when_it_is_refused_by_all_rails),
		cmocka_unit_test(ack_of_what_was_never_sent_is_refused),
		cmocka_unit_test(what_is_missing_is_sent_again_at_once),
		cmocka_unit_test(peers_are_spread_by_speed),
		cmocka_unit_test(pieces_are_shared_by_speed),
		cmocka_unit_test(pieces_wait_for_the_rail_that_is_sooner),
		cmocka_unit_test(all_arrives_once_and_in_order),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
