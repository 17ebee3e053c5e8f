/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What the manager says of one grant: that it is reserved, and as what, and
 * that it is applied, or where that failed and why.
 */
#include <errno.h>
#include <string.h>
#include <utlist.h>

#include "leader.h"
#include "oracle_internal.h"

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

void oracle_lane_fill(struct oracle *oracle, struct lane *lane,
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

	oracle_lane_fill(oracle, &said, json_object_get(answer, "public"));
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

void oracle_reserved(struct oracle *oracle, const json_t *request, int result,
		     const json_t *answer)
{
	if (result == 0)
		reserve_done(oracle, request, answer);
	else
		reserve_failed(oracle, request, result);
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

void oracle_applied(struct oracle *oracle, const json_t *request, int result,
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
	lane->waits_ms = 0;
	if (result == 0)
		apply_done(oracle, lane);
	else
		apply_failed(oracle, lane, result, answer);
}
