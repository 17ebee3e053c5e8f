/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The node's state in the form of the client protocol. Devices come from the
 * drivers as this process has opened them, probed at each call.
 */
#include <errno.h>
#include <sodium.h>
#include <stdio.h>
#include <string.h>

#include "base/text.h"
#include "lanes/node/agent/internal.h"

static json_t *ids_view(const uint32_t *ids, uint32_t count)
{
	json_t *view = json_array();

	for (uint32_t i = 0; i < count; i++)
		json_array_append_new(view, json_integer(ids[i]));
	return view;
}

static const char *state_name(uint8_t state)
{
	switch ((enum grant_state)state) {
	case GRANT_APPLYING:
		return "applying";
	case GRANT_APPLIED:
		return "applied";
	case GRANT_REVOKING:
		return "revoking";
	case GRANT_LOST:
		break;
	}
	return "gone";
}

json_t *view_grant(const struct mirror_grant *grant, bool is_whole)
{
	return json_pack("{s:I, s:s, s:s, s:s, s:I, s:o, s:s}", "grant_id",
			 (json_int_t)grant->grant_id, "key",
			 is_whole ? grant->key : "", "state",
			 state_name(grant->state), "interconnect",
			 grant->driver, "uid", (json_int_t)grant->uid, "ids",
			 ids_view(grant->ids, grant->id_count), "text",
			 is_whole && grant->text ? grant->text : "");
}

static json_t *grants_view(const struct agent *agent, uid_t uid)
{
	const struct mirror_grant *grants = agent->grants;
	json_t *view = json_array();

	for (; grants; grants = grants->hh.next)
		json_array_append_new(
			view,
			view_grant(grants, uid == 0 || uid == grants->uid));
	return view;
}

/* As the guard reported it; NULL before it has. */
static const struct registration_driver *reported_of(const struct agent *agent,
						     const char *driver)
{
	for (size_t i = 0; i < agent->driver_count; i++) {
		if (strcmp(agent->drivers[i].name, driver) == 0)
			return &agent->drivers[i];
	}
	return NULL;
}

static json_t *drivers_view(const struct agent *agent)
{
	json_t *view = json_array();

	for (size_t i = 0; i < agent->options.driver_count; i++) {
		const struct guard_driver *driver = &agent->options.drivers[i];
		const struct registration_driver *reported =
			reported_of(agent, driver->driver->name);

		json_array_append_new(
			view, json_pack("{s:s, s:s, s:b, s:s}", "name",
					driver->driver->name, "description",
					driver->driver->description, "usable",
					reported ? reported->is_usable
						 : driver->is_open,
					"detail",
					reported ? reported->detail
						 : driver->detail));
	}
	return view;
}

static json_t *link_view(const struct agent *agent)
{
	const struct link *link = &agent->link;
	const char *state = "connecting";
	uint64_t seen_ms = 0;

	if (link->state == LINK_UP || link->state == LINK_IDLE)
		state = "up";
	else if (link->is_refused)
		state = "refused";
	if (link->seen_ms > 0)
		seen_ms = agent_now_ms(agent) - link->seen_ms;
	return json_pack("{s:s, s:s, s:s, s:I, s:I}", "address", agent->manager,
			 "state", state, "error", link->error, "epoch",
			 (json_int_t)agent->epoch, "seen_ms",
			 (json_int_t)seen_ms);
}

static json_int_t time_us(const struct agent *agent)
{
	return (json_int_t)clock_wall_us(&agent->options.clock);
}

void view_lines(json_t *array, const char *text)
{
	const char *rest = text ? text : "";
	const char *line;
	size_t size;

	while ((line = text_line(&rest, &size)))
		json_array_append_new(array, json_stringn(line, size));
}

static json_t *restart_view(const struct agent *agent)
{
	json_t *view = json_array();

	view_lines(view, agent->restart);
	return view;
}

json_t *view_status(const struct agent *agent, uid_t uid)
{
	char incarnation[2 * INCARNATION_SIZE + 1];
	uint64_t uptime_ms = agent_now_ms(agent) - agent->started_ms;

	sodium_bin2hex(incarnation, sizeof(incarnation),
		       agent->options.incarnation, INCARNATION_SIZE);
	return json_pack("{s:s, s:s, s:s, s:I, s:I, s:o, s:o, s:o, s:o, s:b, "
			 "s:s, s:I, s:o, s:{s:b, s:s}}",
			 "name", agent->name, "incarnation", incarnation,
			 "version", agent->software, "uptime_s",
			 (json_int_t)(uptime_ms / 1000), "time_us",
			 time_us(agent), "manager", link_view(agent), "grants",
			 grants_view(agent, uid), "drivers",
			 drivers_view(agent), "keys",
			 ids_view(agent->key_ids, agent->key_count), "drained",
			 agent->is_drained, "reason", agent->drain_reason,
			 "pending", (json_int_t)agent->pending_count, "restart",
			 restart_view(agent), "endpoint", "open",
			 agent->endpoint_is_open, "text", agent->endpoint);
}

/* --- devices and objects --- */

/* A driver's text may come from a device: clean it. */
static json_t *detail_view(const char *detail)
{
	char text[256];

	snprintf(text, sizeof(text), "%s", detail);
	text_clean(text);
	return json_string(text);
}

struct device_list {
	const struct guard_driver *driver;
	json_t *array;
};

static void device_add(void *arg, const struct fairlead_device *device)
{
	struct device_list *list = arg;
	json_t *resources = json_object();

	for (uint32_t i = 0; i < device->resource_count; i++)
		json_object_set_new(
			resources, device->resources[i].name,
			json_pack("{s:I, s:I}", "total",
				  (json_int_t)device->resources[i].total,
				  "reserved",
				  (json_int_t)device->resources[i].reserved));
	json_array_append_new(
		list->array,
		json_pack("{s:s, s:s, s:b, s:o, s:o}", "interconnect",
			  list->driver->driver->name, "name", device->name,
			  "usable", device->is_usable, "detail",
			  detail_view(device->detail), "resources", resources));
}

int view_devices(const struct agent *agent, json_t **ret_view,
		 struct fairlead_error *ret_error)
{
	struct device_list list = { .array = json_array() };
	int result = 0;

	for (size_t i = 0; i < agent->options.driver_count && result == 0;
	     i++) {
		list.driver = &agent->options.drivers[i];
		if (list.driver->is_open)
			result = list.driver->driver->node->probe(
				list.driver->state, device_add, &list,
				ret_error);
	}
	if (result < 0) {
		json_decref(list.array);
		return error_prefix(ret_error, "driver '%s'",
				    list.driver->driver->name);
	}
	*ret_view = json_pack("{s:o, s:I}", "devices", list.array, "time_us",
			      time_us(agent));
	return *ret_view ? 0 : error_set(ret_error, -ENOMEM, "memory is out");
}

const struct mirror_grant *view_owner(const struct agent *agent,
				      const struct registration_object *object)
{
	struct fairlead_object is = {
		.flags = object->flags,
		.uid = object->uid,
		.id_count = object->id_count,
	};
	const struct mirror_grant *grant;

	memcpy(is.ids, object->ids, sizeof(is.ids));
	for (grant = agent->grants; grant; grant = grant->hh.next) {
		struct holding holding = {
			.driver = grant->driver,
			.uid = grant->uid,
			.ids = grant->ids,
			.id_count = grant->id_count,
		};

		if (holding_has(&holding, object->driver, &is))
			return grant;
	}
	return NULL;
}

static json_t *flags_view(uint32_t flags)
{
	static const struct {
		uint32_t flag;
		const char *name;
	} names[] = {
		{ FAIRLEAD_OBJECT_ENABLED, "enabled" },
		{ FAIRLEAD_OBJECT_SYSTEM, "system" },
		{ FAIRLEAD_OBJECT_DEFAULT, "default" },
		{ FAIRLEAD_OBJECT_BUSY, "busy" },
		{ FAIRLEAD_OBJECT_OPEN, "open" },
		{ FAIRLEAD_OBJECT_NETNS, "netns" },
	};
	json_t *view = json_array();

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		if (flags & names[i].flag)
			json_array_append_new(view, json_string(names[i].name));
	}
	return view;
}

static json_t *object_view(const struct agent *agent,
			   const struct guard_object *shown)
{
	const struct registration_object *object = &shown->object;
	const struct mirror_grant *grant = view_owner(agent, object);

	return json_pack("{s:s, s:s, s:I, s:o, s:o, s:o, s:I, s:o}",
			 "interconnect", object->driver, "device",
			 object->device, "id", (json_int_t)object->id, "flags",
			 flags_view(object->flags), "uid",
			 object->uid == UINT32_MAX ? json_null()
						   : json_integer(object->uid),
			 "ids", ids_view(object->ids, object->id_count),
			 "grant_id", (json_int_t)(grant ? grant->grant_id : 0),
			 "detail", detail_view(shown->detail));
}

json_t *view_objects(const struct agent *agent, const struct guard_object *list,
		     size_t count)
{
	json_t *array = json_array();

	for (size_t i = 0; i < count; i++)
		json_array_append_new(array, object_view(agent, &list[i]));
	return json_pack("{s:o, s:I}", "objects", array, "time_us",
			 time_us(agent));
}
