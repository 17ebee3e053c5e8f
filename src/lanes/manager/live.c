/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Who is up: a node that registered, or confirmed a LEASE, within the lease.
 * LEASE goes to all of them together; time decides liveness and nothing else.
 *
 * A node whose lease runs out while it has a link could not be reached by
 * collectives: the manager refuses it, and it registers again.
 */
#include "lanes/manager/live.h"

#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "base/text.h"
#include "lanes/manager/poll.h"
#include "lanes/manager/session.h"
#include "lanes/proto/collective.h"

#define SCAN_MS          1000 /* between looks at all leases */
#define DRIVERS_TEXT_MAX (CORE_NODE_ADDED_MAX - 128)

#define LEVEL_CHARACTERS "abcdefghijklmnopqrstuvwxyz0123456789+-"
#define UNUSABLE         "unusable"

struct live_node *live_find(const struct engine *engine, const char *node)
{
	struct live_node *live;

	HASH_FIND_STR(engine->live_nodes, node, live);
	return live;
}

/* --- how well its drivers protect lanes --- */

/*
 * False: what the node says of its driver names no level. A node can say
 * anything: a name is of [a-z0-9+-].
 */
static bool level_read(const struct registration_driver *driver,
		       struct manager_level *ret_level)
{
	const char *name = driver->detail + strlen(FAIRLEAD_SUMMARY_LEVEL);
	size_t size = strlen(UNUSABLE);

	if (!driver->is_usable) {
		name = UNUSABLE;
	} else {
		if (strncmp(driver->detail, FAIRLEAD_SUMMARY_LEVEL,
			    strlen(FAIRLEAD_SUMMARY_LEVEL)) != 0)
			return false;
		size = strspn(name, LEVEL_CHARACTERS);
	}
	if (size == 0 || size > LEVEL_MAX)
		return false;
	*ret_level = (struct manager_level){ 0 };
	strcpy(ret_level->driver, driver->name);
	memcpy(ret_level->name, name, size);
	return true;
}

/* Count one more, or one less, in {driver: {level: count}}. */
static void level_count(json_t *counts, const struct manager_level *level,
			bool is_more)
{
	json_t *of_driver = json_object_get(counts, level->driver);
	json_int_t count;

	if (of_driver == NULL) {
		of_driver = json_object();
		json_object_set_new(counts, level->driver, of_driver);
	}
	count = json_integer_value(json_object_get(of_driver, level->name));
	count += is_more ? 1 : -1;
	if (count > 0)
		json_object_set_new(of_driver, level->name,
				    json_integer(count));
	else
		json_object_del(of_driver, level->name);
	if (json_object_size(of_driver) == 0)
		json_object_del(counts, level->driver);
}

/* --- where its endpoint is --- */

static void tell_address(struct engine *engine, const struct live_node *live,
			 size_t size)
{
	engine->rounds.ops->address(engine->rounds.ctx, live->nid,
				    size > 0 ? live->address : NULL, size);
}

/* --- the link --- */

void live_unlink(struct session *session)
{
	if (session->live == NULL)
		return;
	session->live->session = NULL;
	session->live = NULL;
}

static void link_to(struct engine *engine, struct live_node *live,
		    struct session *session)
{
	struct session *old = live->session;

	if (old != NULL && old != session) {
		live_unlink(old);
		session_refuse(engine, old,
			       "the node has registered on another connection");
	}
	live->session = session;
	session->live = live;
}

/* --- coming and going --- */

static struct live_node *live_create(struct engine *engine, const char *node,
				     uint64_t now_ms)
{
	struct live_node *live = memory_alloc(sizeof(*live));

	snprintf(live->name, sizeof(live->name), "%s", node);
	live->nid = nid_of_node(node);
	HASH_ADD_STR(engine->live_nodes, name, live);
	memory_have(live->hh.tbl);
	engine->live_are_sorted = false;
	if (engine->live_scan_ms == DEADLINE_NONE)
		engine->live_scan_ms = now_ms + SCAN_MS;
	return live;
}

/* True when peers that knew its address no longer reach it. */
static bool has_moved(const struct live_node *live,
		      const struct registration *registration)
{
	return live->address_size != registration->address_size ||
	       memcmp(live->address, registration->address,
		      live->address_size) != 0 ||
	       memcmp(live->incarnation, registration->incarnation,
		      sizeof(live->incarnation)) != 0 ||
	       memcmp(live->start, registration->node_nonce,
		      sizeof(live->start)) != 0;
}

/* Of the nodes that are up the engine keeps how many have each. */
static void levels_count(struct engine *engine, const struct live_node *live,
			 bool is_more)
{
	for (size_t i = 0; i < live->level_count; i++)
		level_count(engine->levels, &live->levels[i], is_more);
}

static void levels_keep(struct engine *engine, struct live_node *live,
			const struct registration *registration)
{
	struct manager_level *levels =
		memory_array(registration->driver_count + 1, sizeof(*levels));
	size_t count = 0;

	for (size_t i = 0; i < registration->driver_count; i++)
		count += level_read(&registration->drivers[i], &levels[count]);
	levels_count(engine, live, false);
	free(live->levels);
	live->levels = levels;
	live->level_count = count;
	levels_count(engine, live, true);
}

void live_set_drivers(struct engine *engine, struct live_node *live,
		      const struct registration *registration)
{
	json_t *drivers = json_array();
	char *text = NULL;

	for (size_t i = 0; i < registration->driver_count; i++) {
		struct registration_driver driver = registration->drivers[i];
		char *longer;

		text_clean(driver.detail);
		json_array_append_new(drivers,
				      json_pack("{s:s, s:b, s:s}", "name",
						driver.name, "usable",
						driver.is_usable, "detail",
						driver.detail));
		longer = json_dumps(drivers, JSON_COMPACT);
		if (longer == NULL || strlen(longer) > DRIVERS_TEXT_MAX) {
			free(longer);
			break;
		}
		free(text);
		text = longer;
	}
	json_decref(drivers);
	free(live->drivers);
	live->drivers = text;
	levels_keep(engine, live, registration);
}

struct live_node *live_register(struct engine *engine, struct session *session,
				const struct registration *registration)
{
	struct live_node *live = live_find(engine, registration->node);
	uint64_t now_ms = engine_now_ms(engine);

	if (live == NULL)
		live = live_create(engine, registration->node, now_ms);
	if (memcmp(live->incarnation, registration->incarnation,
		   sizeof(live->incarnation)) != 0)
		live->is_greeted = false;
	if (has_moved(live, registration)) {
		memcpy(live->incarnation, registration->incarnation,
		       sizeof(live->incarnation));
		memcpy(live->address, registration->address,
		       registration->address_size);
		live->address_size = registration->address_size;
		memcpy(live->start, registration->node_nonce,
		       sizeof(live->start));
		tell_address(engine, live, live->address_size);
	}
	live->leased_ms = now_ms;
	live->seen_ms = now_ms;
	live_set_drivers(engine, live, registration);
	link_to(engine, live, session);
	return live;
}

static void live_remove(struct engine *engine, struct live_node *live)
{
	if (live->session != NULL)
		live_unlink(live->session);
	tell_address(engine, live, 0);
	HASH_DEL(engine->live_nodes, live);
	levels_count(engine, live, false);
	free(live->drivers);
	free(live->levels);
	free(live);
}

void live_clear(struct engine *engine)
{
	struct live_node *live;
	struct live_node *next;

	HASH_ITER (hh, engine->live_nodes, live, next)
		live_remove(engine, live);
}

static void let_go(struct engine *engine, struct live_node *live,
		   const char *text)
{
	struct session *session = live->session;

	live_remove(engine, live);
	if (session != NULL)
		session_refuse(engine, session, text);
}

void live_check_all(struct engine *engine)
{
	struct live_node *live;
	struct live_node *next;
	bool is_any_lost = false;

	HASH_ITER (hh, engine->live_nodes, live, next) {
		if (core_node_is_up(engine->core, live->name))
			continue;
		is_any_lost = true;
		let_go(engine, live,
		       "the node has left the manager's configuration");
	}
	if (is_any_lost)
		fanouts_nodes_lost(engine->fanouts);
}

/* --- leases --- */

void live_contacted(struct engine *engine, const char *node)
{
	struct live_node *live = live_find(engine, node);

	if (live != NULL)
		live->seen_ms = engine_now_ms(engine);
}

void live_leased(struct engine *engine, const char *node)
{
	struct live_node *live = live_find(engine, node);

	if (live != NULL)
		live->leased_ms = engine_now_ms(engine);
}

void live_leased_late(struct engine *engine, const char *node,
		      const uint8_t incarnation[INCARNATION_SIZE],
		      uint64_t asked_ms)
{
	struct live_node *live = live_find(engine, node);

	if (live != NULL && asked_ms > live->leased_ms &&
	    memcmp(live->incarnation, incarnation, INCARNATION_SIZE) == 0)
		live->leased_ms = asked_ms;
}

static void check_leases(struct engine *engine, uint64_t now_ms)
{
	uint64_t before = engine->counters.lease_count;
	struct live_node *live;
	struct live_node *next;

	HASH_ITER (hh, engine->live_nodes, live, next) {
		if (now_ms < live->leased_ms + ENGINE_LEASE_MS)
			continue;
		engine->counters.lease_count++;
		if (engine->core != NULL)
			core_node_lost(engine->core, live->name);
		let_go(engine, live,
		       "the node's endpoint for collectives does not answer: "
		       "see `fabric` in its configuration, and what the "
		       "network lets through");
	}
	if (engine->counters.lease_count > before)
		fanouts_nodes_lost(engine->fanouts);
}

static void lease_all(struct engine *engine)
{
	_auto_(freep) const char **names =
		memory_array(HASH_COUNT(engine->live_nodes), sizeof(*names));
	struct live_node *live;
	struct live_node *next;
	size_t count = 0;

	HASH_ITER (hh, engine->live_nodes, live, next) {
		if (live->is_greeted)
			names[count++] = live->name;
	}
	lease_send(engine, names, count, COMMAND_OF_LEASE);
}

/* --- time --- */

static int by_name(const struct live_node *a, const struct live_node *b)
{
	return strverscmp(a->name, b->name);
}

/* Names in order are short as a host list. */
static void sort(struct engine *engine)
{
	if (!engine->live_are_sorted)
		HASH_SORT(engine->live_nodes, by_name);
	engine->live_are_sorted = true;
}

void live_tick(struct engine *engine, uint64_t now_ms)
{
	if (now_ms < engine->live_scan_ms)
		return;
	check_leases(engine, now_ms);
	engine->live_scan_ms =
		engine->live_nodes == NULL ? DEADLINE_NONE : now_ms + SCAN_MS;
	if (engine->live_nodes == NULL || engine->core == NULL)
		return;
	sort(engine);
	if (now_ms >= engine->lease_ms) {
		engine->lease_ms = now_ms + ENGINE_RENEW_MS;
		lease_all(engine);
	}
	poll_tick(engine, now_ms);
}

uint64_t live_deadline_ms(const struct engine *engine)
{
	return engine->live_scan_ms;
}
