/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What the manager says to clients, at the moment at which it says it: an
 * answer that is lost on its way was given all the same.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <utlist.h>

#include "base/idset.h"
#include "elan.h"
#include "leader.h"
#include "lanes/manager/engine.h"
#include "oracle_internal.h"

static const char *text_of(const json_t *object, const char *name)
{
	const char *text = json_string_value(json_object_get(object, name));

	return text == NULL ? "" : text;
}

static uint64_t number_of(const json_t *object, const char *name)
{
	return (uint64_t)json_integer_value(json_object_get(object, name));
}

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

/* --- reserve --- */

static void check_free(struct oracle *oracle, const struct lane *lane)
{
	struct world *world = oracle->world;
	const struct service *service;
	const struct lane *other;

	for (unsigned int i = 0; i < lane->id_count; i++) {
		service = oracle_find_id(oracle, lane->ids[i], lane);
		if (service != NULL)
			world_fail(world,
				   "NEVER TWICE: identifier %u is given to "
				   "'%s' (grant %llu) while %s still has it "
				   "for '%s' (grant %llu)",
				   lane->ids[i], lane->key,
				   (unsigned long long)lane->grant_id,
				   node_name(service->node), service->lane->key,
				   (unsigned long long)service->lane->grant_id);
		for (other = oracle->lanes; other != NULL;
		     other = other->hh.next) {
			if (other != lane && lane_is_certain(other) &&
			    lanes_meet(other, lane) &&
			    lane_has_id(other, lane->ids[i]))
				world_fail(world,
					   "NEVER TWICE: identifier %u of '%s' "
					   "(grant %llu) is given to '%s' "
					   "(grant %llu) too",
					   lane->ids[i], other->key,
					   (unsigned long long)other->grant_id,
					   lane->key,
					   (unsigned long long)lane->grant_id);
		}
	}
	coverage_hit(world->coverage, "check:reserved");
}

/* A program is one lane's, wherever that is. */
static void check_program(struct oracle *oracle, const struct lane *lane)
{
	struct world *world = oracle->world;
	const struct service *service = oracle_find_program(oracle, lane);
	const struct lane *other;

	if (lane->program == 0)
		return;
	if (service != NULL)
		world_fail(world,
			   "NEVER TWICE: program %u is given to '%s' while %s "
			   "still has it for '%s'",
			   lane->program, lane->key, node_name(service->node),
			   service->lane->key);
	for (other = oracle->lanes; other != NULL; other = other->hh.next) {
		if (other != lane && lane_is_certain(other) &&
		    other->program == lane->program)
			world_fail(world,
				   "NEVER TWICE: program %u of '%s' is given "
				   "to '%s' too",
				   lane->program, other->key, lane->key);
	}
	coverage_hit(world->coverage, "check:program");
}

/* What a node has reported as somebody else's is not given to anybody. */
static void check_withheld(struct oracle *oracle, const struct lane *lane)
{
	struct world *world = oracle->world;
	const struct service *service;
	const struct asked *asked;

	/* It may have been decided when the manager first saw it. */
	HASH_FIND_STR(oracle->asked, lane->key, asked);
	if (asked == NULL || leader_was_restored(world->leader) ||
	    strcmp(lane->interconnect, "slingshot") != 0)
		return; /* NICs alone have services of others */
	DL_FOREACH (oracle->services, service) {
		unsigned int place = node_index(service->node);
		const struct obeyed *obeyed = &oracle->obeyed[place];

		if (service->lane != NULL ||
		    service->made_ms >= obeyed->registered_ms ||
		    obeyed->greeted_ms >= asked->first_ms ||
		    obeyed->registered_epoch != leader_epoch(world->leader) ||
		    !(leader_config(world->leader)->nodes & 1u << place))
			continue;
		for (unsigned int i = 0; i < service->made.vni_count; i++) {
			if (lane_has_id(lane, service->made.vnis[i]))
				world_fail(
					world,
					"identifier %u is given to '%s', and "
					"%s has reported it as not ours",
					service->made.vnis[i], lane->key,
					node_name(service->node));
		}
		coverage_hit(world->coverage, "check:withheld");
	}
}

/* An Elan's identifiers are its contexts, which follow each other. */
static void contexts_fill(struct lane *lane, const json_t *reservation)
{
	const json_t *ends = json_object_get(reservation, "contexts");
	uint32_t first = (uint32_t)json_integer_value(json_array_get(ends, 0));
	uint32_t last = (uint32_t)json_integer_value(json_array_get(ends, 1));

	if (ends == NULL)
		return;
	lane->program = (uint32_t)number_of(reservation, "program");
	for (uint32_t id = first; id <= last && lane->id_count < ORACLE_IDS_MAX;
	     id++)
		lane->ids[lane->id_count++] = id;
}

static void lane_fill(struct oracle *oracle, struct lane *lane,
		      const json_t *public)
{
	const json_t *context = json_object_get(public, "context");
	const json_t *ids = json_object_get(context, "vnis");
	char *slash;

	snprintf(lane->key, sizeof(lane->key), "%s", text_of(public, "key"));
	snprintf(lane->job, sizeof(lane->job), "%s", lane->key);
	slash = strrchr(lane->job, '/');
	if (slash != NULL)
		*slash = 0;
	snprintf(lane->interconnect, sizeof(lane->interconnect), "%s",
		 text_of(public, "interconnect"));
	lane->grant_id = number_of(public, "grant_id");
	lane->uid = (uint32_t)number_of(public, "uid");
	lane->nodes = oracle_nodes(oracle, text_of(public, "nodes"));
	if (strcmp(lane->interconnect, "elan3") == 0)
		contexts_fill(lane, json_object_get(context, "reservation"));
	else
		lane->id_count = (unsigned int)json_array_size(ids);
	if (lane->id_count > ORACLE_IDS_MAX)
		world_fail(oracle->world, "'%s' has %u identifiers", lane->key,
			   lane->id_count);
	for (unsigned int i = 0; i < json_array_size(ids); i++)
		lane->ids[i] =
			(uint32_t)json_integer_value(json_array_get(ids, i));
}

static bool is_same_grant(const struct lane *a, const struct lane *b)
{
	return a->grant_id == b->grant_id && a->uid == b->uid &&
	       a->nodes == b->nodes && a->id_count == b->id_count &&
	       a->program == b->program &&
	       memcmp(a->ids, b->ids, sizeof(a->ids)) == 0;
}

/* What an old backup has forgotten lives on under another key. */
static void forget(struct oracle *oracle, struct lane *lane)
{
	HASH_DEL(oracle->lanes, lane);
	snprintf(lane->key + strlen(lane->key),
		 sizeof(lane->key) - strlen(lane->key), "~%llu",
		 (unsigned long long)lane->grant_id);
	HASH_ADD_STR(oracle->lanes, key, lane);
}

static void reserve_again(struct oracle *oracle, const struct lane *known,
			  const struct lane *said)
{
	struct world *world = oracle->world;

	coverage_hit(world->coverage, "check:reserved-again");
	if (known->is_released)
		world_fail(world, "the released key '%s' gives a grant",
			   known->key);
	if (!is_same_grant(known, said))
		world_fail(world,
			   "'%s' was grant %llu, and is grant %llu when it is "
			   "asked for again",
			   known->key, (unsigned long long)known->grant_id,
			   (unsigned long long)said->grant_id);
}

static void reserve_done(struct oracle *oracle, const json_t *request,
			 const json_t *answer)
{
	struct world *world = oracle->world;
	const json_t *asked = json_object_get(request, "request");
	const struct lane *other;
	struct lane said = { 0 };
	struct lane *lane;

	lane_fill(oracle, &said, json_object_get(answer, "public"));
	if (strcmp(said.key, text_of(asked, "key")) != 0 ||
	    said.uid != number_of(asked, "uid") ||
	    said.nodes != oracle_nodes(oracle, text_of(asked, "nodes")))
		world_fail(world, "the grant of '%s' is not what was asked for",
			   text_of(asked, "key"));
	lane = oracle_lane(oracle, said.key);
	if (lane != NULL &&
	    !(lane->is_unsure && lane->grant_id != said.grant_id)) {
		reserve_again(oracle, lane, &said);
		return;
	}
	if (lane != NULL)
		forget(oracle, lane);
	other = oracle_lane_by_id(oracle, said.grant_id);
	if (other != NULL && !other->is_unsure)
		world_fail(world, "grant id %llu of '%s' is that of '%s'",
			   (unsigned long long)said.grant_id, said.key,
			   other->key);
	check_free(oracle, &said);
	check_program(oracle, &said);
	check_withheld(oracle, &said);
	lane = world_allocate(sizeof(*lane));
	*lane = said;
	lane->changed_ms = world_now_ms(world);
	HASH_ADD_STR(oracle->lanes, key, lane);
	world_trace(world, "grant %llu of %s: ids from %u (%u), nodes %x",
		    (unsigned long long)lane->grant_id, lane->key, lane->ids[0],
		    lane->id_count, lane->nodes);
}

static void reserve_failed(struct oracle *oracle, const json_t *request,
			   int result)
{
	const json_t *asked = json_object_get(request, "request");
	struct lane *lane = oracle_lane(oracle, text_of(asked, "key"));
	bool is_other;

	if (lane == NULL || !lane_is_certain(lane))
		return;
	/* The same request again; another one is what the key refuses. */
	is_other = lane->uid != number_of(asked, "uid") ||
		   lane->nodes != oracle_nodes(oracle, text_of(asked, "nodes"));
	if (result == -ESTALE || result == -EAGAIN || result == -EHOSTDOWN ||
	    result == -ENOENT || (result == -EEXIST && !is_other))
		world_fail(oracle->world,
			   "NOTHING LOST: '%s' is grant %llu, and asked for "
			   "again it gets %s",
			   lane->key, (unsigned long long)lane->grant_id,
			   strerrorname_np(-result));
}

/* --- apply --- */

static void check_environment(struct oracle *oracle, const struct node *node,
			      const struct lane *lane)
{
	struct world *world = oracle->world;
	char expected[128] = "SLINGSHOT_VNIS=";
	const char *content;
	uid_t uid;

	for (unsigned int i = 0; i < lane->id_count; i++)
		snprintf(expected + strlen(expected),
			 sizeof(expected) - strlen(expected), "%s%u",
			 i > 0 ? "," : "", lane->ids[i]);
	strcat(expected, "\n");
	content = node_environment(node, lane->key, &uid);
	if (content == NULL)
		world_fail(world, "%s has no environment file of '%s'",
			   node_name(node), lane->key);
	if (uid != lane->uid)
		world_fail(world, "the environment file of '%s' is uid %u's",
			   lane->key, uid);
	if (strcmp(lane->interconnect, "slingshot") == 0 &&
	    strstr(content, expected) == NULL)
		world_fail(world, "the environment of '%s' lacks %s", lane->key,
			   expected);
}

static unsigned int nic_count(struct node *node)
{
	unsigned int count = 0;

	for (uint32_t i = 0; i < SOFTNIC_NIC_MAX; i++)
		count += hardware_is_present(node_hardware(node), i);
	return count;
}

static void check_applied_on(struct oracle *oracle, struct node *node,
			     const struct lane *lane)
{
	const struct service *service;
	unsigned int count = 0, wanted = 1;

	if (strcmp(lane->interconnect, "slingshot") == 0)
		wanted = nic_count(node);
	DL_FOREACH (oracle->services, service)
		count += service->lane == lane && service->node == node;
	if (count != wanted)
		world_fail(oracle->world,
			   "ALL OR NONE: '%s' (grant %llu) is said to be "
			   "applied, and %s has it on %u of %u NICs",
			   lane->key, (unsigned long long)lane->grant_id,
			   node_name(node), count, wanted);
	check_environment(oracle, node, lane);
}

static void apply_done(struct oracle *oracle, struct lane *lane)
{
	struct world *world = oracle->world;
	bool is_first = !lane->is_applied;

	if (lane->is_released)
		world_fail(world, "'%s' is applied after its release",
			   lane->key);
	lane->is_applied = true;
	if (lane->id_count == 0 || lane->is_over || lane->is_unsure)
		return;
	for (unsigned int i = 0; i < world->node_count; i++) {
		if (!(lane->nodes & 1u << i))
			continue;
		if (!(lane->lost & 1u << i))
			check_applied_on(oracle, world->nodes[i], lane);
		if (is_first && !lane->answers[i].is_done)
			world_fail(world,
				   "ONE ANSWER: '%s' is applied, and %s has "
				   "not said so",
				   lane->key, node_name(world->nodes[i]));
	}
	coverage_hit(world->coverage, "check:applied");
}

/* Failures by node; the text of nodes is a host list. */
static uint32_t failures_read(struct oracle *oracle, const json_t *answer,
			      int results[WORLD_NODES_MAX])
{
	uint32_t named = 0;
	const json_t *item;
	size_t index;

	json_array_foreach (json_object_get(answer, "failures"), index, item) {
		uint32_t nodes = oracle_nodes(oracle, text_of(item, "nodes"));

		for (unsigned int i = 0; i < WORLD_NODES_MAX; i++) {
			if (nodes & 1u << i)
				results[i] = (int)json_integer_value(
					json_object_get(item, "errno"));
		}
		named |= nodes;
	}
	return named;
}

static bool has_answered(const struct lane *lane, unsigned int node, int result)
{
	unsigned int count = lane->answers[node].count;

	for (unsigned int i = 0; i < count && i < ORACLE_ANSWERS_MAX; i++)
		if (lane->answers[node].results[i] == result)
			return true;
	return false;
}

/* Not reached in time, or restarted, or that too often. */
static bool is_managers_word(int result)
{
	return result == -ETIMEDOUT || result == -EHOSTUNREACH ||
	       result == -ESTALE || result == -ECONNRESET;
}

/* Exactly those that failed, and why. */
static void check_failures(struct oracle *oracle, const struct lane *lane,
			   const json_t *answer)
{
	struct world *world = oracle->world;
	int results[WORLD_NODES_MAX] = { 0 };
	uint32_t named = failures_read(oracle, answer, results);

	if (named == 0 || (named & ~lane->nodes) != 0)
		world_fail(world, "ONE ANSWER: '%s' fails on nodes %x of %x",
			   lane->key, named, lane->nodes);
	for (unsigned int i = 0; i < world->node_count; i++) {
		uint64_t answered_ms = lane->answers[i].answered_ms;
		bool is_named = named & 1u << i;

		if (!(lane->nodes & 1u << i))
			continue;
		if (!lane->answers[i].is_done && !is_named)
			world_fail(world,
				   "ONE ANSWER: '%s' failed on %s, which is "
				   "not named",
				   lane->key, node_name(world->nodes[i]));
		if (!is_named)
			continue;
		if (!is_managers_word(results[i]) &&
		    !has_answered(lane, i, results[i]))
			world_fail(world,
				   "ONE ANSWER: %s is said to fail '%s' with "
				   "%s, and did not",
				   node_name(world->nodes[i]), lane->key,
				   strerrorname_np(-results[i]));
		if (results[i] == -ETIMEDOUT && answered_ms > 0 &&
		    answered_ms < lane->asked_ms + LEADER_APPLY_MS)
			world_fail(world,
				   "ONE ANSWER: %s is said to be too late for "
				   "'%s', and was not",
				   node_name(world->nodes[i]), lane->key);
	}
	coverage_hit(world->coverage, "check:failures");
}

static void apply_failed(struct oracle *oracle, struct lane *lane, int result,
			 const json_t *answer)
{
	struct world *world = oracle->world;

	switch (result) {
	case -EREMOTEIO:
		if (!lane->is_unsure)
			check_failures(oracle, lane, answer);
		break;
	case -ENOENT:
	case -ESTALE:
		if (!lane->is_over && !lane->is_unsure &&
		    (lane->is_applied || lane->ask_count == 1) &&
		    strcmp(lane->interconnect, "fabric") != 0)
			world_fail(world,
				   "NOTHING LOST: '%s' is grant %llu, and its "
				   "apply gets %s",
				   lane->key,
				   (unsigned long long)lane->grant_id,
				   strerrorname_np(-result));
		break;
	case -EINVAL:
		if (strcmp(lane->interconnect, "fabric") != 0)
			world_fail(world, "'%s' has no members, and wants none",
				   lane->key);
		break;
	case -EHOSTUNREACH:
	case -ECANCELED:
		break;
	default:
		/* The journal has failed: ask again. */
		return;
	}
	if (lane->is_applied && !lane->is_over && !lane->is_unsure)
		world_fail(world, "'%s' was applied, and its apply fails: %s",
			   lane->key, strerrorname_np(-result));
	lane->is_over = true;
	lane->is_released = true;
}

static void applied(struct oracle *oracle, const json_t *request, int result,
		    const json_t *answer)
{
	struct lane *lane =
		oracle_lane_by_id(oracle, number_of(request, "grant_id"));

	if (lane == NULL) {
		if (result == 0)
			world_fail(oracle->world,
				   "grant %llu is applied, and there is none",
				   (unsigned long long)number_of(request,
								 "grant_id"));
		return;
	}
	lane->changed_ms = world_now_ms(oracle->world);
	if (result == 0)
		apply_done(oracle, lane);
	else
		apply_failed(oracle, lane, result, answer);
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
	lane_fill(oracle, lane, public);
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
	if (strcmp(op, "reserve") == 0 && result == 0)
		reserve_done(oracle, request, answer);
	else if (strcmp(op, "reserve") == 0)
		reserve_failed(oracle, request, result);
	else if (strcmp(op, "apply") == 0)
		applied(oracle, request, result, answer);
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
