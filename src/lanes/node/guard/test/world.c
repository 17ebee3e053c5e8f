/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The world of the guard's tests: the guard's life, its requests, and the
 * manager's commands. Asserts are the tests' own.
 */
#include "lanes/node/guard/test/fake.h"

#include <errno.h>
#include <sodium.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* cmocka wants these first. */
#include <setjmp.h>
#include <stdarg.h>

#include <cmocka.h>

#include "lanes/node/guard/internal.h"

void world_init(struct world *world)
{
	uint8_t seed[KEY_SIZE];

	*world = (struct world){ .epoch = 1, .life = 77 };
	sim_rng_init(&world->rng, 1);
	for (size_t i = 0; i < sizeof(seed); i++)
		seed[i] = (uint8_t)i;
	command_key_derive(5, seed, &world->command_key);
	node_master_derive(5, seed, &world->master);
	command_public_derive(5, seed, &world->keys.commands[0]);
	world->keys.command_count = 1;
	node_key_derive(&world->master, FAKE_NODE, &world->keys.confirms[0]);
	world->keys.confirm_count = 1;
	hop_key_derive(5, seed, &world->keys.hops[0]);
	world->keys.hop_count = 1;
	strcpy(world->keys.name, FAKE_NODE);
	memset(world->keys.cluster, 9, sizeof(world->keys.cluster));
	memset(world->incarnation, 3, sizeof(world->incarnation));
}

static void reply_drop(struct world *world)
{
	guard_reply_fini(&world->reply);
	if (world->has_confirm)
		confirm_fini(&world->confirm);
	world->has_confirm = false;
}

void world_fini(struct world *world)
{
	writer_fini(&world->replies);
	reply_drop(world);
	guard_destroy(world->guard);
	free(world->disk);
}

int world_start(struct world *world, struct fairlead_error *ret_error)
{
	struct guard_config config = {
		.name = FAKE_NODE,
		.software = "test",
		.drivers = &world->driver,
		.driver_count = 1,
		.journal = { .ops = &fake_disk_ops,
			     .ctx = world,
			     .path = "/run/fake/journal" },
		.rng = sim_rng_seam(&world->rng),
		.ops = &fake_guard_ops,
		.ops_ctx = world,
	};

	world->driver = (struct guard_driver){
		.driver = &fake_hardware,
		.is_open = !world->driver_is_shut,
		.state = world,
	};
	if (world->driver_is_shut)
		strcpy(world->driver.detail, "library not found");
	memcpy(config.incarnation, world->incarnation, INCARNATION_SIZE);
	return guard_create(&config, &world->guard, ret_error);
}

void world_stop(struct world *world)
{
	guard_destroy(world->guard);
	world->guard = NULL;
}

void world_restart(struct world *world)
{
	struct fairlead_error error = { .text = "" };

	world_stop(world);
	world->is_dead = false;
	world->crash_at = 0;
	if (world_start(world, &error) < 0)
		fail_msg("the guard does not start: %s", error.text);
	world_greet(world);
}

int world_setup(void **state)
{
	static struct world world;

	world_init(&world);
	world_restart(&world);
	*state = &world;
	return 0;
}

int world_teardown(void **state)
{
	world_fini(*state);
	return 0;
}

void world_greet(struct world *world)
{
	struct registration registration;

	assert_int_equal(world_register(world, &registration), 0);
	registration_fini(&registration);
}

/* A reply to a request of that type. */
static int reply_take(struct world *world, uint8_t type, const void *bytes,
		      size_t size)
{
	reply_drop(world);
	assert_int_equal(guard_reply_decode(bytes, size, &world->reply), 0);
	assert_int_equal(world->reply.type, type);
	if (world->reply.size > 0 && type != GUARD_REGISTER &&
	    type != GUARD_ENVIRONMENT && type != GUARD_DRIVERS) {
		assert_int_equal(
			confirm_open(&world->master, 1, world->reply.bytes,
				     world->reply.size, &world->confirm),
			0);
		world->has_confirm = true;
	}
	return world->reply.result;
}

int world_ask(struct world *world, const struct guard_request *request)
{
	struct writer asked = { 0 }, reply = { 0 };
	int result = -ESHUTDOWN;

	if (world->is_dead)
		return result;
	assert_int_equal(guard_request_encode(request, &asked), 0);
	assert_int_equal(
		guard_handle(world->guard, asked.data, asked.size, &reply), 0);
	writer_fini(&asked);
	if (!world->is_dead)
		result = reply_take(world, request->type, reply.data,
				    reply.size);
	writer_fini(&reply);
	return result;
}

void world_take(struct world *world, const struct guard_request *request)
{
	struct writer asked = { 0 };

	if (world->is_dead)
		return;
	assert_int_equal(guard_request_encode(request, &asked), 0);
	assert_int_equal(guard_take(world->guard, asked.data, asked.size,
				    &world->replies),
			 0);
	writer_fini(&asked);
}

void world_take_revoke(struct world *world, uint64_t grant_id)
{
	struct guard_request request = { .type = GUARD_COMMAND };
	struct writer body = { 0 }, bytes;
	struct revoke_body revoke;

	fake_revoke_body(grant_id, &revoke);
	assert_int_equal(revoke_body_encode(&revoke, &body), 0);
	world_seal(world, COMMAND_REVOKE, grant_id, &body, &bytes);
	request.bytes = bytes.data;
	request.size = bytes.size;
	world_take(world, &request);
	writer_fini(&bytes);
	writer_fini(&body);
}

void world_take_request(struct world *world, enum guard_type type,
			uint64_t number)
{
	struct guard_request request = {
		.type = (uint8_t)type,
		.number = number,
	};

	world_take(world, &request);
}

void world_settle(struct world *world)
{
	if (!world->is_dead)
		assert_int_equal(guard_settle(world->guard, &world->replies),
				 0);
}

int world_next(struct world *world, enum guard_type type)
{
	struct reader reader;
	size_t size;
	int result;

	if (world->is_dead) {
		writer_fini(&world->replies);
		return -ESHUTDOWN;
	}
	reader = reader_of(world->replies.data, world->replies.size);
	size = read_u32(&reader);
	assert_true(!reader.failed && size <= reader.left);
	result = reply_take(world, (uint8_t)type,
			    world->replies.data + FRAME_LENGTH_SIZE, size);
	size += FRAME_LENGTH_SIZE;
	memmove(world->replies.data, world->replies.data + size,
		world->replies.size - size);
	world->replies.size -= size;
	return result;
}

void world_seal(struct world *world, enum command_op op, uint64_t grant_id,
		const struct writer *body, struct writer *ret_bytes)
{
	struct command command = {
		.version = WIRE_VERSION,
		.op = (uint8_t)op,
		.epoch = world->epoch,
		.life = world->life,
		.sequence = ++world->sequence,
		.grant_id = grant_id,
		.apply_floor = world->floor,
		.body = body->data,
		.body_size = body->size,
	};

	*ret_bytes = (struct writer){ 0 };
	assert_int_equal(command_seal(&world->command_key, &command, ret_bytes),
			 0);
}

int world_replay(struct world *world, const void *bytes, size_t size)
{
	struct guard_request request = {
		.type = GUARD_COMMAND,
		.bytes = bytes,
		.size = size,
	};

	return world_ask(world, &request);
}

int world_command(struct world *world, enum command_op op, uint64_t grant_id,
		  const struct writer *body)
{
	struct writer bytes;
	int result;

	world_seal(world, op, grant_id, body, &bytes);
	result = world_replay(world, bytes.data, bytes.size);
	writer_fini(&bytes);
	return result;
}

void fake_apply_body(uint64_t grant_id, const char *nodes,
		     struct apply_body *ret_body)
{
	*ret_body = (struct apply_body){
		.driver = "fake",
		.uid = (uint32_t)(1000 + grant_id),
		.gid = (uint32_t)(3000 + grant_id),
		.nodes = nodes,
		.cores = "4,8",
		.tasks = "2",
		.id_count = 1,
		.ids = { (uint32_t)(2000 + grant_id) },
	};
	snprintf(ret_body->key, sizeof(ret_body->key), "slurm/J%u/0",
		 (unsigned int)grant_id);
}

void fake_revoke_body(uint64_t grant_id, struct revoke_body *ret_body)
{
	*ret_body = (struct revoke_body){
		.nodes = "n[0-1]",
		.driver = "fake",
		.uid = (uint32_t)(1000 + grant_id),
		.gid = (uint32_t)(3000 + grant_id),
		.id_count = 1,
		.ids = { (uint32_t)(2000 + grant_id) },
	};
	snprintf(ret_body->key, sizeof(ret_body->key), "slurm/J%u/0",
		 (unsigned int)grant_id);
}

/* The manager and the agent get the same reply. */
static int reply_check(struct world *world, int result)
{
	if (result == -ESHUTDOWN)
		return result;
	assert_true(world->has_confirm);
	assert_int_equal(world->confirm.result, result);
	assert_string_equal(world->confirm.reason, world->reply.text);
	return result;
}

int world_apply(struct world *world, uint64_t grant_id)
{
	struct writer writer = { 0 };
	struct apply_body body;
	int result;

	fake_apply_body(grant_id, "n[0-1]", &body);
	assert_int_equal(apply_body_encode(&body, &writer), 0);
	result = world_command(world, COMMAND_APPLY, grant_id, &writer);
	writer_fini(&writer);
	return reply_check(world, result);
}

int world_revoke(struct world *world, uint64_t grant_id)
{
	struct writer writer = { 0 };
	struct revoke_body body;
	int result;

	fake_revoke_body(grant_id, &body);
	assert_int_equal(revoke_body_encode(&body, &writer), 0);
	result = world_command(world, COMMAND_REVOKE, grant_id, &writer);
	writer_fini(&writer);
	return reply_check(world, result);
}

int world_ack(struct world *world, uint64_t sequence)
{
	struct ack_body body = { .node = FAKE_NODE, .sequence = sequence };
	struct writer writer = { 0 };
	int result;

	assert_int_equal(ack_body_encode(&body, &writer), 0);
	result = world_command(world, COMMAND_ACK, 0, &writer);
	writer_fini(&writer);
	return result;
}

int world_request(struct world *world, enum guard_type type, uint64_t number)
{
	struct guard_request request = {
		.type = (uint8_t)type,
		.number = number,
	};

	return world_ask(world, &request);
}

int world_register(struct world *world, struct registration *ret_registration)
{
	struct guard_request request = {
		.type = GUARD_REGISTER,
	};
	struct hello_body hello = { .node = FAKE_NODE };
	struct writer writer = { 0 };
	int result;

	memset(request.nonce, 0xa5, NONCE_SIZE);
	result = world_ask(world, &request);
	if (result < 0)
		return result;
	assert_int_equal(registration_open(&world->master, 1, request.nonce,
					   world->reply.bytes,
					   world->reply.size, ret_registration),
			 0);
	memcpy(hello.nonce, ret_registration->node_nonce, NONCE_SIZE);
	memcpy(hello.cluster, world->keys.cluster, CLUSTER_ID_SIZE);
	assert_int_equal(hello_body_encode(&hello, &writer), 0);
	result = world_command(world, COMMAND_HELLO, 0, &writer);
	writer_fini(&writer);
	if (result < 0)
		registration_fini(ret_registration);
	return result;
}

int world_state(struct world *world, uint64_t grant_id)
{
	world_request(world, GUARD_GRANTS, grant_id - 1);
	if (world->reply.grant_count == 0 ||
	    world->reply.grants[0].grant_id != grant_id)
		return 0;
	return world->reply.grants[0].state;
}

struct fake_object *world_object(struct world *world, uint64_t grant_id)
{
	for (size_t i = 0; i < FAKE_OBJECTS_MAX; i++) {
		if (world->objects[i].is_there &&
		    world->objects[i].object.ids[0] == 2000 + grant_id)
			return &world->objects[i];
	}
	return NULL;
}

unsigned int world_object_count(const struct world *world, uint64_t grant_id)
{
	unsigned int count = 0;

	for (size_t i = 0; i < FAKE_OBJECTS_MAX; i++)
		count += world->objects[i].is_there &&
			 world->objects[i].object.ids[0] == 2000 + grant_id;
	return count;
}

unsigned int world_objects_total(const struct world *world)
{
	unsigned int count = 0;

	for (size_t i = 0; i < FAKE_OBJECTS_MAX; i++)
		count += world->objects[i].is_there;
	return count;
}

const struct fake_file *world_file(const struct world *world, uint64_t grant_id)
{
	struct request_key key = { .submitter = "slurm" };

	snprintf(key.job, sizeof(key.job), "J%u", (unsigned int)grant_id);
	return fake_file_find(world, &key);
}

unsigned int world_files_total(const struct world *world)
{
	unsigned int count = 0;

	for (size_t i = 0; i < FAKE_FILES_MAX; i++)
		count += world->files[i].is_there;
	return count;
}
