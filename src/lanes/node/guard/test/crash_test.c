/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The guard is killed at each of its steps, before and after the step's
 * effect, and with a write torn at some bytes; then it begins again.
 */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

#include <cmocka.h>

#include "lanes/node/guard/test/fake.h"

#define GRANTS 9 /* 1..GRANTS are used */

/* What an outside observer has received. */
struct observed {
	bool is_applied[GRANTS + 1];
	bool is_revoke_begun[GRANTS + 1];
	bool is_gone[GRANTS + 1];
	bool is_second_epoch;
};

static void apply(struct world *world, struct observed *observed,
		  uint64_t grant_id)
{
	if (world_apply(world, grant_id) == 0)
		observed->is_applied[grant_id] = true;
}

static void order_revoke(struct world *world, struct observed *observed,
			 uint64_t grant_id)
{
	observed->is_revoke_begun[grant_id] = true;
	if (world_revoke(world, grant_id) == 0)
		observed->is_gone[grant_id] = true;
}

static void request_revoke(struct world *world, struct observed *observed,
			   uint64_t grant_id)
{
	observed->is_revoke_begun[grant_id] = true;
	if (world_request(world, GUARD_REVOKE, grant_id) == 0)
		observed->is_gone[grant_id] = true;
}

/* As world_greet(), but may die in it. */
static void greet(struct world *world)
{
	struct registration registration;

	if (world_register(world, &registration) == 0)
		registration_fini(&registration);
}

static void busy_set(struct world *world, uint64_t grant_id, bool is_busy)
{
	struct fake_object *object = world_object(world, grant_id);

	if (object)
		object->is_busy = is_busy;
}

static void reply_hear(struct world *world, struct observed *observed,
		       uint64_t grant_id, enum guard_type type)
{
	if (world_next(world, type) == 0)
		observed->is_gone[grant_id] = true;
}

/* By the manager and by the agent; one is busy, and one was never here. */
static void revoke_together(struct world *world, struct observed *observed)
{
	for (uint64_t id = 6; id <= 9; id++)
		observed->is_revoke_begun[id] = true;
	busy_set(world, 7, true);
	world_take_revoke(world, 6);
	world_take_request(world, GUARD_REVOKE, 8);
	world_take_revoke(world, 7);
	world_take_revoke(world, 9);
	world_settle(world);
	reply_hear(world, observed, 6, GUARD_COMMAND);
	reply_hear(world, observed, 8, GUARD_REVOKE);
	reply_hear(world, observed, 7, GUARD_COMMAND);
	reply_hear(world, observed, 9, GUARD_COMMAND);
	busy_set(world, 7, false);
}

static void busy_clear(struct world *world)
{
	busy_set(world, 2, false);
	busy_set(world, 7, false);
}

/* Every kind of change of the journal. */
static void story(struct world *world, struct observed *observed)
{
	apply(world, observed, 1);
	apply(world, observed, 2);
	world->apply_error = -ENOSPC;
	apply(world, observed, 3);
	world->apply_error = 0;
	world->floor = 2;
	order_revoke(world, observed, 1);
	busy_set(world, 2, true);
	order_revoke(world, observed, 2);
	busy_set(world, 2, false);
	request_revoke(world, observed, 2);
	if (world_request(world, GUARD_PENDING, 0) == 0)
		world_ack(world, world->reply.sequence);
	world->epoch = 2;
	greet(world);
	apply(world, observed, 4);
	observed->is_second_epoch = observed->is_applied[4];
	order_revoke(world, observed, 5); /* never applied */
	for (uint64_t id = 6; id <= 8; id++)
		apply(world, observed, id);
	revoke_together(world, observed);
}

static void check(struct world *world, const struct observed *observed)
{
	for (uint64_t id = 1; id <= GRANTS; id++) {
		int grant_state = world_state(world, id);
		unsigned int objects = world_object_count(world, id);

		assert_true(world->applies[id] <= 1);
		assert_int_not_equal(grant_state, GRANT_APPLYING);
		if (observed->is_applied[id] && !observed->is_revoke_begun[id])
			assert_int_equal(grant_state, GRANT_APPLIED);
		if (observed->is_gone[id])
			assert_int_equal(grant_state, 0);
		if (grant_state == GRANT_APPLIED) {
			assert_int_equal(objects, FAKE_DEVICES);
			assert_non_null(world_file(world, id));
		}
		if (grant_state == 0) {
			assert_int_equal(objects, 0);
			assert_null(world_file(world, id));
		}
	}
	if (observed->is_second_epoch) {
		world->epoch = 1;
		assert_int_equal(world_apply(world, 4), -ESTALE);
		world->epoch = 2;
	}
}

/* Whatever happened, the end is the same. */
static void finish(struct world *world, const struct observed *observed)
{
	for (uint64_t id = 1; id <= GRANTS; id++) {
		assert_int_equal(world_revoke(world, id), 0);
		assert_int_equal(world_apply(world, id), -ESTALE);
		assert_true(world->applies[id] <= 1);
	}
	assert_int_equal(world_objects_total(world), 0);
	assert_int_equal(world_files_total(world), 0);
	while (world_request(world, GUARD_PENDING, 0) == 0)
		assert_int_equal(world_ack(world, world->reply.sequence), 0);
}

/* How many steps the story has, if it was run to its end. */
static bool run(unsigned int crash_at, bool crashes_after, size_t torn_bytes)
{
	struct world world;
	struct observed observed = { .is_second_epoch = false };
	bool was_dead;

	world_init(&world);
	world_restart(&world);
	world.crash_at = world.steps + crash_at;
	world.crashes_after = crashes_after;
	world.torn_bytes = torn_bytes;
	story(&world, &observed);
	was_dead = world.is_dead;
	busy_clear(&world);
	world_restart(&world);
	check(&world, &observed);
	finish(&world, &observed);
	world_fini(&world);
	return was_dead;
}

static void crash_before_each_step_loses_nothing(void **state)
{
	unsigned int step = 1;

	while (run(step, false, 0))
		step++;
	assert_in_range(step, 30, 1000);
}

static void crash_after_each_step_loses_nothing(void **state)
{
	unsigned int step = 1;

	while (run(step, true, 0))
		step++;
	assert_in_range(step, 30, 1000);
}

static void crash_within_each_write_loses_nothing(void **state)
{
	for (size_t torn_bytes = 1; torn_bytes < 220; torn_bytes += 7) {
		unsigned int step = 1;

		while (run(step, false, torn_bytes))
			step++;
	}
}

/* A second crash, at each step of the first one's recovery. */
static void crash_while_beginning_again_loses_nothing(void **state)
{
	for (unsigned int first = 1;; first++) {
		for (unsigned int second = 1;; second++) {
			struct observed observed = { .is_second_epoch = false };
			struct fairlead_error error;
			struct world world;
			bool was_dead, was_dead_again;

			world_init(&world);
			world_restart(&world);
			world.crash_at = world.steps + first;
			world.crashes_after = true;
			story(&world, &observed);
			was_dead = world.is_dead;
			busy_clear(&world);
			world_stop(&world);
			world.is_dead = false;
			world.crash_at = world.steps + second;
			(void)world_start(&world, &error);
			was_dead_again = world.is_dead;
			world_restart(&world);
			check(&world, &observed);
			finish(&world, &observed);
			world_fini(&world);
			if (!was_dead)
				return;
			if (!was_dead_again)
				break;
		}
	}
}

/* The disk is full from some step on, and later has room again. */
static void full_disk_at_each_step_loses_nothing(void **state)
{
	for (unsigned int full_at = 1; full_at < 12; full_at++) {
		struct observed observed = { .is_second_epoch = false };
		struct world world;

		world_init(&world);
		world_restart(&world);
		for (uint64_t id = 1; id <= GRANTS; id++) {
			if (id == full_at)
				world.write_error = -ENOSPC;
			apply(&world, &observed, id);
			if (id >= full_at)
				assert_false(observed.is_applied[id]);
		}
		for (uint64_t id = 1; id <= GRANTS; id++) {
			if (id + GRANTS == full_at)
				world.write_error = -ENOSPC;
			order_revoke(&world, &observed, id);
			if (full_at <= GRANTS || id + GRANTS >= full_at)
				assert_false(observed.is_gone[id]);
			/* What can be taken is taken all the same. */
			assert_int_equal(world_object_count(&world, id), 0);
		}
		world.write_error = 0;
		finish(&world, &observed);
		world_restart(&world);
		finish(&world, &observed);
		world_fini(&world);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(crash_before_each_step_loses_nothing),
		cmocka_unit_test(crash_after_each_step_loses_nothing),
		cmocka_unit_test(crash_within_each_write_loses_nothing),
		cmocka_unit_test(crash_while_beginning_again_loses_nothing),
		cmocka_unit_test(full_disk_at_each_step_loses_nothing),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
