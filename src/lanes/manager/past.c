/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A grant is over for its job manager with its event `revoked`, or, where no
 * node was asked, with the `release`. What came later was quarantine.
 */
#include "lanes/manager/past.h"

#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/memory.h"

struct past {
	json_t *item;
	json_t *had;       /* {pool: ids} */
	json_t *confirmed; /* [{nodes, how, since}] */
	bool is_failed;
};

static void put(struct past *past, const char *name, json_t *value_owned)
{
	if (json_object_set_new(past->item, name, value_owned) < 0)
		memory_end();
}

static void copy(struct past *past, const char *name, const json_t *context,
		 const char *member)
{
	json_t *value = json_object_get(context, member);

	if (value != NULL)
		put(past, name, json_incref(value));
}

static void take_request(struct past *past, const json_t *context)
{
	static const char *const members[] = { "nodes", "interconnect",
					       "options" };

	for (size_t i = 0; i < sizeof(members) / sizeof(members[0]); i++)
		copy(past, members[i], context, members[i]);
}

static void take_exception(struct past *past, const json_t *context)
{
	const json_t *severity = json_object_get(context, "severity");

	if (!json_is_integer(severity) || json_integer_value(severity) != 0)
		return;
	past->is_failed = true;
	copy(past, "failure", context, "note");
}

static void take_release(struct past *past, const json_t *context)
{
	const char *reason =
		json_string_value(json_object_get(context, "reason"));

	copy(past, "reason", context, "reason");
	if (reason != NULL && strstr(reason, "failed") != NULL)
		past->is_failed = true;
}

static void take_free(struct past *past, const json_t *context)
{
	const char *pool = json_string_value(json_object_get(context, "pool"));
	const char *ids = json_string_value(json_object_get(context, "ids"));
	const char *before;
	_auto_(freep) char *all = NULL;

	if (pool == NULL || ids == NULL)
		return;
	before = json_string_value(json_object_get(past->had, pool));
	all = memory_format("%s%s%s", before == NULL ? "" : before,
			    before == NULL ? "" : ",", ids);
	if (json_object_set_new(past->had, pool, json_string(all)) < 0)
		memory_end();
}

static void take_confirm(struct past *past, const json_t *context,
			 json_t *moment)
{
	json_t *late;

	/* Before the end it was no news of the quarantine. */
	if (json_object_get(past->item, "ended") == NULL)
		return;
	late = json_pack("{s:O?, s:O?, s:O?}", "nodes",
			 json_object_get(context, "nodes"), "how",
			 json_object_get(context, "how"), "since", moment);

	if (json_array_append_new(past->confirmed, late) < 0)
		memory_end();
}

static void take(struct past *past, const json_t *event)
{
	const char *name = json_string_value(json_object_get(event, "name"));
	const json_t *context = json_object_get(event, "context");
	json_t *moment = json_object_get(event, "timestamp");

	if (name == NULL || !json_is_number(moment))
		return;
	if (strcmp(name, "request") == 0) {
		take_request(past, context);
		put(past, "since", json_incref(moment));
	} else if (strcmp(name, "applied") == 0) {
		put(past, "applied", json_incref(moment));
	} else if (strcmp(name, "exception") == 0) {
		take_exception(past, context);
	} else if (strcmp(name, "release") == 0) {
		take_release(past, context);
		put(past, "ended", json_incref(moment));
	} else if (strcmp(name, "revoked") == 0) {
		put(past, "ended", json_incref(moment));
	} else if (strcmp(name, "confirm") == 0) {
		take_confirm(past, context, moment);
	} else if (strcmp(name, "free") == 0) {
		take_free(past, context);
	}
	put(past, "gone", json_incref(moment));
}

void past_add(json_t *item, const struct store_row *rows, size_t count)
{
	struct past past = {
		.item = item,
		.had = json_object(),
		.confirmed = json_array(),
	};

	for (size_t i = 0; i < count; i++) {
		json_t *event = json_loadb(rows[i].body, rows[i].size,
					   JSON_REJECT_DUPLICATES, NULL);

		take(&past, event);
		json_decref(event);
	}
	if (count > 0)
		put(&past, "outcome",
		    json_string(past.is_failed ? "failed" : "released"));
	put(&past, "had", past.had);
	put(&past, "confirmed", past.confirmed);
}
