/* SPDX-License-Identifier: BSD-3-Clause */
/* What happens in a world: clients, operators, nodes and the manager act. */
#include "lanes/manager/core/test/world_internal.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

/* Mostly a live one. */
static uint64_t some_grant(struct world *world)
{
	const struct jobs *jobs = &world->fixture->core->jobs;
	const struct job *job = jobs->by_id;
	uint64_t last = world->fixture->core->next_grant_id;

	if (jobs->count == 0 || core_world_chance(world, 5))
		return core_world_below(world, (size_t)last) + 1;
	for (size_t i = core_world_below(world, jobs->count); i > 0; i--)
		job = job->hh.next;
	return job->grant_id;
}

/* Of one with runs: a few contexts, now and then more than there can be. */
static void client_reserves_run(struct world *world, const char *key,
				const char *nodes)
{
	static const char *const options[] = {
		"len=1", "len=2", "len=3", "len=5", "len=17", "len=4,plain",
	};

	reserve_as(world->fixture, &slurm, "lined", key, nodes,
		   options[core_world_below(
			   world, sizeof(options) / sizeof(options[0]))]);
}

static void client_reserves(struct world *world)
{
	static const char *const options[] = {
		"", "vnis=2", "vnis=3", "ctxs=1", "off", "refuse",
	};
	char key[32], nodes[32];
	size_t first = core_world_below(world, WORLD_NODES);
	size_t last = first + core_world_below(world, WORLD_NODES - first);

	/* Now and then a key that was used before. */
	world->job += !core_world_chance(world, 20);
	snprintf(key, sizeof(key), "slurm/%zu/0",
		 core_world_chance(world, 10) ? core_world_below(world, 100)
					      : world->job);
	snprintf(nodes, sizeof(nodes), "n[%zu-%zu]", first, last);
	if (core_world_chance(world, 25)) {
		client_reserves_run(world, key, nodes);
		return;
	}
	reserve(world->fixture, key, nodes,
		options[core_world_below(world, sizeof(options) /
							sizeof(options[0]))]);
}

static void release_somehow(struct world *world,
			    const struct core_selector *selector)
{
	core_release(world->fixture->core, &slurm, selector,
		     core_world_chance(world, 50)
			     ? (uint32_t)core_world_below(world, 60000)
			     : 0,
		     ++world->fixture->last_token);
}

/* Mostly what makes sense. */
static void client_goes_on(struct world *world)
{
	struct fixture *f = world->fixture;
	uint64_t grant_id = some_grant(world);
	const struct job *job = jobs_find(&f->core->jobs, grant_id);

	if (job == NULL || core_world_chance(world, 5))
		apply(f, grant_id);
	else if (job->state == JOB_RESERVED && core_world_chance(world, 80))
		apply(f, grant_id);
	else if (core_world_chance(world, job->state == JOB_ACTIVE ? 30 : 10))
		release_somehow(world,
				&(struct core_selector){
					.grant_id = core_world_chance(world, 5)
							    ? grant_id + 500
							    : grant_id });
}

static void client_acts(struct world *world)
{
	char key[32];

	switch (core_world_below(world, 10)) {
	case 0:
	case 1:
	case 2:
		client_reserves(world);
		return;
	case 3:
		snprintf(key, sizeof(key), "slurm/%zu", world->job);
		release_somehow(world, &(struct core_selector){ .job = key });
		return;
	default:
		client_goes_on(world);
	}
}

/* One that was released and is still unconfirmed, or NULL. */
static const struct job *some_quarantined(struct world *world)
{
	const struct job *job = world->fixture->core->unconfirmed;
	size_t skipped = core_world_below(world, 8);

	for (; job != NULL; job = job->next)
		if (job->is_quarantined && job->driver == 0 &&
		    job->id_counts[0] > 0 && skipped-- == 0)
			return job;
	return NULL;
}

/* Are the nodes with unconfirmed parts of it without power? */
static bool is_operator_right(const struct world *world, const struct job *job)
{
	for (size_t n = 0; n < WORLD_NODES; n++) {
		const struct node *node = nodes_find(
			&world->fixture->core->nodes, world->nodes[n].name);
		const struct part *part =
			node == NULL ? NULL : job_part(job, node->index);

		if (part != NULL && part_is_unconfirmed(part) &&
		    world->nodes[n].is_on && node->state != NODE_UP)
			return false;
	}
	return true;
}

/*
 * A word may be wrong about a node that is up: it is refused, and when it is
 * forced it does no harm.
 */
static void operator_gives_back(struct world *world)
{
	struct fixture *f = world->fixture;
	const struct job *job = some_quarantined(world);
	const struct core_operator *say = core_world_chance(world, 50)
						  ? &operator_forced
						  : &operator_plain;
	char ids[16];
	bool is_up = false;

	if (job == NULL || !is_operator_right(world, job))
		return;
	for (uint32_t i = 0; i < job->part_count; i++)
		is_up |= part_is_unconfirmed(&job->parts[i]) &&
			 nodes_at(&f->core->nodes, job->parts[i].node)->state ==
				 NODE_UP;
	snprintf(ids, sizeof(ids), "%u",
		 job->ids[core_world_below(world, job->id_counts[0])]);
	if (!idset_has(f->core->interconnects.list[0].pools[0].quarantined,
		       (uint32_t)atoi(ids)))
		return;
	core_quarantine_release(f->core, say, "fake", "vni", ids,
				++f->last_token);
	assert_int_equal(last_reply(f)->result,
			 is_up && !say->is_forced ? -EBUSY : 0);
	world->forced += is_up && say->is_forced;
}

static void operator_acts(struct world *world)
{
	static const char *const universes[] = { "1024-1039", "1026-1041",
						 "1024-1027,1030-1034" };
	struct fixture *f = world->fixture;
	size_t n = core_world_below(world, WORLD_NODES);
	const char *name = world->nodes[n].name;
	struct fairlead_error error;
	char *changes;

	switch (core_world_below(world, 9)) {
	case 7:
	case 8:
		operator_gives_back(world);
		return;
	case 0:
		core_node_drain(f->core, name, true, "dust", ++f->last_token);
		return;
	case 1:
	case 4:
	case 5:
		core_node_drain(f->core, name, false, "", ++f->last_token);
		return;
	case 2:
		/* The word of an operator is true in this world. */
		if (!world->nodes[n].is_on)
			core_node_fence(f->core, &operator_plain, name,
					++f->last_token);
		return;
	case 3:
		fixture_setting(f, "vni",
				universes[core_world_below(world, 3)]);
		break;
	default:
		f->config.nodes =
			core_world_chance(world, 70) ? "n[0-5]" : "n[0-4]";
	}
	if (fixture_configure(f, &changes, &error) < 0)
		fail_msg("%s", error.text);
	free(changes);
}

static void manager_restarts(struct world *world)
{
	fixture_restart(world->fixture);
	world->fanout_count = 0;
	for (size_t i = 0; i < WORLD_NODES; i++) {
		world->nodes[i].is_connected = false;
		world_messages_drop(world, i, MESSAGE_REGISTER);
	}
}

/* Somebody takes a lane away by hand, and the node does not notice. */
static void lane_vanishes(struct world *world, size_t n)
{
	struct world_lane *lane = world_lane_held(world, n);

	if (lane != NULL)
		lane->is_tombstone = true;
}

static void nodes_come_back(struct world *world)
{
	for (size_t n = 0; n < WORLD_NODES; n++) {
		if (world->nodes[n].is_connected || !world_is_known(world, n) ||
		    core_world_chance(world, 50))
			continue;
		world->nodes[n].is_on = true;
		world_node_connect(world, n);
	}
}

static void node_happens(struct world *world)
{
	size_t n = core_world_below(world, WORLD_NODES);

	switch (core_world_below(world, 24)) {
	case 0:
		/* Its last words may come late. */
		world_node_epilog(world, n);
		world_node_off(world, n);
		return;
	case 1:
		world_node_lost(world, n);
		return;
	case 2:
	case 3:
	case 4:
	case 7:
		world_node_epilog(world, n);
		return;
	case 5:
		world->nodes[n].has_foreign =
			world->nodes[n].is_on && core_world_chance(world, 30);
		return;
	case 6:
	case 10:
		lane_vanishes(world, n);
		return;
	default:
		nodes_come_back(world);
		if (world_is_known(world, n) && core_world_chance(world, 10))
			world_node_connect(world, n);
	}
}

/* A fan-out ends when all have answered, and sometimes before. */
static void fanout_happens(struct world *world)
{
	size_t i, answers = 0;

	if (world->fanout_count == 0)
		return;
	i = core_world_below(world, world->fanout_count);
	for (size_t n = 0; n < world->fanouts[i].count; n++)
		answers += world->fanouts[i].has_answer[n];
	if (answers == world->fanouts[i].count || core_world_chance(world, 8))
		world_fanout_end(world, i);
}

static void one_thing(struct world *world)
{
	size_t what = core_world_below(world, 1000);

	if (what < 550)
		world_deliver(world);
	else if (what < 750)
		client_acts(world);
	else if (what < 850)
		node_happens(world);
	else if (what < 950)
		fanout_happens(world);
	else if (what < 965)
		operator_acts(world);
	else if (what < 999)
		fixture_advance(world->fixture, core_world_below(world, 20000));
	else
		manager_restarts(world);
}

void world_step(struct world *world)
{
	struct fixture *f = world->fixture;

	world->step++;
	/* Who has left and holds nothing is hung up on. */
	for (size_t n = 0; n < WORLD_NODES; n++)
		if (!world_is_known(world, n))
			world->nodes[n].is_connected = false;
	/* A commit that fails takes the manager with it. */
	f->is_failing = sim_rng_chance(&world->rng, 1000);
	one_thing(world);
	if (f->is_failing) {
		f->is_failing = false;
		manager_restarts(world);
	}
	world_outputs_take(world);
}
