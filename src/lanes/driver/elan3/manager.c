/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The manager half. It plans for a job one program, a run of contexts as long
 * as its nodes have tasks, and a key for each of its rail sets. A run counts
 * for all rails: two jobs whose ElanIDs meet share no context, on whatever
 * rails they are.
 */
#include "lanes/driver/elan3/elan3.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "base/hostlist.h"
#include "base/json_text.h"
#include "base/memory.h"
#include "lanes/driver/elan3/geometry.h"
#include "lanes/driver/elan3/place.h"
#include "lanes/driver/elan3/policy.h"
#include "lanes/driver/elan3/reply.h"
#include "lanes/driver/elan3/settings.h"
#include "elan/capability.h"

#define DOWN_NODES_MAX 64 /* named in an error */

static_assert(ELAN3_CAPS_MAX * ELAN3_KEY_SIZE <= FAIRLEAD_SECRET_MAX,
	      "a key for each capability");
static_assert(ELAN3_REPLY_MAX == FAIRLEAD_PACKED_MAX, "what can be sealed");
static_assert(ELAN3_CONTEXT_LIMIT <= FAIRLEAD_RUN_IDS_MAX &&
		      ELAN_ID_MAX < FAIRLEAD_POSITIONS_MAX,
	      "what the core can keep");

struct elan3_manager {
	struct elan3_policy policy;
	struct elan_hosts *hosts; /* NULL: no file was read */
	char *contexts, *programs;
	uint32_t longest; /* run of contexts that there can be */
};

static void destroy(void *data)
{
	struct elan3_manager *state = data;

	if (!state)
		return;
	elan3_policy_fini(&state->policy);
	elan_hosts_destroy(state->hosts);
	free(state->contexts);
	free(state->programs);
	free(state);
}

/* --- settings --- */

static uint32_t longest_of(const struct idset *set)
{
	uint32_t longest = 0, length = 0, next = 0;

	idset_foreach (id, set) {
		length = id == next ? length + 1 : 1;
		next = id + 1;
		if (length > longest)
			longest = length;
	}
	return longest;
}

static int configure(const struct fairlead_setting *list, size_t count,
		     void **ret_state, struct fairlead_error *ret_error)
{
	struct elan3_manager *state;
	struct elan3_settings settings;
	struct elan_hosts *hosts;
	int result =
		elan3_settings_read(list, count, &settings, &hosts, ret_error);

	if (result < 0)
		return result;
	state = memory_alloc(sizeof(*state));
	state->hosts = hosts;
	elan3_policy_init(&state->policy, &settings);
	state->longest = longest_of(state->policy.contexts);
	state->contexts = memory_text(settings.contexts);
	state->programs = memory_text(settings.programs);
	*ret_state = state;
	return 0;
}

static size_t pools(void *data,
		    struct fairlead_pool_spec specs[FAIRLEAD_POOLS_MAX])
{
	const struct elan3_manager *state = data;

	specs[ELAN3_POOL_PROGRAM] = (struct fairlead_pool_spec){
		.name = "program",
		.limit = ELAN3_PROGRAM_LIMIT,
		.universe = state->programs,
	};
	specs[ELAN3_POOL_CONTEXT] = (struct fairlead_pool_spec){
		.name = "context",
		.limit = ELAN3_CONTEXT_LIMIT,
		.universe = state->contexts,
		.positions = ELAN_ID_MAX + 1,
	};
	return ELAN3_POOL_COUNT;
}

/* --- reserving --- */

static int geometry_of(const struct elan3_manager *state,
		       const char *const *nodes, const uint32_t *tasks,
		       size_t count, struct elan3_geometry *ret_geometry,
		       struct fairlead_error *ret_error)
{
	if (!state->hosts)
		return error_set(ret_error, -EINVAL,
				 "the file with the ElanIDs was not read");
	return elan3_geometry_make(state->hosts, nodes, tasks, count,
				   ret_geometry, ret_error);
}

static int down_check(const struct elan3_manager *state,
		      const struct elan3_geometry *geometry,
		      const char *const *nodes, uint32_t rails,
		      struct fairlead_error *ret_error)
{
	const char *names[DOWN_NODES_MAX] = { NULL };
	_auto_(freep) char *text = NULL;
	size_t down = 0, named = 0;

	for (size_t i = 0; i < geometry->count; i++) {
		if (!elan3_policy_is_down(&state->policy, geometry->ids[i],
					  rails))
			continue;
		if (named < DOWN_NODES_MAX)
			names[named++] = nodes[i];
		down++;
	}
	if (down == 0)
		return 0;
	text = memory_have(hostlist_format(names, named));
	return error_set(ret_error, -EHOSTDOWN,
			 "%zu node%s reported down on the Elan: %s", down,
			 down == 1 ? "" : "s", text);
}

/* Bytes of the reply are known before anything of it is. */
static int size_check(const struct elan3_geometry *geometry,
		      const struct elan3_request *asked,
		      struct fairlead_error *ret_error)
{
	uint32_t bits = (geometry->high - geometry->low + 1) * asked->contexts;
	size_t size = 12 + asked->set_count * (CAPABILITY_HEAD_SIZE +
					       4 * (size_t)((bits + 31) / 32));

	if (size > ELAN3_REPLY_MAX)
		return error_set(ret_error, -EINVAL,
				 "%u capabilities of %u virtual processes are "
				 "more than can be sealed",
				 asked->set_count, bits);
	return 0;
}

/* Complete the request, and see that it can be met at all. */
static int asked_check(const struct elan3_manager *state,
		       const struct elan3_geometry *geometry,
		       struct elan3_request *asked,
		       struct fairlead_error *ret_error)
{
	int result;

	if (geometry->count > FAIRLEAD_SECRET_NODES_MAX)
		return error_set(ret_error, -EINVAL,
				 "the job has %zu nodes, and %d is the most",
				 geometry->count, FAIRLEAD_SECRET_NODES_MAX);
	if (asked->is_contiguous && !elan3_geometry_is_contiguous(geometry))
		return error_set(ret_error, -EINVAL,
				 "option 'contiguous': %zu nodes are not all "
				 "of the ElanIDs %u-%u",
				 geometry->count, geometry->low,
				 geometry->high);
	if (asked->contexts == 0)
		asked->contexts = geometry->most;
	result = elan3_geometry_check(geometry, asked->contexts, ret_error);
	if (result < 0)
		return result;
	if (asked->contexts > state->longest)
		return error_set(ret_error, -EINVAL,
				 "%u contexts a node, and no more than %u of "
				 "the configured ones follow each other",
				 asked->contexts, state->longest);
	return size_check(geometry, asked, ret_error);
}

static void plan_fill(const struct elan3_manager *state,
		      const struct elan3_geometry *geometry,
		      const struct elan3_request *asked,
		      struct fairlead_plan *ret_plan)
{
	struct fairlead_plan plan = {
		.is_fatal = state->policy.is_reserve_fatal,
		.has_lane = true,
		.secret_size = asked->set_count * ELAN3_KEY_SIZE,
	};

	plan.counts[ELAN3_POOL_PROGRAM] = 1;
	plan.runs[ELAN3_POOL_CONTEXT] = (struct fairlead_run){
		.low = geometry->low,
		.high = geometry->high,
		.length = asked->contexts,
	};
	elan3_request_format(asked, plan.options);
	*ret_plan = plan;
}

static void plan_off(const struct elan3_manager *state,
		     const struct elan3_request *asked,
		     struct fairlead_plan *ret_plan)
{
	struct fairlead_plan plan = {
		.is_fatal = state->policy.is_reserve_fatal,
		.reason = "disabled by user request",
	};

	elan3_request_format(asked, plan.options);
	*ret_plan = plan;
}

static int reserve(void *data, const struct fairlead_driver_request *request,
		   struct fairlead_plan *ret_plan,
		   struct fairlead_error *ret_error)
{
	const struct elan3_manager *state = data;
	struct elan3_geometry geometry;
	struct elan3_request asked;
	int result = elan3_request_parse(
		request->options, state->policy.rail_count, &asked, ret_error);

	if (result < 0)
		return result;
	if (asked.is_off) {
		plan_off(state, &asked, ret_plan);
		return 0;
	}
	result = geometry_of(state, request->nodes, request->tasks,
			     request->node_count, &geometry, ret_error);
	if (result < 0)
		return result;
	result = down_check(state, &geometry, request->nodes,
			    elan3_request_rails(&asked), ret_error);
	if (result == 0)
		result = asked_check(state, &geometry, &asked, ret_error);
	if (result == 0)
		plan_fill(state, &geometry, &asked, ret_plan);
	elan3_geometry_fini(&geometry);
	return result;
}

/* --- what was reserved --- */

static int describe(void *data, const struct fairlead_lane *lane,
		    const char *reason, const char **ret_event_name,
		    char **ret_context)
{
	struct json_text context = { 0 };

	json_text_begin(&context);
	json_text_object(&context, "reservation");
	if (lane->id_count == ELAN3_ID_COUNT) {
		json_text_number(&context, "program",
				 lane->ids[ELAN3_ID_PROGRAM]);
		json_text_numbers(&context, "contexts",
				  lane->ids + ELAN3_ID_FIRST, 2);
	}
	json_text_end(&context);
	if (lane->id_count == 0)
		json_text_string(&context, "empty-reason", reason);
	json_text_end(&context);
	*ret_context = memory_have(json_text_take(&context));
	*ret_event_name = ELAN3_NAME;
	return 0;
}

static int place_read(const struct elan3_manager *state, const char *node,
		      const struct fairlead_place *bytes, uint32_t rails,
		      struct elan3_place *ret_place,
		      struct fairlead_error *ret_error)
{
	int id = state->hosts ? elan_hosts_find(state->hosts, node) : -ENOENT;

	if (id < 0)
		return error_set(ret_error, -EINVAL,
				 "node '%s' has no ElanID any more", node);
	if (elan3_place_decode(bytes, ret_place) < 0)
		return error_set(ret_error, -EINVAL,
				 "node '%s' has not reported its place in the "
				 "Elan",
				 node);
	if (elan3_place_check(ret_place, rails, (uint32_t)id, ret_error) < 0)
		return error_prefix(ret_error, "node '%s'", node);
	ret_place->adapter.node = (uint16_t)id;
	return 0;
}

static int by_node(const void *left, const void *right)
{
	const struct route *a = left, *b = right;

	return a->node < b->node ? -1 : a->node > b->node;
}

/*
 * Nodes report where they are; a lane is for those that are where they should.
 * What they are given are the routes to those that have an adapter.
 */
static int assemble(void *data, const struct fairlead_lane *lane,
		    const char *const *nodes,
		    const struct fairlead_place *places, size_t count,
		    uint8_t **ret_bytes, size_t *ret_size,
		    struct fairlead_error *ret_error)
{
	const struct elan3_manager *state = data;
	_auto_(freep) struct route *routes =
		memory_array(count, sizeof(*routes));
	struct writer writer = { .limit = FAIRLEAD_MEMBERS_MAX };
	struct elan3_request asked;
	size_t found = 0;
	int result = elan3_request_parse(lane->options, ELAN3_RAILS_MAX, &asked,
					 ret_error);

	for (size_t i = 0; i < count && result == 0; i++) {
		struct elan3_place place;

		result = place_read(state, nodes[i], &places[i],
				    elan3_request_rails(&asked), &place,
				    ret_error);
		if (result == 0 && place.adapter.family != 0)
			routes[found++] = place.adapter;
	}
	if (result < 0)
		return result;
	qsort(routes, found, sizeof(*routes), by_node);
	for (size_t i = 0; i < found; i++)
		route_encode(&routes[i], &writer);
	*ret_bytes = NULL;
	*ret_size = 0;
	if (found > 0)
		*ret_bytes = memory_have(writer_take(&writer, ret_size));
	return 0;
}

/* --- secrets --- */

static void caps_make(const struct fairlead_pack *pack,
		      const struct elan3_geometry *geometry,
		      const struct elan3_request *asked,
		      struct elan3_reply *reply)
{
	const uint32_t *ids = pack->lane->ids;

	reply->program = ids[ELAN3_ID_PROGRAM];
	reply->caps = memory_array(asked->set_count, sizeof(*reply->caps));
	reply->cap_count = asked->set_count;
	for (uint32_t i = 0; i < asked->set_count; i++)
		elan3_capability_make(geometry, ids[ELAN3_ID_FIRST],
				      ids[ELAN3_ID_LAST], asked->is_cyclic,
				      asked->sets[i],
				      pack->secret + i * ELAN3_KEY_SIZE,
				      &reply->caps[i]);
}

static int reply_make(const struct fairlead_pack *pack,
		      const struct elan3_geometry *geometry,
		      const struct elan3_request *asked, uint8_t **ret_bytes,
		      size_t *ret_size, struct fairlead_error *ret_error)
{
	const struct fairlead_run *run = &pack->runs[ELAN3_POOL_CONTEXT];
	struct elan3_reply reply = { 0 };
	struct writer writer = { .limit = ELAN3_REPLY_MAX };
	int result;

	if (geometry->low != run->low || geometry->high != run->high)
		return error_set(ret_error, -EINVAL,
				 "the ElanIDs of its nodes were %u-%u when it "
				 "was reserved, and are %u-%u",
				 run->low, run->high, geometry->low,
				 geometry->high);
	if (pack->lane->id_count != ELAN3_ID_COUNT ||
	    pack->secret_size != asked->set_count * ELAN3_KEY_SIZE)
		return error_set(ret_error, -EINVAL,
				 "it was reserved as something else");
	result = elan3_geometry_check(geometry, run->length, ret_error);
	if (result < 0)
		return result;
	/* All of it at once: what grows leaves copies behind. */
	writer.data = memory_alloc(ELAN3_REPLY_MAX);
	writer.capacity = ELAN3_REPLY_MAX;
	caps_make(pack, geometry, asked, &reply);
	result = elan3_reply_encode(&reply, &writer);
	elan3_reply_fini(&reply);
	if (result == 0)
		*ret_bytes = writer_take(&writer, ret_size);
	writer_fini(&writer);
	return result == 0 ? 0
			   : error_set(ret_error, result,
				       "the reply cannot be made");
}

static int pack(void *data, const struct fairlead_pack *pack,
		uint8_t **ret_bytes, size_t *ret_size,
		struct fairlead_error *ret_error)
{
	const struct elan3_manager *state = data;
	struct elan3_geometry geometry;
	struct elan3_request asked;
	int result = elan3_request_parse(pack->lane->options, ELAN3_RAILS_MAX,
					 &asked, ret_error);

	if (result == 0)
		result = geometry_of(state, pack->nodes, pack->tasks,
				     pack->node_count, &geometry, ret_error);
	if (result < 0)
		return result;
	result = reply_make(pack, &geometry, &asked, ret_bytes, ret_size,
			    ret_error);
	elan3_geometry_fini(&geometry);
	return result;
}

const struct fairlead_manager_ops elan3_manager_ops = {
	.configure = configure,
	.destroy = destroy,
	.pools = pools,
	.reserve = reserve,
	.describe = describe,
	.assemble = assemble,
	.pack = pack,
};
