/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Commands to nodes. A fan-out goes to nodes that are up; its answers come
 * back by its id, when the job may long be gone. An APPLY is sent once for a
 * grant, ever; a REVOKE as often as it takes.
 */
#include <assert.h>

#include "lanes/manager/core/fleet.h"
#include "lanes/manager/core/grants.h"
#include "lanes/manager/core/out.h"

uint64_t core_apply_floor(const struct core *core)
{
	return core->unapplied == NULL ? core->next_grant_id
				       : core->unapplied->grant_id;
}

static void send(struct core *core, struct core_fanout *fanout, bool is_main)
{
	struct fanout_entry *entry = memory_array(1, sizeof(*entry));

	fanout->id = core->next_fanout_id++;
	fanout->apply_floor = core_apply_floor(core);
	fanout->timeout_ms = fanout->op == CORE_FANOUT_APPLY
				     ? core->apply_timeout_ms
				     : core->revoke_timeout_ms;
	entry->id = fanout->id;
	entry->grant_id = fanout->lane->grant_id;
	entry->op = fanout->op;
	entry->is_main = is_main;
	HASH_ADD(hh, core->fanouts, id, sizeof(entry->id), entry);
	memory_added(hh, entry);
	core->ops->fanout(core->ops_ctx, fanout);
}

void core_fanout_apply(struct core *core, struct job *job,
		       const struct core_members *members,
		       const struct writer *sealed)
{
	const char **names = memory_array(job->part_count, sizeof(*names));
	struct fairlead_lane lane;
	struct core_fanout fanout = {
		.op = CORE_FANOUT_APPLY,
		.nodes = names,
		.node_count = job->part_count,
		.lane = &lane,
		.key = job->key,
		.driver = core_interconnect(core, job)->driver->name,
		.cores = job->cores,
		.tasks = job->tasks,
		.members = members->bytes,
		.members_size = members->size,
		.sealed = sealed->data,
		.sealed_size = sealed->size,
	};

	for (uint32_t i = 0; i < job->part_count; i++)
		names[i] = nodes_at(&core->nodes, job->parts[i].node)->name;
	core_lane(job, &lane);
	send(core, &fanout, true);
	free(names);
}

static void send_revoke(struct core *core, struct job *job,
			const char *const *names, size_t count, bool is_main)
{
	struct fairlead_lane lane;
	struct core_fanout fanout = {
		.op = CORE_FANOUT_REVOKE,
		.nodes = names,
		.node_count = count,
		.lane = &lane,
		.key = job->key,
		.driver = core_interconnect(core, job)->driver->name,
	};

	core_lane(job, &lane);
	send(core, &fanout, is_main);
}

size_t core_fanout_revoke(struct core *core, struct job *job, bool is_main)
{
	const char **names = memory_array(job->part_count, sizeof(*names));
	size_t count = 0;

	for (uint32_t i = 0; i < job->part_count; i++) {
		const struct node *node =
			nodes_at(&core->nodes, job->parts[i].node);

		if (part_is_unconfirmed(&job->parts[i]) &&
		    node->state == NODE_UP)
			names[count++] = node->name;
	}
	if (count > 0)
		send_revoke(core, job, names, count, is_main);
	free(names);
	return count;
}

void core_fanout_revoke_one(struct core *core, struct job *job,
			    const struct node *node)
{
	const char *name = node->name;

	assert(node->state == NODE_UP);
	core_hit(core, EDGE_PART_RETRY);
	send_revoke(core, job, &name, 1, false);
}

void core_fanout_revoke_report(struct core *core, const struct node *node,
			       const struct report *report)
{
	const struct tombstone *tombstone =
		tombstones_find_id(&core->tombstones, report->grant_id);
	const char *name = node->name;
	struct fairlead_lane lane = { .grant_id = report->grant_id,
				      .id_count = report->id_count };
	struct core_fanout fanout = {
		.op = CORE_FANOUT_REVOKE,
		.nodes = &name,
		.node_count = 1,
		.lane = &lane,
		.key = "",
		.driver = report->driver,
	};

	static_assert(NODE_REPORT_IDS_MAX == FAIRLEAD_LANE_IDS_MAX, "all fit");
	if (tombstone == NULL)
		return;
	memcpy(lane.ids, report->ids, sizeof(lane.ids));
	lane.uid = tombstone->uid;
	lane.gid = tombstone->gid;
	if (tombstone->key != NULL)
		fanout.key = tombstone->key;
	send(core, &fanout, false);
}

/* --- which part of a job an answer is about --- */

void core_part_index_set(struct core *core, const struct job *job)
{
	if (core->places_capacity < core->nodes.limit) {
		core->places_capacity = core->nodes.limit;
		core->places =
			memory_resize(core->places, core->places_capacity,
				      sizeof(*core->places));
		memset(core->places, 0,
		       core->places_capacity * sizeof(*core->places));
	}
	for (uint32_t i = 0; i < job->part_count; i++)
		core->places[job->parts[i].node] = i + 1;
}

void core_part_index_clear(struct core *core, const struct job *job)
{
	for (uint32_t i = 0; i < job->part_count; i++)
		core->places[job->parts[i].node] = 0;
}

struct part *core_part_index_find(struct core *core, const struct job *job,
				  const char *name)
{
	const struct node *node = nodes_find(&core->nodes, name);
	uint32_t place = 0;

	if (node != NULL && node->index < core->places_capacity)
		place = core->places[node->index];
	return place == 0 ? NULL : &job->parts[place - 1];
}

/* A REVOKE of a grant that is long over: the reported object is gone. */
static void report_answers(struct core *core, uint64_t grant_id,
			   const struct core_answer *answers, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		struct node *node = nodes_find(&core->nodes, answers[i].node);

		if (node == NULL || answers[i].result != 0 ||
		    !node_is(node, answers[i].incarnation))
			continue;
		core_reports_clear(core, node, grant_id);
		core_drain_settle(core, node);
		core_node_settle(core, node);
	}
}

void core_fanout_done(struct core *core, uint64_t fanout_id,
		      const struct core_answer *answers, size_t count)
{
	struct fanout_entry *entry;
	struct job *job;

	HASH_FIND(hh, core->fanouts, &fanout_id, sizeof(fanout_id), entry);
	if (entry == NULL)
		return;
	HASH_DEL(core->fanouts, entry);
	job = jobs_find(&core->jobs, entry->grant_id);
	if (entry->op == CORE_FANOUT_APPLY)
		core_apply_done(core, job, answers, count);
	else if (job != NULL)
		core_revoke_done(core, job, answers, count, entry->is_main);
	else
		report_answers(core, entry->grant_id, answers, count);
	free(entry);
}
