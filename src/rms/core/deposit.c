/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Deposits: a lane's capabilities, which root's driver leaves here for the
 * programs of one user. One that is being taken back is for nobody new, and
 * goes when the last process that has it is gone. And attachments: who is at
 * which context of which rail.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <utlist.h>

#include "rms/core/registry.h"

/* Is it in the way of what root gave to programs without a deposit. */
static bool is_roots_own(const struct registry *registry,
			 const struct elan_capability *cap)
{
	const struct program *program;

	DL_FOREACH (registry->programs, program) {
		for (size_t i = 0; i < program->holding_count; i++) {
			const struct holding *holding = &program->holdings[i];

			if (holding->deposit == 0 &&
			    capability_overlaps(&holding->cap, cap))
				return true;
		}
	}
	return false;
}

/* -ENOENT: there is none like it, and none in its way. */
static int find_like(struct registry *registry, uint64_t grant_id, uint32_t uid,
		     const struct elan_capability *cap,
		     struct deposit **ret_deposit)
{
	struct deposit *deposit;

	DL_FOREACH (registry->deposits, deposit) {
		if (!capability_overlaps(&deposit->cap, cap))
			continue;
		if (deposit->grant_id != grant_id || deposit->uid != uid ||
		    !capability_is_like(&deposit->cap, cap))
			return -EACCES;
		if (deposit->is_ending)
			return -EINVAL;
		*ret_deposit = deposit;
		return 0;
	}
	return is_roots_own(registry, cap) ? -EACCES : -ENOENT;
}

int registry_deposit_add(struct registry *registry, const struct caller *caller,
			 uint64_t grant_id, uint32_t uid,
			 const struct elan_capability *cap)
{
	struct deposit *deposit;
	struct elan_userkey before;
	int result;

	if (caller->uid != 0)
		return -EACCES;
	if (capability_check(cap) < 0)
		return -EINVAL;
	result = find_like(registry, grant_id, uid, cap, &deposit);
	if (result == 0) {
		before = deposit->cap.cap_userkey;
		deposit->cap.cap_userkey = cap->cap_userkey;
		result = registry_save_deposit(registry, deposit);
		if (result < 0)
			deposit->cap.cap_userkey = before;
		return result;
	}
	if (result != -ENOENT)
		return result;
	if (registry->deposit_count >= DEPOSITS_MAX)
		return -ENOMEM;
	deposit = calloc(1, sizeof(*deposit));
	if (deposit == NULL)
		return -ENOMEM;
	deposit->number = ++registry->deposit_last;
	deposit->grant_id = grant_id;
	deposit->uid = uid;
	deposit->cap = *cap;
	result = registry_save_deposit(registry, deposit);
	if (result < 0) {
		free(deposit);
		return result;
	}
	DL_APPEND(registry->deposits, deposit);
	registry->deposit_count++;
	return 0;
}

/* Which deposits are meant: one, or all of a grant. */
struct scope {
	uint64_t number; /* 0: all */
	uint64_t grant_id;
};

static bool is_meant(const struct deposit *deposit, const struct scope *scope)
{
	return scope->number != 0 ? deposit->number == scope->number
				  : deposit->grant_id == scope->grant_id;
}

static int end_deposits(struct registry *registry, const struct scope *scope,
			bool is_dry_run)
{
	struct deposit *deposit;
	int found = -ENOENT;
	int result;

	DL_FOREACH (registry->deposits, deposit) {
		if (!is_meant(deposit, scope))
			continue;
		found = 0;
		if (deposit->is_ending || is_dry_run)
			continue;
		deposit->is_ending = true;
		result = registry_save_deposit(registry, deposit);
		if (result < 0)
			return result;
	}
	return found;
}

static bool is_in_scope(struct registry *registry, uint64_t number,
			const struct scope *scope)
{
	const struct deposit *deposit = registry_deposit(registry, number);

	return number != 0 && deposit != NULL && is_meant(deposit, scope);
}

static bool holds(struct registry *registry, const struct program *program,
		  const struct scope *scope)
{
	for (size_t i = 0; i < program->holding_count; i++) {
		if (is_in_scope(registry, program->holdings[i].deposit, scope))
			return true;
	}
	return false;
}

/* A process may be in it twice, as a member and as attached. */
static int find_holders(struct registry *registry, const struct scope *scope,
			struct members *ret_members)
{
	const struct keeper_seam *keeper = &registry->keeper;
	struct program *program;
	int result = 0;

	DL_FOREACH (registry->programs, program) {
		if (holds(registry, program, scope))
			result = keeper->ops->members(keeper->ctx, program,
						      ret_members);
		if (result < 0)
			return result;
	}
	for (size_t i = 0; result == 0 && i < registry->attachment_count; i++) {
		const struct attachment *attachment = &registry->attachments[i];
		struct member member = { .process = attachment->process };
		bool is_in = false;

		if (!is_in_scope(registry, attachment->deposit, scope))
			continue;
		for (size_t j = 0; j < ret_members->count && !is_in; j++)
			is_in = process_is(&ret_members->items[j].process,
					   &member.process);
		if (!is_in)
			result = members_add(ret_members, &member);
	}
	return result;
}

static int take_from_programs(struct registry *registry,
			      const struct scope *scope)
{
	struct program *program;
	int result = 0;

	DL_FOREACH (registry->programs, program) {
		size_t kept = 0;

		if (!holds(registry, program, scope))
			continue;
		for (size_t i = 0; i < program->holding_count; i++) {
			struct holding *holding = &program->holdings[i];

			if (!is_in_scope(registry, holding->deposit, scope))
				program->holdings[kept++] = *holding;
		}
		program->holding_count = kept;
		result = registry_save_program(registry, program);
		if (result < 0)
			break;
	}
	return result;
}

static int remove_deposits(struct registry *registry, const struct scope *scope)
{
	const struct notes_seam *notes = &registry->notes;
	struct deposit *deposit, *next;
	int result = 0;

	DL_FOREACH_SAFE (registry->deposits, deposit, next) {
		if (!is_meant(deposit, scope))
			continue;
		result = notes->ops->remove(notes->ctx, RECORD_DEPOSIT,
					    deposit->number);
		if (result < 0)
			break;
		DL_DELETE(registry->deposits, deposit);
		registry->deposit_count--;
		free(deposit);
	}
	return result;
}

static int take(struct registry *registry, const struct scope *scope,
		bool is_dry_run, struct writer *writer)
{
	_auto_(members_fini) struct members members = { 0 };
	int result = end_deposits(registry, scope, is_dry_run);

	if (result == 0)
		result = find_holders(registry, scope, &members);
	if (result == 0 && members.count > 0) {
		write_u32(writer, (uint32_t)members.count);
		for (size_t i = 0; i < members.count && i < PROCESSES_MAX; i++)
			write_u32(writer,
				  (uint32_t)members.items[i].process.pid);
		return -EBUSY;
	}
	if (is_dry_run)
		return result;
	if (result == 0)
		result = take_from_programs(registry, scope);
	if (result == 0)
		result = remove_deposits(registry, scope);
	return result;
}

int registry_deposit_take_back(struct registry *registry,
			       const struct caller *caller, uint64_t grant_id,
			       struct writer *writer)
{
	const struct scope scope = { .grant_id = grant_id };

	if (caller->uid != 0)
		return -EACCES;
	return take(registry, &scope, false, writer);
}

int registry_deposit_take(struct registry *registry,
			  const struct caller *caller, uint64_t number,
			  bool is_dry_run, struct writer *writer)
{
	const struct scope scope = { .number = number };

	if (caller->uid != 0)
		return -EACCES;
	if (number == 0)
		return -ENOENT;
	return take(registry, &scope, is_dry_run, writer);
}

int registry_deposit_is(struct registry *registry, uint64_t grant_id,
			uint32_t uid)
{
	const struct deposit *deposit;

	DL_FOREACH (registry->deposits, deposit) {
		if (deposit->grant_id == grant_id && deposit->uid == uid &&
		    !deposit->is_ending)
			return 0;
	}
	return -ENOENT;
}

int registry_deposit_next(struct registry *registry,
			  const struct caller *caller, uint64_t number,
			  struct deposit *ret_deposit, uint32_t *ret_attached)
{
	const struct deposit *deposit, *found = NULL;
	uint32_t attached = 0;

	if (caller->uid != 0)
		return -EACCES;
	DL_FOREACH (registry->deposits, deposit) {
		if (deposit->number > number &&
		    (found == NULL || deposit->number < found->number))
			found = deposit;
	}
	if (found == NULL)
		return -ENOENT;
	for (size_t i = 0; i < registry->attachment_count; i++)
		attached += registry->attachments[i].deposit == found->number;
	*ret_deposit = *found;
	*ret_attached = attached;
	return 0;
}

/* --- attachments --- */

static int find_held(struct registry *registry, const struct program *program,
		     const struct elan_capability *cap, uint64_t *ret_deposit)
{
	for (size_t i = 0; i < program->holding_count; i++) {
		const struct holding *holding = &program->holdings[i];
		const struct deposit *deposit =
			registry_deposit(registry, holding->deposit);

		if (!capability_is_like(&holding->cap, cap) ||
		    !capability_has_key_of(&holding->cap, cap))
			continue;
		if (holding->deposit != 0 &&
		    (deposit == NULL || deposit->is_ending ||
		     !capability_has_key_of(&deposit->cap, cap)))
			continue;
		*ret_deposit = holding->deposit;
		return 0;
	}
	return -EINVAL;
}

static int check_place(const struct elan_capability *cap, int32_t rail)
{
	struct elan_capability plain = *cap;

	plain.cap_mycontext = ELAN_CAP_UNINITIALISED;
	if (capability_check(&plain) < 0 ||
	    cap->cap_mycontext < cap->cap_lowcontext ||
	    cap->cap_mycontext > cap->cap_highcontext || rail < 0 ||
	    rail >= ELAN_MAX_RAILS || !(cap->cap_railmask >> rail & 1))
		return -EINVAL;
	return 0;
}

static int add_attachment(struct registry *registry,
			  const struct attachment *attachment)
{
	const struct keeper_seam *keeper = &registry->keeper;
	struct attachment *attachments;
	int result;

	if (registry->attachment_count >= ATTACHMENTS_MAX)
		return -ENOMEM;
	attachments = reallocarray(registry->attachments,
				   registry->attachment_count + 1,
				   sizeof(*attachments));
	if (attachments == NULL)
		return -ENOMEM;
	registry->attachments = attachments;
	result = keeper->ops->watch(keeper->ctx, &attachment->process);
	if (result < 0)
		return result;
	attachments[registry->attachment_count++] = *attachment;
	result = registry_save_node(registry);
	if (result < 0)
		registry->attachment_count--;
	return result;
}

int registry_attach(struct registry *registry, const struct caller *caller,
		    int32_t rail, const struct elan_capability *cap)
{
	const struct keeper_seam *keeper = &registry->keeper;
	struct attachment attachment = {
		.process = caller->process,
		.context = cap->cap_mycontext,
		.rail = rail,
	};
	struct program *program;
	uint32_t setting;
	int result = check_place(cap, rail);

	if (result == 0)
		result =
			keeper->ops->find(keeper->ctx, registry->programs,
					  &caller->process, &program, &setting);
	if (result == 0)
		result = find_held(registry, program, cap, &attachment.deposit);
	if (result < 0)
		return result;
	if (!(registry->rails_up >> rail & 1))
		return -ENETDOWN;
	for (size_t i = 0; i < registry->attachment_count; i++) {
		if (registry->attachments[i].rail == rail &&
		    registry->attachments[i].context == attachment.context)
			return -EBUSY;
	}
	return add_attachment(registry, &attachment);
}

int registry_detach(struct registry *registry, const struct caller *caller,
		    int32_t rail, const struct elan_capability *cap)
{
	size_t kept = 0;

	for (size_t i = 0; i < registry->attachment_count; i++) {
		const struct attachment *one = &registry->attachments[i];

		if (one->rail != rail || one->context != cap->cap_mycontext ||
		    !process_is(&one->process, &caller->process))
			registry->attachments[kept++] = *one;
	}
	if (kept == registry->attachment_count)
		return 0;
	registry->attachment_count = kept;
	return registry_save_node(registry);
}

int registry_rail_set(struct registry *registry, const struct caller *caller,
		      int32_t rail, bool is_up)
{
	uint32_t before = registry->rails_up;
	int result;

	if (caller->uid != 0)
		return -EACCES;
	if (rail < 0 || rail >= ELAN_MAX_RAILS)
		return -EINVAL;
	registry->rails_up &= ~(UINT32_C(1) << rail);
	registry->rails_up |= (uint32_t)is_up << rail;
	result = registry_save_node(registry);
	if (result < 0)
		registry->rails_up = before;
	return result;
}

int registry_rails_set(struct registry *registry, uint32_t rails)
{
	uint32_t before = registry->rails_up;
	int result = 0;

	registry->rails_up = rails & ((UINT32_C(1) << ELAN_MAX_RAILS) - 1);
	if (registry->rails_up != before)
		result = registry_save_node(registry);
	if (result < 0)
		registry->rails_up = before;
	return result;
}

void registry_rails(const struct registry *registry, struct writer *writer)
{
	uint32_t contexts[ELAN_MAX_RAILS] = { 0 };
	const struct deposit *deposit;

	DL_FOREACH (registry->deposits, deposit) {
		for (int i = 0; i < ELAN_MAX_RAILS; i++) {
			if (deposit->cap.cap_railmask >> i & 1)
				contexts[i] +=
					capability_context_count(&deposit->cap);
		}
	}
	write_u32(writer, registry->rails_up);
	write_u8(writer, ELAN_MAX_RAILS);
	for (int i = 0; i < ELAN_MAX_RAILS; i++)
		write_u32(writer, contexts[i]);
}
