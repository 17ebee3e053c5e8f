/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * External reservations against a fabric manager that loses requests and
 * answers, is slow, forgets, restarts and is used by others, while the table
 * itself crashes. Seeded; CORE_MODEL_SEED replays one.
 */
#include "lanes/manager/core/outside.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/seam.h"
#include "sim/rng.h"

#define GRANTS   600 /* their ids are never used again */
#define ROWS_MAX GRANTS
#define WAIT_MS  2000
#define FLIGHT   1024
#define STEPS    600
#define SEEDS    400

struct row {
	bool is_there;
	uint8_t state;
	bool may_exist;
	bool is_lost;
	bool has_secret;
	uint64_t from_ms;
};

struct flight {
	bool is_used;
	uint64_t id;
	enum outside_verb verb;
	uint64_t grant_id;
	uint64_t arrives_ms; /* at the fabric manager */
	uint64_t ends_ms;
	bool is_done; /* it has arrived */
	bool loses_answer;
	int result;
	bool is_old; /* of a table that is gone */
};

struct world {
	struct sim_rng rng;
	uint64_t now_ms;
	struct outside_table table;
	uint64_t first_id;
	struct row rows[ROWS_MAX];
	struct flight flights[FLIGHT];
	/* The fabric manager. */
	bool exists[GRANTS];
	uint64_t listed[GRANTS]; /* by the answer that is being given */
	bool is_bad;             /* it and the network misbehave */
	bool is_off;
	/* Grants as their jobs see them. */
	bool is_live[GRANTS];
	bool is_wanted[GRANTS];
	bool is_held[GRANTS];
	bool was_forgotten[GRANTS];
	uint64_t next_grant;
	uint64_t wanted_ms[GRANTS];
	bool has_vanished[GRANTS];
};

static bool chance(struct world *world, uint32_t percent)
{
	return sim_rng_chance(&world->rng, percent * 10000);
}

/* --- what the table gives out --- */

static void on_store(void *ctx, const struct outside_item *item)
{
	struct world *world = ctx;

	world->rows[item->grant_id] = (struct row){
		.is_there = true,
		.state = item->state,
		.may_exist = item->may_exist,
		.is_lost = item->is_lost,
		.has_secret = item->secret_size > 0,
		.from_ms = world->now_ms - outside_age_ms(item, world->now_ms),
	};
	/* What is over has no secret on disk. */
	if (item->state == OUTSIDE_OVER)
		assert_int_equal(item->secret_size, 0);
}

static void on_erase(void *ctx, uint64_t grant_id)
{
	struct world *world = ctx;

	world->rows[grant_id].is_there = false;
}

static void on_send(void *ctx, const struct outside_request *request)
{
	struct world *world = ctx;
	struct flight *free_one = NULL;

	for (size_t i = 0; i < FLIGHT; i++) {
		struct flight *flight = &world->flights[i];

		if (!flight->is_used)
			free_one = flight;
		else if (!flight->is_old && request->verb != OUTSIDE_LIST)
			assert_true(flight->grant_id != request->grant_id);
	}
	assert_non_null(free_one);
	/* Nothing of a job that lives and holds it is ever released. */
	if (request->verb == OUTSIDE_DROP)
		assert_false(world->is_live[request->grant_id] &&
			     world->is_held[request->grant_id]);
	if (request->verb == OUTSIDE_MAKE)
		assert_true(world->rows[request->grant_id].is_there);
	*free_one = (struct flight){
		.is_used = true,
		.id = request->id,
		.verb = request->verb,
		.grant_id = request->grant_id,
		.arrives_ms = world->now_ms + sim_rng_below(&world->rng, 20),
	};
	free_one->ends_ms = free_one->arrives_ms + 1;
	if (!world->is_bad)
		return;
	if (chance(world, 10))
		free_one->arrives_ms += sim_rng_below(&world->rng, 9000);
	free_one->ends_ms = free_one->arrives_ms + 1;
	if (chance(world, 10))
		free_one->loses_answer = true;
	if (free_one->ends_ms > world->now_ms + 5000)
		free_one->ends_ms = world->now_ms + 5000; /* a timeout */
}

static const char *on_prefix(void *ctx)
{
	return "cl";
}

static void on_settled(void *ctx, const struct outside_item *item)
{
	struct world *world = ctx;

	assert_true(world->is_wanted[item->grant_id]);
	/* No job waits for longer. */
	assert_true(world->now_ms - world->wanted_ms[item->grant_id] <=
		    WAIT_MS);
	world->is_wanted[item->grant_id] = false;
	world->is_held[item->grant_id] = item->state == OUTSIDE_HELD;
	if (item->state == OUTSIDE_HELD)
		assert_true(item->secret_size > 0);
	else
		assert_true(strlen(item->reason) > 0);
}

static void on_vanished(void *ctx, const struct outside_item *item)
{
	struct world *world = ctx;

	/* It really has, and its job lives. */
	assert_true(world->was_forgotten[item->grant_id]);
	assert_true(world->is_live[item->grant_id]);
	assert_false(world->has_vanished[item->grant_id]);
	world->has_vanished[item->grant_id] = true;
	world->is_held[item->grant_id] = false;
}

static const struct outside_ops ops = {
	.store = on_store,
	.erase = on_erase,
	.send = on_send,
	.prefix = on_prefix,
	.settled = on_settled,
	.vanished = on_vanished,
};

/* --- the fabric manager --- */

static void arrive(struct world *world, struct flight *flight)
{
	flight->is_done = true;
	if (world->is_off || (world->is_bad && chance(world, 5))) {
		flight->loses_answer = true;
		return;
	}
	if (world->is_bad && chance(world, 5)) {
		flight->result = chance(world, 50) ? -EAGAIN : -ENOSPC;
		return;
	}
	switch (flight->verb) {
	case OUTSIDE_MAKE:
		world->exists[flight->grant_id] = true;
		world->was_forgotten[flight->grant_id] = false;
		break;
	case OUTSIDE_DROP:
		flight->result = world->exists[flight->grant_id] ? 0 : -ENOENT;
		world->exists[flight->grant_id] = false;
		break;
	case OUTSIDE_FIND:
		flight->result = world->exists[flight->grant_id] ? 0 : -ENOENT;
		break;
	default:
		break;
	}
}

static void end(struct world *world, struct flight *flight)
{
	const struct flight copy = *flight;
	struct outside_end outcome = {
		.result = copy.result,
		.is_reached = copy.is_done && !copy.loses_answer,
		.text = "as simulated",
		.secret = (const uint8_t *)"token",
		.secret_size = 5,
		.grant_ids = world->listed,
	};

	if (!outcome.is_reached)
		outcome.result = -EAGAIN;
	for (uint64_t id = 1; id < GRANTS; id++) {
		/* A list may be cut short. */
		if (world->exists[id] && !(world->is_bad && chance(world, 5)))
			world->listed[outcome.count++] = id;
	}
	if (copy.is_done)
		flight->is_used = false;
	else
		flight->is_old = true; /* it will arrive, and nobody waits */
	if (!copy.is_old)
		outside_done(&world->table, copy.id, &outcome, world->now_ms);
}

static void flights_move(struct world *world)
{
	for (size_t i = 0; i < FLIGHT; i++) {
		struct flight *flight = &world->flights[i];

		if (!flight->is_used)
			continue;
		if (!flight->is_done && flight->arrives_ms <= world->now_ms)
			arrive(world, flight);
		if (flight->is_old) {
			flight->is_used = !flight->is_done;
			continue;
		}
		if (flight->ends_ms <= world->now_ms)
			end(world, flight);
	}
}

/* The first debt is the oldest one. */
static void check_debts(const struct world *world)
{
	const struct outside_table *table = &world->table;
	const struct outside_item *item, *next;
	uint32_t count = 0;

	HASH_ITER (hh, table->items, item, next) {
		if (!outside_is_debt(item))
			continue;
		count++;
		assert_true(outside_age_ms(table->debts, world->now_ms) >=
			    outside_age_ms(item, world->now_ms));
	}
	assert_int_equal(table->debt_count, count);
	assert_int_equal(table->debts != NULL, count > 0);
}

/* To the next thing that happens, or so far. */
static void time_pass(struct world *world, uint64_t until_ms)
{
	while (world->now_ms < until_ms) {
		uint64_t next_ms = outside_deadline_ms(&world->table);

		for (size_t i = 0; i < FLIGHT; i++) {
			const struct flight *flight = &world->flights[i];
			uint64_t at_ms = flight->is_done || flight->is_old
						 ? flight->ends_ms
						 : flight->arrives_ms;

			if (flight->is_old)
				at_ms = flight->arrives_ms;
			else if (flight->ends_ms < at_ms)
				at_ms = flight->ends_ms;
			if (flight->is_used && at_ms < next_ms)
				next_ms = at_ms;
		}
		if (next_ms > until_ms)
			next_ms = until_ms;
		if (next_ms > world->now_ms)
			world->now_ms = next_ms;
		flights_move(world);
		if (outside_deadline_ms(&world->table) <= world->now_ms)
			outside_tick(&world->table, world->now_ms);
		check_debts(world);
	}
}

/* --- jobs, crashes --- */

static void want(struct world *world)
{
	uint64_t id = world->next_grant++;

	world->is_live[id] = true;
	world->is_wanted[id] = true;
	world->wanted_ms[id] = world->now_ms;
	outside_want(&world->table, id, "8", false, world->now_ms, WAIT_MS);
}

static void release(struct world *world, uint64_t id)
{
	if (!world->is_live[id])
		return;
	world->is_live[id] = false;
	world->is_wanted[id] = false;
	outside_release(&world->table, id, world->now_ms);
}

static void crash(struct world *world)
{
	for (size_t i = 0; i < FLIGHT; i++) {
		struct flight *flight = &world->flights[i];

		flight->is_old = true;
		flight->is_used = flight->is_used && !flight->is_done;
	}
	world->first_id = world->table.next_id + (UINT64_C(1) << 32);
	outside_fini(&world->table);
	outside_init(&world->table, &ops, world, world->first_id);
	for (uint64_t id = 1; id < ROWS_MAX; id++) {
		const struct row *row = &world->rows[id];
		struct outside_item item = {
			.grant_id = id,
			.state = row->state,
			.may_exist = row->may_exist,
			.is_lost = row->is_lost,
			.age_ms = world->now_ms - row->from_ms,
		};

		if (!row->is_there)
			continue;
		item.prefix = strdup("cl");
		item.request = strdup("8");
		item.reason = strdup("");
		if (row->has_secret) {
			item.secret = (uint8_t *)strdup("token");
			item.secret_size = 5;
		}
		assert_int_equal(outside_load(&world->table, &item), 0);
		/* Its job waits again. */
		if (row->state == OUTSIDE_WANTED)
			world->wanted_ms[id] = world->now_ms;
	}
	outside_start(&world->table, world->now_ms, WAIT_MS);
}

static void forget(struct world *world)
{
	for (uint64_t id = 1; id < GRANTS; id++) {
		if (!world->exists[id] || !chance(world, 30))
			continue;
		world->exists[id] = false;
		world->was_forgotten[id] = true;
	}
}

static void step(struct world *world)
{
	if (chance(world, 40) && world->next_grant < GRANTS)
		want(world);
	else if (world->next_grant > 1)
		release(world,
			1 + sim_rng_below(&world->rng, world->next_grant - 1));
	if (chance(world, 2))
		crash(world);
	if (chance(world, 1))
		forget(world);
	if (chance(world, 3))
		world->is_off = !world->is_off;
	time_pass(world, world->now_ms + sim_rng_below(&world->rng, 700));
}

/* --- the end: all is well again, and time passes --- */

static void check_calm(struct world *world)
{
	for (uint64_t id = 1; id < GRANTS; id++) {
		const struct outside_item *item =
			outside_find(&world->table, id);

		assert_false(world->is_wanted[id]);
		if (!world->is_live[id]) {
			assert_false(world->exists[id]);
			assert_null(item);
			continue;
		}
		assert_non_null(item);
		if (item->state != OUTSIDE_HELD)
			assert_false(world->exists[id]);
		else if (!item->is_lost)
			assert_true(world->exists[id]);
	}
	assert_int_equal(world->table.debt_count, 0);
	assert_int_equal(world->table.in_flight, world->table.list_id != 0);
	assert_false(world->table.is_down);
}

static void world_run(uint64_t seed)
{
	struct world *world = calloc(1, sizeof(*world));

	assert_non_null(world);
	sim_rng_init(&world->rng, seed);
	world->is_bad = seed % 4 != 0;
	world->now_ms = 1000;
	world->next_grant = 1;
	outside_init(&world->table, &ops, world, 1);
	outside_start(&world->table, world->now_ms, WAIT_MS);
	for (int i = 0; i < STEPS; i++)
		step(world);
	world->is_bad = false;
	world->is_off = false;
	time_pass(world, world->now_ms + 1500000);
	check_calm(world);
	for (uint64_t id = 1; id < GRANTS; id++)
		release(world, id);
	time_pass(world, world->now_ms + 1500000);
	check_calm(world);
	assert_int_equal(world->table.item_count, 0);
	outside_fini(&world->table);
	free(world);
}

static void test_seeds(void **state)
{
	const char *only = getenv("CORE_MODEL_SEED");

	if (only != NULL) {
		world_run(strtoull(only, NULL, 10));
		return;
	}
	for (uint64_t seed = 0; seed < SEEDS; seed++)
		world_run(seed);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_seeds),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
