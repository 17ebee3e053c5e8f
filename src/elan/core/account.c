/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What programs use, and what they say of themselves. Figures only rise, also
 * where a keeper sees less of them than before.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "elan/core/registry.h"

#define KIB                     1024
#define MS_PER_SEC              1000

#define INITIALISED_COLLECT_MIN 64

static int find_mine(struct registry *registry, const struct caller *caller,
		     struct program **ret_program)
{
	uint32_t setting;

	return registry_mine(registry, caller, ret_program, &setting);
}

/* id below 0: the caller's own, which is open to it. */
static int choose(struct registry *registry, const struct caller *caller,
		  int32_t id, struct program **ret_program)
{
	return id < 0 ? find_mine(registry, caller, ret_program)
		      : registry_owned(registry, caller, id, ret_program);
}

static void raise_to(uint64_t *figure, uint64_t value)
{
	if (value > *figure)
		*figure = value;
}

static void take_usage(struct program *program, const struct rms_usage *seen,
		       uint64_t now_ms)
{
	struct rms_usage *usage = &program->usage;

	raise_to(&usage->user_us, seen->user_us);
	raise_to(&usage->system_us, seen->system_us);
	raise_to(&usage->faults, seen->faults);
	raise_to(&usage->memory_max, seen->memory_max);
	raise_to(&usage->memory_max, seen->memory);
	if (program->memory_ms != 0 && now_ms > program->memory_ms)
		program->memory_kib_ms +=
			(usage->memory / 2 + seen->memory / 2) / KIB *
			(now_ms - program->memory_ms);
	usage->memory = seen->memory;
	program->memory_ms = now_ms;
}

int registry_stats(struct registry *registry, const struct caller *caller,
		   const struct rms_request *request, struct writer *body)
{
	const struct keeper_seam *keeper = &registry->keeper;
	uint64_t now_ms = clock_monotonic_ms(&registry->clock);
	struct rms_usage seen = { 0 };
	struct rms_prgstats stats;
	struct program *program;
	uint64_t end_ms;
	bool runs;
	int result = choose(registry, caller, request->id, &program);

	if (result < 0)
		return result;
	runs = keeper->ops->look(keeper->ctx, program) == 1;
	if (keeper->ops->usage(keeper->ctx, program, &seen) == 0)
		take_usage(program, &seen, now_ms);
	if (!runs && program->ended_ms == 0)
		program->ended_ms = now_ms;
	end_ms = runs ? now_ms : program->ended_ms;
	result = registry_save_program(registry, program);
	if (result < 0)
		return result;
	stats = (struct rms_prgstats){
		.etime = end_ms - program->made_ms,
		.atime = (end_ms - program->made_ms) * (uint64_t)program->cpus,
		.utime = program->usage.user_us / 1000,
		.stime = program->usage.system_us / 1000,
		.pageflts = program->usage.faults,
		.memint = program->memory_kib_ms / KIB / MS_PER_SEC,
		.ebytes = program->elanstats.ebytes,
		.exfers = program->elanstats.exfers,
		.mem = program->usage.memory_max,
		.ncpus = program->cpus,
		.flags = program->flags |
			 (runs ? RMS_PRG_RUNNING : RMS_PRG_ZOMBIE),
	};
	rms_write_stats(body, &stats);
	return 0;
}

int registry_elanstats_set(struct registry *registry,
			   const struct caller *caller,
			   const struct rms_request *request,
			   struct writer *body)
{
	struct rms_elanstats before;
	struct program *program;
	int result = choose(registry, caller, request->id, &program);

	if (result < 0)
		return result;
	before = program->elanstats;
	program->elanstats = request->stats;
	result = registry_save_program(registry, program);
	if (result < 0)
		program->elanstats = before;
	return result;
}

int registry_corepath_set(struct registry *registry,
			  const struct caller *caller,
			  const struct rms_request *request,
			  struct writer *body)
{
	char before[RMS_COREPATH_MAX];
	struct program *program;
	int result = find_mine(registry, caller, &program);

	if (result < 0)
		return result;
	if (caller->uid != 0 && caller->uid != program->uid)
		return -EACCES;
	memcpy(before, program->corepath, sizeof(before));
	memcpy(program->corepath, request->text, sizeof(before));
	result = registry_save_program(registry, program);
	if (result < 0)
		memcpy(program->corepath, before, sizeof(before));
	return result;
}

int registry_corepath_get(struct registry *registry,
			  const struct caller *caller,
			  const struct rms_request *request,
			  struct writer *body)
{
	struct program *program;
	struct program *mine;
	int result = registry_program_with(registry, caller, request->value,
					   &program);

	if (result < 0)
		return result;
	if (caller->uid != 0 && caller->uid != program->uid &&
	    (find_mine(registry, caller, &mine) < 0 || mine != program))
		return -EACCES;
	if (program->corepath[0] == '\0')
		return -ESRCH;
	write_text(body, program->corepath);
	return 0;
}

/* Forget those that are no members any more. */
static int collect_initialised(struct registry *registry,
			       struct program *program)
{
	const struct keeper_seam *keeper = &registry->keeper;
	_auto_(members_fini) struct members members = { 0 };
	size_t kept = 0;
	int result = keeper->ops->members(keeper->ctx, program, &members);

	if (result < 0)
		return result;
	for (size_t i = 0; i < program->initialised_count; i++) {
		struct initialised *one = &program->initialised[i];

		if (members_have(&members, &one->process))
			program->initialised[kept++] = *one;
	}
	program->initialised_count = kept;
	return 0;
}

/* Its count where there is none. */
static size_t find_initialised(const struct program *program,
			       const struct rms_process *process)
{
	size_t i = 0;

	while (i < program->initialised_count &&
	       !process_is(&program->initialised[i].process, process))
		i++;
	return i;
}

/* It reads all members: each time that there are twice as many is enough. */
static bool wants_collection(const struct program *program)
{
	size_t count = program->initialised_count;

	return count >= PROCESSES_MAX ||
	       (count >= INITIALISED_COLLECT_MIN && (count & (count - 1)) == 0);
}

int registry_initialised(struct registry *registry, const struct caller *caller,
			 const struct rms_request *request, struct writer *body)
{
	struct program *program;
	size_t i;
	int result = find_mine(registry, caller, &program);

	if (result < 0)
		return result;
	if (request->value < 0 || request->value >= ELAN_MAX_VPS)
		return -EINVAL;
	i = find_initialised(program, &caller->process);
	if (i == program->initialised_count && wants_collection(program)) {
		result = collect_initialised(registry, program);
		if (result < 0)
			return result;
		i = program->initialised_count;
	}
	if (i >= PROCESSES_MAX)
		return -ENOMEM;
	if (i == program->initialised_count) {
		program->initialised =
			memory_resize(program->initialised, i + 1,
				      sizeof(*program->initialised));
		program->initialised_count++;
	}
	program->initialised[i] = (struct initialised){
		.process = caller->process,
		.vp = request->value,
	};
	return registry_save_program(registry, program);
}

int registry_initialised_list(struct registry *registry,
			      const struct caller *caller,
			      const struct rms_request *request,
			      struct writer *body)
{
	struct program *program = registry_program(registry, request->id);
	int result;

	if (program == NULL)
		return -ESRCH;
	result = collect_initialised(registry, program);
	if (result < 0)
		return result;
	write_u32(body, (uint32_t)program->initialised_count);
	for (size_t i = 0; i < program->initialised_count; i++) {
		write_u32(body, (uint32_t)program->initialised[i].vp);
		write_u32(body, (uint32_t)program->initialised[i].process.pid);
	}
	return 0;
}
