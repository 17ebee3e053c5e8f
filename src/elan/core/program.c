/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Programs: who may make, end and address them. Root is uid 0, the owner the
 * uid that a program was made for.
 */
#include <errno.h>
#include <signal.h>
#include <string.h>
#include <utlist.h>

#include "base/memory.h"
#include "elan/core/registry.h"

static int find(struct registry *registry, const struct rms_process *process,
		struct program **ret_program)
{
	const struct keeper_seam *keeper = &registry->keeper;
	uint32_t setting;

	return keeper->ops->find(keeper->ctx, registry->programs, process,
				 ret_program, &setting);
}

/* Undo what was made of it; a record that stays is undone at the next start. */
static void unmake(struct registry *registry, struct program *program,
		   const struct rms_process *process)
{
	const struct keeper_seam *keeper = &registry->keeper;
	const struct notes_seam *notes = &registry->notes;

	keeper->ops->leave(keeper->ctx, program, process);
	keeper->ops->remove(keeper->ctx, program);
	notes->ops->remove(notes->ctx, RECORD_PROGRAM, (uint64_t)program->id);
	registry_forget_program(registry, program);
}

static int make(struct registry *registry, struct program *program,
		const struct rms_process *process)
{
	const struct keeper_seam *keeper = &registry->keeper;
	int result = registry_save_program(registry, program);

	if (result < 0) {
		registry_forget_program(registry, program);
		return result;
	}
	result = keeper->ops->make(keeper->ctx, program, process);
	if (result == 0) {
		program->is_made = true;
		result = registry_save_program(registry, program);
	}
	if (result < 0)
		unmake(registry, program, process);
	return result;
}

int registry_program_create(struct registry *registry,
			    const struct caller *caller,
			    const struct rms_request *request,
			    struct writer *body)
{
	const struct keeper_seam *keeper = &registry->keeper;
	_auto_(program_destroyp) struct program *program = NULL;
	struct program *other;
	int result;

	if (caller->uid != 0)
		return -EACCES;
	if (request->id <= 0 || request->value <= 0 ||
	    registry_program(registry, request->id) != NULL ||
	    find(registry, &caller->process, &other) == 0)
		return -EINVAL;
	if (registry->program_count >= RMS_PROGRAMS_MAX)
		return -ENOMEM;
	program = memory_alloc(sizeof(*program));
	program->id = request->id;
	program->uid = request->uid;
	program->cpus = request->value;
	program->made_ms = clock_monotonic_ms(&registry->clock);
	result = keeper->ops->choose(keeper->ctx, program, &caller->process);
	if (result < 0)
		return result == -EINVAL ? result : -ENOMEM;
	other = take_ptr(program);
	registry_insert(registry, other);
	result = make(registry, other, &caller->process);
	return result == -EEXIST ? -EINVAL : result;
}

int registry_program_destroy(struct registry *registry,
			     const struct caller *caller,
			     const struct rms_request *request,
			     struct writer *body)
{
	struct program *program = registry_program(registry, request->id);

	if (caller->uid != 0)
		return -EACCES;
	return program != NULL ? registry_drop_program(registry, program)
			       : -ESRCH;
}

int registry_program_ids(struct registry *registry, const struct caller *caller,
			 const struct rms_request *request, struct writer *body)
{
	const struct program *program;

	DL_FOREACH (registry->programs, program) {
		write_u32(body, (uint32_t)program->id);
	}
	return 0;
}

int registry_program_members(struct registry *registry,
			     const struct caller *caller,
			     const struct rms_request *request,
			     struct writer *body)
{
	struct program *program = registry_program(registry, request->id);
	const struct keeper_seam *keeper = &registry->keeper;
	_auto_(members_fini) struct members members = { 0 };
	int result;

	if (program == NULL)
		return -ESRCH;
	result = keeper->ops->members(keeper->ctx, program, &members);
	if (result < 0)
		return result;
	write_u32(body, (uint32_t)members.count);
	for (size_t i = 0; i < members.count && i < PROCESSES_MAX; i++)
		write_u32(body, (uint32_t)members.items[i].process.pid);
	return 0;
}

int registry_program_with(struct registry *registry,
			  const struct caller *caller, int32_t pid,
			  struct program **ret_program)
{
	const struct keeper_seam *keeper = &registry->keeper;
	struct rms_process process = caller->process;
	bool is_users;
	int result = 0;

	if (pid != 0)
		result = keeper->ops->identify(keeper->ctx, pid, &process, 0,
					       &is_users);
	return result < 0 ? result : find(registry, &process, ret_program);
}

int registry_program_of(struct registry *registry, const struct caller *caller,
			const struct rms_request *request, struct writer *body)
{
	struct program *program;
	int result = registry_program_with(registry, caller, request->value,
					   &program);

	if (result == 0)
		write_u32(body, (uint32_t)program->id);
	return result;
}

int registry_process_add(struct registry *registry, const struct caller *caller,
			 const struct rms_request *request, struct writer *body)
{
	const struct keeper_seam *keeper = &registry->keeper;
	struct program *program, *other;
	struct rms_process process;
	bool is_users = false;
	int result = registry_owned(registry, caller, request->id, &program);

	if (result == 0)
		result = keeper->ops->identify(keeper->ctx, request->value,
					       &process, program->uid,
					       &is_users);
	if (result == 0 && find(registry, &process, &other) == 0)
		result = -ESRCH;
	if (result < 0)
		return result;
	if (program->flags & RMS_PRG_KILLED)
		return -EACCES;
	if (caller->uid != 0 &&
	    (!is_users ||
	     !keeper->ops->is_near(keeper->ctx, program, &process)))
		return -EACCES;
	result = keeper->ops->enter(keeper->ctx, program, &process, 0);
	if (result < 0)
		return result;
	program->ended_ms = 0;
	return registry_save_program(registry, program);
}

int registry_process_remove(struct registry *registry,
			    const struct caller *caller,
			    const struct rms_request *request,
			    struct writer *body)
{
	const struct keeper_seam *keeper = &registry->keeper;
	struct program *program, *other;
	struct rms_process process;
	bool is_users;
	int result = registry_owned(registry, caller, request->id, &program);

	if (result < 0)
		return result;
	if (caller->uid != 0 && keeper->is_sure)
		return -EACCES;
	result = keeper->ops->identify(keeper->ctx, request->value, &process, 0,
				       &is_users);
	if (result == 0)
		result = find(registry, &process, &other);
	if (result == 0 && other != program)
		result = -ESRCH;
	if (result == 0)
		result = keeper->ops->leave(keeper->ctx, program, &process);
	if (result < 0)
		return result;
	registry_process_ended(registry, &process);
	return registry_save_program(registry, program);
}

int registry_program_signal(struct registry *registry,
			    const struct caller *caller,
			    const struct rms_request *request,
			    struct writer *body)
{
	const struct keeper_seam *keeper = &registry->keeper;
	const int32_t number = request->value;
	struct program *program;
	int result = registry_owned(registry, caller, request->id, &program);

	if (result < 0)
		return result;
	if (number < 0 || number >= _NSIG)
		return -EINVAL;
	if (number == 0)
		return 0;
	if (number == SIGKILL && !(program->flags & RMS_PRG_KILLED)) {
		program->flags |= RMS_PRG_KILLED;
		result = registry_save_program(registry, program);
	}
	if (result == 0)
		result = keeper->ops->signal(keeper->ctx, program, number);
	return result;
}

int registry_program_suspend(struct registry *registry,
			     const struct caller *caller,
			     const struct rms_request *request,
			     struct writer *body)
{
	const struct keeper_seam *keeper = &registry->keeper;
	const bool suspends = request->op == RMS_PRGSUSPEND;
	struct program *program;
	int result = registry_owned(registry, caller, request->id, &program);

	if (result < 0)
		return result;
	program->flags &= ~RMS_PRG_SUSPEND;
	program->flags |= suspends ? RMS_PRG_SUSPEND : 0;
	result = registry_save_program(registry, program);
	if (result == 0)
		result = keeper->ops->suspend(keeper->ctx, program, suspends);
	return result;
}
