/* SPDX-License-Identifier: BSD-3-Clause */
/* What local clients ask for. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "lanes/proto/client.h"
#include "lanes/node/agent/test/bench.h"

static int setup(void **state)
{
	static struct bench bench;

	bench_init(&bench);
	bench_connect(&bench);
	*state = &bench;
	return 0;
}

static int teardown(void **state)
{
	bench_fini(*state);
	return 0;
}

/* --- who and how --- */

static void ops_that_change_something_are_roots(void **state)
{
	static const char *const roots[] = { "prolog", "epilog", "housekeeping",
					     "clean" };
	static const char *const everybodys[] = { "node-status", "devices",
						  "objects" };
	struct bench *bench = *state;

	for (size_t i = 0; i < 4; i++)
		json_decref(bench_call(bench, 1000, roots[i], "", -EPERM));
	for (size_t i = 0; i < 3; i++)
		json_decref(bench_call(bench, 1000, everybodys[i], "", 0));
}

static void requests_are_checked(void **state)
{
	struct bench *bench = *state;

	json_decref(bench_call(bench, 0, "reserve", "", -EINVAL));
	json_decref(bench_call(bench, 0, "node-status", JOB7, -EINVAL));
	json_decref(bench_call(bench, 0, "epilog", "", -EINVAL));
	json_decref(bench_call(bench, 0, "epilog", "{\"job\": \"slurm\"}",
			       -EINVAL));
	json_decref(bench_call(bench, 0, "epilog", "{\"job\": \"a/../b\"}",
			       -EINVAL));
	json_decref(bench_call(bench, 0, "epilog", "{\"job\": 7}", -EINVAL));
	json_decref(bench_call(bench, 0, "prolog",
			       "{\"job\": \"a/b\", \"timeout_ms\": -1}",
			       -EINVAL));
	json_decref(
		bench_call(bench, 0, "clean", "{\"all\": \"yes\"}", -EINVAL));
	json_decref(
		bench_call(bench, 0, "clean", "{\"job\": \"a/b\"}", -EINVAL));
	json_decref(
		bench_call(bench, 0, "inherit", "{\"variables\": 1}", -EINVAL));
}

static void what_is_no_request_ends_the_connection(void **state)
{
	struct bench *bench = *state;
	uint64_t client = bench_client(bench, 0), answered;
	struct client_answer head;
	json_t *answer;

	agent_client_received(bench->agent, client, "{]", 2);
	assert_int_equal(bench->closed, client);
	answer = bench_answer(bench, &answered);
	assert_int_equal(answered, client);
	assert_int_equal(client_answer_open(answer, &head, NULL), 0);
	assert_int_equal(head.id, 0);
	assert_int_equal(head.result, -EBADMSG);
	json_decref(answer);
	/* What was sent behind it is not read. */
	bench_request(bench, client, 1, "node-status", "");
	assert_null(bench_answer(bench, NULL));
	agent_client_closed(bench->agent, client);
}

static void broken_frame_is_answered(void **state)
{
	struct bench *bench = *state;
	uint64_t client = bench_client(bench, 0);
	json_t *answer;

	agent_client_violated(bench->agent, client, -ETIMEDOUT);
	answer = bench_answer(bench, NULL);
	assert_non_null(
		strstr(json_string_value(json_object_get(answer, "error")),
		       "in time"));
	json_decref(answer);
	agent_client_closed(bench->agent, client);
}

static void connection_has_so_many_requests(void **state)
{
	struct bench *bench = *state;
	uint64_t client = bench_client(bench, 0);
	struct client_answer head;
	json_t *answer;

	for (uint64_t id = 1; id <= CLIENT_REQUESTS_MAX; id++)
		bench_request(bench, client, id, "prolog", JOB7);
	assert_null(bench_answer(bench, NULL));
	bench_request(bench, client, 99, "prolog", JOB7);
	answer = bench_answer(bench, NULL);
	assert_int_equal(client_answer_open(answer, &head, NULL), 0);
	assert_int_equal(head.id, 99);
	assert_int_equal(head.result, -EAGAIN);
	json_decref(answer);
	bench_apply(bench, 7);
	for (uint64_t id = 1; id <= CLIENT_REQUESTS_MAX; id++) {
		answer = bench_answer(bench, NULL);
		assert_non_null(answer);
		json_decref(answer);
	}
	bench_request(bench, client, 100, "prolog", JOB7);
	answer = bench_answer(bench, NULL);
	assert_int_equal(client_answer_open(answer, &head, NULL), 0);
	assert_int_equal(head.result, 0);
	json_decref(answer);
	agent_client_closed(bench->agent, client);
}

static void user_has_so_many_connections(void **state)
{
	struct bench *bench = *state;
	uint64_t client = 0;
	json_t *answer;

	for (int i = 0; i < AGENT_USER_CLIENTS_MAX; i++)
		client = bench_client(bench, 1000);
	assert_int_not_equal(bench->closed, client);
	client = bench_client(bench, 1000);
	assert_int_equal(bench->closed, client);
	answer = bench_answer(bench, NULL);
	assert_non_null(answer);
	json_decref(answer);
	agent_client_closed(bench->agent, client);
	/* Others, and root, are not kept out. */
	json_decref(bench_call(bench, 1001, "node-status", "", 0));
	for (int i = 0; i < 2 * AGENT_USER_CLIENTS_MAX; i++)
		client = bench_client(bench, 0);
	assert_int_not_equal(bench->closed, client);
	agent_client_closed(bench->agent, bench->next_client - 1);
}

/* The detail of its driver, in an answer to node-status. */
static const char *detail_of(const json_t *answer)
{
	const json_t *drivers = json_object_get(answer, "drivers");

	return json_string_value(
		json_object_get(json_array_get(drivers, 0), "detail"));
}

static void status_has_the_guards_word_on_its_drivers(void **state)
{
	struct bench *bench = *state;
	json_t *answer;

	bench->world.summary = "level 1";
	answer = bench_call(bench, 0, "node-status", "", 0);
	assert_string_equal(detail_of(answer), "level 1");
	json_decref(answer);
	/* Root gets the state of now, others that of a moment ago. */
	bench->world.summary = "level 2";
	answer = bench_call(bench, 1001, "node-status", "", 0);
	assert_string_equal(detail_of(answer), "level 1");
	json_decref(answer);
	answer = bench_call(bench, 0, "node-status", "", 0);
	assert_string_equal(detail_of(answer), "level 2");
	json_decref(answer);
	bench->world.list_error = -EIO;
	answer = bench_call(bench, 0, "node-status", "", 0);
	assert_false(json_is_true(json_object_get(
		json_array_get(json_object_get(answer, "drivers"), 0),
		"usable")));
	json_decref(answer);
}

static void who_waits_for_a_status_may_go(void **state)
{
	struct bench *bench = *state;
	uint64_t client = bench_client(bench, 0);

	bench_request(bench, client, 1, "node-status", "");
	agent_client_closed(bench->agent, client);
	json_decref(bench_call(bench, 0, "devices", "", 0));
	client = bench_client(bench, 0);
	bench_request(bench, client, 1, "node-status", "");
	/* The agent ends with a client that waits: the fixture destroys it. */
}

static void daemon_has_so_many_requests(void **state)
{
	struct bench *bench = *state;
	uint64_t client = 0;
	struct client_answer head;
	json_t *answer;

	for (uint64_t id = 0; id < AGENT_WORKS_MAX; id++) {
		if (id % CLIENT_REQUESTS_MAX == 0)
			client = bench_client(bench, 0);
		bench_request(bench, client, id + 1, "prolog", JOB7);
	}
	assert_null(bench_answer(bench, NULL));
	answer = bench_call(bench, 0, "prolog", JOB7, -EAGAIN);
	assert_int_equal(client_answer_open(answer, &head, NULL), 0);
	json_decref(answer);
}

/* The guard answers nobody before it is pumped. */
static void users_requests_leave_room_for_roots(void **state)
{
	struct bench *bench = *state;
	const uint64_t count = AGENT_OTHERS_WORKS_MAX + CLIENT_REQUESTS_MAX;
	uint64_t asker = bench_client(bench, 1007);
	uint64_t root = bench_client(bench, 0);
	uint64_t client = 0;
	size_t refused = 0, answered = 0;
	struct client_answer head;
	json_t *answer;

	bench_apply(bench, 7);
	for (uint64_t id = 0; id < count; id++) {
		if (id % CLIENT_REQUESTS_MAX == 0)
			client = bench_client(bench, 1007);
		bench_request(bench, client, id + 1, "env", JOB7);
		bench_request(bench, asker, id + 1, "objects", "");
	}
	bench_request(bench, root, 1, "prolog", JOB7);
	bench_request(bench, root, 2, "objects", "");
	bench_pump(bench);
	while ((answer = bench_answer(bench, &client)) != NULL) {
		assert_int_equal(client_answer_open(answer, &head, NULL), 0);
		assert_true(client != root || head.result == 0);
		refused += head.result == -EAGAIN;
		answered += head.result == 0;
		json_decref(answer);
	}
	assert_int_equal(answered,
			 AGENT_OTHERS_WORKS_MAX + AGENT_OTHERS_WAITERS_MAX + 2);
	assert_int_equal(answered + refused, 2 * count + 2);
}

static void client_that_leaves_is_not_answered(void **state)
{
	struct bench *bench = *state;
	uint64_t client = bench_client(bench, 0);

	bench_apply(bench, 7);
	bench_request(bench, client, 1, "epilog", JOB7);
	agent_client_closed(bench->agent, client);
	bench_pump(bench);
	/* It is done all the same. */
	assert_int_equal(world_objects_total(&bench->world), 0);
}

/* --- clean --- */

static void foreign_add(struct bench *bench, uint32_t id, uint32_t flags)
{
	bench->world.objects[id - 2] = (struct fake_object){
		.is_there = true,
		.object = { .device = "dev1",
			    .id = id,
			    .uid = 42,
			    .flags = flags,
			    .id_count = 1,
			    .ids = { 99 } },
	};
}

static void clean_takes_what_was_left_and_nothing_else(void **state)
{
	struct bench *bench = *state;
	json_t *answer;

	bench_apply(bench, 7);
	bench_apply(bench, 8);
	foreign_add(bench, 30, 0);
	world_object(&bench->world, 7)->is_busy = true;
	bench_revoke(bench, 7);
	answer = bench_call(bench, 0, "clean", "", -EBUSY);
	assert_int_equal(answer_count(answer, "left"), 1);
	assert_string_equal(answer_at(answer, "left", 0, "grant_id"), "7");
	assert_string_equal(answer_at(answer, "left", 0, "device"), "dev0");
	assert_non_null(
		strstr(answer_at(answer, "left", 0, "text"), "process 77"));
	json_decref(answer);
	world_object(&bench->world, 7)->is_busy = false;
	answer = bench_call(bench, 0, "clean", "", 0);
	assert_int_equal(answer_count(answer, "destroyed"), 1);
	assert_string_equal(answer_at(answer, "destroyed", 0, "id"), "2");
	json_decref(answer);
	assert_int_equal(world_objects_total(&bench->world), FAKE_DEVICES + 1);
	assert_int_equal(world_object_count(&bench->world, 8), FAKE_DEVICES);
}

static void clean_of_all_leaves_the_system_its_own(void **state)
{
	struct bench *bench = *state;
	json_t *answer;

	bench_apply(bench, 7);
	foreign_add(bench, 30, 0);
	foreign_add(bench, 31, FAIRLEAD_OBJECT_SYSTEM);
	foreign_add(bench, 32, FAIRLEAD_OBJECT_DEFAULT);
	answer = bench_call(bench, 0, "clean",
			    "{\"all\": true, \"dry_run\": true}", 0);
	assert_int_equal(answer_count(answer, "destroyed"), FAKE_DEVICES + 1);
	json_decref(answer);
	json_decref(bench_call(bench, 0, "clean", "{\"all\": true}", -EBUSY));
	assert_int_equal(world_objects_total(&bench->world), FAKE_DEVICES + 3);
	answer = bench_call(bench, 0, "clean",
			    "{\"all\": true, \"force\": true}", 0);
	assert_int_equal(answer_count(answer, "destroyed"), FAKE_DEVICES + 1);
	assert_int_equal(answer_count(answer, "left"), 0);
	json_decref(answer);
	assert_int_equal(world_objects_total(&bench->world), 2);
	assert_int_equal(world_files_total(&bench->world), 0);
}

static void clean_of_all_needs_no_force_where_no_lane_is_in_use(void **state)
{
	struct bench *bench = *state;
	json_t *answer;

	bench_apply(bench, 7);
	foreign_add(bench, 30, 0);
	world_object(&bench->world, 7)->is_busy = true;
	bench_revoke(bench, 7);
	world_object(&bench->world, 7)->is_busy = false;
	answer = bench_call(bench, 0, "clean", "{\"all\": true}", 0);
	assert_int_equal(answer_count(answer, "left"), 0);
	json_decref(answer);
	assert_int_equal(world_objects_total(&bench->world), 0);
}

static void clean_of_one_object_takes_no_other(void **state)
{
	struct bench *bench = *state;
	json_t *answer;

	bench_apply(bench, 7);
	foreign_add(bench, 30, 0);
	foreign_add(bench, 31, FAIRLEAD_OBJECT_SYSTEM);
	foreign_add(bench, 32, 0);
	answer = bench_call(bench, 0, "clean",
			    "{\"object\": \"dev1/30\", \"dry_run\": true}", 0);
	assert_int_equal(answer_count(answer, "destroyed"), 1);
	json_decref(answer);
	assert_int_equal(world_objects_total(&bench->world), FAKE_DEVICES + 3);
	answer = bench_call(bench, 0, "clean", "{\"object\": \"dev1/30\"}", 0);
	assert_int_equal(answer_count(answer, "destroyed"), 1);
	assert_string_equal(answer_at(answer, "destroyed", 0, "id"), "30");
	json_decref(answer);
	assert_int_equal(world_objects_total(&bench->world), FAKE_DEVICES + 2);
}

static void clean_of_one_object_leaves_lanes_and_the_systems(void **state)
{
	static const char *const malformed[] = { "dev1",    "dev1/",
						 "/30",     "dev1/-1",
						 "dev1/3x", "dev1/4294967296" };
	struct bench *bench = *state;
	char members[64];

	bench_apply(bench, 7);
	foreign_add(bench, 31, FAIRLEAD_OBJECT_SYSTEM);
	json_decref(bench_call(bench, 0, "clean", "{\"object\": \"dev0/2\"}",
			       -EPERM));
	json_decref(bench_call(bench, 0, "clean", "{\"object\": \"dev1/31\"}",
			       -EPERM));
	json_decref(bench_call(bench, 0, "clean", "{\"object\": \"dev1/30\"}",
			       -ENOENT));
	json_decref(bench_call(bench, 0, "clean",
			       "{\"object\": \"dev1/31\", \"all\": true}",
			       -EINVAL));
	for (size_t i = 0; i < sizeof(malformed) / sizeof(malformed[0]); i++) {
		snprintf(members, sizeof(members), "{\"object\": \"%s\"}",
			 malformed[i]);
		json_decref(bench_call(bench, 0, "clean", members, -EINVAL));
	}
	assert_int_equal(world_objects_total(&bench->world), FAKE_DEVICES + 1);
}

static void clean_that_cannot_look_says_so(void **state)
{
	struct bench *bench = *state;

	bench->world.list_error = -EIO;
	json_decref(bench_call(bench, 0, "clean", "{\"all\": true}", -EIO));
}

static void clean_by_the_managers_word_is_the_same(void **state)
{
	struct bench *bench = *state;
	struct clean_body body = { .nodes = FAKE_NODE, .is_all = true };
	struct writer writer = { 0 };
	struct confirm confirm;
	json_t *answer;

	bench_apply(bench, 7);
	bench_drop_frames(bench);
	assert_int_equal(clean_body_encode(&body, &writer), 0);
	bench_command(bench, COMMAND_CLEAN, 0, &writer);
	bench_pump(bench);
	bench_take_confirm(bench, &confirm);
	assert_int_equal(confirm.op, COMMAND_CLEAN);
	assert_int_equal(confirm.result, 0);
	answer = json_loads((const char *)confirm.answer, 0, NULL);
	assert_int_equal(answer_count(answer, "destroyed"), FAKE_DEVICES);
	json_decref(answer);
	confirm_fini(&confirm);
	assert_int_equal(world_objects_total(&bench->world), 0);
}

/* --- looking --- */

static void environment_is_the_owners_and_roots(void **state)
{
	struct bench *bench = *state;
	json_t *answer, *variables;

	json_decref(bench_call(bench, 0, "env", JOB7, -ENOENT));
	bench_apply(bench, 7);
	json_decref(bench_call(bench, 1008, "env", JOB7, -EPERM));
	json_decref(bench_call(bench, 0, "env", JOB7, 0));
	answer = bench_call(bench, 1007, "env", JOB7, 0);
	variables = json_object_get(answer, "variables");
	assert_int_equal(json_array_size(variables), 3);
	assert_string_equal(json_string_value(json_array_get(
				    json_array_get(variables, 0), 0)),
			    "FAKE_ID");
	assert_string_equal(json_string_value(json_array_get(
				    json_array_get(variables, 0), 1)),
			    "2007");
	assert_string_equal(json_string_value(json_array_get(
				    json_array_get(variables, 2), 0)),
			    "FAKE_OLD");
	assert_true(
		json_is_null(json_array_get(json_array_get(variables, 2), 1)));
	json_decref(answer);
}

static void inherited_environment_is_checked_for_its_user(void **state)
{
	static const char variables[] =
		"{\"variables\": [[\"PATH\", \"/\"], [\"FAKE_ID\", \"1007\"]]}";
	struct bench *bench = *state;
	json_t *answer;

	json_decref(bench_call(bench, 1007, "inherit", variables, 0));
	answer = bench_call(bench, 1008, "inherit", variables, -ENODEV);
	assert_non_null(
		strstr(json_string_value(json_object_get(answer, "error")),
		       "user 1008"));
	json_decref(answer);
	json_decref(
		bench_call(bench, 1008, "inherit", "{\"variables\": []}", 0));
}

static void status_hides_the_jobs_of_others(void **state)
{
	struct bench *bench = *state;
	json_t *answer;

	bench_apply(bench, 8);
	bench_apply(bench, 7);
	answer = bench_call(bench, 1007, "node-status", "", 0);
	assert_int_equal(answer_count(answer, "grants"), 2);
	assert_string_equal(answer_at(answer, "grants", 0, "key"),
			    "slurm/J7/0");
	assert_string_equal(answer_at(answer, "grants", 1, "key"), "");
	assert_string_equal(answer_at(answer, "drivers", 0, "name"), "fake");
	assert_string_equal(answer_at(answer, "drivers", 0, "description"),
			    "a driver for tests");
	assert_string_equal(json_string_value(json_object_get(answer, "name")),
			    FAKE_NODE);
	assert_string_equal(
		json_string_value(json_object_get(answer, "incarnation")),
		"03030303030303030303030303030303");
	assert_int_equal(answer_count(answer, "keys"), 1);
	json_decref(answer);
	answer = bench_call(bench, 0, "node-status", "", 0);
	assert_string_equal(answer_at(answer, "grants", 1, "key"),
			    "slurm/J8/0");
	json_decref(answer);
}

static void status_says_where_the_endpoint_is(void **state)
{
	struct bench *bench = *state;
	json_t *answer = bench_call(bench, 1007, "node-status", "", 0);
	const json_t *endpoint = json_object_get(answer, "endpoint");

	assert_true(json_is_false(json_object_get(endpoint, "open")));
	assert_string_equal(
		json_string_value(json_object_get(endpoint, "text")), "");
	json_decref(answer);
	agent_endpoint_say(bench->agent, true, "at 10.0.0.1");
	answer = bench_call(bench, 1007, "node-status", "", 0);
	endpoint = json_object_get(answer, "endpoint");
	assert_true(json_is_true(json_object_get(endpoint, "open")));
	assert_string_equal(
		json_string_value(json_object_get(endpoint, "text")),
		"at 10.0.0.1");
	json_decref(answer);
}

static void devices_and_objects_are_shown(void **state)
{
	struct bench *bench = *state;
	json_t *answer, *device;

	bench_apply(bench, 7);
	foreign_add(bench, 30, FAIRLEAD_OBJECT_BUSY);
	answer = bench_call(bench, 1000, "devices", "", 0);
	assert_int_equal(answer_count(answer, "devices"), FAKE_DEVICES);
	assert_string_equal(answer_at(answer, "devices", 1, "name"), "dev1");
	/* What a device says of itself is made fit to show. */
	assert_string_equal(answer_at(answer, "devices", 1, "detail"),
			    "fake ? device");
	device = json_array_get(json_object_get(answer, "devices"), 1);
	device = json_object_get(json_object_get(device, "resources"),
				 "objects");
	assert_int_equal(
		json_integer_value(json_object_get(device, "reserved")), 1);
	json_decref(answer);
	answer = bench_call(bench, 1000, "objects", "", 0);
	assert_int_equal(answer_count(answer, "objects"), FAKE_DEVICES + 1);
	assert_string_equal(answer_at(answer, "objects", 0, "grant_id"), "7");
	assert_string_equal(answer_at(answer, "objects", 2, "grant_id"), "0");
	assert_string_equal(answer_at(answer, "objects", 2, "uid"), "42");
	json_decref(answer);
	bench->world.list_error = -EIO;
	json_decref(bench_call(bench, 1000, "devices", "", -EIO));
	json_decref(bench_call(bench, 0, "objects", "", -EIO));
}

static void objects_without_number_are_shown_and_taken(void **state)
{
	struct bench *bench = *state;
	json_t *answer;

	bench_apply(bench, 7);
	bench->world.list_times = 600;
	answer = bench_call(bench, 0, "objects", "", 0);
	assert_int_equal(answer_count(answer, "objects"), FAKE_DEVICES * 600);
	json_decref(answer);
	answer = bench_call(bench, 0, "clean",
			    "{\"all\": true, \"force\": true}", 0);
	assert_int_equal(answer_count(answer, "destroyed"), FAKE_DEVICES * 600);
	json_decref(answer);
	assert_int_equal(world_objects_total(&bench->world), 0);
}

static void objects_whose_second_page_cannot_be_asked_for_say_why(void **state)
{
	struct bench *bench = *state;
	struct client_answer head;
	struct fairlead_error error;
	json_t *answer;

	bench_apply(bench, 7);
	bench->world.list_times = 600;
	bench_request(bench, bench_client(bench, 0), 5, "objects", "");
	bench->ask_error = -EPIPE;
	bench_pump(bench);
	answer = bench_answer(bench, NULL);
	assert_non_null(answer);
	assert_int_equal(client_answer_open(answer, &head, &error), 0);
	assert_int_equal(head.result, -EPIPE);
	assert_string_equal(head.text, "cannot ask the guard: Broken pipe");
	json_decref(answer);
}

/* Users cannot keep the guard busy; root sees what is there now. */
static void objects_are_a_second_old_for_users(void **state)
{
	struct bench *bench = *state;
	json_t *answer;

	json_decref(bench_call(bench, 1000, "objects", "", 0));
	foreign_add(bench, 30, 0);
	answer = bench_call(bench, 1000, "objects", "", 0);
	assert_int_equal(answer_count(answer, "objects"), 0);
	json_decref(answer);
	answer = bench_call(bench, 0, "objects", "", 0);
	assert_int_equal(answer_count(answer, "objects"), 1);
	json_decref(answer);
	foreign_add(bench, 31, 0);
	bench->clock.monotonic_ms += 1000;
	answer = bench_call(bench, 1000, "objects", "", 0);
	assert_int_equal(answer_count(answer, "objects"), 2);
	json_decref(answer);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
	const struct CMUnitTest tests[] = {
		TEST(ops_that_change_something_are_roots),
		TEST(requests_are_checked),
		TEST(what_is_no_request_ends_the_connection),
		TEST(broken_frame_is_answered),
		TEST(connection_has_so_many_requests),
		TEST(user_has_so_many_connections),
		TEST(daemon_has_so_many_requests),
		TEST(users_requests_leave_room_for_roots),
		TEST(client_that_leaves_is_not_answered),
		TEST(clean_takes_what_was_left_and_nothing_else),
		TEST(clean_of_all_leaves_the_system_its_own),
		TEST(clean_of_all_needs_no_force_where_no_lane_is_in_use),
		TEST(clean_of_one_object_takes_no_other),
		TEST(clean_of_one_object_leaves_lanes_and_the_systems),
		TEST(clean_that_cannot_look_says_so),
		TEST(clean_by_the_managers_word_is_the_same),
		TEST(environment_is_the_owners_and_roots),
		TEST(inherited_environment_is_checked_for_its_user),
		TEST(status_hides_the_jobs_of_others),
		TEST(status_has_the_guards_word_on_its_drivers),
		TEST(who_waits_for_a_status_may_go),
		TEST(status_says_where_the_endpoint_is),
		TEST(devices_and_objects_are_shown),
		TEST(objects_without_number_are_shown_and_taken),
		TEST(objects_whose_second_page_cannot_be_asked_for_say_why),
		TEST(objects_are_a_second_old_for_users),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
