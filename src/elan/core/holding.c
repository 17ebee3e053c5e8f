/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Capabilities of programs, and what members have set of them. What a process
 * has set is a *setting*: a new number with each change, in which the keeper
 * puts the process, so that what it forks has the same without anybody asking
 * who its parent was.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <utlist.h>

#include "base/memory.h"
#include "elan/core/registry.h"

#define SETTINGS_COLLECT_MIN 64

static const struct rms_holding *program_holding(const struct program *program,
						 int32_t index)
{
	for (size_t i = 0; i < program->holding_count; i++) {
		if (program->holdings[i].index == index)
			return &program->holdings[i];
	}
	return NULL;
}

static const struct rms_setting *program_setting(const struct program *program,
						 uint32_t number)
{
	for (size_t i = 0; i < program->setting_count; i++) {
		if (program->settings[i].number == number)
			return &program->settings[i];
	}
	return NULL;
}

/*
 * May the program have it, and by which deposit. What nobody deposited is
 * root's to give, as long as it is nothing of a deposit.
 */
static int find_deposit(const struct registry *registry,
			const struct caller *caller,
			const struct program *program,
			const struct elan_capability *cap, uint64_t *ret_number)
{
	const struct deposit *deposit;

	DL_FOREACH (registry->deposits, deposit) {
		if (!capability_overlaps(&deposit->cap, cap))
			continue;
		if (deposit->uid != program->uid || deposit->is_ending ||
		    !capability_is_like(&deposit->cap, cap) ||
		    !capability_has_key_of(&deposit->cap, cap))
			return -EACCES;
		*ret_number = deposit->number;
		return 0;
	}
	if (caller->uid != 0)
		return -EACCES;
	*ret_number = 0;
	return 0;
}

/* The newest is first. */
static int add_holding(struct registry *registry, struct program *program,
		       const struct rms_holding *holding)
{
	struct rms_holding *holdings;
	int result;

	if (program->holding_count >= RMS_CAPS_MAX)
		return -ENOMEM;
	holdings = memory_resize(program->holdings, program->holding_count + 1,
				 sizeof(*holdings));
	program->holdings = holdings;
	memmove(holdings + 1, holdings,
		program->holding_count * sizeof(*holdings));
	holdings[0] = *holding;
	program->holding_count++;
	result = registry_save_program(registry, program);
	if (result < 0) {
		program->holding_count--;
		memmove(holdings, holdings + 1,
			program->holding_count * sizeof(*holdings));
	}
	return result;
}

int registry_cap_add(struct registry *registry, const struct caller *caller,
		     const struct rms_request *request, struct writer *body)
{
	struct rms_holding holding = { .index = request->index,
				       .cap = request->cap };
	struct program *program;
	int result;

	holding.cap.cap_mycontext = ELAN_CAP_UNINITIALISED;
	if (holding.index < 0 || capability_check(&holding.cap) < 0)
		return -EINVAL;
	result = registry_owned(registry, caller, request->id, &program);
	if (result == 0)
		result = find_deposit(registry, caller, program, &holding.cap,
				      &holding.deposit);
	return result < 0 ? result : add_holding(registry, program, &holding);
}

static bool has_deposit(const struct program *program, uint64_t number)
{
	for (size_t i = 0; i < program->holding_count; i++) {
		if (program->holdings[i].deposit == number)
			return true;
	}
	return false;
}

int registry_cap_claim(struct registry *registry, const struct caller *caller,
		       const struct rms_request *request, struct writer *body)
{
	struct program *program;
	const struct deposit *deposit;
	struct rms_holding holding = { .index = 0 };
	int result = registry_owned(registry, caller, request->id, &program);

	if (result < 0)
		return result;
	DL_FOREACH (registry->deposits, deposit) {
		if (deposit->grant_id != (uint64_t)program->id ||
		    deposit->uid != program->uid)
			continue;
		if (deposit->is_ending)
			return -EACCES;
		holding.deposit = deposit->number;
		holding.cap = deposit->cap;
		if (!has_deposit(program, deposit->number))
			result = add_holding(registry, program, &holding);
		if (result < 0)
			return result;
		holding.index++;
	}
	return holding.index > 0 ? 0 : -EINVAL;
}

/* Forget the settings that no member has any more. */
static void collect_settings(struct registry *registry, struct program *program)
{
	const struct keeper_seam *keeper = &registry->keeper;
	_auto_(members_fini) struct members members = { 0 };
	size_t kept = 0;

	if (keeper->ops->members(keeper->ctx, program, &members) < 0)
		return;
	for (size_t i = 0; i < program->setting_count; i++) {
		bool is_used = false;

		for (size_t j = 0; j < members.count && !is_used; j++)
			is_used = members.items[j].setting ==
				  program->settings[i].number;
		if (is_used)
			program->settings[kept++] = program->settings[i];
	}
	program->setting_count = kept;
}

static void set_context(const struct program *program,
			struct rms_setting *setting, int32_t index,
			int32_t context)
{
	uint32_t i = 0;

	while (i < setting->count && setting->contexts[i].index != index)
		i++;
	/* There are as many as capabilities: one is of none any more. */
	if (i == RMS_CAPS_MAX) {
		i = 0;
		while (i < RMS_CAPS_MAX - 1 &&
		       program_holding(program, setting->contexts[i].index) !=
			       NULL)
			i++;
	}
	if (i == setting->count)
		setting->count++;
	setting->contexts[i].index = index;
	setting->contexts[i].context = context;
	setting->index = index;
}

static int add_setting(struct registry *registry, struct program *program,
		       const struct rms_setting *setting)
{
	size_t count = program->setting_count;

	if (count >= SETTINGS_COLLECT_MIN && (count & (count - 1)) == 0)
		collect_settings(registry, program);
	if (program->setting_count >= SETTINGS_MAX)
		return -ENOMEM;
	program->settings =
		memory_resize(program->settings, program->setting_count + 1,
			      sizeof(*program->settings));
	program->settings[program->setting_count++] = *setting;
	return 0;
}

int registry_cap_set(struct registry *registry, const struct caller *caller,
		     const struct rms_request *request, struct writer *body)
{
	const struct keeper_seam *keeper = &registry->keeper;
	const struct rms_holding *holding;
	struct program *program;
	struct rms_setting setting = { 0 };
	uint32_t number;
	int result;

	result = registry_mine(registry, caller, &program, &number);
	if (result < 0)
		return result;
	holding = program_holding(program, request->index);
	if (holding == NULL || request->value < 0 ||
	    (uint32_t)request->value >= capability_context_count(&holding->cap))
		return -EINVAL;
	if (program_setting(program, number) != NULL)
		setting = *program_setting(program, number);
	set_context(program, &setting, request->index, request->value);
	setting.number = ++program->setting_last;
	result = add_setting(registry, program, &setting);
	if (result < 0)
		return result;
	result = registry_save_program(registry, program);
	if (result == 0)
		result = keeper->ops->enter(keeper->ctx, program,
					    &caller->process, setting.number);
	if (result < 0)
		program->setting_count--;
	else if (program->is_changed)
		result = registry_save_program(registry, program);
	return result;
}

int registry_cap_count(struct registry *registry, const struct caller *caller,
		       const struct rms_request *request, struct writer *body)
{
	struct program *program;
	uint32_t number;
	int result = registry_mine(registry, caller, &program, &number);

	if (result == 0)
		write_u32(body, (uint32_t)program->holding_count);
	return result;
}

int registry_cap_mine(struct registry *registry, const struct caller *caller,
		      const struct rms_request *request, struct writer *body)
{
	struct program *program;
	const struct rms_setting *setting;
	uint32_t number;
	int result = registry_mine(registry, caller, &program, &number);

	if (result < 0)
		return result;
	setting = program_setting(program, number);
	write_u32(body, setting != NULL ? (uint32_t)setting->index : 0);
	return 0;
}

int registry_cap_get(struct registry *registry, const struct caller *caller,
		     const struct rms_request *request, struct writer *body)
{
	const struct rms_holding *holding;
	struct elan_capability cap;
	struct program *program;
	const struct rms_setting *setting;
	uint32_t number;
	int result = registry_mine(registry, caller, &program, &number);

	if (result < 0)
		return result;
	holding = program_holding(program, request->index);
	if (holding == NULL)
		return -EINVAL;
	cap = holding->cap;
	setting = program_setting(program, number);
	for (uint32_t i = 0; setting != NULL && i < setting->count; i++) {
		int32_t context = setting->contexts[i].context;

		if (setting->contexts[i].index == request->index &&
		    (uint32_t)context < capability_context_count(&cap))
			cap.cap_mycontext = cap.cap_lowcontext + context;
	}
	capability_write(&cap, body);
	return 0;
}

int registry_cap_preferred(struct registry *registry,
			   const struct caller *caller,
			   const struct rms_request *request,
			   struct writer *body)
{
	struct program *program;
	uint32_t best = 0;
	uint32_t number;
	int32_t index = -1;
	int result = registry_mine(registry, caller, &program, &number);

	if (result < 0)
		return result;
	if (request->value < 1)
		return -EINVAL;
	for (size_t i = 0; i < program->holding_count; i++) {
		const struct rms_holding *holding = &program->holdings[i];
		uint32_t count = capability_process_count(&holding->cap);

		if (program_holding(program, holding->index) != holding ||
		    count < (uint32_t)request->value)
			continue;
		if (index < 0 || count < best ||
		    (count == best && holding->index < index)) {
			best = count;
			index = holding->index;
		}
	}
	if (index < 0)
		return -EINVAL;
	write_u32(body, (uint32_t)index);
	return 0;
}
