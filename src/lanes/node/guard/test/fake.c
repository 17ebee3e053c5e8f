/* SPDX-License-Identifier: BSD-3-Clause */
/* The world of the guard's tests. Its asserts are the tests' own. */
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

/*
 * One step. -ESHUTDOWN when the guard was dead before it; *ret_dies says that
 * this is the step of the crash.
 */
static int step(struct world *world, bool *ret_dies)
{
	*ret_dies = false;
	if (world->is_dead)
		return -ESHUTDOWN;
	world->steps++;
	if (world->crash_at > 0 && world->steps == world->crash_at) {
		*ret_dies = true;
		world->is_dead = true;
	}
	return 0;
}

/* A step whose effect happens or does not; 0 when it is to happen. */
static int step_whole(struct world *world)
{
	bool dies;
	int result = step(world, &dies);

	return result == 0 && dies && !world->crashes_after ? -ESHUTDOWN
							    : result;
}

/* --- disk --- */

static int disk_read(void *ctx, uint8_t **ret_bytes, size_t *ret_size)
{
	struct world *world = ctx;
	uint8_t *bytes = malloc(world->disk_size + 1);

	assert_non_null(bytes);
	if (world->disk_size > 0)
		memcpy(bytes, world->disk, world->disk_size);
	*ret_bytes = bytes;
	*ret_size = world->disk_size;
	return 0;
}

static void disk_put(struct world *world, size_t offset, const void *bytes,
		     size_t size)
{
	size_t end = offset + size;

	if (end > world->disk_size) {
		world->disk = realloc(world->disk, end);
		assert_non_null(world->disk);
		world->disk_size = end;
	}
	if (size > 0)
		memcpy(world->disk + offset, bytes, size);
}

static int disk_write(void *ctx, size_t offset, const void *bytes, size_t size)
{
	struct world *world = ctx;
	bool dies;
	int result = step(world, &dies);

	if (result < 0)
		return result;
	assert_true(offset <= world->disk_size);
	if (world->write_error < 0) {
		/* As a full disk does: some of it is there. */
		disk_put(world, offset, bytes, size / 2);
		return world->write_error;
	}
	if (dies && !world->crashes_after)
		size = world->torn_bytes < size ? world->torn_bytes : size;
	disk_put(world, offset, bytes, size);
	return 0;
}

static int disk_replace(void *ctx, const void *bytes, size_t size)
{
	struct world *world = ctx;
	int result = step_whole(world);

	if (result < 0)
		return result;
	if (world->write_error < 0)
		return world->write_error;
	world->disk_size = 0;
	disk_put(world, 0, bytes, size);
	return 0;
}

static int disk_set_aside(void *ctx)
{
	struct world *world = ctx;
	int result = step_whole(world);

	if (result < 0)
		return result;
	world->disk_size = 0;
	world->aside_count++;
	return 0;
}

static const struct journal_file_ops disk_ops = {
	.read = disk_read,
	.write = disk_write,
	.replace = disk_replace,
	.set_aside = disk_set_aside,
};

/* --- the driver: each lane has one object on each of two devices --- */

static struct fake_object *object_make(struct world *world,
				       const struct fairlead_lane *lane,
				       unsigned int device)
{
	for (uint32_t i = 0; i < FAKE_OBJECTS_MAX; i++) {
		struct fake_object *slot = &world->objects[i];

		if (slot->is_there)
			continue;
		*slot = (struct fake_object){ .is_there = true };
		snprintf(slot->object.device, sizeof(slot->object.device),
			 "dev%u", device);
		slot->object.id = i + 2;
		slot->object.uid = lane->uid;
		slot->object.id_count = lane->id_count;
		slot->object.flags = FAIRLEAD_OBJECT_ENABLED;
		memcpy(slot->object.ids, lane->ids,
		       lane->id_count * sizeof(lane->ids[0]));
		return slot;
	}
	fail_msg("the fake hardware is full");
	return NULL;
}

static void members_keep(struct world *world, const struct fairlead_lane *lane)
{
	world->apply_index = lane->index;
	world->apply_node_count = lane->node_count;
	snprintf(world->apply_job, sizeof(world->apply_job), "%s", lane->job);
	world->apply_members_size = lane->members_size;
	assert_true(lane->members_size <= sizeof(world->apply_members));
	assert_true((lane->members != NULL) == (lane->members_size > 0));
	if (lane->members != NULL)
		memcpy(world->apply_members, lane->members, lane->members_size);
	world->apply_secrets_size = lane->secrets_size;
	assert_true(lane->secrets_size <= sizeof(world->apply_secrets));
	assert_true((lane->secrets != NULL) == (lane->secrets_size > 0));
	if (lane->secrets != NULL)
		memcpy(world->apply_secrets, lane->secrets, lane->secrets_size);
}

static int fake_apply(void *state, const struct fairlead_lane *lane,
		      bool is_dry_run, struct fairlead_record *ret_record,
		      struct fairlead_warnings *warnings,
		      struct fairlead_error *ret_error)
{
	struct world *world = state;
	struct fairlead_record record = { .size = FAKE_DEVICES };

	if (is_dry_run) {
		char text[128 + FAIRLEAD_OPTIONS_MAX];

		if (world->apply_error < 0)
			return error_set(ret_error, world->apply_error,
					 "no room on dev0");
		snprintf(text, sizeof(text),
			 "would make %u for job %s, uid %u, %u cores, '%s'",
			 lane->ids[0], lane->job, lane->uid, lane->cores,
			 lane->options);
		warnings->add(warnings, text);
		return 0;
	}
	for (unsigned int i = 0; i < FAKE_DEVICES; i++) {
		struct fake_object *object;

		if (step_whole(world) < 0)
			return error_set(ret_error, -ESHUTDOWN, "dead");
		object = object_make(world, lane, i);
		record.bytes[i] = (uint8_t)object->object.id;
		if (world->apply_error < 0) {
			object->is_there =
				world->apply_leaves != FAKE_LEAVES_NOTHING;
			object->is_busy =
				world->apply_leaves == FAKE_LEAVES_BUSY;
			return error_set(ret_error, world->apply_error,
					 "no room on dev%u", i);
		}
		if (i == 0)
			world->applies[lane->grant_id]++;
	}
	members_keep(world, lane);
	warnings->add(warnings, "scaled back");
	if (world->apply_warning)
		warnings->add(warnings, world->apply_warning);
	*ret_record = record;
	return 0;
}

static bool object_matches(const struct fake_object *object,
			   const struct fairlead_lane *lane,
			   const struct fairlead_record *record)
{
	if (!object->is_there || object->object.uid != lane->uid ||
	    object->object.id_count != lane->id_count ||
	    memcmp(object->object.ids, lane->ids,
		   lane->id_count * sizeof(lane->ids[0])) != 0)
		return false;
	if (record->size == 0)
		return true;
	return memchr(record->bytes, (int)object->object.id, record->size) !=
	       NULL;
}

static int fake_revoke(void *state, const struct fairlead_lane *lane,
		       const struct fairlead_record *record, bool is_dry_run,
		       struct fairlead_warnings *warnings,
		       struct fairlead_error *ret_error)
{
	struct world *world = state;
	const struct fake_object *busy = NULL;

	world->revokes++;
	for (size_t i = 0; i < FAKE_OBJECTS_MAX; i++) {
		struct fake_object *object = &world->objects[i];

		if (!object_matches(object, lane, record))
			continue;
		if (object->is_busy)
			busy = object;
		if (object->is_busy || is_dry_run)
			continue;
		if (step_whole(world) < 0)
			return error_set(ret_error, -ESHUTDOWN, "dead");
		object->is_there = false;
	}
	if (busy)
		return error_set(ret_error, -EBUSY,
				 "object %u on '%s' is used by process 77",
				 busy->object.id, busy->object.device);
	return 0;
}

static void fake_revoke_all(void *state, struct fairlead_revocation *list,
			    size_t count)
{
	struct world *world = state;

	world->revoke_alls++;
	for (size_t i = 0; i < count; i++)
		list[i].result =
			fake_revoke(state, list[i].lane, list[i].record, false,
				    list[i].warnings, &list[i].error);
}

static int fake_env(void *state, const struct fairlead_lane *lane,
		    const struct fairlead_record *record,
		    void (*emit)(void *arg, const char *name,
				 const char *value),
		    void *arg, struct fairlead_error *ret_error)
{
	char text[16];

	snprintf(text, sizeof(text), "%u", lane->ids[0]);
	emit(arg, "FAKE_ID", text);
	snprintf(text, sizeof(text), "%u", record->bytes[0]);
	emit(arg, "FAKE_OBJECT", text);
	emit(arg, "FAKE_OLD", NULL);
	return 0;
}

static int fake_list(void *state,
		     void (*emit)(void *arg,
				  const struct fairlead_object *object),
		     void *arg, struct fairlead_error *ret_error)
{
	struct world *world = state;

	if (world->list_error < 0)
		return error_set(ret_error, world->list_error,
				 "the device is gone");
	for (size_t i = 0; i < FAKE_OBJECTS_MAX; i++) {
		unsigned int times = world->list_times ? world->list_times : 1;

		for (; world->objects[i].is_there && times > 0; times--)
			emit(arg, &world->objects[i].object);
	}
	return 0;
}

static int fake_destroy(void *state, const struct fairlead_object *object,
			bool is_dry_run, struct fairlead_error *ret_error)
{
	struct world *world = state;
	struct fake_object *slot = &world->objects[object->id - 2];

	if (!slot->is_there)
		return error_set(ret_error, -ENOENT, "no such object");
	if (slot->object.flags &
	    (FAIRLEAD_OBJECT_SYSTEM | FAIRLEAD_OBJECT_DEFAULT))
		return error_set(ret_error, -EPERM, "it is the system's");
	if (!is_dry_run)
		slot->is_there = false;
	return 0;
}

static int fake_probe(void *state,
		      void (*emit)(void *arg,
				   const struct fairlead_device *device),
		      void *arg, struct fairlead_error *ret_error)
{
	const struct world *world = state;

	if (world->list_error < 0)
		return error_set(ret_error, world->list_error,
				 "the device is gone");
	for (unsigned int i = 0; i < FAKE_DEVICES; i++) {
		struct fairlead_device device = {
			.is_usable = true,
			.detail = "fake \xff device",
			.resource_count = 1,
			.resources = { { .name = "objects",
					 .total = FAKE_OBJECTS_MAX,
					 .reserved = i } },
		};

		snprintf(device.name, sizeof(device.name), "dev%u", i);
		emit(arg, &device);
	}
	return 0;
}

/* An inherited lane is that of user FAKE_ID. */
static int fake_inherit(void *state, uid_t uid,
			const char *(*get)(void *arg, const char *name),
			void *arg, struct fairlead_error *ret_error)
{
	const char *value = get(arg, "FAKE_ID");

	if (value && strtoul(value, NULL, 10) != uid)
		return error_set(ret_error, -ENODEV,
				 "the lane is not that of user %u", uid);
	return 0;
}

static int fake_tend(void *state, struct fairlead_error *ret_error)
{
	const struct world *world = state;

	if (world->tend_result > 0)
		error_set(ret_error, 0, "it had gone, and is back");
	else if (world->tend_result < 0)
		error_set(ret_error, world->tend_result, "it cannot be made");
	return world->tend_result;
}

static int fake_place(void *state, struct fairlead_place *ret_place,
		      struct fairlead_error *ret_error)
{
	struct world *world = state;

	world->question_count++;
	if (world->place_error < 0)
		return error_set(ret_error, world->place_error,
				 "the NIC has no address");
	*ret_place = world->place;
	return 0;
}

static void fake_summarize(void *state, char text[FAIRLEAD_SUMMARY_MAX + 1])
{
	struct world *world = state;

	world->question_count++;
	snprintf(text, FAIRLEAD_SUMMARY_MAX + 1, "%s",
		 world->summary ? world->summary : "");
}

static const struct fairlead_node_ops node_ops = {
	.place = fake_place,
	.tend = fake_tend,
	.summarize = fake_summarize,
	.probe = fake_probe,
	.inherit = fake_inherit,
	.apply = fake_apply,
	.revoke = fake_revoke,
	.revoke_all = fake_revoke_all,
	.env = fake_env,
	.list = fake_list,
	.destroy = fake_destroy,
};

/* A node only looks whether it is there. */
static int fake_pack(void *state, const struct fairlead_pack *pack,
		     uint8_t **ret_bytes, size_t *ret_size,
		     struct fairlead_error *ret_error)
{
	return -ENOMEM;
}

static const struct fairlead_manager_ops manager_ops = {
	.pack = fake_pack,
};

static const struct fairlead_driver fake_driver = {
	.abi = FAIRLEAD_DRIVER_ABI,
	.name = "fake",
	.description = "a driver for tests",
	.manager = &manager_ops,
	.node = &node_ops,
};

/* --- files and keys --- */

static struct fake_file *file_find(const struct world *world,
				   const struct request_key *key)
{
	for (size_t i = 0; i < FAKE_FILES_MAX; i++) {
		const struct fake_file *file = &world->files[i];

		if (file->is_there && strcmp(file->key.job, key->job) == 0 &&
		    strcmp(file->key.submitter, key->submitter) == 0 &&
		    file->key.attempt == key->attempt)
			return (struct fake_file *)file;
	}
	return NULL;
}

static int file_write(void *ctx, const struct request_key *key, uid_t uid,
		      gid_t gid, const void *bytes, size_t size)
{
	struct world *world = ctx;
	struct fake_file *file = file_find(world, key);
	int result = step_whole(world);

	if (result < 0)
		return result;
	if (world->file_error < 0)
		return world->file_error;
	for (size_t i = 0; i < FAKE_FILES_MAX && !file; i++) {
		if (!world->files[i].is_there)
			file = &world->files[i];
	}
	assert_non_null(file);
	*file = (struct fake_file){
		.is_there = true,
		.key = *key,
		.uid = uid,
		.gid = gid,
	};
	assert_true(size < sizeof(file->content));
	memcpy(file->content, bytes, size);
	return 0;
}

static int file_remove(void *ctx, const struct request_key *key)
{
	struct world *world = ctx;
	struct fake_file *file = file_find(world, key);
	int result = step_whole(world);

	if (result < 0)
		return result;
	if (world->file_error < 0)
		return world->file_error;
	if (file)
		file->is_there = false;
	return 0;
}

static int keys_load(void *ctx, struct node_keys *ret_keys,
		     struct fairlead_error *ret_error)
{
	struct world *world = ctx;

	if (world->keys_error < 0)
		return error_set(ret_error, world->keys_error,
				 "the key file cannot be read");
	*ret_keys = world->keys;
	return 0;
}

static const struct guard_ops guard_ops = {
	.load_keys = keys_load,
	.write_environment = file_write,
	.remove_environment = file_remove,
};

/* --- the world --- */

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
		.journal = { .ops = &disk_ops,
			     .ctx = world,
			     .path = "/run/fake/journal" },
		.rng = sim_rng_seam(&world->rng),
		.ops = &guard_ops,
		.ops_ctx = world,
	};

	world->driver = (struct guard_driver){
		.driver = &fake_driver,
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
	return file_find(world, &key);
}

unsigned int world_files_total(const struct world *world)
{
	unsigned int count = 0;

	for (size_t i = 0; i < FAKE_FILES_MAX; i++)
		count += world->files[i].is_there;
	return count;
}
