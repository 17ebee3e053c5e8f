/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What a guard has around it: a disk, a driver with hardware, environment files
 * and keys. Asserts are the tests' own.
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

const struct journal_file_ops fake_disk_ops = {
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

const struct fairlead_driver fake_hardware = {
	.abi = FAIRLEAD_DRIVER_ABI,
	.name = "fake",
	.description = "a driver for tests",
	.manager = &manager_ops,
	.node = &node_ops,
};

/* --- files and keys --- */

struct fake_file *fake_file_find(const struct world *world,
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
	struct fake_file *file = fake_file_find(world, key);
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
	struct fake_file *file = fake_file_find(world, key);
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

const struct guard_ops fake_guard_ops = {
	.load_keys = keys_load,
	.write_environment = file_write,
	.remove_environment = file_remove,
};
