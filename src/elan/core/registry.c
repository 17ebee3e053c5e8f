/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The registry as a whole: what is loaded, saved, and put right after a crash.
 * A program is written down before it is made and marked as made after it, so
 * that a start finds those whose making was not finished.
 */
#include "elan/core/registry.h"

#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <utlist.h>

#include "base/memory.h"

void members_add(struct members *members, const struct rms_member *member)
{
	if (members->count == members->capacity) {
		members->capacity =
			members->capacity > 0 ? 2 * members->capacity : 64;
		members->items =
			memory_resize(members->items, members->capacity,
				      sizeof(*members->items));
	}
	members->items[members->count++] = *member;
}

const struct rms_member *members_have(const struct members *members,
				      const struct rms_process *process)
{
	for (size_t i = 0; i < members->count; i++) {
		if (process_is(&members->items[i].process, process))
			return &members->items[i];
	}
	return NULL;
}

void members_fini(struct members *members)
{
	free(members->items);
	*members = (struct members){ 0 };
}

void program_destroy(struct program *program)
{
	if (program == NULL)
		return;
	free(program->holdings);
	free(program->settings);
	free(program->initialised);
	free(program->known);
	free(program);
}

struct registry *registry_create(const struct keeper_seam *keeper,
				 const struct notes_seam *notes,
				 const struct clock_seam *clock)
{
	struct registry *registry = memory_alloc(sizeof(*registry));

	registry->keeper = *keeper;
	registry->notes = *notes;
	registry->clock = *clock;
	return registry;
}

void registry_destroy(struct registry *registry)
{
	struct program *program, *next_program;
	struct deposit *deposit, *next_deposit;

	if (registry == NULL)
		return;
	DL_FOREACH_SAFE (registry->programs, program, next_program) {
		DL_DELETE(registry->programs, program);
		program_destroy(program);
	}
	DL_FOREACH_SAFE (registry->deposits, deposit, next_deposit) {
		DL_DELETE(registry->deposits, deposit);
		deposit_destroy(deposit);
	}
	free(registry->attachments);
	free(registry);
}

void deposit_destroy(struct deposit *deposit)
{
	if (deposit == NULL)
		return;
	free(deposit->routes);
	free(deposit);
}

struct program *registry_program(struct registry *registry, int32_t id)
{
	struct program *program;

	DL_FOREACH (registry->programs, program) {
		if (program->id == id)
			return program;
	}
	return NULL;
}

int registry_mine(struct registry *registry, const struct caller *caller,
		  struct program **ret_program, uint32_t *ret_setting)
{
	const struct keeper_seam *keeper = &registry->keeper;

	return keeper->ops->find(keeper->ctx, registry->programs,
				 &caller->process, ret_program, ret_setting);
}

int registry_owned(struct registry *registry, const struct caller *caller,
		   int32_t id, struct program **ret_program)
{
	struct program *program = registry_program(registry, id);

	if (program == NULL)
		return -ESRCH;
	if (caller->uid != 0 && caller->uid != program->uid)
		return -EACCES;
	*ret_program = program;
	return 0;
}

int registry_version(struct registry *registry, const struct caller *caller,
		     const struct rms_request *request, struct writer *body)
{
	write_u32(body, RMS_MODVERSION);
	write_u8(body, registry->keeper.is_sure);
	return 0;
}

struct deposit *registry_deposit(struct registry *registry, uint64_t number)
{
	struct deposit *deposit;

	DL_FOREACH (registry->deposits, deposit) {
		if (deposit->number == number)
			return deposit;
	}
	return NULL;
}

void registry_insert(struct registry *registry, struct program *program)
{
	struct program *next;

	DL_FOREACH (registry->programs, next) {
		if (next->id > program->id)
			break;
	}
	if (next != NULL)
		DL_PREPEND_ELEM(registry->programs, next, program);
	else
		DL_APPEND(registry->programs, program);
	registry->program_count++;
}

static int save(struct registry *registry, enum rms_record kind,
		uint64_t number, struct writer *writer)
{
	const struct notes_seam *notes = &registry->notes;
	int result;

	memory_check(writer->result);
	result = notes->ops->save(notes->ctx, kind, number, writer->data,
				  writer->size);
	writer_fini(writer);
	return result;
}

int registry_save_program(struct registry *registry, struct program *program)
{
	struct writer writer = { 0 };
	int result;

	record_encode_program(program, &writer);
	result = save(registry, RECORD_PROGRAM, (uint64_t)program->id, &writer);
	if (result == 0)
		program->is_changed = false;
	return result;
}

int registry_save_deposit(struct registry *registry,
			  const struct deposit *deposit)
{
	struct writer writer = { 0 };

	record_encode_deposit(deposit, &writer);
	return save(registry, RECORD_DEPOSIT, deposit->number, &writer);
}

int registry_save_node(struct registry *registry)
{
	struct writer writer = { 0 };

	record_encode_node(registry, &writer);
	return save(registry, RECORD_NODE, 0, &writer);
}

static int load_deposit(struct registry *registry, const void *bytes,
			size_t size)
{
	_auto_(deposit_destroyp) struct deposit *deposit =
		memory_alloc(sizeof(*deposit));
	int result = record_decode_deposit(bytes, size, deposit);

	if (result < 0)
		return result;
	if (registry_deposit(registry, deposit->number) != NULL)
		return -EEXIST;
	if (deposit->number > registry->deposit_last)
		registry->deposit_last = deposit->number;
	registry->deposit_count++;
	DL_APPEND(registry->deposits, deposit);
	take_ptr(deposit);
	return 0;
}

static int load_program(struct registry *registry, const void *bytes,
			size_t size)
{
	struct program *program = NULL;
	int result = record_decode_program(bytes, size, &program);

	if (result < 0)
		return result;
	if (registry_program(registry, program->id) != NULL) {
		program_destroy(program);
		return -EEXIST;
	}
	registry_insert(registry, program);
	return 0;
}

int registry_load(struct registry *registry, enum rms_record kind,
		  const void *bytes, size_t size)
{
	switch (kind) {
	case RECORD_NODE:
		if (registry->attachments != NULL)
			return -EEXIST;
		return record_decode_node(bytes, size, registry);
	case RECORD_PROGRAM:
		return load_program(registry, bytes, size);
	case RECORD_DEPOSIT:
		return load_deposit(registry, bytes, size);
	case RECORD_KIND_COUNT:
		break;
	}
	return -EPROTO;
}

static bool is_in(const struct attachment *attachment, const void *id)
{
	return attachment->program == *(const int32_t *)id;
}

void registry_forget_program(struct registry *registry, struct program *program)
{
	DL_DELETE(registry->programs, program);
	registry->program_count--;
	registry_detach_all(registry, is_in, &program->id);
	program_destroy(program);
}

int registry_drop_program(struct registry *registry, struct program *program)
{
	const struct keeper_seam *keeper = &registry->keeper;
	const struct notes_seam *notes = &registry->notes;
	int result = keeper->ops->remove(keeper->ctx, program);

	if (result == 0)
		result = notes->ops->remove(notes->ctx, RECORD_PROGRAM,
					    (uint64_t)program->id);
	if (result == 0)
		registry_forget_program(registry, program);
	return result;
}

static int reconcile_program(struct registry *registry, struct program *program)
{
	const struct keeper_seam *keeper = &registry->keeper;
	int result = keeper->ops->look(keeper->ctx, program);

	if (!program->is_made && result != 1)
		return registry_drop_program(registry, program);
	program->is_made = true;
	if (result == -ENOENT)
		program->flags |= RMS_PRG_ERROR;
	else if (result < 0)
		return result;
	if (result != 1 && program->ended_ms == 0)
		program->ended_ms = clock_monotonic_ms(&registry->clock);
	if (result == 1)
		keeper->ops->suspend(keeper->ctx, program,
				     program->flags & RMS_PRG_SUSPEND);
	if (result == 1 && program->flags & RMS_PRG_KILLED)
		keeper->ops->signal(keeper->ctx, program, SIGKILL);
	return registry_save_program(registry, program);
}

static int reconcile_attachments(struct registry *registry)
{
	const struct keeper_seam *keeper = &registry->keeper;
	size_t kept = 0;

	for (size_t i = 0; i < registry->attachment_count; i++) {
		struct attachment *attachment = &registry->attachments[i];

		if (keeper->ops->watch(keeper->ctx, &attachment->process) == 0)
			registry->attachments[kept++] = *attachment;
	}
	if (kept == registry->attachment_count)
		return 0;
	registry->attachment_count = kept;
	return registry_save_node(registry);
}

int registry_reconcile(struct registry *registry)
{
	struct program *program, *next;
	int result;

	DL_FOREACH_SAFE (registry->programs, program, next) {
		result = reconcile_program(registry, program);
		if (result < 0)
			return result;
	}
	return reconcile_attachments(registry);
}

static void look_at(struct registry *registry, struct program *program)
{
	const struct keeper_seam *keeper = &registry->keeper;
	int result = keeper->ops->look(keeper->ctx, program);

	if (result == 1 && program->flags & RMS_PRG_KILLED)
		keeper->ops->signal(keeper->ctx, program, SIGKILL);
	if (result == -ENOENT)
		program->flags |= RMS_PRG_ERROR;
	if (result == 1 || program->ended_ms != 0)
		return;
	if (result == 0 || result == -ENOENT) {
		program->ended_ms = clock_monotonic_ms(&registry->clock);
		program->is_changed = true;
	}
}

void registry_look(struct registry *registry)
{
	struct program *program;

	DL_FOREACH (registry->programs, program) {
		look_at(registry, program);
		/* What cannot be saved now is with the next look. */
		if (program->is_changed)
			registry_save_program(registry, program);
	}
}

bool registry_wants_looks(const struct registry *registry)
{
	const struct program *program;

	DL_FOREACH (registry->programs, program) {
		if (program->known_count > 0)
			return true;
	}
	return false;
}

int registry_detach_all(struct registry *registry,
			bool (*is_meant)(const struct attachment *attachment,
					 const void *arg),
			const void *arg)
{
	size_t count = registry->attachment_count;
	size_t kept = 0;

	for (size_t i = 0; i < count; i++) {
		const struct attachment one = registry->attachments[i];

		if (!is_meant(&one, arg))
			registry->attachments[kept++] = one;
		else if (registry->detached != NULL)
			registry->detached(registry->detached_ctx, &one);
	}
	registry->attachment_count = kept;
	return kept == count ? 0 : registry_save_node(registry);
}

static bool is_by(const struct attachment *attachment, const void *process)
{
	return process_is(&attachment->process, process);
}

void registry_process_ended(struct registry *registry,
			    const struct rms_process *process)
{
	/* Where it cannot be saved, the next start finds out by itself. */
	registry_detach_all(registry, is_by, process);
}
