/* SPDX-License-Identifier: BSD-3-Clause */
/* Our event, as it is written and found again, and what an eventlog tells. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>
#include <errno.h>

#include "lanes/plugin/flux/eventlog.h"

#define OURS(name)                            \
	"{\"timestamp\":1.0,\"name\":\"" name \
	"\",\"context\":{\"description\":\"fairlead\"}}\n"
#define THEIRS(name)                          \
	"{\"timestamp\":1.0,\"name\":\"" name \
	"\",\"context\":{\"description\":\"job-manager.prolog\"}}\n"

static const char public_text[] =
	"{\"grant_id\":17,\"key\":\"flux/fABC/"
	"0\",\"interconnect\":\"slingshot\""
	",\"nodes\":\"n[0-3]\",\"uid\":1000,\"gid\":100,\"ids\":[1024],"
	"\"options\":\"vnis=1\",\"has_lane\":true,\"context\":{\"reservation\":"
	"{\"vnis\":[1024]},\"vnis\":[1024]}}";

static struct eventlog read_log(const char *text)
{
	struct eventlog log;

	assert_int_equal(eventlog_read(text, &log), 0);
	return log;
}

static void an_event_is_found_as_it_was_made(void **state)
{
	json_t *public = json_loads(public_text, 0, NULL);
	json_t *context = lane_event_make(public);
	json_t *entry = json_pack("{s:f,s:s,s:O}", "timestamp", 1.0, "name",
				  lane_event_name(public), "context", context);
	struct lane_event event;
	json_t *vnis;

	assert_string_equal(lane_event_name(public), "cray-slingshot");
	assert_true(lane_event_read(entry, &event));
	assert_true(event.has_lane);
	assert_int_equal(event.grant_id, 17);
	assert_string_equal(event.key, "flux/fABC/0");
	/* Both forms, for whoever reads either. */
	vnis = json_object_get(context, "vnis");
	assert_int_equal(json_integer_value(json_array_get(vnis, 0)), 1024);
	vnis = json_object_get(json_object_get(context, "reservation"), "vnis");
	assert_int_equal(json_integer_value(json_array_get(vnis, 0)), 1024);
	/* What it is made of is left as it was. */
	assert_null(json_object_get(json_object_get(public, "context"),
				    "fairlead"));
	json_decref(entry);
	json_decref(context);
	json_decref(public);
}

static void a_job_without_a_lane_has_one_with_the_reason(void **state)
{
	json_t *context = lane_event_none("none requested");
	json_t *entry = json_pack("{s:s,s:O}", "name", "cray-slingshot",
				  "context", context);
	struct lane_event event;

	assert_true(lane_event_read(entry, &event));
	assert_false(event.has_lane);
	assert_int_equal(event.grant_id, 0);
	assert_string_equal(
		json_string_value(json_object_get(context, "empty-reason")),
		"none requested");
	assert_int_equal(json_array_size(json_object_get(context, "vnis")), 0);
	json_decref(entry);
	json_decref(context);
}

static void an_event_has_the_name_that_its_driver_gives(void **state)
{
	static const char *const names[][2] = {
		{ "slingshot", "cray-slingshot" },
		{ "ethernet", "ethernet" },
		{ "none", "none" },
	};

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		json_t *public =
			json_pack("{s:s}", "interconnect", names[i][0]);

		assert_string_equal(lane_event_name(public), names[i][1]);
		json_decref(public);
	}
}

static void other_entries_are_no_events_of_ours(void **state)
{
	static const char *const texts[] = {
		"{\"name\":\"cray-slingshot\",\"context\":{\"vnis\":[1024]}}",
		"{\"name\":\"start\"}",
		"{\"name\":\"x\",\"context\":{\"fairlead\":{\"has_lane\":1}}}",
		"{\"name\":\"x\",\"context\":{\"fairlead\":true}}",
		"[]",
	};

	for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
		json_t *entry = json_loads(texts[i], 0, NULL);
		struct lane_event event;

		assert_non_null(entry);
		assert_false(lane_event_read(entry, &event));
		json_decref(entry);
	}
}

static void a_grant_that_is_none_makes_no_event(void **state)
{
	json_t *public = json_loads("{\"key\":\"a/b/0\"}", 0, NULL);

	assert_null(lane_event_make(public));
	assert_null(lane_event_make(NULL));
	json_decref(public);
}

static void actions_are_open_until_they_are_finished(void **state)
{
	struct eventlog log;

	log = read_log(OURS("prolog-start"));
	assert_true(log.is_prolog_open);
	assert_true(log.has_begun);
	assert_false(log.is_epilog_open);
	log = read_log(OURS("prolog-start") OURS("prolog-finish"));
	assert_false(log.is_prolog_open);
	assert_true(log.has_begun);
	log = read_log(OURS("prolog-start") OURS("prolog-finish")
			       OURS("epilog-start"));
	assert_true(log.is_epilog_open);
	log = read_log(OURS("epilog-start") OURS("epilog-finish"));
	assert_false(log.is_epilog_open);
}

static void tasks_are_over_with_finish_or_the_last_release(void **state)
{
	assert_false(read_log("{\"name\":\"start\"}\n").has_finished);
	assert_true(read_log("{\"name\":\"finish\",\"context\":{\"status\":"
			     "0}}\n")
			    .has_finished);
	assert_false(read_log("{\"name\":\"release\",\"context\":{\"ranks\":"
			      "\"0\",\"final\":false}}\n")
			     .has_finished);
	assert_true(read_log("{\"name\":\"release\",\"context\":{\"ranks\":"
			     "\"all\",\"final\":true}}\n")
			    .has_finished);
}

static void a_prolog_that_ended_badly_was_a_refusal(void **state)
{
	assert_false(read_log(OURS("prolog-start") OURS("prolog-finish"))
			     .was_refused);
	assert_true(
		read_log(OURS("prolog-start") "{\"name\":\"prolog-finish\","
					      "\"context\":{\"description\":"
					      "\"fairlead\",\"status\""
					      ":1}}\n")
			.was_refused);
}

static void actions_of_others_are_theirs(void **state)
{
	struct eventlog log =
		read_log(THEIRS("prolog-start") THEIRS("epilog-start"));

	assert_false(log.is_prolog_open);
	assert_false(log.is_epilog_open);
	assert_false(log.has_begun);
	assert_true(log.has_prolog_start);
	assert_true(log.has_epilog_start);
	assert_false(log.has_prolog_finish);
	log = read_log(OURS("prolog-start") THEIRS("prolog-finish"));
	assert_true(log.is_prolog_open);
	assert_true(log.has_prolog_finish);
}

static void the_last_event_of_ours_counts(void **state)
{
	struct eventlog log = read_log(
		"{\"name\":\"cray-slingshot\",\"context\":{\"fairlead\":"
		"{\"grant_id\":1,\"key\":\"flux/f1/0\",\"has_lane\":true}}}\n"
		"{\"name\":\"cray-slingshot\",\"context\":{\"fairlead\":"
		"{\"grant_id\":2,\"key\":\"flux/f1/1\",\"has_lane\":true}}}");

	assert_true(log.has_event);
	assert_int_equal(log.event.grant_id, 2);
	assert_string_equal(log.event.key, "flux/f1/1");
}

static void a_log_that_is_damaged_is_refused(void **state)
{
	struct eventlog log;

	assert_int_equal(eventlog_read("{\"name\":", &log), -EBADMSG);
	assert_int_equal(eventlog_read("\n", &log), -EBADMSG);
	assert_int_equal(eventlog_read("[]\n", &log), -EBADMSG);
	assert_int_equal(eventlog_read("", &log), 0);
}

static void tasks_start_after_a_prolog_of_ours_that_ended_well(void **state)
{
	struct eventlog log;

	log = read_log("");
	assert_false(eventlog_has_started(&log));
	log = read_log(OURS("prolog-start"));
	assert_false(eventlog_has_started(&log));
	log = read_log(OURS("prolog-start") "{\"name\":\"prolog-finish\","
					    "\"context\":{\"description\":"
					    "\"fairlead\",\"status\":1}}\n");
	assert_false(eventlog_has_started(&log));
	log = read_log(OURS("prolog-start") OURS("prolog-finish"));
	assert_true(eventlog_has_started(&log));
}

static void of_an_unknown_log_the_worst_is_assumed(void **state)
{
	struct eventlog log = eventlog_unknown();

	assert_true(log.has_begun);
	assert_true(log.event.has_lane);
	assert_true(eventlog_has_started(&log));
	assert_false(log.has_finished);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(an_event_is_found_as_it_was_made),
		cmocka_unit_test(a_job_without_a_lane_has_one_with_the_reason),
		cmocka_unit_test(an_event_has_the_name_that_its_driver_gives),
		cmocka_unit_test(other_entries_are_no_events_of_ours),
		cmocka_unit_test(a_grant_that_is_none_makes_no_event),
		cmocka_unit_test(actions_are_open_until_they_are_finished),
		cmocka_unit_test(
			tasks_are_over_with_finish_or_the_last_release),
		cmocka_unit_test(a_prolog_that_ended_badly_was_a_refusal),
		cmocka_unit_test(actions_of_others_are_theirs),
		cmocka_unit_test(the_last_event_of_ours_counts),
		cmocka_unit_test(a_log_that_is_damaged_is_refused),
		cmocka_unit_test(
			tasks_start_after_a_prolog_of_ours_that_ended_well),
		cmocka_unit_test(of_an_unknown_log_the_worst_is_assumed),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
