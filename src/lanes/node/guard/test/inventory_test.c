/* SPDX-License-Identifier: BSD-3-Clause */
/* What is on the node: registrations, objects, inventories. */
#include "lanes/node/guard/core.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

#include <cmocka.h>

#include "lanes/node/guard/test/fake.h"

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
	/* The guard remembers what it sent: it does not ask the driver twice. */
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

int main(void)
{
#define TEST(name) \
	cmocka_unit_test_setup_teardown(name, world_setup, world_teardown)
	const struct CMUnitTest tests[] = {
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
		TEST(what_is_on_the_node_is_the_guards_own_word),
		TEST(registration_has_the_address_that_the_agent_says),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
