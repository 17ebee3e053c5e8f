/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Who is up: a node that registered, or confirmed a LEASE, within the lease.
 * LEASE goes to all of them together; time decides liveness and nothing else.
 *
 * A node whose lease runs out while it has a link could not be reached by
 * collectives: the manager refuses it, and it registers again.
 */
#include "lanes/manager/member.h"

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

struct member *member_find(const struct engine *engine, const char *node)
{
	struct member *member;

	HASH_FIND_STR(engine->members, node, member);
	return member;
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

static void tell_address(struct engine *engine, const struct member *member,
			 size_t size)
{
	engine->rounds.ops->address(engine->rounds.ctx, member->nid,
				    size > 0 ? member->address : NULL, size);
}

/* --- the link --- */

void member_unlink(struct session *session)
{
	if (session->member == NULL)
		return;
	session->member->session = NULL;
	session->member = NULL;
}

static void link_to(struct engine *engine, struct member *member,
		    struct session *session)
{
	struct session *old = member->session;

	if (old != NULL && old != session) {
		member_unlink(old);
		session_refuse(engine, old,
			       "the node has registered on another connection");
	}
	member->session = session;
	session->member = member;
}

/* --- coming and going --- */

static struct member *member_create(struct engine *engine, const char *node,
				    uint64_t now_ms)
{
	struct member *member = memory_alloc(sizeof(*member));

	snprintf(member->name, sizeof(member->name), "%s", node);
	member->nid = nid_of_node(node);
	HASH_ADD_STR(engine->members, name, member);
	memory_have(member->hh.tbl);
	engine->members_are_sorted = false;
	if (engine->member_scan_ms == DEADLINE_NONE)
		engine->member_scan_ms = now_ms + SCAN_MS;
	return member;
}

/* True when peers that knew its address no longer reach it. */
static bool has_moved(const struct member *member,
		      const struct registration *registration)
{
	return member->address_size != registration->address_size ||
	       memcmp(member->address, registration->address,
		      member->address_size) != 0 ||
	       memcmp(member->incarnation, registration->incarnation,
		      sizeof(member->incarnation)) != 0 ||
	       memcmp(member->start, registration->node_nonce,
		      sizeof(member->start)) != 0;
}

/* Of the nodes that are up the engine keeps how many have each. */
static void levels_count(struct engine *engine, const struct member *member,
			 bool is_more)
{
	for (size_t i = 0; i < member->level_count; i++)
		level_count(engine->levels, &member->levels[i], is_more);
}

static void levels_keep(struct engine *engine, struct member *member,
			const struct registration *registration)
{
	struct manager_level *levels =
		memory_array(registration->driver_count + 1, sizeof(*levels));
	size_t count = 0;

	for (size_t i = 0; i < registration->driver_count; i++)
		count += level_read(&registration->drivers[i], &levels[count]);
	levels_count(engine, member, false);
	free(member->levels);
	member->levels = levels;
	member->level_count = count;
	levels_count(engine, member, true);
}

void member_set_drivers(struct engine *engine, struct member *member,
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
	free(member->drivers);
	member->drivers = text;
	levels_keep(engine, member, registration);
}

struct member *member_register(struct engine *engine, struct session *session,
			       const struct registration *registration)
{
	struct member *member = member_find(engine, registration->node);
	uint64_t now_ms = engine_now_ms(engine);

	if (member == NULL)
		member = member_create(engine, registration->node, now_ms);
	if (memcmp(member->incarnation, registration->incarnation,
		   sizeof(member->incarnation)) != 0)
		member->is_greeted = false;
	if (has_moved(member, registration)) {
		memcpy(member->incarnation, registration->incarnation,
		       sizeof(member->incarnation));
		memcpy(member->address, registration->address,
		       registration->address_size);
		member->address_size = registration->address_size;
		memcpy(member->start, registration->node_nonce,
		       sizeof(member->start));
		tell_address(engine, member, member->address_size);
	}
	member->leased_ms = now_ms;
	member->seen_ms = now_ms;
	member_set_drivers(engine, member, registration);
	link_to(engine, member, session);
	return member;
}

static void member_remove(struct engine *engine, struct member *member)
{
	if (member->session != NULL)
		member_unlink(member->session);
	tell_address(engine, member, 0);
	HASH_DEL(engine->members, member);
	levels_count(engine, member, false);
	free(member->drivers);
	free(member->levels);
	free(member);
}

void member_clear(struct engine *engine)
{
	struct member *member;
	struct member *next;

	HASH_ITER (hh, engine->members, member, next)
		member_remove(engine, member);
}

static void let_go(struct engine *engine, struct member *member,
		   const char *text)
{
	struct session *session = member->session;

	member_remove(engine, member);
	if (session != NULL)
		session_refuse(engine, session, text);
}

void member_check_all(struct engine *engine)
{
	struct member *member;
	struct member *next;
	bool is_any_lost = false;

	HASH_ITER (hh, engine->members, member, next) {
		if (core_node_is_up(engine->core, member->name))
			continue;
		is_any_lost = true;
		let_go(engine, member,
		       "the node has left the manager's configuration");
	}
	if (is_any_lost)
		fanouts_nodes_lost(engine->fanouts);
}

/* --- leases --- */

void member_contacted(struct engine *engine, const char *node)
{
	struct member *member = member_find(engine, node);

	if (member != NULL)
		member->seen_ms = engine_now_ms(engine);
}

void member_leased(struct engine *engine, const char *node)
{
	struct member *member = member_find(engine, node);

	if (member != NULL)
		member->leased_ms = engine_now_ms(engine);
}

void member_leased_late(struct engine *engine, const char *node,
			const uint8_t incarnation[INCARNATION_SIZE],
			uint64_t asked_ms)
{
	struct member *member = member_find(engine, node);

	if (member != NULL && asked_ms > member->leased_ms &&
	    memcmp(member->incarnation, incarnation, INCARNATION_SIZE) == 0)
		member->leased_ms = asked_ms;
}

static void check_leases(struct engine *engine, uint64_t now_ms)
{
	uint64_t before = engine->counters.lease_count;
	struct member *member;
	struct member *next;

	HASH_ITER (hh, engine->members, member, next) {
		if (now_ms < member->leased_ms + ENGINE_LEASE_MS)
			continue;
		engine->counters.lease_count++;
		if (engine->core != NULL)
			core_node_lost(engine->core, member->name);
		let_go(engine, member,
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
		memory_array(HASH_COUNT(engine->members), sizeof(*names));
	struct member *member;
	struct member *next;
	size_t count = 0;

	HASH_ITER (hh, engine->members, member, next) {
		if (member->is_greeted)
			names[count++] = member->name;
	}
	lease_send(engine, names, count, COMMAND_OF_LEASE);
}

/* --- time --- */

static int by_name(const struct member *a, const struct member *b)
{
	return strverscmp(a->name, b->name);
}

/* Names in order are short as a host list. */
static void sort(struct engine *engine)
{
	if (!engine->members_are_sorted)
		HASH_SORT(engine->members, by_name);
	engine->members_are_sorted = true;
}

void member_tick(struct engine *engine, uint64_t now_ms)
{
	if (now_ms < engine->member_scan_ms)
		return;
	check_leases(engine, now_ms);
	engine->member_scan_ms =
		engine->members == NULL ? DEADLINE_NONE : now_ms + SCAN_MS;
	if (engine->members == NULL || engine->core == NULL)
		return;
	sort(engine);
	if (now_ms >= engine->lease_ms) {
		engine->lease_ms = now_ms + ENGINE_RENEW_MS;
		lease_all(engine);
	}
	poll_tick(engine, now_ms);
}

uint64_t member_deadline_ms(const struct engine *engine)
{
	return engine->member_scan_ms;
}
