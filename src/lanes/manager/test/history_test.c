/* SPDX-License-Identifier: BSD-3-Clause */
#include "lanes/manager/clients.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <string.h>

#define LINES_MAX 16
/* A line; the context is members. */
#define EVENT(time, name, context)                   \
	"{\"timestamp\":" #time ",\"name\":\"" #name \
	"\",\"context\":{" context "}}"

/* What these lines show of an item; ended by NULL. */
static json_t *shown(const char *const *lines)
{
	struct store_row rows[LINES_MAX];
	json_t *item = json_object();
	size_t count = 0;

	for (; lines[count] != NULL; count++)
		rows[count] = (struct store_row){
			.table = STORE_EVENT,
			.body = lines[count],
			.size = strlen(lines[count]),
		};
	history_add(item, rows, count);
	return item;
}

static void assert_json(const json_t *item, const char *member,
			const char *expected)
{
	char *text = json_dumps(json_object_get(item, member),
				JSON_COMPACT | JSON_ENCODE_ANY |
					JSON_REAL_PRECISION(12));

	assert_non_null(text);
	assert_string_equal(text, expected);
	free(text);
}

static void a_successful_release_is_shown(void **state)
{
	json_t *item = shown((const char *const[]){
		EVENT(10.5, request,
		      "\"key\":\"a/b/0\",\"nodes\":\"n[0-1]\","
		      "\"interconnect\":\"slingshot\","
		      "\"options\":\"vnis=2\""),
		EVENT(11.5, applied, ""),
		EVENT(12.5, release, "\"reason\":\"request\""),
		EVENT(13.5, revoked, "\"nodes\":2"),
		EVENT(13.5, free, "\"pool\":\"vni\",\"ids\":\"1024-1025\""),
		NULL });

	assert_json(item, "outcome", "\"released\"");
	assert_json(item, "reason", "\"request\"");
	assert_json(item, "nodes", "\"n[0-1]\"");
	assert_json(item, "interconnect", "\"slingshot\"");
	assert_json(item, "options", "\"vnis=2\"");
	assert_json(item, "since", "10.5");
	assert_json(item, "applied", "11.5");
	assert_json(item, "ended", "13.5");
	assert_json(item, "gone", "13.5");
	assert_json(item, "had", "{\"vni\":\"1024-1025\"}");
	assert_json(item, "confirmed", "[]");
	assert_null(json_object_get(item, "failure"));
	json_decref(item);
}

static void a_failure_is_shown_with_its_reason(void **state)
{
	json_t *item = shown((const char *const[]){
		EVENT(10.5, request, ""),
		EVENT(11.5, exception, "\"severity\":1,\"note\":\"a warning\""),
		EVENT(11.5, exception,
		      "\"severity\":0,\"note\":\"no room on n1\""),
		EVENT(12.5, release, "\"reason\":\"apply-failed\""), NULL });

	assert_json(item, "outcome", "\"failed\"");
	assert_json(item, "failure", "\"no room on n1\"");
	assert_json(item, "reason", "\"apply-failed\"");
	assert_json(item, "ended", "12.5");
	json_decref(item);
}

static void what_came_after_the_end_is_shown(void **state)
{
	json_t *item = shown((const char *const[]){
		EVENT(10.5, revoked, ""),
		EVENT(11.5, free, "\"pool\":\"vni\",\"ids\":\"1024\""),
		EVENT(12.5, confirm, "\"nodes\":\"n7\",\"how\":\"fenced\""),
		EVENT(12.5, free, "\"pool\":\"vni\",\"ids\":\"1030\""), NULL });

	assert_json(item, "ended", "10.5");
	assert_json(item, "gone", "12.5");
	assert_json(item, "had", "{\"vni\":\"1024,1030\"}");
	assert_json(item, "confirmed",
		    "[{\"nodes\":\"n7\",\"how\":\"fenced\",\"since\":12.5}]");
	json_decref(item);
}

static void what_is_no_event_is_passed_over(void **state)
{
	json_t *item = shown((const char *const[]){
		"", "{", "[]", "{\"name\":\"request\"}",
		"{\"timestamp\":\"x\",\"name\":\"free\",\"context\":{}}",
		"{\"timestamp\":1.5,\"name\":\"free\",\"context\":[]}",
		"{\"timestamp\":1.5,\"name\":\"release\"}",
		"{\"timestamp\":1.5,\"name\":\"confirm\",\"context\":7}",
		"{\"timestamp\":1.5,\"name\":\"new\",\"context\":{}}", NULL });

	assert_json(item, "gone", "1.5");
	assert_json(item, "had", "{}");
	json_decref(item);
}

static void without_events_there_is_no_outcome(void **state)
{
	json_t *item = shown((const char *const[]){ NULL });

	assert_null(json_object_get(item, "outcome"));
	assert_json(item, "had", "{}");
	json_decref(item);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_successful_release_is_shown),
		cmocka_unit_test(a_failure_is_shown_with_its_reason),
		cmocka_unit_test(what_came_after_the_end_is_shown),
		cmocka_unit_test(what_is_no_event_is_passed_over),
		cmocka_unit_test(without_events_there_is_no_outcome),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
