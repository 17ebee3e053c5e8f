/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A job's life, with the daemon killed before and after each step of its: what
 * it has answered holds, and what it has not can be asked for again. What each
 * call refuses is in elan/test, with real processes.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>
#include <errno.h>
#include <signal.h>
#include <string.h>
#include <utlist.h>

#include "elan/core/test/world.h"

#define OWNER 1000
#define GRANT 7

/* One call after the other; each can be made again when it was not answered. */
enum call {
	CALL_RAIL,
	CALL_DEPOSIT,
	CALL_ROUTE,
	CALL_CREATE,
	CALL_ADD_CAP,
	CALL_SET_CAP,
	CALL_FORK, /* the world's */
	CALL_INITIALISED,
	CALL_ATTACH,
	CALL_SUSPEND,
	CALL_RESUME,
	CALL_ADD_PROCESS,
	CALL_REMOVE_PROCESS,
	CALL_DETACH,
	CALL_TAKE_BACK_BUSY,
	CALL_KILL,
	CALL_TAKE_BACK,
	CALL_DESTROY,
	CALL_COUNT,
};

static struct elan_capability sample(void)
{
	return (struct elan_capability){
		.cap_userkey.key_values = { 1, 2, 3, 4 },
		.cap_version = ELAN_CAP_VERSION_NUMBER,
		.cap_type = ELAN_CAP_TYPE_BLOCK,
		.cap_lowcontext = 0x400,
		.cap_highcontext = 0x403,
		.cap_mycontext = ELAN_CAP_UNINITIALISED,
		.cap_lownode = 0,
		.cap_highnode = 1,
		.cap_railmask = 1,
		.cap_bitmap = { 0xff },
	};
}

static int take_back(struct registry *registry, const struct caller *root)
{
	struct writer pids = { 0 };
	int result = registry_deposit_take_back(registry, root, GRANT, &pids);

	writer_fini(&pids);
	return result;
}

static int perform_early(struct world *world, enum call call)
{
	struct registry *registry = world->registry;
	const struct caller root = world_caller(8, 0);
	const struct caller maker = world_caller(1, 0);
	const struct elan_capability cap = sample();
	static const uint8_t routes[ROUTE_SIZE] = { 1, 0, 4, [20] = 1 };

	switch (call) {
	case CALL_RAIL:
		return registry_rail_set(registry, &root, 0, true);
	case CALL_DEPOSIT:
		return registry_deposit_add(registry, &root, GRANT, OWNER,
					    &cap);
	case CALL_ROUTE:
		return registry_route(registry, &root, GRANT, 1, routes,
				      sizeof(routes));
	case CALL_CREATE:
		return registry_program_create(registry, &maker, 1, OWNER, 2);
	case CALL_ADD_CAP:
		return registry_cap_add(registry, &maker, 1, 0, &cap);
	case CALL_SET_CAP:
		return registry_cap_set(registry, &maker, 0, 2);
	case CALL_FORK:
		world_fork(world, 1, 2);
		return 0;
	default:
		return 1;
	}
}

static int perform(struct world *world, enum call call)
{
	struct registry *registry = world->registry;
	const struct caller root = world_caller(8, 0);
	const struct caller child = world_caller(2, OWNER);
	struct elan_capability cap = sample();
	int result = perform_early(world, call);

	cap.cap_mycontext = 0x402;
	if (result != 1)
		return result;
	switch (call) {
	case CALL_INITIALISED:
		return registry_initialised(registry, &child, 5);
	case CALL_ATTACH:
		return registry_attach(registry, &child, 0, &cap);
	case CALL_SUSPEND:
		return registry_program_suspend(registry, &root, 1, true);
	case CALL_RESUME:
		return registry_program_suspend(registry, &root, 1, false);
	case CALL_ADD_PROCESS:
		return registry_process_add(registry, &root, 1, 3);
	case CALL_REMOVE_PROCESS:
		return registry_process_remove(registry, &root, 1, 3);
	case CALL_DETACH:
		return registry_detach(registry, &child, 0, &cap);
	case CALL_TAKE_BACK_BUSY:
	case CALL_TAKE_BACK:
		return take_back(registry, &root);
	case CALL_KILL:
		return registry_program_signal(registry, &root, 1, SIGKILL);
	case CALL_DESTROY:
		return registry_program_destroy(registry, &root, 1);
	default:
		return 0;
	}
}

/* What a call may answer when its first answer was lost. */
static bool is_done_already(enum call call, int result)
{
	switch (call) {
	case CALL_CREATE:
		return result == -EINVAL;
	case CALL_ATTACH:
		return result == -EBUSY;
	case CALL_ADD_PROCESS:
	case CALL_REMOVE_PROCESS:
	case CALL_DESTROY:
		return result == -ESRCH;
	case CALL_TAKE_BACK:
		return result == -ENOENT;
	case CALL_TAKE_BACK_BUSY:
		return result == -EBUSY;
	default:
		return false;
	}
}

/* How far it has come, as anybody can see; the call that has begun undoes. */
static void check(struct world *world, enum call done, enum call begun)
{
	struct registry *registry = world->registry;
	const struct caller child = world_caller(2, OWNER);
	const struct caller root = world_caller(8, 0);
	struct program *program = registry_program(registry, 1);
	struct elan_capability cap;
	struct deposit deposit;
	uint32_t attached;

	assert_int_equal(registry->rails_up, 1);
	if (done >= CALL_DEPOSIT && begun < CALL_TAKE_BACK)
		assert_int_equal(registry_deposit_next(registry, &root, 0,
						       &deposit, &attached),
				 0);
	if (done >= CALL_ROUTE && begun < CALL_TAKE_BACK)
		assert_true(deposit.node == 1 && deposit.route_count == 1);
	if (done >= CALL_CREATE && begun < CALL_DESTROY) {
		assert_non_null(program);
		assert_true(program->is_made && world->has_group[1]);
	}
	if (done >= CALL_ADD_CAP && begun < CALL_TAKE_BACK)
		assert_true(program->holding_count >= 1);
	if (done >= CALL_FORK && begun < CALL_KILL) {
		assert_int_equal(registry_cap_get(registry, &child, 0, &cap),
				 0);
		assert_int_equal(cap.cap_mycontext, 0x402);
	}
	if (done >= CALL_INITIALISED && begun < CALL_KILL)
		assert_int_equal(program->initialised[0].vp, 5);
	if (done >= CALL_ATTACH && begun < CALL_DETACH)
		assert_int_equal(registry->attachment_count, 1);
	if (done >= CALL_SUSPEND && begun < CALL_RESUME)
		assert_true(world->is_frozen[1]);
	if (done >= CALL_RESUME)
		assert_false(world->is_frozen[1]);
	if (done >= CALL_ADD_PROCESS && begun < CALL_REMOVE_PROCESS)
		assert_int_equal(world->processes[2].program, 1);
	if (done >= CALL_TAKE_BACK_BUSY && begun < CALL_TAKE_BACK)
		assert_true(deposit.is_ending);
	if (done >= CALL_KILL)
		assert_int_equal(registry->attachment_count, 0);
	if (done >= CALL_TAKE_BACK)
		assert_int_equal(registry->deposit_count, 0);
	if (done >= CALL_DESTROY)
		assert_true(program == NULL && !world->has_group[1]);
}

/* Whatever has happened: no process is in a cgroup that nobody knows. */
static void check_nothing_leaks(struct world *world)
{
	for (int i = 0; i < WORLD_PROCESSES; i++) {
		const struct world_process *process = &world->processes[i];

		if (process->is_alive && process->program != 0)
			assert_non_null(registry_program(world->registry,
							 process->program));
	}
	if (world->has_group[1])
		assert_non_null(registry_program(world->registry, 1));
}

static void begin(struct world *world)
{
	*world = (struct world){ .steps_left = WORLD_FOREVER };
	for (int i = 0; i < WORLD_PROCESSES; i++)
		world->processes[i].is_alive = true;
	assert_int_equal(world_start(world), 0);
}

static int expected(enum call call)
{
	return call == CALL_TAKE_BACK_BUSY ? -EBUSY : 0;
}

/* Returns whether it was killed at all. */
static bool run(uint32_t steps_left, bool after)
{
	struct world world;
	bool was_killed = false;

	begin(&world);
	world.steps_left = steps_left;
	world.after = after;
	for (enum call call = 0; call < CALL_COUNT; call++) {
		int result = perform(&world, call);

		if (!was_killed && world.steps_left == 0) {
			was_killed = true;
			world_kill(&world);
			world.steps_left = WORLD_FOREVER;
			assert_int_equal(world_start(&world), 0);
			check_nothing_leaks(&world);
			if (call > 0)
				check(&world, call - 1, call);
			result = perform(&world, call);
			if (is_done_already(call, result))
				result = expected(call);
		}
		assert_int_equal(result, expected(call));
		check(&world, call, call);
		check_nothing_leaks(&world);
	}
	world_fini(&world);
	return was_killed;
}

static void a_life_without_a_death(void **state)
{
	assert_false(run(WORLD_FOREVER, false));
}

static void a_death_before_each_step(void **state)
{
	uint32_t steps = 1;

	while (run(steps, false))
		steps++;
	assert_true(steps > 20);
}

static void a_death_after_each_step(void **state)
{
	uint32_t steps = 1;

	while (run(steps, true))
		steps++;
	assert_true(steps > 20);
}

static void a_program_of_which_nobody_heard_is_undone(void **state)
{
	const struct caller maker = world_caller(1, 0);
	struct world world;

	begin(&world);
	world.steps_left = 2; /* its record, and not its cgroup */
	assert_int_equal(registry_program_create(world.registry, &maker, 1,
						 OWNER, 1),
			 -EIO);
	world_kill(&world);
	world.steps_left = WORLD_FOREVER;
	assert_int_equal(world_start(&world), 0);
	assert_null(registry_program(world.registry, 1));
	assert_int_equal(registry_program_create(world.registry, &maker, 1,
						 OWNER, 1),
			 0);
	world_fini(&world);
}

static void what_cannot_be_saved_is_not_done(void **state)
{
	const struct caller root = world_caller(8, 0);
	const struct elan_capability cap = sample();
	struct world world;

	begin(&world);
	assert_int_equal(perform(&world, CALL_CREATE), 0);
	world.steps_left = 0;
	assert_int_equal(perform(&world, CALL_ADD_CAP), -EIO);
	assert_int_equal(perform(&world, CALL_RAIL), -EIO);
	assert_int_equal(perform(&world, CALL_DEPOSIT), -EIO);
	world.steps_left = WORLD_FOREVER;
	assert_int_equal(registry_program(world.registry, 1)->holding_count, 0);
	assert_int_equal(world.registry->rails_up, 0);
	assert_int_equal(world.registry->deposit_count, 0);
	assert_int_equal(registry_deposit_add(world.registry, &root, GRANT,
					      OWNER, &cap),
			 0);
	world_fini(&world);
}

static void programs_have_a_maximum(void **state)
{
	const struct caller maker = world_caller(1, 0);
	struct world world;

	begin(&world);
	world.registry->program_count = RMS_PROGRAMS_MAX;
	assert_int_equal(registry_program_create(world.registry, &maker, 1,
						 OWNER, 1),
			 -ENOMEM);
	world.registry->deposit_count = DEPOSITS_MAX;
	assert_int_equal(perform(&world, CALL_DEPOSIT), -ENOMEM);
	world.registry->program_count = 0;
	world.registry->deposit_count = 0;
	world_fini(&world);
}

static void records_are_taken_once(void **state)
{
	struct world world;

	begin(&world);
	for (enum call call = 0; call <= CALL_ATTACH; call++)
		assert_int_equal(perform(&world, call), 0);
	for (int i = 0; i < WORLD_RECORDS; i++) {
		const struct world_record *record = &world.records[i];

		if (record->bytes.size == 0)
			continue;
		assert_int_equal(registry_load(world.registry, record->kind,
					       record->bytes.data,
					       record->bytes.size),
				 -EEXIST);
		for (size_t size = 0; size < record->bytes.size; size++) {
			struct registry *registry = world.registry;
			struct attachment *attachments = registry->attachments;

			/* The node's is refused for that before it is read. */
			registry->attachments = NULL;
			assert_int_equal(registry_load(registry, record->kind,
						       record->bytes.data,
						       size),
					 -EPROTO);
			registry->attachments = attachments;
		}
	}
	world_fini(&world);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_life_without_a_death),
		cmocka_unit_test(a_death_before_each_step),
		cmocka_unit_test(a_death_after_each_step),
		cmocka_unit_test(a_program_of_which_nobody_heard_is_undone),
		cmocka_unit_test(what_cannot_be_saved_is_not_done),
		cmocka_unit_test(programs_have_a_maximum),
		cmocka_unit_test(records_are_taken_once),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
