/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The commands that the manager sends by itself: QUERY and LEASE.
 *
 * It decides when each node is asked for its inventory between registrations. So
 * an identifier is withheld only while the node reports a foreign object with
 * it; a node that reports one is asked often.
 *
 * One query goes to many nodes. It is signed and the answers are tagged, so an
 * answer also proves which keys a node has, even on nodes without jobs: the
 * node has obeyed a command of the newest key and keeps its header as its epoch
 * proof, and its own key is of the same seed. While a key is retiring, nodes
 * are asked until they have proved it. A node that has not answered is asked
 * again.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/hostlist.h"
#include "base/memory.h"
#include "lanes/manager/live.h"
#include "lanes/manager/poll.h"
#include "lanes/manager/session.h"
#include "lanes/proto/collective.h"

#define POLL_MS     300000 /* between queries of a node that reports nothing */
#define REPORTED_MS 1000   /* at one that does .. */
#define SHARE_MS    4      /* .. and for each other that does */
#define ROTATION_MS 2000   /* at one that has not shown the newest key */
#define TIMEOUT_MS  10000  /* for the nodes to answer */
#define NODES_MAX   256    /* that are asked together */

static bool is_rotating(const struct engine *engine)
{
	for (size_t i = 0; i < engine->keys.count; i++)
		if (engine->keys.keys[i].state == KEY_RETIRING)
			return true;
	return false;
}

static uint64_t pause_ms(const struct engine *engine, struct live_node *live)
{
	live->has_reported = core_node_withholds(engine->core, live->name);
	if (is_rotating(engine) && live->key_id != engine->command_key.id)
		return ROTATION_MS;
	return live->has_reported
		       ? REPORTED_MS + SHARE_MS * engine->reported_count
		       : POLL_MS;
}

void poll_begin(struct engine *engine, struct live_node *live)
{
	live->key_id = 0;
	live->poll_number = 0;
	live->poll_ms = engine_now_ms(engine) + pause_ms(engine, live);
}

void poll_all(struct engine *engine)
{
	struct live_node *live;
	struct live_node *next;

	HASH_ITER (hh, engine->live_nodes, live, next)
		live->poll_ms = 0;
}

void poll_gone(struct engine *engine, const char *node, uint64_t grant_id)
{
	struct live_node *live = live_find(engine, node);

	if (live == NULL)
		return;
	/* One under way may have been answered before that. */
	if (live->poll_number != 0 ||
	    (engine->core != NULL &&
	     core_node_has_of(engine->core, node, grant_id)))
		live->poll_ms = 0;
	live->poll_number = 0;
}

void poll_now(struct engine *engine, const char *node)
{
	struct live_node *live = live_find(engine, node);

	if (live != NULL)
		live->poll_ms = 0;
}

static void poll_some(struct engine *engine,
		      struct live_node *const *live_nodes,
		      const char *const *names, size_t count)
{
	struct fanout_command *command =
		fanout_command_create(COMMAND_QUERY, names, count);
	_auto_(freep) char *nodes = memory_have(hostlist_format(names, count));
	const struct query_body body = {
		.nodes = nodes,
		.what = QUERY_INVENTORY,
	};

	/* NODES_MAX names fit in any command. */
	command->error = memory_check(query_body_encode(&body, &command->body));
	command->owner = COMMAND_OF_POLL;
	command->timeout_ms = TIMEOUT_MS;
	command->id = ++engine->poll_last;
	for (size_t i = 0; i < count; i++) {
		live_nodes[i]->poll_number = command->id;
		live_nodes[i]->poll_ms = DEADLINE_NONE;
	}
	fanouts_start(engine->fanouts, command, engine_now_ms(engine));
}

void poll_tick(struct engine *engine, uint64_t now_ms)
{
	struct live_node *live_nodes[NODES_MAX];
	const char *names[NODES_MAX];
	struct live_node *live;
	struct live_node *next;
	size_t count = 0;

	if (engine->halted_epoch != 0)
		return;
	engine->reported_count = 0;
	HASH_ITER (hh, engine->live_nodes, live, next) {
		engine->reported_count += live->has_reported;
		if (!live->is_greeted || now_ms < live->poll_ms ||
		    count == NODES_MAX)
			continue;
		live_nodes[count] = live;
		names[count++] = live->name;
	}
	if (count > 0)
		poll_some(engine, live_nodes, names, count);
}

static void observe(struct engine *engine, const struct fanout_answer *answer)
{
	struct live_node *live;
	struct registration registration;
	struct fairlead_error error;

	if (memory_check(inventory_decode(answer->said, answer->said_size,
					  &registration)) < 0)
		return;
	snprintf(registration.node, sizeof(registration.node), "%s",
		 answer->node);
	memcpy(registration.incarnation, answer->incarnation,
	       sizeof(registration.incarnation));
	register_report(engine, &registration, 0, core_observe, &error);
	live = live_find(engine, answer->node);
	if (live != NULL)
		live_set_drivers(engine, live, &registration);
	registration_fini(&registration);
}

void poll_answer(struct engine *engine, uint64_t number,
		 const struct fanout_answer *answer)
{
	struct live_node *live = live_find(engine, answer->node);

	if (live == NULL || live->poll_number != number || engine->core == NULL)
		return;
	live->poll_number = 0;
	if (answer->reason != NULL &&
	    memcmp(answer->incarnation, live->incarnation,
		   sizeof(live->incarnation)) == 0) {
		if (answer->has_shown)
			live->key_id = answer->key_id;
		if (answer->result == 0)
			observe(engine, answer);
	}
	/* While it was under way somebody may have asked for another one. */
	if (live->poll_ms == DEADLINE_NONE)
		live->poll_ms = engine_now_ms(engine) + pause_ms(engine, live);
}

/*
 * --- LEASE ---
 *
 * Decides which nodes share a LEASE command: as many as a host list and a frame
 * hold. Nodes that are up are the same each time, so each of their commands has
 * a group; recalled nodes are asked once, and have none.
 *
 * Recall: nodes have no link while idle, so they do not notice that the manager
 * has restarted, and would register when their lease is over. A LEASE of a
 * higher epoch makes them register at once. A node that answers it is not up
 * before it has registered.
 */

/* -EMSGSIZE: their names do not fit in one command. */
static int send_some(struct engine *engine, const char *const *names,
		     size_t count, enum command_owner owner, uint64_t group)
{
	_auto_(fanout_command_destroyp) struct fanout_command *command =
		fanout_command_create(COMMAND_LEASE, names, count);
	_auto_(freep) char *nodes = memory_have(hostlist_format(names, count));
	const struct lease_body body = {
		.nodes = nodes,
		.lease_s = ENGINE_LEASE_MS / 1000,
	};
	int result = memory_check(lease_body_encode(&body, &command->body));

	if (result < 0)
		return result;
	command->owner = owner;
	command->group = group;
	command->timeout_ms = group == 0 ? ENGINE_LEASE_MS : ENGINE_RENEW_MS;
	fanouts_start(engine->fanouts, take_ptr(command),
		      engine_now_ms(engine));
	return 0;
}

void lease_send(struct engine *engine, const char *const *names, size_t count,
		enum command_owner owner)
{
	bool has_group = owner == COMMAND_OF_LEASE;
	uint64_t group = has_group ? ROUND_GROUP_ALL : 0;
	size_t at = 0;

	while (at < count) {
		size_t some = count - at;

		if (some > HOSTLIST_COUNT_MAX)
			some = HOSTLIST_COUNT_MAX;
		while (send_some(engine, names + at, some, owner, group) < 0 &&
		       some > 1)
			some /= 2;
		at += some;
		group -= has_group;
	}
}

/* --- recall --- */

bool recall_is_due(const struct engine *engine)
{
	return engine->is_recall_due && engine->core != NULL &&
	       engine->halted_epoch == 0;
}

static int by_name(const void *left, const void *right)
{
	const char *const *a = left, *const *b = right;

	return strverscmp(*a, *b);
}

void recall_tick(struct engine *engine)
{
	const struct round_seam *seam = &engine->rounds;
	_auto_(freep) const char **names = NULL;
	struct core_node_endpoint endpoint;
	uint32_t cursor = 0;
	size_t count = 0;

	if (!recall_is_due(engine))
		return;
	engine->is_recall_due = false;
	names = memory_array(CORE_NODES_MAX, sizeof(*names));
	while (core_node_endpoint_next(engine->core, &cursor, &endpoint) > 0) {
		if (endpoint.address_size == 0 ||
		    live_find(engine, endpoint.name) != NULL)
			continue;
		seam->ops->address(seam->ctx, nid_of_node(endpoint.name),
				   endpoint.address, endpoint.address_size);
		names[count++] = endpoint.name;
	}
	qsort(names, count, sizeof(*names), by_name);
	lease_send(engine, names, count, COMMAND_OF_RECALL);
}

bool recall_incarnation(const struct engine *engine, const char *node,
			uint8_t ret_incarnation[INCARNATION_SIZE])
{
	struct core_node_endpoint endpoint;

	if (engine->core == NULL ||
	    !core_node_endpoint(engine->core, node, &endpoint))
		return false;
	memcpy(ret_incarnation, endpoint.incarnation, INCARNATION_SIZE);
	return true;
}
