/* SPDX-License-Identifier: BSD-3-Clause */
#include "lanes/plugin/flux/eventlog.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "lanes/driver/driver.h"

#define MEMBER "fairlead"

const char *entry_text(const json_t *entry, const char *name)
{
	const char *text = json_string_value(json_object_get(entry, name));

	return text ? text : "";
}

bool lane_event_read(const json_t *entry, struct lane_event *ret_event)
{
	const json_t *ours =
		json_object_get(json_object_get(entry, "context"), MEMBER);
	const json_t *has_lane = json_object_get(ours, "has_lane");
	struct lane_event event = { 0 };

	if (!json_is_boolean(has_lane))
		return false;
	event.has_lane = json_is_true(has_lane);
	event.grant_id =
		(uint64_t)json_integer_value(json_object_get(ours, "grant_id"));
	snprintf(event.key, sizeof(event.key), "%s", entry_text(ours, "key"));
	*ret_event = event;
	return true;
}

json_t *lane_event_make(const json_t *grant_public)
{
	static const char *const names[] = { "grant_id", "key", "interconnect",
					     "has_lane" };
	json_t *context = json_object();
	json_t *ours = json_object();

	json_object_update(context, json_object_get(grant_public, "context"));
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		json_object_set(ours, names[i],
				json_object_get(grant_public, names[i]));
	if (json_object_size(ours) != sizeof(names) / sizeof(names[0]) ||
	    json_object_set(context, MEMBER, ours) < 0) {
		json_decref(context);
		context = NULL;
	}
	json_decref(ours);
	return context;
}

json_t *lane_event_none(const char *reason)
{
	return json_pack("{s:[], s:{s:[]}, s:s, s:{s:i, s:b}}", "vnis",
			 "reservation", "vnis", "empty-reason", reason, MEMBER,
			 "grant_id", 0, "has_lane", 0);
}

const char *lane_event_name(const json_t *grant_public)
{
	return driver_event(entry_text(grant_public, "interconnect"));
}

bool entry_ends_tasks(const json_t *entry)
{
	const char *name = entry_text(entry, "name");
	const json_t *context = json_object_get(entry, "context");

	return strcmp(name, "finish") == 0 ||
	       (strcmp(name, "release") == 0 &&
		json_is_true(json_object_get(context, "final")));
}

static json_int_t status_of(const json_t *entry)
{
	return json_integer_value(
		json_object_get(json_object_get(entry, "context"), "status"));
}

static bool is_ours(const json_t *entry)
{
	return strcmp(entry_text(json_object_get(entry, "context"),
				 "description"),
		      EVENTLOG_ACTION) == 0;
}

static void take_entry(struct eventlog *log, const json_t *entry)
{
	const char *name = entry_text(entry, "name");

	if (lane_event_read(entry, &log->event))
		log->has_event = true;
	log->has_prolog_start |= strcmp(name, "prolog-start") == 0;
	log->has_prolog_finish |= strcmp(name, "prolog-finish") == 0;
	log->has_epilog_start |= strcmp(name, "epilog-start") == 0;
	log->has_finished |= entry_ends_tasks(entry);
	if (!is_ours(entry))
		return;
	if (strcmp(name, "prolog-start") == 0)
		log->is_prolog_open = log->has_begun = true;
	if (strcmp(name, "prolog-finish") == 0) {
		log->is_prolog_open = false;
		log->was_refused = status_of(entry) != 0;
	}
	if (strcmp(name, "epilog-start") == 0)
		log->is_epilog_open = true;
	if (strcmp(name, "epilog-finish") == 0)
		log->is_epilog_open = false;
}

int eventlog_read(const char *text, struct eventlog *ret_log)
{
	struct eventlog log = { 0 };

	while (*text) {
		size_t size = strcspn(text, "\n");
		json_t *entry = json_loadb(text, size, 0, NULL);

		if (!json_is_object(entry)) {
			json_decref(entry);
			return -EBADMSG;
		}
		take_entry(&log, entry);
		json_decref(entry);
		text += size;
		text += *text == '\n';
	}
	*ret_log = log;
	return 0;
}

struct eventlog eventlog_unknown(void)
{
	return (struct eventlog){ .has_begun = true, .event.has_lane = true };
}

bool eventlog_has_started(const struct eventlog *log)
{
	return log->has_begun && !log->is_prolog_open && !log->was_refused;
}
