/* SPDX-License-Identifier: BSD-3-Clause */
/* What the agent asks for, what the node owes, and the rest of the orders. */
#include "lanes/node/guard/core.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

#include <cmocka.h>

#include "lanes/node/guard/test/fake.h"

static int setup(void **state)
{
	static struct world world;

	world_init(&world);
	world_restart(&world);
	*state = &world;
	return 0;
}

static int teardown(void **state)
{
	world_fini(*state);
	return 0;
}

/* --- taking back, and what is owed for it --- */

static void revoke_of_the_nodes_own_accord_is_owed_until_it_is_acknowledged(
	void **state)
{
	struct world *world = *state;
	uint64_t sequence;

	assert_int_equal(world_apply(world, 7), 0);
	assert_int_equal(world_wish(world, GUARD_REVOKE, 7), 0);
	assert_int_equal(world->reply.grants[0].state, 0);
	assert_int_equal(world->reply.owed_count, 1);
	world_restart(world);
	assert_int_equal(world_wish(world, GUARD_OWED, 0), 0);
	sequence = world->reply.sequence;
	assert_int_equal(world->confirm.op, 0);
	assert_int_equal(world->confirm.grant_id, 7);
	assert_int_equal(world->confirm.sequence, sequence);
	assert_int_equal(world->confirm.result, 0);
	assert_memory_equal(world->confirm.incarnation, world->incarnation,
			    INCARNATION_SIZE);
	assert_int_equal(world_wish(world, GUARD_OWED, sequence), -ENOENT);
	assert_int_equal(world_ack(world, sequence + 1), 0);
	assert_int_equal(world->reply.owed_count, 1);
	assert_int_equal(world_ack(world, sequence), 0);
	assert_int_equal(world->reply.owed_count, 0);
	assert_int_equal(world_ack(world, sequence), 0);
	world_restart(world);
	assert_int_equal(world_wish(world, GUARD_OWED, 0), -ENOENT);
}

static void sequences_are_not_used_again_after_a_restart(void **state)
{
	struct world *world = *state;
	uint64_t first;

	assert_int_equal(world_apply(world, 7), 0);
	assert_int_equal(world_apply(world, 8), 0);
	world_wish(world, GUARD_REVOKE, 7);
	world_wish(world, GUARD_OWED, 0);
	first = world->reply.sequence;
	assert_int_equal(world_ack(world, first), 0);
	world_restart(world);
	world_wish(world, GUARD_REVOKE, 8);
	world_wish(world, GUARD_OWED, 0);
	assert_int_equal(world->reply.sequence, first + 1);
}

static void busy_revoke_that_is_tried_again_is_owed_when_it_is_gone(
	void **state)
{
	struct world *world = *state;

	assert_int_equal(world_apply(world, 7), 0);
	world_object(world, 7)->is_busy = true;
	assert_int_equal(world_revoke(world, 7), -EBUSY);
	assert_int_equal(world_wish(world, GUARD_REVOKE, 7), -EBUSY);
	assert_int_equal(world->reply.owed_count, 0);
	world_object(world, 7)->is_busy = false;
	assert_int_equal(world_wish(world, GUARD_REVOKE, 7), 0);
	assert_int_equal(world->reply.owed_count, 1);
	/* The manager asks again: it is gone, and both are true. */
	assert_int_equal(world_revoke(world, 7), 0);
}

static void last_try_asks_to_be_drained_with_the_reason(void **state)
{
	struct world *world = *state;
	struct guard_request request = {
		.type = GUARD_REVOKE,
		.number = 7,
		.is_last = true,
	};
	uint64_t sequence;

	assert_int_equal(world_apply(world, 7), 0);
	world_object(world, 7)->is_busy = true;
	assert_int_equal(world_ask(world, &request), -EBUSY);
	assert_int_equal(world->reply.owed_count, 1);
	assert_int_equal(world_wish(world, GUARD_OWED, 0), 0);
	sequence = world->reply.sequence;
	assert_int_equal(world->confirm.result, -EBUSY);
	assert_string_equal(world->confirm.reason,
			    "object 2 on 'dev0' is used by process 77");
	/* Later news of a grant takes the place of earlier ones. */
	world_object(world, 7)->is_busy = false;
	assert_int_equal(world_wish(world, GUARD_REVOKE, 7), 0);
	assert_int_equal(world->reply.owed_count, 1);
	assert_int_equal(world_wish(world, GUARD_OWED, 0), 0);
	assert_int_equal(world->confirm.result, 0);
	assert_true(world->reply.sequence > sequence);
	assert_int_equal(world_ack(world, sequence), 0);
	assert_int_equal(world->reply.owed_count, 1);
}

/* What the manager is told of a lane that `clean --all` has taken. */
static void assert_owed_with(struct world *world, const char *reason)
{
	assert_int_equal(world_wish(world, GUARD_OWED, 0), 0);
	assert_int_equal(world->confirm.result, 0);
	assert_string_equal(world->confirm.reason, reason);
}

static void lane_that_is_cleaned_from_under_its_job_is_owed_with_the_reason(
	void **state)
{
	struct world *world = *state;
	struct guard_request request = {
		.type = GUARD_REVOKE,
		.number = 7,
		.is_clean = true,
	};

	assert_int_equal(world_apply(world, 7), 0);
	assert_int_equal(world_ask(world, &request), 0);
	assert_owed_with(world, "'fairlead clean --all' has taken it");
	/* Also when it was busy, and the guard has been started again. */
	request.number = 8;
	assert_int_equal(world_apply(world, 8), 0);
	world_object(world, 8)->is_busy = true;
	assert_int_equal(world_ack(world, world->reply.sequence), 0);
	assert_int_equal(world_ask(world, &request), -EBUSY);
	world_restart(world);
	world_object(world, 8)->is_busy = false;
	assert_int_equal(world_wish(world, GUARD_REVOKE, 8), 0);
	world_wish(world, GUARD_OWED, 0);
	assert_int_equal(world_wish(world, GUARD_OWED, world->reply.sequence),
			 0);
	assert_int_equal(world->confirm.grant_id, 8);
	assert_string_equal(world->confirm.reason,
			    "'fairlead clean --all' has taken it");
}

static void lane_that_its_epilog_has_begun_to_take_is_not_cleaned_from_under_it(
	void **state)
{
	struct world *world = *state;
	struct guard_request request = {
		.type = GUARD_REVOKE,
		.number = 7,
		.is_clean = true,
	};

	assert_int_equal(world_apply(world, 7), 0);
	world_object(world, 7)->is_busy = true;
	assert_int_equal(world_wish(world, GUARD_REVOKE, 7), -EBUSY);
	world_object(world, 7)->is_busy = false;
	assert_int_equal(world_ask(world, &request), 0);
	assert_owed_with(world, "");
}

static void dry_revoke_touches_nothing(void **state)
{
	struct world *world = *state;
	struct guard_request request = {
		.type = GUARD_REVOKE,
		.number = 7,
		.is_dry_run = true,
	};

	assert_int_equal(world_apply(world, 7), 0);
	assert_int_equal(world_ask(world, &request), 0);
	assert_int_equal(world->reply.grants[0].state, GRANT_APPLIED);
	world_object(world, 7)->is_busy = true;
	assert_int_equal(world_ask(world, &request), -EBUSY);
	assert_non_null(strstr(world->reply.text, "process 77"));
	assert_int_equal(world_object_count(world, 7), FAKE_DEVICES);
	assert_int_equal(world_state(world, 7), GRANT_APPLIED);
}

static void wishes_for_an_unknown_grant_are_refused(void **state)
{
	struct world *world = *state;

	assert_int_equal(world_wish(world, GUARD_REVOKE, 7), -ENOENT);
	assert_int_equal(world_wish(world, GUARD_REVOKE, 0), -ENOENT);
	assert_int_equal(world_wish(world, GUARD_ENVIRONMENT, 7), -ENOENT);
}

static void environment_can_be_read_while_the_lane_is_there(void **state)
{
	struct world *world = *state;
	const char *expected = "FAKE_ID=2007\nFAKE_OBJECT=2\nFAKE_OLD\n";

	assert_int_equal(world_apply(world, 7), 0);
	world_restart(world);
	assert_int_equal(world_wish(world, GUARD_ENVIRONMENT, 7), 0);
	assert_int_equal(world->reply.size, strlen(expected));
	assert_memory_equal(world->reply.bytes, expected, strlen(expected));
	assert_int_equal(world_revoke(world, 7), 0);
	assert_int_equal(world_wish(world, GUARD_ENVIRONMENT, 7), -ENOENT);
}

/* --- objects --- */

static struct fake_object *foreign_add(struct world *world, uint32_t id)
{
	struct fake_object *object = &world->objects[id - 2];

	*object = (struct fake_object){
		.is_there = true,
		.object = { .device = "dev1",
			    .id = id,
			    .uid = 42,
			    .id_count = 1,
			    .ids = { 99 } },
	};
	return object;
}

static int destroy(struct world *world, const struct fake_object *object,
		   bool is_dry_run)
{
	struct guard_request request = {
		.type = GUARD_DESTROY,
		.is_dry_run = is_dry_run,
	};

	strcpy(request.object.driver, "fake");
	strcpy(request.object.device, object->object.device);
	request.object.id = object->object.id;
	request.object.uid = object->object.uid;
	request.object.id_count = (uint8_t)object->object.id_count;
	memcpy(request.object.ids, object->object.ids,
	       sizeof(request.object.ids));
	return world_ask(world, &request);
}

static void object_that_belongs_to_no_grant_is_destroyed(void **state)
{
	struct world *world = *state;
	struct fake_object *object = foreign_add(world, 30);

	assert_int_equal(destroy(world, object, true), 0);
	assert_true(object->is_there);
	assert_int_equal(destroy(world, object, false), 0);
	assert_false(object->is_there);
	assert_int_equal(destroy(world, object, false), -ENOENT);
}

static void object_that_has_become_another_one_is_left(void **state)
{
	struct world *world = *state;
	struct fake_object *object = foreign_add(world, 30);
	struct fake_object seen = *object;

	object->object.ids[0]++;
	assert_int_equal(destroy(world, &seen, false), -ENOENT);
	object->object.ids[0]--;
	object->object.uid++;
	assert_int_equal(destroy(world, &seen, false), -ENOENT);
	assert_true(object->is_there);
}

static void object_of_a_grant_is_not_destroyed_alone(void **state)
{
	struct world *world = *state;

	assert_int_equal(world_apply(world, 7), 0);
	assert_int_equal(destroy(world, world_object(world, 7), false), -EPERM);
	assert_non_null(strstr(world->reply.text, "slurm/J7/0"));
	assert_int_equal(world_object_count(world, 7), FAKE_DEVICES);
}

static void objects_of_a_driver_that_is_not_there_cannot_be_destroyed(
	void **state)
{
	struct world *world = *state;
	struct guard_request request = { .type = GUARD_DESTROY };

	assert_int_equal(world_ask(world, &request), -ENODEV);
}

/* --- registration --- */

static void registration_says_what_is_on_the_node(void **state)
{
	struct world *world = *state;
	struct registration registration;

	assert_int_equal(world_apply(world, 7), 0);
	foreign_add(world, 30);
	foreign_add(world, 31)->object.flags = FAIRLEAD_OBJECT_DEFAULT;
	foreign_add(world, 32)->object.flags = FAIRLEAD_OBJECT_SYSTEM;
	foreign_add(world, 33)->object.id_count = 0;
	assert_int_equal(world_register(world, &registration), 0);
	assert_string_equal(registration.node, FAKE_NODE);
	assert_string_equal(registration.software, "test");
	assert_memory_equal(registration.incarnation, world->incarnation,
			    INCARNATION_SIZE);
	assert_int_equal(registration.proof_size, COMMAND_HEADER_SIZE);
	assert_int_equal(registration.grant_count, 1);
	assert_int_equal(registration.grants[0].grant_id, 7);
	assert_int_equal(registration.grants[0].state, GRANT_APPLIED);
	assert_int_equal(registration.grants[0].ids[0], 2007);
	assert_string_equal(registration.grants[0].driver, "fake");
	assert_int_equal(registration.object_count, 1);
	assert_int_equal(registration.objects[0].id, 30);
	assert_int_equal(registration.objects[0].uid, 42);
	assert_int_equal(registration.driver_count, 1);
	assert_true(registration.drivers[0].is_usable);
	assert_int_equal(registration.drivers[0].place.size, 0);
	registration_fini(&registration);
}

static void assert_registers_as(struct world *world, uint8_t state)
{
	struct registration registration;

	assert_int_equal(world_register(world, &registration), 0);
	assert_int_equal(registration.grant_count, 1);
	assert_int_equal(registration.grants[0].state, state);
	registration_fini(&registration);
}

static void registration_says_which_lanes_are_lost(void **state)
{
	struct world *world = *state;
	struct guard_request request = {
		.type = GUARD_REVOKE,
		.number = 7,
		.is_clean = true,
	};

	assert_int_equal(world_apply(world, 7), 0);
	assert_registers_as(world, GRANT_APPLIED);
	for (int i = 0; i < FAKE_DEVICES; i++)
		world_object(world, 7)->is_there = false;
	assert_registers_as(world, GRANT_LOST);
	/* A driver that cannot tell does not say that it is lost. */
	world->list_error = -EIO;
	assert_registers_as(world, GRANT_APPLIED);
	world->list_error = 0;
	assert_int_equal(world_revoke(world, 7), 0);
	/* One that `clean --all` has not taken yet is. */
	assert_int_equal(world_apply(world, 8), 0);
	world_object(world, 8)->is_busy = true;
	request.number = 8;
	assert_int_equal(world_ask(world, &request), -EBUSY);
	assert_registers_as(world, GRANT_LOST);
}

static void registration_tells_the_place_of_each_driver(void **state)
{
	struct world *world = *state;
	struct registration registration;

	world->place.size = FAIRLEAD_PLACE_MAX;
	memset(world->place.bytes, 0xcc, FAIRLEAD_PLACE_MAX);
	world->question_count = 0;
	assert_int_equal(world_register(world, &registration), 0);
	assert_int_equal(registration.drivers[0].place.size,
			 FAIRLEAD_PLACE_MAX);
	assert_memory_equal(registration.drivers[0].place.bytes,
			    world->place.bytes, FAIRLEAD_PLACE_MAX);
	/* What is remembered as told is what was told: nothing is asked twice. */
	assert_int_equal(world->question_count, 2);
	registration_fini(&registration);
}

static void driver_that_cannot_tell_its_place_is_usable_and_says_why(
	void **state)
{
	struct world *world = *state;
	struct registration registration;

	world->place.size = 4;
	world->place_error = -EIO;
	assert_int_equal(world_register(world, &registration), 0);
	assert_true(registration.drivers[0].is_usable);
	assert_int_equal(registration.drivers[0].place.size, 0);
	assert_string_equal(registration.drivers[0].detail,
			    "the NIC has no address");
	registration_fini(&registration);
}

static void registration_says_how_a_driver_works(void **state)
{
	struct world *world = *state;
	struct registration registration;

	world->summary = "level 2; lacks level 3";
	assert_int_equal(world_register(world, &registration), 0);
	assert_string_equal(registration.drivers[0].detail,
			    "level 2; lacks level 3");
	registration_fini(&registration);
	/* What is wrong goes before it. */
	world->list_error = -EIO;
	assert_int_equal(world_register(world, &registration), 0);
	assert_null(strstr(registration.drivers[0].detail, "level"));
	registration_fini(&registration);
}

static void drivers_are_shown_without_what_is_on_the_node(void **state)
{
	struct guard_request request = { .type = GUARD_DRIVERS };
	struct world *world = *state;
	struct registration shown;

	world->summary = "level 2";
	assert_int_equal(world_apply(world, 7), 0);
	foreign_add(world, 30);
	assert_int_equal(world_ask(world, &request), 0);
	assert_int_equal(inventory_decode(world->reply.bytes, world->reply.size,
					  &shown),
			 0);
	assert_int_equal(shown.driver_count, 1);
	assert_string_equal(shown.drivers[0].name, "fake");
	assert_true(shown.drivers[0].is_usable);
	assert_string_equal(shown.drivers[0].detail, "level 2");
	assert_int_equal(shown.grant_count + shown.object_count, 0);
	registration_fini(&shown);
}

static void objects_are_shown_by_the_page(void **state)
{
	struct guard_request request = { .type = GUARD_OBJECTS };
	struct world *world = *state;
	const struct guard_object *last;

	assert_int_equal(world_apply(world, 7), 0);
	foreign_add(world, 30);
	assert_int_equal(world_ask(world, &request), 0);
	assert_int_equal(world->reply.object_count, FAKE_DEVICES + 1);
	assert_false(world->reply.has_more);
	last = &world->reply.objects[FAKE_DEVICES];
	assert_string_equal(last->object.driver, "fake");
	assert_int_equal(last->object.id, 30);
	world->list_times = GUARD_OBJECTS_MAX;
	assert_int_equal(world_ask(world, &request), 0);
	assert_int_equal(world->reply.object_count, GUARD_OBJECTS_MAX);
	assert_true(world->reply.has_more);
	request.number = (FAKE_DEVICES + 1) * GUARD_OBJECTS_MAX - 1;
	assert_int_equal(world_ask(world, &request), 0);
	assert_int_equal(world->reply.object_count, 1);
	assert_false(world->reply.has_more);
	world->list_error = -EIO;
	assert_int_equal(world_ask(world, &request), -EIO);
	assert_string_equal(world->reply.text,
			    "driver 'fake': the device is gone");
	assert_int_equal(world->reply.object_count, 0);
}

static void object_of_a_grants_identifier_and_another_owner_is_foreign(
	void **state)
{
	struct world *world = *state;
	struct registration registration;

	assert_int_equal(world_apply(world, 7), 0);
	foreign_add(world, 30)->object.ids[0] = 2007;
	assert_int_equal(world_register(world, &registration), 0);
	assert_int_equal(registration.object_count, 1);
	assert_int_equal(registration.objects[0].uid, 42);
	registration_fini(&registration);
}

static void first_registration_has_no_epoch_proof(void **state)
{
	struct world *world = *state;
	struct registration registration;

	world->disk_size = 0;
	world_stop(world);
	assert_int_equal(world_start(world, NULL), 0);
	assert_int_equal(world_register(world, &registration), 0);
	assert_int_equal(registration.proof_size, 0);
	registration_fini(&registration);
	/* The HELLO was the first command. */
	assert_int_equal(world_register(world, &registration), 0);
	assert_int_equal(registration.proof_size, COMMAND_HEADER_SIZE);
	registration_fini(&registration);
}

static void driver_that_cannot_list_is_not_usable(void **state)
{
	struct world *world = *state;
	struct registration registration;

	world->list_error = -EIO;
	assert_int_equal(world_register(world, &registration), 0);
	assert_false(registration.drivers[0].is_usable);
	assert_string_equal(registration.drivers[0].detail,
			    "the device is gone");
	registration_fini(&registration);
	world->driver_is_shut = true;
	world_restart(world);
	assert_int_equal(world_register(world, &registration), 0);
	assert_false(registration.drivers[0].is_usable);
	assert_string_equal(registration.drivers[0].detail,
			    "library not found");
	registration_fini(&registration);
}

static int hello(struct world *world, const uint8_t nonce[NONCE_SIZE],
		 const char *node, uint8_t cluster)
{
	struct hello_body body = { .node = "" };
	struct writer writer = { 0 };
	int result;

	strcpy(body.node, node);
	memcpy(body.nonce, nonce, NONCE_SIZE);
	memset(body.cluster, cluster, CLUSTER_ID_SIZE);
	assert_int_equal(hello_body_encode(&body, &writer), 0);
	result = world_command(world, COMMAND_HELLO, 0, &writer);
	writer_fini(&writer);
	assert_false(world->has_confirm);
	return result;
}

static void nonces_are_fresh_and_show_the_start(void **state)
{
	struct world *world = *state;
	struct guard_request request = { .type = GUARD_REGISTER };
	struct registration of[3];

	for (int i = 0; i < 3; i++) {
		if (i == 2)
			world_restart(world);
		assert_int_equal(world_ask(world, &request), 0);
		assert_int_equal(registration_open(&world->master, 1,
						   request.nonce,
						   world->reply.bytes,
						   world->reply.size, &of[i]),
				 0);
	}
	assert_memory_equal(of[0].node_nonce, of[1].node_nonce,
			    NONCE_START_SIZE);
	assert_memory_not_equal(of[1].node_nonce, of[2].node_nonce,
				NONCE_START_SIZE);
	for (int i = 0; i < 3; i++) {
		for (int j = 0; j < i; j++)
			assert_memory_not_equal(
				of[i].node_nonce + NONCE_START_SIZE,
				of[j].node_nonce + NONCE_START_SIZE,
				NONCE_SIZE - NONCE_START_SIZE);
		registration_fini(&of[i]);
	}
}

static void hello_has_to_answer_the_last_registration(void **state)
{
	struct world *world = *state;
	struct guard_request request = { .type = GUARD_REGISTER };
	struct registration first, second;

	assert_int_equal(world_ask(world, &request), 0);
	assert_int_equal(registration_open(&world->master, 1, request.nonce,
					   world->reply.bytes,
					   world->reply.size, &first),
			 0);
	assert_int_equal(world_ask(world, &request), 0);
	assert_int_equal(registration_open(&world->master, 1, request.nonce,
					   world->reply.bytes,
					   world->reply.size, &second),
			 0);
	assert_int_equal(hello(world, first.node_nonce, FAKE_NODE, 9), -ESTALE);
	assert_int_equal(hello(world, second.node_nonce, "n2", 9), -EPERM);
	assert_int_equal(hello(world, second.node_nonce, FAKE_NODE, 8), -EPERM);
	assert_int_equal(hello(world, second.node_nonce, FAKE_NODE, 9), 0);
	assert_int_equal(world->reply.op, COMMAND_HELLO);
	assert_int_equal(hello(world, second.node_nonce, FAKE_NODE, 9),
			 -ESTALE);
	registration_fini(&first);
	registration_fini(&second);
}

/* --- query, clean, drain, acknowledgement --- */

static void query_is_answered_by_the_agent_with_the_guards_word(void **state)
{
	struct world *world = *state;
	struct query_body body = { .nodes = "n1", .what = QUERY_DEVICES };
	struct guard_request request = {
		.type = GUARD_ANSWER,
		.bytes = (const uint8_t *)"{}",
		.size = 2,
	};
	struct writer writer = { 0 };

	assert_int_equal(query_body_encode(&body, &writer), 0);
	assert_int_equal(world_command(world, COMMAND_QUERY, 0, &writer), 0);
	writer_fini(&writer);
	assert_false(world->has_confirm);
	assert_int_equal(world->reply.op, COMMAND_QUERY);
	assert_int_equal(world->reply.what, QUERY_DEVICES);
	assert_int_equal(world->reply.sequence, world->sequence);
	request.number = world->sequence;
	assert_int_equal(world_ask(world, &request), 0);
	assert_int_equal(world->confirm.op, COMMAND_QUERY);
	assert_int_equal(world->confirm.sequence, world->sequence);
	assert_int_equal(world->confirm.answer_size, 2);
	assert_int_equal(world_ask(world, &request), -ENOENT);
}

static void what_is_on_the_node_is_the_guards_own_word(void **state)
{
	struct world *world = *state;
	struct query_body body = { .nodes = "n1", .what = QUERY_INVENTORY };
	struct guard_request request = { .type = GUARD_ANSWER };
	struct writer writer = { 0 };
	struct registration list;

	world->place = (struct fairlead_place){ .size = 1, .bytes = { 5 } };
	assert_int_equal(world_apply(world, 7), 0);
	foreign_add(world, 30);
	assert_int_equal(query_body_encode(&body, &writer), 0);
	assert_int_equal(world_command(world, COMMAND_QUERY, 0, &writer), 0);
	assert_true(world->has_confirm);
	assert_int_equal(world->confirm.op, COMMAND_QUERY);
	assert_int_equal(world->confirm.sequence, world->sequence);
	assert_int_equal(world->confirm.result, 0);
	assert_int_equal(inventory_decode(world->confirm.answer,
					  world->confirm.answer_size, &list),
			 0);
	assert_int_equal(list.grant_count, 1);
	assert_int_equal(list.grants[0].grant_id, 7);
	assert_int_equal(list.object_count, 1);
	assert_int_equal(list.objects[0].id, 30);
	assert_int_equal(list.driver_count, 1);
	assert_true(list.drivers[0].is_usable);
	assert_int_equal(list.drivers[0].place.size, 1);
	assert_int_equal(list.drivers[0].place.bytes[0], 5);
	registration_fini(&list);
	/* The agent cannot answer it in the guard's place. */
	request.number = world->sequence;
	assert_int_equal(world_ask(world, &request), -ENOENT);
	world->list_error = -EIO;
	assert_int_equal(world_command(world, COMMAND_QUERY, 0, &writer), 0);
	assert_int_equal(inventory_decode(world->confirm.answer,
					  world->confirm.answer_size, &list),
			 0);
	assert_false(list.drivers[0].is_usable);
	registration_fini(&list);
	writer_fini(&writer);
}

static void answer_to_an_apply_cannot_be_made_up(void **state)
{
	struct world *world = *state;
	struct guard_request request = { .type = GUARD_ANSWER };

	assert_int_equal(world_apply(world, 7), 0);
	request.number = world->sequence;
	assert_int_equal(world_ask(world, &request), -ENOENT);
}

static void query_for_other_nodes_is_refused(void **state)
{
	struct world *world = *state;
	struct query_body body = { .nodes = "n2", .what = QUERY_DEVICES };
	struct writer writer = { 0 };

	assert_int_equal(query_body_encode(&body, &writer), 0);
	assert_int_equal(world_command(world, COMMAND_QUERY, 0, &writer),
			 -EPERM);
	writer_fini(&writer);
	assert_true(world->has_confirm);
}

static void too_many_questions_forget_the_oldest(void **state)
{
	struct world *world = *state;
	struct clean_body body = { .nodes = "n[0-9]", .is_all = true };
	struct guard_request request = { .type = GUARD_ANSWER };
	struct writer writer = { 0 };

	assert_int_equal(clean_body_encode(&body, &writer), 0);
	for (int i = 0; i < 17; i++) {
		assert_int_equal(
			world_command(world, COMMAND_CLEAN, 0, &writer), 0);
		assert_true(world->reply.is_all);
		assert_false(world->reply.is_dry_run);
	}
	writer_fini(&writer);
	request.number = world->sequence - 16;
	assert_int_equal(world_ask(world, &request), -ENOENT);
	request.number++;
	assert_int_equal(world_ask(world, &request), 0);
	assert_int_equal(world->confirm.op, COMMAND_CLEAN);
}

static int drain(struct world *world, const char *node, bool is_drained)
{
	struct drain_body body = { .is_drained = is_drained, .reason = "why" };
	struct writer writer = { 0 };
	int result;

	strcpy(body.node, node);
	assert_int_equal(drain_body_encode(&body, &writer), 0);
	result = world_command(world, COMMAND_DRAIN, 0, &writer);
	writer_fini(&writer);
	return result;
}

static void drain_that_comes_late_is_ignored(void **state)
{
	struct world *world = *state;

	world->sequence = 10;
	assert_int_equal(drain(world, FAKE_NODE, true), 0);
	assert_true(world->reply.is_drained);
	assert_string_equal(world->reply.text, "why");
	world->sequence = 9;
	assert_int_equal(drain(world, FAKE_NODE, false), -ESTALE);
	world->sequence = 20;
	assert_int_equal(drain(world, "n2", false), -EPERM);
	assert_int_equal(drain(world, FAKE_NODE, false), 0);
	assert_false(world->reply.is_drained);
	/* Another manager counts anew. */
	world->epoch++;
	world->sequence = 0;
	assert_int_equal(drain(world, FAKE_NODE, true), 0);
}

static void lease_body(const char *nodes, uint32_t lease_s,
		       struct writer *ret_writer)
{
	struct lease_body body = { .nodes = nodes, .lease_s = lease_s };

	*ret_writer = (struct writer){ 0 };
	assert_int_equal(lease_body_encode(&body, ret_writer), 0);
}

static int lease(struct world *world, const char *nodes)
{
	struct writer writer;
	int result;

	lease_body(nodes, 30, &writer);
	result = world_command(world, COMMAND_LEASE, 0, &writer);
	writer_fini(&writer);
	return result;
}

static void lease_is_answered_and_its_length_shown(void **state)
{
	struct world *world = *state;

	assert_int_equal(lease(world, "n[0-9]"), 0);
	assert_int_equal(world->reply.op, COMMAND_LEASE);
	assert_int_equal(world->reply.lease_s, 30);
	assert_true(world->has_confirm);
	assert_int_equal(world->confirm.op, COMMAND_LEASE);
	assert_int_equal(world->confirm.result, 0);
	assert_int_equal(world->confirm.answer_size, 0);
}

/* So that no user reaches a lane for longer than to the next lease. */
static void lease_has_drivers_look_after_their_lanes(void **state)
{
	struct world *world = *state;

	assert_int_equal(lease(world, "n[0-9]"), 0);
	assert_string_equal(world->reply.text, "");
	world->tend_result = 1;
	assert_int_equal(lease(world, "n[0-9]"), 0);
	assert_string_equal(world->reply.text, "it had gone, and is back");
	/* People are told here; the manager's answer is combined with others. */
	assert_string_equal(world->confirm.reason, "");
	world->tend_result = -EIO;
	assert_int_equal(lease(world, "n[0-9]"), 0);
	assert_string_equal(world->reply.text, "it cannot be made");
}

static void lease_shows_that_the_node_is_elsewhere_than_it_told(void **state)
{
	struct registration registration;
	struct world *world = *state;

	world->place = (struct fairlead_place){ .size = 2, .bytes = "a" };
	assert_int_equal(world_register(world, &registration), 0);
	registration_fini(&registration);
	assert_int_equal(lease(world, "n[0-9]"), 0);
	assert_false(world->reply.has_moved);
	world->place.bytes[0] = 'b';
	assert_int_equal(lease(world, "n[0-9]"), 0);
	assert_true(world->reply.has_moved);
	assert_int_equal(world_register(world, &registration), 0);
	registration_fini(&registration);
	assert_int_equal(lease(world, "n[0-9]"), 0);
	assert_false(world->reply.has_moved);
}

/* The manager counts nodes by it. */
static void lease_shows_that_the_level_is_another_than_it_told(void **state)
{
	struct registration registration;
	struct guard_request look = { .type = GUARD_DRIVERS };
	struct world *world = *state;

	world->summary = "enforcement nft+bpf, refused nothing";
	assert_int_equal(world_register(world, &registration), 0);
	registration_fini(&registration);
	world->summary = "enforcement nft+bpf, refused: send 1";
	world->tend_result = 1;
	assert_int_equal(lease(world, "n[0-9]"), 0);
	assert_false(world->reply.has_moved);
	world->summary = "enforcement nft, refused: send 1";
	world->tend_result = -EIO;
	/* Whoever looks at the node tells no manager. */
	assert_int_equal(world_ask(world, &look), 0);
	assert_int_equal(lease(world, "n[0-9]"), 0);
	assert_true(world->reply.has_moved);
	assert_int_equal(world_register(world, &registration), 0);
	registration_fini(&registration);
	assert_int_equal(lease(world, "n[0-9]"), 0);
	assert_false(world->reply.has_moved);
}

/* Whoever plays an old one back cannot make a manager seem alive. */
static void lease_that_comes_late_is_stale(void **state)
{
	struct world *world = *state;
	struct writer body, first, second;

	lease_body("n[0-9]", 30, &body);
	world_seal(world, COMMAND_LEASE, 0, &body, &first);
	world_seal(world, COMMAND_LEASE, 0, &body, &second);
	assert_int_equal(world_replay(world, second.data, second.size), 0);
	assert_int_equal(world_replay(world, first.data, first.size), -ESTALE);
	assert_int_equal(world->reply.lease_s, 0);
	assert_int_equal(world->confirm.result, -ESTALE);
	/* The answer to it was lost. */
	assert_int_equal(world_replay(world, second.data, second.size), 0);
	assert_int_equal(world->reply.lease_s, 30);
	/* Another manager counts anew. */
	world->epoch++;
	world->sequence = 0;
	assert_int_equal(lease(world, "n[0-9]"), 0);
	writer_fini(&body);
	writer_fini(&first);
	writer_fini(&second);
}

static void lease_for_other_nodes_is_refused(void **state)
{
	struct world *world = *state;

	assert_int_equal(lease(world, "n[2-9]"), -EPERM);
	assert_int_equal(world->reply.lease_s, 0);
	assert_int_equal(world->confirm.result, -EPERM);
}

static void registration_has_the_address_that_the_agent_says(void **state)
{
	struct world *world = *state;
	static const uint8_t address[COLLECTIVE_ADDRESS_MAX + 1] = { 2, 0, 9 };
	struct guard_request request = {
		.type = GUARD_REGISTER,
		.bytes = address,
		.size = COLLECTIVE_ADDRESS_MAX,
	};
	struct registration registration;

	assert_int_equal(world_ask(world, &request), 0);
	assert_int_equal(registration_open(&world->master, 1, request.nonce,
					   world->reply.bytes,
					   world->reply.size, &registration),
			 0);
	assert_int_equal(registration.address_size, COLLECTIVE_ADDRESS_MAX);
	assert_memory_equal(registration.address, address,
			    COLLECTIVE_ADDRESS_MAX);
	registration_fini(&registration);
	request.size++;
	assert_int_equal(world_ask(world, &request), -EMSGSIZE);
}

static void acknowledgement_for_another_node_is_refused(void **state)
{
	struct world *world = *state;
	struct ack_body body = { .node = "n2" };
	struct writer writer = { 0 };

	assert_int_equal(world_apply(world, 7), 0);
	assert_int_equal(world_wish(world, GUARD_REVOKE, 7), 0);
	world_wish(world, GUARD_OWED, 0);
	body.sequence = world->reply.sequence;
	assert_int_equal(ack_body_encode(&body, &writer), 0);
	assert_int_equal(world_command(world, COMMAND_ACK, 0, &writer), -EPERM);
	writer_fini(&writer);
	assert_int_equal(world->reply.owed_count, 1);
}

/* --- malformed requests --- */

static void request_is_refused_at_each_length_but_its_own(void **state)
{
	struct world *world = *state;
	struct guard_request request = { .type = GUARD_GRANTS };
	struct writer bytes = { 0 }, reply = { 0 };

	assert_int_equal(guard_request_encode(&request, &bytes), 0);
	for (size_t size = 0; size < bytes.size; size++)
		assert_int_equal(guard_handle(world->guard, bytes.data, size,
					      &reply),
				 -EBADMSG);
	write_u8(&bytes, 0);
	assert_int_equal(guard_handle(world->guard, bytes.data, bytes.size,
				      &reply),
			 -EBADMSG);
	bytes.data[0] = GUARD_OBJECTS + 1;
	assert_int_equal(guard_handle(world->guard, bytes.data, bytes.size - 1,
				      &reply),
			 -EBADMSG);
	assert_int_equal(reply.size, 0);
	writer_fini(&bytes);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
	const struct CMUnitTest tests[] = {
		TEST(revoke_of_the_nodes_own_accord_is_owed_until_it_is_acknowledged),
		TEST(sequences_are_not_used_again_after_a_restart),
		TEST(busy_revoke_that_is_tried_again_is_owed_when_it_is_gone),
		TEST(last_try_asks_to_be_drained_with_the_reason),
		TEST(lane_that_is_cleaned_from_under_its_job_is_owed_with_the_reason),
		TEST(lane_that_its_epilog_has_begun_to_take_is_not_cleaned_from_under_it),
		TEST(dry_revoke_touches_nothing),
		TEST(wishes_for_an_unknown_grant_are_refused),
		TEST(environment_can_be_read_while_the_lane_is_there),
		TEST(object_that_belongs_to_no_grant_is_destroyed),
		TEST(object_that_has_become_another_one_is_left),
		TEST(object_of_a_grant_is_not_destroyed_alone),
		TEST(objects_of_a_driver_that_is_not_there_cannot_be_destroyed),
		TEST(registration_says_which_lanes_are_lost),
		TEST(registration_tells_the_place_of_each_driver),
		TEST(driver_that_cannot_tell_its_place_is_usable_and_says_why),
		TEST(registration_says_how_a_driver_works),
		TEST(drivers_are_shown_without_what_is_on_the_node),
		TEST(objects_are_shown_by_the_page),
		TEST(registration_says_what_is_on_the_node),
		TEST(object_of_a_grants_identifier_and_another_owner_is_foreign),
		TEST(first_registration_has_no_epoch_proof),
		TEST(driver_that_cannot_list_is_not_usable),
		TEST(nonces_are_fresh_and_show_the_start),
		TEST(hello_has_to_answer_the_last_registration),
		TEST(query_is_answered_by_the_agent_with_the_guards_word),
		TEST(what_is_on_the_node_is_the_guards_own_word),
		TEST(answer_to_an_apply_cannot_be_made_up),
		TEST(query_for_other_nodes_is_refused),
		TEST(too_many_questions_forget_the_oldest),
		TEST(drain_that_comes_late_is_ignored),
		TEST(lease_is_answered_and_its_length_shown),
		TEST(lease_has_drivers_look_after_their_lanes),
		TEST(lease_shows_that_the_node_is_elsewhere_than_it_told),
		TEST(lease_shows_that_the_level_is_another_than_it_told),
		TEST(lease_that_comes_late_is_stale),
		TEST(lease_for_other_nodes_is_refused),
		TEST(registration_has_the_address_that_the_agent_says),
		TEST(acknowledgement_for_another_node_is_refused),
		TEST(request_is_refused_at_each_length_but_its_own),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
