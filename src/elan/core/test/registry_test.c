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

#include "elan/core/dispatch.h"
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

static int ask(struct world *world, const struct caller *caller,
	       const struct rms_request *request)
{
	struct writer packet = { 0 };
	struct writer answer = { 0 };
	struct rms_reply reply;

	rms_request_encode(request, &packet);
	assert_int_equal(dispatch(world->registry, caller, packet.data,
				  packet.size, &answer),
			 0);
	assert_int_equal(rms_reply_decode(answer.data, answer.size, &reply), 0);
	writer_fini(&packet);
	writer_fini(&answer);
	return reply.result;
}

/* As root, from process 1. */
static int create(struct world *world)
{
	const struct caller maker = world_caller(1, 0);
	const struct rms_request request = {
		.op = RMS_PRGCREATE,
		.id = 1,
		.uid = OWNER,
		.value = 2,
	};

	return ask(world, &maker, &request);
}

static int perform(struct world *world, enum call call)
{
	static const uint8_t routes[ROUTE_SIZE] = { 1, 0, 4, [20] = 1 };
	static const enum rms_op ops[CALL_COUNT] = {
		[CALL_RAIL] = RMS_RAIL,
		[CALL_DEPOSIT] = RMS_DEPOSIT,
		[CALL_ROUTE] = RMS_ROUTE,
		[CALL_ADD_CAP] = RMS_PRGADDCAP,
		[CALL_SET_CAP] = RMS_SETCAP,
		[CALL_INITIALISED] = RMS_ELANINITDONE,
		[CALL_ATTACH] = RMS_ATTACH,
		[CALL_SUSPEND] = RMS_PRGSUSPEND,
		[CALL_RESUME] = RMS_PRGRESUME,
		[CALL_ADD_PROCESS] = RMS_ADDPROC,
		[CALL_REMOVE_PROCESS] = RMS_REMOVEPROC,
		[CALL_DETACH] = RMS_DETACH,
		[CALL_TAKE_BACK_BUSY] = RMS_DEPOSIT_TAKE,
		[CALL_KILL] = RMS_PRGSIGNAL,
		[CALL_TAKE_BACK] = RMS_DEPOSIT_TAKE,
		[CALL_DESTROY] = RMS_PRGDESTROY,
	};
	static const int32_t values[CALL_COUNT] = {
		[CALL_RAIL] = 1,        [CALL_ROUTE] = 1,
		[CALL_SET_CAP] = 2,     [CALL_INITIALISED] = 5,
		[CALL_ADD_PROCESS] = 3, [CALL_REMOVE_PROCESS] = 3,
		[CALL_KILL] = SIGKILL,
	};
	const bool is_child = call == CALL_INITIALISED || call == CALL_ATTACH ||
			      call == CALL_DETACH;
	const bool is_maker = call == CALL_ADD_CAP || call == CALL_SET_CAP;
	const struct caller caller = world_caller(is_child   ? 2
						  : is_maker ? 1
							     : 8,
						  is_child ? OWNER : 0);
	struct rms_request request = {
		.op = ops[call],
		.id = 1,
		.value = values[call],
		.uid = OWNER,
		.grant = GRANT,
		.cap = sample(),
		.routes = routes,
		.routes_size = sizeof(routes),
	};

	if (call == CALL_CREATE)
		return create(world);
	if (call == CALL_FORK) {
		world_fork(world, 1, 2);
		return 0;
	}
	if (request.op == RMS_DEPOSIT_TAKE)
		request.grant = 1; /* the first deposit's number */
	if (is_child)
		request.cap.cap_mycontext = 0x402;
	return ask(world, &caller, &request);
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

/* The context that it has set of the first capability. */
static int32_t context_of_child(struct world *world)
{
	const struct caller child = world_caller(2, OWNER);
	const struct rms_request request = { .op = RMS_GETCAP };
	struct elan_capability cap;
	struct writer body = { 0 };
	struct reader reader;

	assert_int_equal(
		registry_cap_get(world->registry, &child, &request, &body), 0);
	reader = reader_of(body.data, body.size);
	capability_read(&reader, &cap);
	assert_true(reader_is_done(&reader));
	writer_fini(&body);
	return cap.cap_mycontext;
}

/* How far it has come, as anybody can see; the call that has begun undoes. */
static void check(struct world *world, enum call done, enum call begun)
{
	struct registry *registry = world->registry;
	const struct deposit *deposit = registry->deposits;
	struct program *program = registry_program(registry, 1);

	assert_int_equal(registry->rails_up, 1);
	if (done >= CALL_DEPOSIT && begun < CALL_TAKE_BACK)
		assert_non_null(deposit);
	if (done >= CALL_ROUTE && begun < CALL_TAKE_BACK)
		assert_true(deposit->node == 1 && deposit->route_count == 1);
	if (done >= CALL_CREATE && begun < CALL_DESTROY) {
		assert_non_null(program);
		assert_true(program->is_made && world->has_group[1]);
	}
	if (done >= CALL_ADD_CAP && begun < CALL_TAKE_BACK)
		assert_true(program->holding_count >= 1);
	if (done >= CALL_FORK && begun < CALL_KILL)
		assert_int_equal(context_of_child(world), 0x402);
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
		assert_true(deposit->is_ending);
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

static void an_unreported_program_is_undone(void **state)
{
	struct world world;

	begin(&world);
	world.steps_left = 2; /* its record, and not its cgroup */
	assert_int_equal(create(&world), -EIO);
	world_kill(&world);
	world.steps_left = WORLD_FOREVER;
	assert_int_equal(world_start(&world), 0);
	assert_null(registry_program(world.registry, 1));
	assert_int_equal(create(&world), 0);
	world_fini(&world);
}

static void what_cannot_be_saved_is_not_done(void **state)
{
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
	assert_int_equal(perform(&world, CALL_DEPOSIT), 0);
	world_fini(&world);
}

static void programs_have_a_maximum(void **state)
{
	struct world world;

	begin(&world);
	world.registry->program_count = RMS_PROGRAMS_MAX;
	assert_int_equal(create(&world), -ENOMEM);
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
		cmocka_unit_test(an_unreported_program_is_undone),
		cmocka_unit_test(what_cannot_be_saved_is_not_done),
		cmocka_unit_test(programs_have_a_maximum),
		cmocka_unit_test(records_are_taken_once),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
