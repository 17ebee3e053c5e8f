/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What the manager says to clients, at the moment at which it says it: an
 * answer that is lost on its way was given all the same.
 */
#include <stdlib.h>
#include <string.h>
#include <utlist.h>

#include "base/idset.h"
#include "elan.h"
#include "lanes/manager/engine.h"
#include "oracle_internal.h"

static int result_of(const json_t *answer)
{
	return (int)json_integer_value(json_object_get(answer, "result"));
}

static bool is_of_job(const struct lane *lane, const char *job)
{
	return strcmp(lane->job, job) == 0;
}

/* The lanes that a release means: they may be taken away from now on. */
static void mark_over(struct oracle *oracle, const json_t *request)
{
	uint64_t grant_id = number_of(request, "grant_id");
	const char *key = text_of(request, "key");
	const char *job = text_of(request, "job");
	struct lane *lane;

	for (lane = oracle->lanes; lane != NULL; lane = lane->hh.next) {
		if ((grant_id > 0 && lane->grant_id == grant_id) ||
		    strcmp(lane->key, key) == 0 || is_of_job(lane, job)) {
			lane->is_over = true;
			lane->changed_ms = world_now_ms(oracle->world);
		}
	}
}

void oracle_asked(struct oracle *oracle, const json_t *request)
{
	const char *op = text_of(request, "op");
	struct lane *lane;

	if (strcmp(op, "release") == 0) {
		mark_over(oracle, request);
	} else if (strcmp(op, "apply") == 0) {
		lane = oracle_lane_by_id(oracle,
					 number_of(request, "grant_id"));
		if (lane == NULL)
			return;
		lane->ask_count++;
		lane->changed_ms = world_now_ms(oracle->world);
	}
}

static void key_received(struct oracle *oracle, const char *key)
{
	struct asked *asked;

	HASH_FIND_STR(oracle->asked, key, asked);
	if (asked != NULL || strlen(key) >= sizeof(asked->key))
		return;
	asked = world_allocate(sizeof(*asked));
	strcpy(asked->key, key);
	asked->first_ms = world_now_ms(oracle->world);
	HASH_ADD_STR(oracle->asked, key, asked);
}

void oracle_received(struct oracle *oracle, const json_t *request)
{
	struct lane *lane;

	if (strcmp(text_of(request, "op"), "reserve") == 0)
		key_received(oracle,
			     text_of(json_object_get(request, "request"),
				     "key"));
	if (strcmp(text_of(request, "op"), "apply") != 0)
		return;
	lane = oracle_lane_by_id(oracle, number_of(request, "grant_id"));
	if (lane != NULL && lane->asked_ms == 0)
		lane->asked_ms = world_now_ms(oracle->world);
}

/* --- release --- */

static void released(struct oracle *oracle, const json_t *answer)
{
	struct world *world = oracle->world;
	const struct service *service;
	const json_t *item;
	size_t index;

	json_array_foreach (json_object_get(answer, "grants"), index, item) {
		uint32_t nodes = oracle_nodes(oracle, text_of(item, "nodes"));
		struct lane *lane =
			oracle_lane_by_id(oracle, number_of(item, "grant_id"));

		if (lane == NULL)
			continue;
		lane->is_over = true;
		lane->is_released = true;
		lane->changed_ms = world_now_ms(world);
		DL_FOREACH (oracle->services, service) {
			if (service->lane == lane && !lane->is_unsure &&
			    !(nodes & 1u << node_index(service->node)))
				world_fail(world,
					   "'%s' is released, and %s is not "
					   "named, which still has it",
					   lane->key, node_name(service->node));
		}
		coverage_hit(world->coverage, "check:released");
	}
}

/* --- views --- */

static const json_t *list_find(const json_t *jobs, const struct lane *lane)
{
	const json_t *item;
	size_t index;

	json_array_foreach (jobs, index, item) {
		if (number_of(item, "grant_id") == lane->grant_id)
			return item;
	}
	return NULL;
}

/* Everything that was acknowledged and not ended is there. */
static void listed(struct oracle *oracle, const json_t *answer)
{
	const json_t *jobs = json_object_get(answer, "jobs");
	const struct lane *lane;

	for (lane = oracle->lanes; lane != NULL; lane = lane->hh.next) {
		const json_t *item = list_find(jobs, lane);
		const char *expected = lane->is_applied ? "active" : "reserved";

		if (!lane_is_certain(lane))
			continue;
		if (item == NULL ||
		    strcmp(text_of(item, "key"), lane->key) != 0 ||
		    strcmp(text_of(item, "state"), expected) != 0)
			world_fail(oracle->world,
				   "NOTHING LOST: grant %llu of '%s' is %s for "
				   "the manager, and was %s",
				   (unsigned long long)lane->grant_id,
				   lane->key,
				   item == NULL ? "not there"
						: text_of(item, "state"),
				   expected);
		coverage_hit(oracle->world->coverage, "check:listed");
	}
}

/* What a node has is not free. */
static void check_pool(struct oracle *oracle, const json_t *pools,
		       const char *interconnect, const char *name)
{
	const json_t *pool =
		json_object_get(json_object_get(pools, interconnect), name);
	bool is_program = strcmp(name, "program") == 0;
	_auto_(idset_destroyp) struct idset *set = NULL;
	const struct service *service;

	if (idset_parse(text_of(pool, "free"), 65536, &set, NULL) < 0)
		world_fail(oracle->world, "'%s' is no id set",
			   text_of(pool, "free"));
	DL_FOREACH (oracle->services, service) {
		unsigned int count = is_program ? 1 : service->made.vni_count;

		if (service->lane == NULL ||
		    strcmp(service->lane->interconnect, interconnect) != 0)
			continue;
		for (unsigned int i = 0; i < count; i++) {
			uint32_t id = is_program ? service->made.svc_id
						 : service->made.vnis[i];
			if (idset_has(set, id))
				world_fail(oracle->world,
					   "%s %u is free, and %s has it for "
					   "'%s'",
					   name, id, node_name(service->node),
					   service->lane->key);
		}
	}
	coverage_hit(oracle->world->coverage, "check:pool");
}

static void pools_shown(struct oracle *oracle, const json_t *answer)
{
	const json_t *pools = json_object_get(answer, "pools");

	/*
	 * A manager with an old journal does not know yet, or was just
	 * recovered.
	 */
	if (oracle->is_recovering || oracle->world->is_paused)
		return;
	check_pool(oracle, pools, "slingshot", "vni");
	check_pool(oracle, pools, "fabric", "group");
	if (!elan_is_there(oracle->world))
		return;
	check_pool(oracle, pools, "elan3", "program");
	check_pool(oracle, pools, "elan3", "context");
}

/* The manager has no journal at the moment, or has stopped for good. */
static bool is_indisposed(const json_t *answer)
{
	const char *text = text_of(answer, "error");

	return strncmp(text, "the journal", 11) == 0 ||
	       strncmp(text, "the manager has stopped", 23) == 0;
}

void oracle_old_answered(struct oracle *oracle, const json_t *request,
			 const json_t *answer, uint64_t fenced_ms)
{
	const json_t *public = json_object_get(answer, "public");
	const char *key = text_of(public, "key");
	const struct asked *asked;
	struct lane *lane;

	coverage_hit(oracle->world->coverage, "answer:old-manager");
	if (strcmp(text_of(request, "op"), "reserve") != 0 ||
	    result_of(answer) < 0 || oracle_lane(oracle, key) != NULL)
		return;
	HASH_FIND_STR(oracle->asked, key, asked);
	if (asked == NULL || asked->first_ms >= fenced_ms)
		world_fail(oracle->world,
			   "OLD LEADER: a manager without a disk gives a grant "
			   "to '%s'",
			   key);
	/* It was given before; what became of it since, nobody here knows. */
	lane = world_allocate(sizeof(*lane));
	oracle_lane_fill(oracle, lane, public);
	lane->is_unsure = true;
	HASH_ADD_STR(oracle->lanes, key, lane);
}

/* --- nodes --- */

/* An answer is on its way for a while, as is what it says. */
#define UP_MAX_MS (ENGINE_LEASE_MS + 20000)

/* Who is said to be up has a lease. */
static void nodes_shown(struct oracle *oracle, const json_t *answer)
{
	struct world *world = oracle->world;
	const json_t *item;
	size_t index;

	json_array_foreach (json_object_get(answer, "nodes"), index, item) {
		int place = atoi(text_of(item, "name") + 1);

		if (strcmp(text_of(item, "state"), "up") == 0 &&
		    oracle->alive_ms[place] + UP_MAX_MS < world_now_ms(world))
			world_fail(world,
				   "%s is said to be up, and was last seen "
				   "at %.3f s",
				   text_of(item, "name"),
				   (double)oracle->alive_ms[place] / 1000);
	}
	coverage_hit(world->coverage, "check:nodes");
}

void oracle_answered(struct oracle *oracle, const json_t *request,
		     const json_t *answer, uid_t uid)
{
	const char *op = text_of(request, "op");
	int result = result_of(answer);

	coverage_hit(oracle->world->coverage, "answer:%s:%s", op,
		     result == 0 ? "0" : strerrorname_np(-result));
	world_trace(oracle->world, "answer %s%s%s: %s %s", op,
		    *text_of(request, "job") ? " " : "",
		    text_of(request, "job"),
		    result == 0 ? "0" : strerrorname_np(-result),
		    text_of(answer, "error"));
	if (is_indisposed(answer)) {
		coverage_hit(oracle->world->coverage, "answer:indisposed");
		return;
	}
	if (strcmp(op, "reserve") == 0)
		oracle_reserved(oracle, request, result, answer);
	else if (strcmp(op, "apply") == 0)
		oracle_applied(oracle, request, result, answer);
	else if (strcmp(op, "release") == 0 && result == 0)
		released(oracle, answer);
	else if (strcmp(op, "list") == 0 && result == 0 && uid == 0 &&
		 json_object_size(request) == 3)
		listed(oracle, answer);
	else if (strcmp(op, "pools") == 0 && result == 0)
		pools_shown(oracle, answer);
	else if (strcmp(op, "node-list") == 0 && result == 0)
		nodes_shown(oracle, answer);
}
