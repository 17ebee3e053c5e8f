/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A grant is over for its job manager with its event `revoked`, or, where no
 * node was asked, with the `release`. What came later was quarantine.
 */
#include "lanes/manager/history.h"

#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/memory.h"

struct history {
	json_t *item;
	json_t *had;       /* {pool: ids} */
	json_t *confirmed; /* [{nodes, how, since}] */
	bool is_failed;
};

static void put(struct history *history, const char *name, json_t *value_owned)
{
	if (json_object_set_new(history->item, name, value_owned) < 0)
		memory_end();
}

static void copy(struct history *history, const char *name,
		 const json_t *context, const char *member)
{
	json_t *value = json_object_get(context, member);

	if (value != NULL)
		put(history, name, json_incref(value));
}

static void take_request(struct history *history, const json_t *context)
{
	static const char *const members[] = { "nodes", "interconnect",
					       "options" };

	for (size_t i = 0; i < sizeof(members) / sizeof(members[0]); i++)
		copy(history, members[i], context, members[i]);
}

static void take_exception(struct history *history, const json_t *context)
{
	const json_t *severity = json_object_get(context, "severity");

	if (!json_is_integer(severity) || json_integer_value(severity) != 0)
		return;
	history->is_failed = true;
	copy(history, "failure", context, "note");
}

static void take_release(struct history *history, const json_t *context)
{
	const char *reason =
		json_string_value(json_object_get(context, "reason"));

	copy(history, "reason", context, "reason");
	if (reason != NULL && strstr(reason, "failed") != NULL)
		history->is_failed = true;
}

static void take_free(struct history *history, const json_t *context)
{
	const char *pool = json_string_value(json_object_get(context, "pool"));
	const char *ids = json_string_value(json_object_get(context, "ids"));
	const char *before;
	_auto_(freep) char *all = NULL;

	if (pool == NULL || ids == NULL)
		return;
	before = json_string_value(json_object_get(history->had, pool));
	all = memory_format("%s%s%s", before == NULL ? "" : before,
			    before == NULL ? "" : ",", ids);
	if (json_object_set_new(history->had, pool, json_string(all)) < 0)
		memory_end();
}

static void take_confirm(struct history *history, const json_t *context,
			 json_t *moment)
{
	json_t *late;

	/* Before the end it was no news of the quarantine. */
	if (json_object_get(history->item, "ended") == NULL)
		return;
	late = json_pack("{s:O?, s:O?, s:O?}", "nodes",
			 json_object_get(context, "nodes"), "how",
			 json_object_get(context, "how"), "since", moment);

	if (json_array_append_new(history->confirmed, late) < 0)
		memory_end();
}

static void take(struct history *history, const json_t *event)
{
	const char *name = json_string_value(json_object_get(event, "name"));
	const json_t *context = json_object_get(event, "context");
	json_t *moment = json_object_get(event, "timestamp");

	if (name == NULL || !json_is_number(moment))
		return;
	if (strcmp(name, "request") == 0) {
		take_request(history, context);
		put(history, "since", json_incref(moment));
	} else if (strcmp(name, "applied") == 0) {
		put(history, "applied", json_incref(moment));
	} else if (strcmp(name, "exception") == 0) {
		take_exception(history, context);
	} else if (strcmp(name, "release") == 0) {
		take_release(history, context);
		put(history, "ended", json_incref(moment));
	} else if (strcmp(name, "revoked") == 0) {
		put(history, "ended", json_incref(moment));
	} else if (strcmp(name, "confirm") == 0) {
		take_confirm(history, context, moment);
	} else if (strcmp(name, "free") == 0) {
		take_free(history, context);
	}
	put(history, "gone", json_incref(moment));
}

void history_add(json_t *item, const struct store_row *rows, size_t count)
{
	struct history history = {
		.item = item,
		.had = json_object(),
		.confirmed = json_array(),
	};

	for (size_t i = 0; i < count; i++) {
		json_t *event = json_loadb(rows[i].body, rows[i].size,
					   JSON_REJECT_DUPLICATES, NULL);

		take(&history, event);
		json_decref(event);
	}
	if (count > 0)
		put(&history, "outcome",
		    json_string(history.is_failed ? "failed" : "released"));
	put(&history, "had", history.had);
	put(&history, "confirmed", history.confirmed);
}
