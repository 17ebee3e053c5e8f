/* SPDX-License-Identifier: BSD-3-Clause */
/* Attachments, of processes to contexts of rails; and rails. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <utlist.h>

#include "base/memory.h"
#include "elan/core/registry.h"

static int find_held(struct registry *registry, const struct program *program,
		     const struct elan_capability *cap, uint64_t *ret_deposit)
{
	for (size_t i = 0; i < program->holding_count; i++) {
		const struct rms_holding *holding = &program->holdings[i];
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
	int result;

	if (registry->attachment_count >= ATTACHMENTS_MAX)
		return -ENOMEM;
	registry->attachments = memory_resize(registry->attachments,
					      registry->attachment_count + 1,
					      sizeof(*attachment));
	result = keeper->ops->watch(keeper->ctx, &attachment->process);
	if (result < 0)
		return result;
	registry->attachments[registry->attachment_count++] = *attachment;
	result = registry_save_node(registry);
	if (result < 0)
		registry->attachment_count--;
	return result;
}

int registry_attach(struct registry *registry, const struct caller *caller,
		    const struct rms_request *request, struct writer *body)
{
	struct attachment attachment = {
		.process = caller->process,
		.context = request->cap.cap_mycontext,
		.rail = request->index,
	};
	struct program *program;
	uint32_t setting;
	int result = check_place(&request->cap, request->index);

	if (result == 0)
		result = registry_mine(registry, caller, &program, &setting);
	if (result == 0)
		result = find_held(registry, program, &request->cap,
				   &attachment.deposit);
	if (result < 0)
		return result;
	attachment.program = program->id;
	if (!(registry->rails_up >> request->index & 1))
		return -ENETDOWN;
	for (size_t i = 0; i < registry->attachment_count; i++) {
		if (registry->attachments[i].rail == attachment.rail &&
		    registry->attachments[i].context == attachment.context)
			return -EBUSY;
	}
	return add_attachment(registry, &attachment);
}

/* A context of a rail, and the process there. */
struct rms_context {
	int32_t rail, context;
	struct rms_process process;
};

static bool is_at(const struct attachment *attachment, const void *arg)
{
	const struct rms_context *at = arg;

	return attachment->rail == at->rail &&
	       attachment->context == at->context &&
	       process_is(&attachment->process, &at->process);
}

int registry_detach_one(struct registry *registry, const struct caller *caller,
			int32_t rail, int32_t context)
{
	const struct rms_context at = { rail, context, caller->process };

	return registry_detach_all(registry, is_at, &at);
}

int registry_detach(struct registry *registry, const struct caller *caller,
		    const struct rms_request *request, struct writer *body)
{
	return registry_detach_one(registry, caller, request->index,
				   request->cap.cap_mycontext);
}

/* By which of its program's capabilities. */
static const struct rms_holding *find_attached(
	const struct program *program, const struct attachment *attachment)
{
	for (size_t i = 0; i < program->holding_count; i++) {
		const struct rms_holding *holding = &program->holdings[i];
		const struct elan_capability *cap = &holding->cap;

		if (holding->deposit == attachment->deposit &&
		    (cap->cap_railmask >> attachment->rail & 1) != 0 &&
		    cap->cap_lowcontext <= attachment->context &&
		    cap->cap_highcontext >= attachment->context)
			return holding;
	}
	return NULL;
}

int registry_attached(struct registry *registry, const struct caller *caller,
		      int32_t rail, int32_t context,
		      struct attached *ret_attached)
{
	const struct rms_context at = { rail, context, caller->process };
	const struct attachment *attachment = NULL;
	const struct rms_holding *holding = NULL;
	const struct deposit *deposit;
	const struct program *program;

	for (size_t i = 0; i < registry->attachment_count; i++)
		if (is_at(&registry->attachments[i], &at))
			attachment = &registry->attachments[i];
	if (attachment == NULL)
		return -ENOENT;
	program = registry_program(registry, attachment->program);
	if (program != NULL)
		holding = find_attached(program, attachment);
	if (holding == NULL)
		return -ENOENT;
	deposit = registry_deposit(registry, attachment->deposit);
	*ret_attached = (struct attached){
		.program = (uint32_t)program->id,
		.cap = &holding->cap,
		.node = deposit != NULL ? deposit->node : -1,
		.routes = deposit != NULL ? deposit->routes : NULL,
		.route_count = deposit != NULL ? deposit->route_count : 0,
	};
	return 0;
}

void registry_count(struct registry *registry, int32_t id, uint64_t bytes)
{
	struct program *program = registry_program(registry, id);

	if (program == NULL)
		return;
	program->elanstats.ebytes += bytes;
	program->elanstats.exfers++;
	program->is_changed = true;
}

int registry_rails_set(struct registry *registry, uint32_t rails)
{
	uint32_t before = registry->rails_up;
	int result;

	registry->rails_up = rails & ((UINT32_C(1) << ELAN_MAX_RAILS) - 1);
	result = registry_save_node(registry);
	if (result < 0)
		registry->rails_up = before;
	return result;
}

int registry_rail_set(struct registry *registry, const struct caller *caller,
		      const struct rms_request *request, struct writer *body)
{
	uint32_t bit;

	if (caller->uid != 0)
		return -EACCES;
	if (request->index < 0 || request->index >= ELAN_MAX_RAILS ||
	    (request->value != 0 && request->value != 1))
		return -EINVAL;
	bit = UINT32_C(1) << request->index;
	return registry_rails_set(registry,
				  request->value ? registry->rails_up | bit
						 : registry->rails_up & ~bit);
}

int registry_rails(struct registry *registry, const struct caller *caller,
		   const struct rms_request *request, struct writer *body)
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
	write_u32(body, registry->rails_up);
	write_u8(body, ELAN_MAX_RAILS);
	for (int i = 0; i < ELAN_MAX_RAILS; i++)
		write_u32(body, contexts[i]);
	return 0;
}

int registry_adapter(struct registry *registry, const struct caller *caller,
		     const struct rms_request *request, struct writer *body)
{
	route_encode(&registry->adapter, body);
	return 0;
}
