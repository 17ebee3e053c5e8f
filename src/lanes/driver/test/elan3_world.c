/* SPDX-License-Identifier: BSD-3-Clause */
#include "lanes/driver/test/elan3_world.h"

#include <stdio.h>
#include <stdlib.h>

#include "lanes/driver/elan3/reply.h"
#include "elan/client.h"

#define HOSTS "eip [0-15] n[0-15]\n"

static const struct fairlead_node_ops *const ops = &elan3_node_ops;

static void add_warning(struct fairlead_warnings *warnings, const char *text)
{
	((struct world *)warnings)->warning_count++;
}

static size_t settings_fill(const struct world *world, const char *name,
			    const char *value,
			    struct fairlead_setting settings[8])
{
	size_t count = 0;

	settings[count++] = (struct fairlead_setting){
		.name = "elanhosts",
		.value = "/etc/elanhosts",
		.content = HOSTS,
		.content_size = sizeof(HOSTS) - 1,
	};
	settings[count++] =
		(struct fairlead_setting){ .name = "rails", .value = "2" };
	settings[count++] =
		(struct fairlead_setting){ .name = "rms_directory",
					   .value = world->stage->dir };
	if (!name || strcmp(name, "host") != 0)
		settings[count++] = (struct fairlead_setting){ .name = "host",
							       .value = "n1" };
	for (size_t i = 0; name && i < count; i++) {
		if (strcmp(settings[i].name, name) != 0)
			continue;
		settings[i] = (struct fairlead_setting){ .name = name,
							 .value = value };
		return count;
	}
	if (name)
		settings[count++] = (struct fairlead_setting){ .name = name,
							       .value = value };
	return count;
}

int world_open(struct world *world, const char *name, const char *value)
{
	struct fairlead_setting settings[8];
	size_t count = settings_fill(world, name, value, settings);

	ops->close(world->node);
	world->node = NULL;
	world->error = (struct fairlead_error){ 0 };
	return ops->open(settings, count, &world->node, &world->error);
}

int world_setup(void **state)
{
	struct world *world = calloc(1, sizeof(*world));
	struct fairlead_setting settings[8];
	size_t count;

	assert_non_null(world);
	*state = world;
	world->warnings.add = add_warning;
	assert_int_equal(stage_setup((void **)&world->stage), 0);
	for (int i = 0; i < 2; i++)
		assert_int_equal(stage_rail_set(i, true), 0);
	count = settings_fill(world, NULL, NULL, settings);
	assert_int_equal(elan3_manager_ops.configure(settings, count,
						     &world->manager,
						     &world->error),
			 0);
	assert_int_equal(world_open(world, NULL, NULL), 0);
	return 0;
}

int world_teardown(void **state)
{
	struct world *world = *state;
	int result;

	ops->close(world->node);
	elan3_manager_ops.destroy(world->manager);
	free(world->secrets);
	result = stage_teardown((void **)&world->stage);
	free(world);
	return result;
}

struct fairlead_lane world_lane(struct world *world, const char *rails)
{
	static const char *const nodes[] = { "n0", "n1", "n2" };
	static const uint32_t tasks[] = { 2, 2, 1 };
	static const uint8_t secret[FAIRLEAD_SECRET_MAX] = { 'k', 'e', 'y' };
	struct fairlead_lane lane = {
		.grant_id = 5,
		.uid = OWNER_UID,
		.gid = SOME_GID,
		.id_count = ELAN3_ID_COUNT,
		.ids = { WORLD_PROGRAM, WORLD_FIRST,
			 WORLD_FIRST + WORLD_CONTEXTS - 1 },
	};
	struct fairlead_run runs[FAIRLEAD_POOLS_MAX] = {
		[ELAN3_POOL_CONTEXT] = { 0, 2, WORLD_CONTEXTS },
	};
	struct fairlead_pack pack = {
		.lane = &lane,
		.runs = runs,
		.node_count = 3,
		.nodes = nodes,
		.tasks = tasks,
		.secret = secret,
		.secret_size = 16,
	};

	for (const char *at = rails; *at; at++)
		pack.secret_size += *at == ':' ? 16 : 0;
	snprintf(lane.options, sizeof(lane.options),
		 "layout=block,rails=%s,contexts=%d", rails, WORLD_CONTEXTS);
	free(world->secrets);
	assert_int_equal(
		elan3_manager_ops.pack(world->manager, &pack, &world->secrets,
				       &world->secrets_size, &world->error),
		0);
	lane.secrets = world->secrets;
	lane.secrets_size = world->secrets_size;
	return lane;
}

struct elan_capability world_cap(const struct fairlead_lane *lane, uint32_t i)
{
	struct fairlead_error error;
	struct elan_capability cap;
	struct elan3_reply reply;

	assert_int_equal(elan3_reply_decode(lane->secrets, lane->secrets_size,
					    &reply, &error),
			 0);
	assert_true(i < reply.cap_count);
	cap = reply.caps[i];
	elan3_reply_fini(&reply);
	return cap;
}

int world_apply(struct world *world, const struct fairlead_lane *lane,
		struct fairlead_record *ret_record)
{
	world->warning_count = 0;
	world->error = (struct fairlead_error){ 0 };
	return ops->apply(world->node, lane, false, ret_record,
			  &world->warnings, &world->error);
}

int world_revoke(struct world *world, const struct fairlead_lane *lane)
{
	const struct fairlead_record none = { .size = 0 };
	struct fairlead_lane bare = {
		.uid = lane->uid,
		.id_count = lane->id_count,
	};

	memcpy(bare.ids, lane->ids, sizeof(bare.ids));
	world->error = (struct fairlead_error){ 0 };
	return ops->revoke(world->node, &bare, &none, false, &world->warnings,
			   &world->error);
}

static void collect_object(void *arg, const struct fairlead_object *object)
{
	struct world *world = arg;

	assert_true(world->object_count < WORLD_OBJECTS_MAX);
	if (!(object->flags & FAIRLEAD_OBJECT_SYSTEM))
		world->objects[world->object_count++] = *object;
}

uint32_t world_list(struct world *world)
{
	world->object_count = 0;
	if (ops->list(world->node, collect_object, world, &world->error) < 0)
		fail_msg("%s", world->error.text);
	return world->object_count;
}

static void collect_device(void *arg, const struct fairlead_device *device)
{
	struct world *world = arg;

	assert_true(world->device_count < WORLD_OBJECTS_MAX);
	world->devices[world->device_count++] = *device;
}

int world_probe(struct world *world)
{
	world->device_count = 0;
	return ops->probe(world->node, collect_device, world, &world->error);
}

void assert_has(const char *text, const char *part)
{
	if (!strstr(text, part))
		fail_msg("'%s' is not in '%s'", part, text);
}
