/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A core's life, and its doors: messages, ends of transfers, ticks. Each of
 * them changes something and then runs the core until nothing goes on. Bcasts
 * are settled, and freed, in that run only, so that whoever changes one need
 * not fear that it goes away under his hands.
 */
#include "scoll/core/internal.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>

/* Of a nonce, the lowest ones: two starts in a microsecond differ. */
#define NONCE_RANDOM_BITS 12

static int group_options(struct scoll_core *core)
{
	struct group_options options = {
		.nid = core->options.nid,
		.nonce = core->nonce,
		.lifetime_ns = core->options.group_lifetime_ns,
		.memberships = core->options.memberships,
		.tree_types = core->options.tree_types,
		.discovery = core->options.discovery,
		.owner = core,
	};

	return group_table_create(&options, &core->groups);
}

int scoll_core_create(const struct core_options *options,
		      struct scoll_core **ret_core)
{
	_auto_(scoll_core_destroyp) struct scoll_core *core = NULL;
	int result;

	if (options->order > SCOLL_ORDER_RANK || options->started_us == 0 ||
	    tree_type_check(options->tree_types, options->tree) < 0)
		return -EINVAL;
	if (options->share_addresses &&
	    (options->authenticator == NULL ||
	     options->transport.ops->address_get == NULL))
		return -EINVAL;
	core = calloc(1, sizeof(*core));
	if (core == NULL)
		return -ENOMEM;
	core->options = *options;
	/* A reply to an earlier start of ours must not find a buffer. */
	core->next_tag = rng_u64(&options->rng) >> 2 & ~WIRE_TAG_PART_MASK;
	core->nonce = options->started_us << NONCE_RANDOM_BITS |
		      rng_u64(&options->rng) >> (64 - NONCE_RANDOM_BITS);
	core->epoch = discovery_epoch(options->discovery);
	result = replay_create(REPLAY_ROOTS_MAX, &core->replay);
	if (result < 0)
		return result;
	result = group_options(core);
	if (result < 0)
		return result;
	*ret_core = take_ptr(core);
	return 0;
}

void scoll_core_destroy(struct scoll_core *core)
{
	struct bcast *bcast, *next;

	if (core == NULL)
		return;
	DL_FOREACH_SAFE (core->bcasts, bcast, next) {
		assert(bcast->phase == PHASE_NEW);
		bcast_destroy(bcast, 0);
	}
	assert(core->loose_count == 0);
	group_table_destroy(core->groups);
	replay_destroy(core->replay);
	book_fini(core);
	while (core->services != NULL) {
		struct service *service = core->services;

		core->services = service->next;
		free(service);
	}
	bcast_index_fini(core);
	scoll_core_release(core, core->early);
	scoll_core_pool_fini(core);
	free(core);
}

const struct core_options *scoll_core_options(const struct scoll_core *core)
{
	return &core->options;
}

void bcast_touch(struct bcast *bcast)
{
	struct scoll_core *core = bcast->core;

	if (bcast->is_dirty)
		return;
	bcast->is_dirty = true;
	bcast->dirty_next = NULL;
	if (core->dirty == NULL)
		core->dirty = bcast;
	else
		core->dirty_tail->dirty_next = bcast;
	core->dirty_tail = bcast;
}

void scoll_core_run(struct scoll_core *core, uint64_t now_ns)
{
	do {
		action_run(core, now_ns);
		while (core->dirty != NULL) {
			struct bcast *bcast = core->dirty;

			core->dirty = bcast->dirty_next;
			bcast->is_dirty = false;
			bcast_settle(bcast, now_ns);
		}
	} while (core->broken != NULL);
}

/* --- what comes in --- */

static void received(void *ctx, uint64_t now_ns, const void *bytes, size_t size)
{
	struct scoll_core *core = ctx;

	core->stats.messages_received++;
	core->stats.bytes_received += size;
	bcast_receive(core, now_ns, bytes, size);
	scoll_core_run(core, now_ns);
}

static void done(void *ctx, uint64_t now_ns, struct transfer *transfer,
		 int result, size_t size)
{
	struct scoll_core *core = ctx;

	action_done(core, now_ns, (struct scoll_action *)(void *)transfer,
		    result, size);
	scoll_core_run(core, now_ns);
}

const struct transport_events scoll_core_events = {
	.received = received,
	.done = done,
};

void scoll_core_tick(struct scoll_core *core, uint64_t now_ns)
{
	struct bcast *bcast;

	scoll_core_peers_check(core, now_ns);
	while ((bcast = bcast_due_first(core)) != NULL &&
	       bcast->due_ns <= now_ns) {
		bcast_due_set(bcast, DEADLINE_NONE);
		bcast_expire(bcast, now_ns);
		bcast_touch(bcast);
	}
	group_table_tick(core->groups, now_ns);
	scoll_core_run(core, now_ns);
}

uint64_t scoll_core_work_deadline_ns(const struct scoll_core *core)
{
	const struct bcast *bcast = bcast_due_first(core);
	uint64_t deadline_ns = action_deadline_ns(core);

	if (core->epoch != discovery_epoch(core->options.discovery))
		return 0;
	if (bcast != NULL && bcast->due_ns < deadline_ns)
		deadline_ns = bcast->due_ns;
	return deadline_ns;
}

uint64_t scoll_core_deadline_ns(const struct scoll_core *core)
{
	uint64_t work_ns = scoll_core_work_deadline_ns(core);
	uint64_t groups_ns = group_table_deadline_ns(core->groups);

	return work_ns < groups_ns ? work_ns : groups_ns;
}

/* --- the end --- */

void scoll_core_stop(struct scoll_core *core, uint64_t now_ns)
{
	struct bcast *bcast;

	core->is_stopped = true;
	DL_FOREACH (core->bcasts, bcast) {
		if (bcast->phase != PHASE_NEW)
			bcast_abort(bcast, now_ns, -ESHUTDOWN, bcast->is_root);
	}
	scoll_core_run(core, now_ns);
}

bool scoll_core_is_idle(const struct scoll_core *core)
{
	const struct bcast *bcast;

	if (core->loose_count > 0)
		return false;
	DL_FOREACH (core->bcasts, bcast) {
		if (bcast->phase != PHASE_NEW)
			return false;
	}
	return true;
}

void scoll_core_stats(const struct scoll_core *core,
		      struct scoll_stats *ret_stats)
{
	struct scoll_stats stats = core->stats;
	size_t size = ret_stats->size;

	stats.size = size;
	stats.requests_active = core->bcast_count;
	stats.groups = group_table_count(core->groups);
	stats.group_bytes = group_table_size(core->groups);
	memcpy(ret_stats, &stats, size < sizeof(stats) ? size : sizeof(stats));
}
