/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A root's request on its way: checked against discovery (P-01), held, begun,
 * and what its end says about the group.
 */
#include "scoll/core/internal.h"

/* --- the message --- */

static int body_make(struct bcast *bcast, struct wire_bcast *wire)
{
	struct scoll_core *core = bcast->core;
	const struct scoll_authenticator *auth = core->options.authenticator;
	bool with_list = !(bcast->flags & WIRE_MEMBERS_BULK);
	uint8_t *at;

	wire->params_size =
		bcast->has_params
			? (uint16_t)group_params_size(bcast->group, with_list)
			: 0;
	bcast->body_size =
		wire->params_size + wire->choice_size + wire->payload_size;
	if (bcast->body_size == 0) {
		wire_body_digest(auth, NULL, 0, &wire->body_digest);
		return 0;
	}
	bcast->body = scoll_core_alloc(core, bcast->body_size);
	if (bcast->body == NULL)
		return -ENOMEM;
	at = bcast->body;
	if (bcast->has_params)
		group_params_encode(bcast->group, with_list, at);
	at += wire->params_size;
	if (wire->choice_size > 0)
		choice_encode(bcast->tree->choice, at);
	at += wire->choice_size;
	if (wire->payload_size > 0)
		memcpy(at, bcast->buf, wire->payload_size);
	wire_body_digest(auth, bcast->body, bcast->body_size,
			 &wire->body_digest);
	return 0;
}

/* The service of the root may change its payload as any other (P-09). */
static int payload_copy(struct bcast *bcast)
{
	size_t size = (size_t)bcast->public.srq_len;

	if (size == 0 || bcast->has_run || bcast->service == NULL)
		return 0;
	bcast->payload = scoll_core_alloc(bcast->core, size);
	if (bcast->payload == NULL)
		return -ENOMEM;
	memcpy(bcast->payload, bcast->buf, size);
	bcast->public.srq_buf = bcast->payload;
	return 0;
}

static int bulk_prepare(struct bcast *bcast)
{
	size_t size = bcast->list_size > 0 ? bcast->list_size
					   : bcast->public.srq_bulk_len;
	int result;

	if (size == 0)
		return 0;
	result = bulk_create(bcast, size, NULL);
	return result < 0 ? result
			  : bulk_open(bcast, bcast->iovs, bcast->iov_count);
}

static void unprepare(struct bcast *bcast)
{
	struct scoll_core *core = bcast->core;

	bulk_close(bcast);
	scoll_core_release(core, take_ptr(bcast->bulk));
	scoll_core_release(core, take_ptr(bcast->payload));
	scoll_core_release(core, take_ptr(bcast->body));
	scoll_core_release(core, take_ptr(bcast->wire));
	bcast->public.srq_buf = (void *)bcast->buf;
}

static int prepare(struct bcast *bcast)
{
	struct scoll_core *core = bcast->core;
	int result;

	bcast->number = ++core->next_number;
	result = bulk_prepare(bcast);
	if (result == 0)
		result = payload_copy(bcast);
	if (result == 0 && bcast->tree->child_count > 0) {
		bcast->wire = scoll_core_alloc(core, sizeof(*bcast->wire));
		result = bcast->wire != NULL ? 0 : -ENOMEM;
		if (result == 0) {
			bcast_wire_fill(bcast, bcast->wire);
			bcast_addresses_fill(bcast->group, bcast->has_params,
					     bcast->wire);
			result = body_make(bcast, bcast->wire);
		}
		if (result == 0)
			result = wire_bcast_sign(bcast->wire,
						 core->options.authenticator);
	}
	if (result < 0)
		unprepare(bcast);
	return result;
}

static void begin(struct bcast *bcast, uint64_t now_ns)
{
	struct scoll_group *group = bcast->group;

	group->active_count++;
	group->was_sent |= bcast->tree->child_count > 0;
	bcast->phase = PHASE_RUN;
	bcast->received_ns = now_ns;
	bcast_forward(bcast, now_ns);
}

/* --- held --- */

static bool is_populating(const struct scoll_core *core,
			  const struct scoll_group *group)
{
	const struct bcast *other;

	DL_FOREACH (core->bcasts, other) {
		if (other->is_root && other->group == group &&
		    other->flags & WIRE_POPULATE &&
		    !(other->flags & WIRE_LAST) && other->phase < PHASE_GONE)
			return true;
	}
	return false;
}

/* B-16: an earlier one is under way, or waits itself. */
static bool has_earlier(const struct bcast *last)
{
	const struct bcast *other;

	if (last->group->active_count > 0)
		return true;
	if (last->core->held_count == 0)
		return false;
	DL_FOREACH (last->core->bcasts, other) {
		if (other->phase == PHASE_HELD && other->group == last->group &&
		    !(other->flags & WIRE_LAST))
			return true;
	}
	return false;
}

/* False: it has to wait. Starts what it waits for. */
static bool may_begin(struct bcast *bcast, uint64_t now_ns)
{
	struct scoll_group *group = bcast->group;
	bool needs_params = bcast_needs_params(bcast);

	/* Without memory for what is new, what was known. */
	if (needs_params && !(bcast->flags & WIRE_POPULATE))
		book_share(bcast->core, group);
	bcast->has_params = needs_params && bcast_fits(bcast, true);
	if (bcast->flags & WIRE_LAST && has_earlier(bcast))
		return false;
	if (!needs_params || bcast->has_params || bcast->flags & WIRE_POPULATE)
		return true;
	if (is_populating(bcast->core, group))
		return false;
	if (bcast->is_populating)
		return true; /* it was tried: let those without it say so */
	bcast->is_populating = true;
	return bcast_populate(group, bcast->tree->choice, now_ns, NULL, NULL) <
	       0;
}

static void hold(struct bcast *bcast)
{
	bcast->phase = PHASE_HELD;
	bcast->core->held_count++;
}

void bcast_root_fail(struct bcast *bcast, uint64_t now_ns, int status,
		     enum scoll_error_type type)
{
	if (bcast->phase == PHASE_HELD)
		bcast->core->held_count--;
	bcast->group->active_count++;
	bcast->phase = PHASE_RUN;
	if (!bcast->has_run)
		bcast_failure_self(bcast, status, type);
	bcast->has_run = true;
	for (uint32_t i = 0; i < bcast->tree->child_count; i++)
		child_fail(&bcast->children[i], now_ns, status, type);
	bcast_touch(bcast);
}

void bcast_release_held(struct scoll_core *core, struct scoll_group *group,
			uint64_t now_ns)
{
	struct bcast *bcast;
	int result;

	if (core->held_count == 0)
		return;
	DL_FOREACH (core->bcasts, bcast) {
		if (bcast->phase != PHASE_HELD || bcast->group != group ||
		    !may_begin(bcast, now_ns))
			continue;
		result = prepare(bcast);
		if (result < 0) {
			bcast_root_fail(bcast, now_ns, result,
					SCOLL_ERROR_NOMEM);
			continue;
		}
		core->held_count--;
		begin(bcast, now_ns);
	}
}

int bcast_root_start(struct bcast *bcast, uint64_t now_ns)
{
	int result;

	if (bcast->flags & WIRE_LAST)
		bcast->group->is_closed = true;
	if (!may_begin(bcast, now_ns)) {
		hold(bcast);
		return 0;
	}
	result = prepare(bcast);
	if (result < 0) {
		if (bcast->flags & WIRE_LAST)
			bcast->group->is_closed = false;
		return result;
	}
	begin(bcast, now_ns);
	return 0;
}

/* --- sent --- */

/* P-01, B-26, B-39: those who live are still those that were chosen. */
int bcast_liveness_check(struct bcast *bcast)
{
	struct choice *choice = bcast->tree->choice;
	_auto_(choice_unrefp) struct choice *alive = NULL;
	bool is_same;
	int result;

	if (choice->membership != bcast->group->membership)
		return -EAGAIN;
	if (bcast->user_flags & SCOLL_ALIVE_ONLY) {
		/* Of a subset: those of it who live. */
		result = group_alive(bcast->group,
				     bcast->flags & WIRE_ALIVE ? NULL : choice,
				     &alive);
	} else {
		result = group_alive(bcast->group, choice, &alive);
	}
	if (result < 0)
		return result;
	is_same = alive == choice;
	if (is_same)
		return 0;
	return bcast->user_flags & SCOLL_ALIVE_ONLY ? -EAGAIN : -EHOSTDOWN;
}

int scoll_core_bcast_send(scoll_request_t *request, uint64_t now_ns)
{
	struct bcast *bcast = bcast_of(request);
	struct scoll_core *core = bcast->core;
	int result;

	if (bcast->phase != PHASE_NEW)
		return -EINVAL;
	for (uint32_t i = 0; i < bcast->tree->child_count; i++) {
		if (bcast->children[i].posts == NULL)
			return -EINVAL;
	}
	if (bcast->group->is_closed || core->is_stopped)
		return -ESHUTDOWN;
	if (discovery_is_stealthy(core->options.discovery))
		return -EAGAIN;
	result = bcast_liveness_check(bcast);
	if (result < 0)
		return result;
	result = bcast_root_start(bcast, now_ns);
	scoll_core_run(core, now_ns);
	return result;
}

/* --- ended --- */

static bool has_forgotten(const struct bcast *bcast)
{
	for (uint32_t i = 0; i < bcast->failure_count; i++) {
		const struct wire_failure *failure = &bcast->failures[i];

		if (failure->type == SCOLL_ERROR_NO_GROUP &&
		    failure->status != -ESHUTDOWN)
			return true;
	}
	return false;
}

/* Those who have the group: with those before, if there is memory for it. */
static void known_add(struct scoll_group *group, struct choice *choice)
{
	struct choice *known = NULL;

	if (group->known == NULL ||
	    group->known->membership != choice->membership ||
	    choice_union(group->known, choice, &known) < 0)
		known = choice_ref(choice);
	choice_unref(group->known);
	group->known = known;
	group->is_known |= choice_is_all(known);
	group->was_known |= choice_is_all(known);
}

void bcast_group_learn(struct bcast *bcast)
{
	struct scoll_group *group = bcast->group;

	if (has_forgotten(bcast)) {
		group->is_known = false;
		choice_unref(take_ptr(group->known));
	} else if (bcast->failure_count == 0 && bcast->has_params) {
		known_add(group, bcast->tree->choice);
	}
}
