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
		else /* the old key is worth nothing any more */
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

static bool holds(const struct program *program, const struct deposit *deposit)
{
	for (size_t i = 0; i < program->holding_count; i++) {
		if (program->holdings[i].deposit == deposit->number)
			return true;
	}
	return false;
}

/*
 * A program of the number and owner of a grant could claim what is left of it,
 * or the next one's: it has its last deposit, whether it holds it or not.
 */
static bool has_last(const struct registry *registry,
		     const struct program *program,
		     const struct deposit *deposit)
{
	const struct deposit *other;

	if (deposit->grant_id != (uint64_t)program->id ||
	    deposit->uid != program->uid)
		return false;
	DL_FOREACH (registry->deposits, other) {
		if (other != deposit && other->grant_id == deposit->grant_id &&
		    other->uid == deposit->uid)
			return false;
	}
	return true;
}

static int find_holders(struct registry *registry,
			const struct deposit *deposit,
			struct members *ret_members)
{
	const struct keeper_seam *keeper = &registry->keeper;
	struct program *program;
	int result = 0;

	DL_FOREACH (registry->programs, program) {
		if (holds(program, deposit) ||
		    has_last(registry, program, deposit))
			result = keeper->ops->members(keeper->ctx, program,
						      ret_members);
		if (result < 0)
			return result;
	}
	for (size_t i = 0; i < registry->attachment_count; i++) {
		const struct attachment *attachment = &registry->attachments[i];
		struct rms_member member = { .process = attachment->process };

		if (attachment->deposit == deposit->number &&
		    !members_have(ret_members, &member.process))
			members_add(ret_members, &member);
	}
	return 0;
}

static int take_from_program(struct registry *registry, struct program *program,
			     const struct deposit *deposit)
{
	size_t kept = 0;

	for (size_t i = 0; i < program->holding_count; i++) {
		if (program->holdings[i].deposit != deposit->number)
			program->holdings[kept++] = program->holdings[i];
	}
	program->holding_count = kept;
	return registry_save_program(registry, program);
}

/* From all programs; one that could claim it, or the next lane's, goes. */
static int take_from_programs(struct registry *registry,
			      const struct deposit *deposit)
{
	struct program *program, *next;
	int result = 0;

	DL_FOREACH_SAFE (registry->programs, program, next) {
		if (result == 0 && holds(program, deposit))
			result = take_from_program(registry, program, deposit);
		if (result == 0 && has_last(registry, program, deposit))
			result = registry_drop_program(registry, program);
	}
	return result;
}

static int remove_deposit(struct registry *registry, struct deposit *deposit)
{
	const struct notes_seam *notes = &registry->notes;
	int result =
		notes->ops->remove(notes->ctx, RECORD_DEPOSIT, deposit->number);

	if (result < 0)
		return result;
	DL_DELETE(registry->deposits, deposit);
	registry->deposit_count--;
	deposit_destroy(deposit);
	return 0;
}

int registry_deposit_take(struct registry *registry,
			  const struct caller *caller,
			  const struct rms_request *request,
			  struct writer *body)
{
	struct deposit *deposit = registry_deposit(registry, request->grant);
	_auto_(members_fini) struct members members = { 0 };
	const bool is_dry_run = request->value == 1;
	int result = 0;

	if (caller->uid != 0)
		return -EACCES;
	if (request->value != 0 && request->value != 1)
		return -EINVAL;
	if (deposit == NULL)
		return -ENOENT;
	if (!is_dry_run && !deposit->is_ending) {
		deposit->is_ending = true;
		result = registry_save_deposit(registry, deposit);
	}
	if (result == 0)
		result = find_holders(registry, deposit, &members);
	if (result == 0 && members.count > 0) {
		write_u32(body, (uint32_t)members.count);
		for (size_t i = 0; i < members.count && i < PROCESSES_MAX; i++)
			write_u32(body, (uint32_t)members.items[i].process.pid);
		return -EBUSY;
	}
	if (result == 0 && !is_dry_run)
		result = take_from_programs(registry, deposit);
	if (result == 0 && !is_dry_run)
		result = remove_deposit(registry, deposit);
	return result;
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
