/* SPDX-License-Identifier: BSD-3-Clause */
/* The node's inventory: the registration, and objects of no grant. */
#include <assert.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "base/text.h"
#include "lanes/node/guard/internal.h"

static bool has_id(const struct holding *holding, uint32_t id)
{
	for (size_t i = 0; i < holding->id_count; i++) {
		if (holding->ids[i] == id)
			return true;
	}
	return false;
}

/*
 * An object is identified by its owner and identifiers, never by its id alone,
 * which the next object gets again. One of a network namespace has no owner.
 * One without identifiers belongs to none.
 */
bool holding_has(const struct holding *holding, const char *driver,
		 const struct fairlead_object *object)
{
	bool is_in_netns = object->flags & FAIRLEAD_OBJECT_NETNS;

	if (object->id_count == 0 ||
	    (object->uid != holding->uid && !is_in_netns) ||
	    strcmp(holding->driver, driver) != 0)
		return false;
	for (uint32_t i = 0; i < object->id_count; i++) {
		if (!has_id(holding, object->ids[i]))
			return false;
	}
	return true;
}

/* The grant that an object belongs to, or NULL; *ret_index in the ledger. */
static const struct ledger_grant *object_grant(
	const struct guard *guard, const char *driver,
	const struct fairlead_object *object, size_t *ret_index)
{
	const struct ledger_grant *grant;

	*ret_index = 0;
	for (grant = guard->ledger.grants; grant;
	     grant = grant->hh.next, ++*ret_index) {
		struct holding holding = {
			.driver = grant->driver,
			.uid = grant->lane.uid,
			.ids = grant->lane.ids,
			.id_count = grant->lane.id_count,
		};

		if (holding_has(&holding, driver, object))
			return grant;
	}
	return NULL;
}

/* --- registration --- */

struct inventory {
	const struct guard *guard;
	const struct guard_driver *driver; /* that is being listed */
	struct registration registration;
	struct registration_grant grants[REGISTRATION_GRANTS_MAX];
	bool has_object[REGISTRATION_GRANTS_MAX]; /* the grant of that index */
	struct registration_object objects[REGISTRATION_OBJECTS_MAX];
	struct registration_driver drivers[REGISTRATION_DRIVERS_MAX];
	bool is_full;
};

static void object_keep(const char *driver,
			const struct fairlead_object *object,
			struct registration_object *ret_kept)
{
	strcpy(ret_kept->driver, driver);
	memcpy(ret_kept->device, object->device, sizeof(ret_kept->device));
	ret_kept->id = object->id;
	ret_kept->flags = object->flags;
	ret_kept->uid = object->uid;
	ret_kept->id_count = (uint8_t)object->id_count;
	memcpy(ret_kept->ids, object->ids, sizeof(ret_kept->ids));
}

static void foreign_add(void *arg, const struct fairlead_object *object)
{
	struct inventory *inventory = arg;
	const char *driver = inventory->driver->driver->name;
	size_t index;

	if (object->id_count == 0 ||
	    (object->flags &
	     (FAIRLEAD_OBJECT_SYSTEM | FAIRLEAD_OBJECT_DEFAULT)))
		return;
	if (object_grant(inventory->guard, driver, object, &index)) {
		if (index < REGISTRATION_GRANTS_MAX)
			inventory->has_object[index] = true;
		return;
	}
	if (inventory->registration.object_count == REGISTRATION_OBJECTS_MAX) {
		inventory->is_full = true;
		return;
	}
	object_keep(
		driver, object,
		&inventory->objects[inventory->registration.object_count++]);
}

static int place_ask(const struct guard_driver *driver,
		     struct fairlead_place *ret_place,
		     struct fairlead_error *ret_error)
{
	if (!driver->driver->node->place)
		return 0;
	return driver->driver->node->place(driver->state, ret_place, ret_error);
}

static void driver_summarize(const struct guard_driver *driver,
			     struct registration_driver *entry)
{
	static_assert(DRIVER_DETAIL_MAX >= FAIRLEAD_SUMMARY_MAX,
		      "a detail has room for a summary");
	if (entry->is_usable && driver->driver->node->summarize)
		driver->driver->node->summarize(driver->state, entry->detail);
}

/* Of what a driver has made for a lane it lists an object on each device. */
static bool has_to_be_listed(const struct ledger_grant *grant)
{
	return grant->state == GRANT_APPLIED && grant->lane.id_count > 0 &&
	       grant->record && grant->record->size > 0;
}

/* A lane of which the driver has just listed no object is lost. */
static void grants_compare(struct inventory *inventory)
{
	const struct ledger_grant *grant = inventory->guard->ledger.grants;
	const char *driver = inventory->driver->driver->name;

	for (size_t i = 0; i < inventory->registration.grant_count;
	     i++, grant = grant->hh.next) {
		if (has_to_be_listed(grant) && !inventory->has_object[i] &&
		    strcmp(grant->driver, driver) == 0)
			inventory->grants[i].state = GRANT_LOST;
	}
}

static void driver_add(struct inventory *inventory,
		       const struct guard_driver *driver)
{
	struct registration_driver *entry =
		&inventory->drivers[inventory->registration.driver_count++];
	struct fairlead_error error;
	int result = 0;

	strcpy(entry->name, driver->driver->name);
	inventory->driver = driver;
	if (driver->is_open)
		result = driver->driver->node->list(driver->state, foreign_add,
						    inventory, &error);
	entry->is_usable = driver->is_open && result == 0;
	if (entry->is_usable)
		grants_compare(inventory);
	/* One that cannot tell its place can still take lanes back. */
	if (entry->is_usable)
		result = place_ask(driver, &entry->place, &error);
	snprintf(entry->detail, sizeof(entry->detail), "%.*s",
		 DRIVER_DETAIL_MAX, result < 0 ? error.text : driver->detail);
	if (result == 0)
		driver_summarize(driver, entry);
	text_clean(entry->detail);
}

static void grants_add(struct inventory *inventory)
{
	size_t *count = &inventory->registration.grant_count;
	const struct ledger_grant *grant = inventory->guard->ledger.grants;

	for (; grant && *count < REGISTRATION_GRANTS_MAX;
	     grant = grant->hh.next) {
		struct registration_grant *entry =
			&inventory->grants[(*count)++];

		entry->grant_id = grant->lane.grant_id;
		entry->state =
			(uint8_t)(grant->is_lost ? GRANT_LOST : grant->state);
		strcpy(entry->driver, grant->driver);
		entry->id_count = (uint8_t)grant->lane.id_count;
		memcpy(entry->ids, grant->lane.ids, sizeof(entry->ids));
	}
}

/* The level that a summary names. */
static void level_take(const char *text, char level[GUARD_LEVEL_MAX + 1])
{
	size_t size = strlen(FAIRLEAD_SUMMARY_LEVEL);

	level[0] = '\0';
	if (strncmp(text, FAIRLEAD_SUMMARY_LEVEL, size) == 0)
		snprintf(level, GUARD_LEVEL_MAX + 1, "%.*s",
			 (int)strcspn(text + size, " ,;"), text + size);
}

static struct fairlead_place place_now(const struct guard_driver *driver)
{
	struct fairlead_place place = { 0 };
	struct fairlead_error ignored;

	if (driver->is_open && place_ask(driver, &place, &ignored) < 0)
		place.size = 0;
	return place;
}

/* All that is here, into an inventory of zeros. */
static void inventory_take(struct inventory *inventory, struct guard *guard)
{
	inventory->guard = guard;
	inventory->registration.grants = inventory->grants;
	inventory->registration.objects = inventory->objects;
	inventory->registration.drivers = inventory->drivers;
	grants_add(inventory);
	for (size_t i = 0; i < guard->config.driver_count; i++)
		driver_add(inventory, &guard->config.drivers[i]);
}

/* Remember what the manager gets, which may differ from the state later. */
static void remember(const struct inventory *inventory, struct guard *guard)
{
	for (size_t i = 0; i < inventory->registration.driver_count; i++) {
		const struct registration_driver *entry =
			&inventory->drivers[i];

		guard->reported[i].place = entry->place;
		level_take(entry->detail, guard->reported[i].level);
	}
}

static bool has_moved(const struct guard_driver *driver,
		      const struct guard_reported *reported)
{
	struct fairlead_place now = place_now(driver);

	return now.size != reported->place.size ||
	       memcmp(now.bytes, reported->place.bytes, now.size) != 0;
}

static bool has_other_level(const struct guard_driver *driver,
			    const struct guard_reported *reported)
{
	char text[FAIRLEAD_SUMMARY_MAX + 1] = "";
	char now[GUARD_LEVEL_MAX + 1];

	if (driver->driver->node->summarize)
		driver->driver->node->summarize(driver->state, text);
	level_take(text, now);
	return strcmp(now, reported->level) != 0;
}

void inventory_tend(struct guard *guard, struct reply *reply)
{
	for (size_t i = 0; i < guard->config.driver_count; i++) {
		const struct guard_driver *driver = &guard->config.drivers[i];
		struct fairlead_error error = { .text = "" };
		int result = 0;

		if (!driver->is_open)
			continue;
		if (driver->driver->node->tend)
			result = driver->driver->node->tend(driver->state,
							    &error);
		if (result != 0 && error.text[0])
			text_add(reply->head.text, error.text);
		reply->head.has_moved |= has_moved(driver, &guard->reported[i]);
		/* Where all is as it was the level is, too. */
		if (result != 0)
			reply->head.has_moved |=
				has_other_level(driver, &guard->reported[i]);
	}
}

int inventory_register(struct guard *guard, const struct guard_request *request,
		       struct reply *reply)
{
	_auto_(freep) struct inventory *inventory =
		memory_alloc(sizeof(*inventory));
	struct registration *registration;

	rng_fill(&guard->config.rng, guard->nonce + NONCE_START_SIZE,
		 NONCE_SIZE - NONCE_START_SIZE);
	guard->has_nonce = true;
	guard->has_hello = false;
	registration = &inventory->registration;
	registration->version = WIRE_VERSION;
	strcpy(registration->node, guard->config.name);
	memcpy(registration->incarnation, guard->config.incarnation,
	       INCARNATION_SIZE);
	memcpy(registration->manager_nonce, request->nonce, NONCE_SIZE);
	memcpy(registration->node_nonce, guard->nonce, NONCE_SIZE);
	snprintf(registration->software, sizeof(registration->software), "%.*s",
		 SOFTWARE_MAX, guard->config.software);
	registration->address = request->bytes;
	registration->address_size = request->size;
	registration->proof = guard->ledger.header;
	registration->proof_size =
		guard->ledger.has_epoch ? COMMAND_HEADER_SIZE : 0;
	registration->pending_count = (uint32_t)guard->ledger.pending_count;
	inventory_take(inventory, guard);
	remember(inventory, guard);
	if (inventory->is_full) {
		text_add(reply->head.text,
			 "too many objects on the devices belong to no grant");
		return -E2BIG;
	}
	return registration_encode(registration, &guard->keys.confirms[0],
				   &reply->bytes);
}

int inventory_answer(struct guard *guard, struct writer *writer)
{
	_auto_(freep) struct inventory *inventory =
		memory_alloc(sizeof(*inventory));

	inventory_take(inventory, guard);
	remember(inventory, guard);
	return inventory->is_full
		       ? -E2BIG
		       : inventory_encode(&inventory->registration, writer);
}

int inventory_drivers(struct guard *guard, const struct guard_request *request,
		      struct reply *reply)
{
	_auto_(freep) struct inventory *inventory =
		memory_alloc(sizeof(*inventory));

	inventory_take(inventory, guard);
	inventory->registration.grant_count = 0;
	inventory->registration.object_count = 0;
	return inventory_encode(&inventory->registration, &reply->bytes);
}

/* --- objects --- */

struct guard_page {
	const char *driver;
	uint64_t to_skip;
	struct reply *reply;
};

static void object_show(void *arg, const struct fairlead_object *object)
{
	struct guard_page *page = arg;
	struct guard_reply *head = &page->reply->head;
	struct guard_object *shown = &page->reply->objects[head->object_count];

	if (page->to_skip > 0) {
		page->to_skip--;
		return;
	}
	if (head->object_count == GUARD_OBJECTS_MAX) {
		head->has_more = true;
		return;
	}
	head->object_count++;
	object_keep(page->driver, object, &shown->object);
	memcpy(shown->detail, object->detail, sizeof(shown->detail));
}

int inventory_objects(struct guard *guard, const struct guard_request *request,
		      struct reply *reply)
{
	struct guard_page page = { .to_skip = request->number, .reply = reply };
	struct fairlead_error error;
	int result = 0;

	reply->objects =
		memory_array(GUARD_OBJECTS_MAX, sizeof(*reply->objects));
	reply->head.objects = reply->objects;
	for (size_t i = 0; i < guard->config.driver_count && result == 0; i++) {
		const struct guard_driver *driver = &guard->config.drivers[i];

		page.driver = driver->driver->name;
		if (driver->is_open)
			result = driver->driver->node->list(
				driver->state, object_show, &page, &error);
	}
	if (result < 0) {
		error_prefix(&error, "driver '%s'", page.driver);
		text_add(reply->head.text, error.text);
		reply->head.object_count = 0;
	}
	return result;
}

/* --- destroying --- */

struct search {
	const struct registration_object *wanted;
	struct fairlead_object found;
	bool is_found;
};

static void search_take(void *arg, const struct fairlead_object *object)
{
	struct search *search = arg;
	const struct registration_object *wanted = search->wanted;

	if (strcmp(object->device, wanted->device) == 0 &&
	    object->id == wanted->id && object->uid == wanted->uid &&
	    object->id_count == wanted->id_count &&
	    memcmp(object->ids, wanted->ids,
		   wanted->id_count * sizeof(wanted->ids[0])) == 0) {
		search->found = *object;
		search->is_found = true;
	}
}

static int object_destroy(const struct guard *guard,
			  const struct guard_driver *driver,
			  const struct guard_request *request,
			  struct fairlead_error *ret_error)
{
	const struct fairlead_node_ops *ops = driver->driver->node;
	struct search search = { .wanted = &request->object };
	const struct ledger_grant *grant;
	size_t index;
	int result = ops->list(driver->state, search_take, &search, ret_error);

	if (result < 0)
		return result;
	if (!search.is_found)
		return error_set(ret_error, -ENOENT,
				 "it is not there any more");
	grant = object_grant(guard, driver->driver->name, &search.found,
			     &index);
	if (grant)
		return error_set(ret_error, -EPERM,
				 "it belongs to job '%s'; revoke that",
				 grant->key);
	return ops->destroy(driver->state, &search.found, request->is_dry_run,
			    ret_error);
}

int inventory_destroy(struct guard *guard, const struct guard_request *request,
		      struct reply *reply)
{
	const struct guard_driver *driver =
		guard_driver(guard, request->object.driver);
	struct fairlead_error error;
	int result = -ENODEV;

	if (driver && driver->is_open)
		result = object_destroy(guard, driver, request, &error);
	else
		error_set(&error, result, "the driver is not open");
	if (result < 0)
		text_add(reply->head.text, error.text);
	return result;
}
