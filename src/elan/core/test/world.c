/* SPDX-License-Identifier: BSD-3-Clause */
#include "elan/core/test/world.h"

#include <errno.h>
#include <signal.h>
#include <string.h>
#include <utlist.h>

/* Is the next change done; and does the daemon hear of it. */
static bool step(struct world *world, int *ret_result)
{
	bool is_done;

	world->steps++;
	*ret_result = 0;
	if (world->steps_left == WORLD_FOREVER)
		return true;
	is_done = world->steps_left > 1 ||
		  (world->steps_left == 1 && world->after);
	if (world->steps_left <= 1)
		*ret_result = -EIO;
	if (world->steps_left > 0)
		world->steps_left--;
	return is_done;
}

static struct world_process *process_of(struct world *world,
					const struct rms_process *process)
{
	return &world->processes[process->pid - 1];
}

static int choose(void *ctx, struct program *program,
		  const struct rms_process *process)
{
	strcpy(program->place, "/place");
	return 0;
}

static int make(void *ctx, struct program *program,
		const struct rms_process *process)
{
	struct world *world = ctx;
	int result;

	/* Two steps: the cgroup, and the process into it. */
	if (step(world, &result))
		world->has_group[program->id] = true;
	if (result < 0)
		return result;
	if (step(world, &result)) {
		process_of(world, process)->program = program->id;
		process_of(world, process)->setting = 0;
	}
	return result;
}

static bool is_member(const struct world *world, int pid,
		      const struct program *program)
{
	return world->processes[pid - 1].is_alive &&
	       world->processes[pid - 1].program == program->id;
}

static int count(const struct world *world, const struct program *program)
{
	int members = 0;

	for (int pid = 1; pid <= WORLD_PROCESSES; pid++)
		members += is_member(world, pid, program);
	return members;
}

static int remove_program(void *ctx, struct program *program)
{
	struct world *world = ctx;
	int result;

	if (count(world, program) > 0)
		return -ECHILD;
	if (step(world, &result))
		world->has_group[program->id] = false;
	return result;
}

static int look(void *ctx, struct program *program)
{
	struct world *world = ctx;

	if (!world->has_group[program->id])
		return -ENOENT;
	return count(world, program) > 0;
}

static int find_members(void *ctx, struct program *program,
			struct members *ret_members)
{
	struct world *world = ctx;

	for (int pid = 1; pid <= WORLD_PROCESSES; pid++) {
		struct rms_member member = {
			.process = { .pid = pid, .start = 1 },
			.setting = world->processes[pid - 1].setting,
		};

		if (is_member(world, pid, program))
			members_add(ret_members, &member);
	}
	return 0;
}

static int find(void *ctx, struct program *programs,
		const struct rms_process *process, struct program **ret_program,
		uint32_t *ret_setting)
{
	struct world *world = ctx;
	struct program *program;

	DL_FOREACH (programs, program) {
		if (!is_member(world, process->pid, program))
			continue;
		*ret_program = program;
		*ret_setting = process_of(world, process)->setting;
		return 0;
	}
	return -ESRCH;
}

static bool is_near(void *ctx, const struct program *program,
		    const struct rms_process *process)
{
	return true;
}

static int enter(void *ctx, struct program *program,
		 const struct rms_process *process, uint32_t setting)
{
	struct world *world = ctx;
	int result;

	if (step(world, &result)) {
		process_of(world, process)->program = program->id;
		process_of(world, process)->setting = setting;
	}
	return result;
}

static int leave(void *ctx, struct program *program,
		 const struct rms_process *process)
{
	struct world *world = ctx;
	int result;

	if (step(world, &result))
		process_of(world, process)->program = 0;
	return result;
}

static int signal_all(void *ctx, struct program *program, int number)
{
	struct world *world = ctx;
	int result;

	if (number != SIGKILL || !step(world, &result))
		return number != SIGKILL ? 0 : result;
	for (int pid = 1; pid <= WORLD_PROCESSES; pid++) {
		if (is_member(world, pid, program))
			world_end(world, pid);
	}
	return result;
}

static int suspend(void *ctx, struct program *program, bool suspends)
{
	struct world *world = ctx;
	int result;

	if (step(world, &result))
		world->is_frozen[program->id] = suspends;
	return result;
}

static int usage(void *ctx, struct program *program,
		 struct rms_usage *ret_usage)
{
	*ret_usage = (struct rms_usage){ .user_us = 1000 };
	return 0;
}

static int identify(void *ctx, int32_t pid, struct rms_process *ret_process,
		    uint32_t uid, bool *ret_is_users)
{
	struct world *world = ctx;

	if (pid < 1 || pid > WORLD_PROCESSES ||
	    !world->processes[pid - 1].is_alive)
		return -ESRCH;
	*ret_process = (struct rms_process){ .pid = pid, .start = 1 };
	*ret_is_users = true;
	return 0;
}

static int watch(void *ctx, const struct rms_process *process)
{
	struct world *world = ctx;

	if (process->pid < 1 || process->pid > WORLD_PROCESSES ||
	    process->start != 1 || !process_of(world, process)->is_alive)
		return -ESRCH;
	process_of(world, process)->is_watched = true;
	return 0;
}

static const struct keeper_ops keeper_ops = {
	.choose = choose,
	.make = make,
	.remove = remove_program,
	.look = look,
	.members = find_members,
	.find = find,
	.is_near = is_near,
	.enter = enter,
	.leave = leave,
	.signal = signal_all,
	.suspend = suspend,
	.usage = usage,
	.identify = identify,
	.watch = watch,
};

static struct world_record *find_record(struct world *world,
					enum rms_record kind, uint64_t number)
{
	struct world_record *unused = NULL;

	for (int i = 0; i < WORLD_RECORDS; i++) {
		struct world_record *record = &world->records[i];

		if (record->bytes.size == 0)
			unused = record;
		else if (record->kind == kind && record->number == number)
			return record;
	}
	return unused;
}

static int save(void *ctx, enum rms_record kind, uint64_t number,
		const void *bytes, size_t size)
{
	struct world *world = ctx;
	struct world_record *record = find_record(world, kind, number);
	int result;

	if (record == NULL)
		return -EIO;
	if (step(world, &result)) {
		record->kind = kind;
		record->number = number;
		record->bytes.size = 0;
		write_bytes(&record->bytes, bytes, size);
	}
	return result;
}

static int remove_record(void *ctx, enum rms_record kind, uint64_t number)
{
	struct world *world = ctx;
	int result;

	if (step(world, &result))
		find_record(world, kind, number)->bytes.size = 0;
	return result;
}

static uint64_t monotonic_ms(void *ctx)
{
	struct world *world = ctx;

	return ++world->now_ms;
}

int world_start(struct world *world)
{
	static const struct notes_ops notes_ops = { save, remove_record };
	static const struct clock_ops clock_ops = {
		.monotonic_ms = monotonic_ms,
	};
	const struct keeper_seam keeper = { &keeper_ops, world, true };
	const struct notes_seam notes = { &notes_ops, world };
	const struct clock_seam clock = { &clock_ops, world };
	int result = 0;

	for (int i = 0; i < WORLD_PROCESSES; i++)
		world->processes[i].is_watched = false;
	world->registry = registry_create(&keeper, &notes, &clock);
	for (int i = 0; result == 0 && i < WORLD_RECORDS; i++) {
		const struct world_record *record = &world->records[i];

		if (record->bytes.size > 0)
			result = registry_load(world->registry, record->kind,
					       record->bytes.data,
					       record->bytes.size);
	}
	return result < 0 ? result : registry_reconcile(world->registry);
}

void world_kill(struct world *world)
{
	registry_destroy(world->registry);
	world->registry = NULL;
}

void world_fini(struct world *world)
{
	world_kill(world);
	for (int i = 0; i < WORLD_RECORDS; i++)
		writer_fini(&world->records[i].bytes);
}

struct caller world_caller(int32_t pid, uint32_t uid)
{
	return (struct caller){
		.process = { .pid = pid, .start = 1 },
		.uid = uid,
	};
}

void world_fork(struct world *world, int32_t pid, int32_t child)
{
	world->processes[child - 1] = world->processes[pid - 1];
	world->processes[child - 1].is_watched = false;
}

void world_end(struct world *world, int32_t pid)
{
	const struct rms_process process = { .pid = pid, .start = 1 };

	world->processes[pid - 1].is_alive = false;
	if (world->processes[pid - 1].is_watched && world->registry != NULL &&
	    world->steps_left > 0)
		registry_process_ended(world->registry, &process);
	world->processes[pid - 1].is_watched = false;
}
