/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Deposits: a lane's capabilities, which root's driver leaves here for the
 * programs of one user. One that is being taken back is for nobody new, and
 * goes when the last process that has it is gone: with it the program of the
 * grant's number and owner, by which it could have been claimed.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <utlist.h>

#include "base/memory.h"
#include "elan/core/registry.h"

/* Is it in the way of what root gave to programs without a deposit. */
static bool is_roots_own(const struct registry *registry,
			 const struct elan_capability *cap)
{
	const struct program *program;

	DL_FOREACH (registry->programs, program) {
		for (size_t i = 0; i < program->holding_count; i++) {
			const struct rms_holding *holding =
				&program->holdings[i];

			if (holding->deposit == 0 &&
			    capability_overlaps(&holding->cap, cap))
				return true;
		}
	}
	return false;
}

/* -ENOENT: there is none like it, and none in its way. */
static int find_like(struct registry *registry, const struct rms_request *asked,
		     struct deposit **ret_deposit)
{
	struct deposit *deposit;

	DL_FOREACH (registry->deposits, deposit) {
		if (!capability_overlaps(&deposit->cap, &asked->cap))
			continue;
		if (deposit->grant_id != asked->grant ||
		    deposit->uid != asked->uid ||
		    !capability_is_like(&deposit->cap, &asked->cap))
			return -EACCES;
		if (deposit->is_ending)
			return -EINVAL;
		*ret_deposit = deposit;
		return 0;
	}
	return is_roots_own(registry, &asked->cap) ? -EACCES : -ENOENT;
}

static bool is_by_deposit(const struct attachment *attachment,
			  const void *number)
{
	return attachment->deposit == *(const uint64_t *)number;
}

int registry_deposit_add(struct registry *registry, const struct caller *caller,
			 const struct rms_request *request, struct writer *body)
{
	const struct elan_capability *cap = &request->cap;
	struct deposit *deposit;
	struct elan_userkey before;
	int result;

	if (caller->uid != 0)
		return -EACCES;
	if (capability_check(cap) < 0)
		return -EINVAL;
	result = find_like(registry, request, &deposit);
	if (result == 0) {
		if (capability_has_key_of(&deposit->cap, cap))
			return registry_save_deposit(registry, deposit);
		before = deposit->cap.cap_userkey;
		deposit->cap.cap_userkey = cap->cap_userkey;
		result = registry_save_deposit(registry, deposit);
		if (result < 0)
			deposit->cap.cap_userkey = before;
		else /* who has the old key has nothing any more */
			registry_detach_all(registry, is_by_deposit,
					    &deposit->number);
		return result;
	}
	if (result != -ENOENT)
		return result;
	if (registry->deposit_count >= DEPOSITS_MAX)
		return -ENOMEM;
	deposit = memory_alloc(sizeof(*deposit));
	deposit->number = ++registry->deposit_last;
	deposit->grant_id = request->grant;
	deposit->uid = request->uid;
	deposit->cap = *cap;
	deposit->node = -1;
	result = registry_save_deposit(registry, deposit);
	if (result < 0) {
		deposit_destroy(deposit);
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

/*
 * A program of the number and owner of a grant could claim what is left of it,
 * or the next one's: it has its last deposits, whether it holds them or not.
 */
static bool has_last(const struct registry *registry,
		     const struct program *program, const struct scope *scope)
{
	const struct deposit *deposit;
	bool is_found = false;

	DL_FOREACH (registry->deposits, deposit) {
		if (deposit->grant_id != (uint64_t)program->id ||
		    deposit->uid != program->uid)
			continue;
		if (!is_meant(deposit, scope))
			return false;
		is_found = true;
	}
	return is_found;
}

/* A process may be in it twice, as a member and as attached. */
static int find_holders(struct registry *registry, const struct scope *scope,
			struct members *ret_members)
{
	const struct keeper_seam *keeper = &registry->keeper;
	struct program *program;
	int result = 0;

	DL_FOREACH (registry->programs, program) {
		if (holds(registry, program, scope) ||
		    has_last(registry, program, scope))
			result = keeper->ops->members(keeper->ctx, program,
						      ret_members);
		if (result < 0)
			return result;
	}
	for (size_t i = 0; i < registry->attachment_count; i++) {
		const struct attachment *attachment = &registry->attachments[i];
		struct rms_member member = { .process = attachment->process };

		if (is_in_scope(registry, attachment->deposit, scope) &&
		    !members_have(ret_members, &member.process))
			members_add(ret_members, &member);
	}
	return 0;
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
			struct rms_holding *holding = &program->holdings[i];

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

/* A number that is another lane's later is no program's of this one. */
static int drop_programs(struct registry *registry, const struct scope *scope)
{
	struct program *program, *next;
	int result = 0;

	DL_FOREACH_SAFE (registry->programs, program, next) {
		if (result == 0 && has_last(registry, program, scope))
			result = registry_drop_program(registry, program);
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
		deposit_destroy(deposit);
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
		result = drop_programs(registry, scope);
	if (result == 0)
		result = remove_deposits(registry, scope);
	return result;
}

int registry_deposit_take_back(struct registry *registry,
			       const struct caller *caller,
			       const struct rms_request *request,
			       struct writer *body)
{
	const struct scope scope = { .grant_id = request->grant };

	if (caller->uid != 0)
		return -EACCES;
	return take(registry, &scope, false, body);
}

int registry_deposit_take(struct registry *registry,
			  const struct caller *caller,
			  const struct rms_request *request,
			  struct writer *body)
{
	const struct scope scope = { .number = request->grant };

	if (caller->uid != 0)
		return -EACCES;
	if (request->value != 0 && request->value != 1)
		return -EINVAL;
	if (request->grant == 0)
		return -ENOENT;
	return take(registry, &scope, request->value == 1, body);
}

int registry_deposit_is(struct registry *registry, const struct caller *caller,
			const struct rms_request *request, struct writer *body)
{
	const struct deposit *deposit;

	DL_FOREACH (registry->deposits, deposit) {
		if (deposit->grant_id == request->grant &&
		    deposit->uid == request->uid && !deposit->is_ending)
			return 0;
	}
	return -ENOENT;
}

int registry_deposit_next(struct registry *registry,
			  const struct caller *caller,
			  const struct rms_request *request,
			  struct writer *body)
{
	const struct deposit *deposit, *found = NULL;
	struct elan_capability cap;
	uint32_t attached = 0;

	if (caller->uid != 0)
		return -EACCES;
	DL_FOREACH (registry->deposits, deposit) {
		if (deposit->number > request->grant &&
		    (found == NULL || deposit->number < found->number))
			found = deposit;
	}
	if (found == NULL)
		return -ENOENT;
	for (size_t i = 0; i < registry->attachment_count; i++)
		attached += registry->attachments[i].deposit == found->number;
	/* A list may be printed: no key. */
	cap = found->cap;
	cap.cap_userkey = (struct elan_userkey){ 0 };
	write_u64(body, found->number);
	write_u64(body, found->grant_id);
	write_u32(body, found->uid);
	write_u8(body, found->is_ending);
	write_u32(body, attached);
	capability_write(&cap, body);
	return 0;
}

static int route_one(struct registry *registry, struct deposit *deposit,
		     const struct rms_request *request)
{
	struct deposit before = *deposit;
	int result = memory_check(
		routes_decode(request->routes, request->routes_size,
			      &deposit->routes, &deposit->route_count));

	if (result < 0)
		return result;
	deposit->node = request->value;
	result = registry_save_deposit(registry, deposit);
	if (result < 0) {
		free(deposit->routes);
		*deposit = before;
		return result;
	}
	free(before.routes);
	return 0;
}

int registry_route(struct registry *registry, const struct caller *caller,
		   const struct rms_request *request, struct writer *body)
{
	struct deposit *deposit;
	int result = -ENOENT;

	if (caller->uid != 0)
		return -EACCES;
	DL_FOREACH (registry->deposits, deposit) {
		if (deposit->grant_id != request->grant)
			continue;
		if (request->value < deposit->cap.cap_lownode ||
		    request->value > deposit->cap.cap_highnode)
			return -EINVAL;
		result = route_one(registry, deposit, request);
		if (result < 0)
			break;
	}
	return result;
}
