/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Commands to nodes: what an APPLY carries, and what comes back.
 *
 * A node reports for each driver where other nodes of a lane reach it, when it
 * registers and when it answers a query; the last report counts, for later
 * applies only. The driver knows what it means: an apply has the places of the
 * job's nodes put together, in the order of the job's host list, and every
 * node gets the same.
 *
 * A fan-out goes to nodes that are up; its answers come back by its id, when
 * the job may long be gone. An APPLY is sent once for a grant, ever; a REVOKE
 * as often as it takes.
 *
 * Texts of answers are made clean and cut before they are compared, so that
 * what is shown as one is one. An errno without a text gets the system's words
 * for it.
 */
#include <assert.h>
#include <stdio.h>

#include "base/json_text.h"
#include "base/text.h"
#include "lanes/manager/core/core.h"
#include "lanes/manager/core/fleet.h"
#include "lanes/manager/core/grant.h"
#include "lanes/manager/core/out.h"

/* --- where nodes are reached by the other nodes of a lane --- */

static_assert(NODE_PLACES_MAX == CORE_PLACES_MAX, "all places fit");
static_assert(FAIRLEAD_PLACE_MAX <= UINT8_MAX, "its size fits");

static bool is_same(const struct node *node, const struct node_place *places,
		    uint32_t count)
{
	return node->place_count == count &&
	       (count == 0 ||
		memcmp(node->places, places, count * sizeof(*places)) == 0);
}

bool core_places_take(struct node *node, const struct core_registration *from)
{
	struct node_place *places =
		memory_array(from->place_count, sizeof(*places));
	uint32_t count = 0;

	assert(from->place_count <= CORE_PLACES_MAX);
	for (size_t i = 0; i < from->place_count; i++) {
		const struct fairlead_place *place = &from->places[i].place;

		if (place->size == 0)
			continue;
		assert(place->size <= FAIRLEAD_PLACE_MAX);
		text_fit(places[count].driver, sizeof(places[count].driver),
			 from->places[i].driver);
		places[count].size = (uint8_t)place->size;
		memcpy(places[count].bytes, place->bytes, place->size);
		count++;
	}
	if (is_same(node, places, count)) {
		free(places);
		return false;
	}
	free(node->places);
	node->places = places;
	node->place_count = count;
	return true;
}

/* Size 0 when the node has reported none. */
static void place_of(const struct node *node, const char *driver,
		     struct fairlead_place *ret_place)
{
	*ret_place = (struct fairlead_place){ 0 };
	for (uint32_t i = 0; i < node->place_count; i++) {
		if (strcmp(node->places[i].driver, driver) != 0)
			continue;
		ret_place->size = node->places[i].size;
		memcpy(ret_place->bytes, node->places[i].bytes,
		       ret_place->size);
		return;
	}
}

int core_members_assemble(struct core *core, const struct job *job,
			  struct core_members *ret_members,
			  struct fairlead_error *ret_error)
{
	const struct interconnect *ic = core_interconnect(core, job);
	const struct fairlead_manager_ops *ops = ic->driver->manager;
	struct core_members members = { 0 };
	_auto_(freep) struct fairlead_place *places = NULL;
	_auto_(freep) const char **names = NULL;
	struct fairlead_lane lane;
	int result;

	if (ops->assemble == NULL) {
		*ret_members = members;
		return 0;
	}
	names = core_node_names(core, job);
	places = memory_array(job->part_count, sizeof(*places));
	for (uint32_t i = 0; i < job->part_count; i++)
		place_of(nodes_at(&core->nodes, job->parts[i].node),
			 ic->driver->name, &places[i]);
	core_lane(job, &lane);
	ret_error->code = 0;
	result = core_driver_result(
		ops->assemble(ic->state, &lane, names, places, job->part_count,
			      &members.bytes, &members.size, ret_error),
		ret_error);
	if (result < 0)
		return result;
	assert(members.size <= FAIRLEAD_MEMBERS_MAX);
	*ret_members = members;
	return 0;
}

/* --- commands --- */

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
	_auto_(freep) const char **names = core_node_names(core, job);
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

	core_lane(job, &lane);
	send(core, &fanout, true);
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
	if (core->part_numbers_capacity < core->nodes.limit) {
		core->part_numbers_capacity = core->nodes.limit;
		core->part_numbers = memory_resize(core->part_numbers,
						   core->part_numbers_capacity,
						   sizeof(*core->part_numbers));
		memset(core->part_numbers, 0,
		       core->part_numbers_capacity *
			       sizeof(*core->part_numbers));
	}
	for (uint32_t i = 0; i < job->part_count; i++)
		core->part_numbers[job->parts[i].node] = i + 1;
}

void core_part_index_clear(struct core *core, const struct job *job)
{
	for (uint32_t i = 0; i < job->part_count; i++)
		core->part_numbers[job->parts[i].node] = 0;
}

struct part *core_part_index_find(struct core *core, const struct job *job,
				  const char *name)
{
	const struct node *node = nodes_find(&core->nodes, name);
	uint32_t number = 0;

	if (node != NULL && node->index < core->part_numbers_capacity)
		number = core->part_numbers[node->index];
	return number == 0 ? NULL : &job->parts[number - 1];
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

/* --- answers that are the same --- */

void groups_fini(struct groups *groups)
{
	for (size_t i = 0; i < groups->count; i++) {
		free(groups->list[i].text);
		free(groups->list[i].nodes);
	}
	free(groups->list);
	*groups = (struct groups){ 0 };
}

static const char *words(int code, const char *text)
{
	if (text == NULL || text[0] == 0)
		text = code < 0 ? strerrordesc_np(-code) : "";
	return text == NULL ? "unknown error" : text;
}

static struct group *find(struct groups *groups, int code, const char *text)
{
	for (size_t i = 0; i < groups->count; i++) {
		struct group *group = &groups->list[i];

		if (group->code == code && strcmp(group->text, text) == 0)
			return group;
	}
	return NULL;
}

static struct group *add(struct groups *groups, int code, const char *text)
{
	struct group *group;

	if (groups->count == CORE_GROUPS_MAX)
		return NULL;
	groups->list = memory_resize(groups->list, groups->count + 1,
				     sizeof(*groups->list));
	group = &groups->list[groups->count++];
	*group = (struct group){ .code = code,
				 .text = memory_text_or_null(text) };
	return group;
}

void groups_add(struct groups *groups, int code, const char *text,
		uint32_t node)
{
	char clean[GROUP_TEXT_MAX + 1];
	struct group *group;

	text_fit(clean, sizeof(clean), words(code, text));
	groups->node_count++;
	group = find(groups, code, clean);
	if (group == NULL)
		group = add(groups, code, clean);
	if (group == NULL) {
		groups->more++;
		return;
	}
	if (group->node_count > 0 &&
	    group->nodes[group->node_count - 1] == node)
		return;
	if (group->node_count == group->node_capacity) {
		group->node_capacity = memory_more(group->node_capacity);
		group->nodes = memory_resize(group->nodes, group->node_capacity,
					     sizeof(*group->nodes));
	}
	group->nodes[group->node_count++] = node;
}

/* Host list of a group; the caller frees it. */
static char *group_nodes_text(const struct group *group,
			      const struct nodes *nodes)
{
	const char **names = memory_array(group->node_count, sizeof(*names));
	char *text;

	for (size_t i = 0; i < group->node_count; i++)
		names[i] = nodes_at(nodes, group->nodes[i])->name;
	text = memory_have(hostlist_format(names, group->node_count));
	free(names);
	return text;
}

char *groups_json(const struct groups *groups, const struct nodes *nodes,
		  bool has_errno)
{
	struct json_text text = { 0 };

	write_plain(&text.writer, "[");
	for (size_t i = 0; i < groups->count; i++) {
		const struct group *group = &groups->list[i];
		_auto_(freep) char *names = group_nodes_text(group, nodes);

		write_plain(&text.writer, i > 0 ? "," : "");
		json_text_begin(&text);
		json_text_string(&text, "nodes", names);
		json_text_string(&text, "text", group->text);
		if (has_errno)
			json_text_signed(&text, "errno", group->code);
		json_text_end(&text);
	}
	write_plain(&text.writer, "]");
	return memory_have(json_text_take(&text));
}

void groups_format(const struct groups *groups, const struct nodes *nodes,
		   char *text, size_t capacity)
{
	size_t used = 0;

	assert(capacity >= sizeof("..."));
	text[0] = 0;
	for (size_t i = 0; i < groups->count && used < capacity; i++) {
		char *names = group_nodes_text(&groups->list[i], nodes);
		int size = snprintf(text + used, capacity - used, "%s%s: %s",
				    i > 0 ? "; " : "", names,
				    groups->list[i].text);

		used += (size_t)size;
		free(names);
	}
	if (groups->more > 0 && used < capacity)
		used += (size_t)snprintf(text + used, capacity - used,
					 "; and %zu more", groups->more);
	if (used >= capacity)
		text_cut(text, capacity);
	text_clean(text);
}
