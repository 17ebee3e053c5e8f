/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The node half has one object for each identifier. A daemon can die at each of
 * its calls. A place is u8 index of the node, u32 number.
 */
#include "fabric.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/bytes.h"
#include "base/idset.h"
#include "fmsim.h"

#define PLACE_MOVES 3 /* it is another one each so many questions */

/* --- manager half --- */

struct fabric_state {
	char *pool;
	bool has_trees, is_loss_fatal;
};

static int configure(const struct fairlead_setting *settings, size_t count,
		     void **ret_state, struct fairlead_error *ret_error)
{
	struct fabric_state *state = world_allocate(sizeof(*state));

	state->pool = world_text("1-8");
	*ret_state = state;
	for (size_t i = 0; i < count; i++) {
		if (strcmp(settings[i].name, "trees") == 0) {
			state->has_trees = true;
			state->is_loss_fatal =
				strcmp(settings[i].value, "fatal") == 0;
			continue;
		}
		free(state->pool);
		state->pool = world_text("%s", settings[i].value);
	}
	return 0;
}

static void destroy_state(void *data)
{
	struct fabric_state *state = data;

	if (state != NULL)
		free(state->pool);
	free(state);
}

static size_t pools(void *data,
		    struct fairlead_pool_spec specs[FAIRLEAD_POOLS_MAX])
{
	const struct fabric_state *state = data;

	specs[0] = (struct fairlead_pool_spec){
		.name = "group",
		.limit = FABRIC_LIMIT,
		.universe = state->pool,
	};
	return 1;
}

static int reserve(void *data, const struct fairlead_driver_request *request,
		   struct fairlead_plan *ret_plan,
		   struct fairlead_error *ret_error)
{
	const struct fabric_state *state = data;
	bool wants_trees = strncmp(request->options, "trees", 5) == 0;

	if (request->options[0] != 0 && !(wants_trees && state->has_trees))
		return error_set(ret_error, -EINVAL,
				 "fabric has no option '%s'", request->options);
	*ret_plan = (struct fairlead_plan){
		.counts = { 1 },
		.is_fatal = true,
		.has_lane = true,
	};
	if (!wants_trees)
		return 0;
	ret_plan->secret_size = 16;
	ret_plan->is_outside_fatal = strstr(request->options, "must") != NULL;
	strcpy(ret_plan->outside, "8");
	strcpy(ret_plan->options, request->options);
	if (strstr(request->options, "many") != NULL)
		strcpy(ret_plan->outside_refusal, "there are not so many");
	return 0;
}

static void tell_outside(void *data, struct fairlead_outside *ret_outside)
{
	const struct fabric_state *state = data;

	ret_outside->wait_ms = state->has_trees ? FMSIM_WAIT_MS : 0;
	ret_outside->is_loss_fatal = state->is_loss_fatal;
}

/* The token, and nothing else. */
static int pack(void *data, const struct fairlead_pack *wanted,
		uint8_t **ret_bytes, size_t *ret_size,
		struct fairlead_error *ret_error)
{
	*ret_bytes = world_allocate(wanted->outside_size);
	if (wanted->outside_size > 0)
		memcpy(*ret_bytes, wanted->outside, wanted->outside_size);
	*ret_size = wanted->outside_size;
	return 0;
}

static int describe(void *state, const struct fairlead_lane *lane,
		    const char *reason, const char **ret_event_name,
		    char **ret_context)
{
	*ret_event_name = "fabric";
	*ret_context = lane->id_count == 0
			       ? world_text("{\"vnis\":[]}")
			       : world_text("{\"vnis\":[%u]}", lane->ids[0]);
	return 0;
}

static int assemble(void *state, const struct fairlead_lane *lane,
		    const char *const *nodes,
		    const struct fairlead_place *places, size_t count,
		    uint8_t **ret_bytes, size_t *ret_size,
		    struct fairlead_error *ret_error)
{
	uint8_t *bytes;

	for (size_t i = 0; i < count; i++)
		if (places[i].size == 0 && lane->ids[0] % 2 == 1)
			return error_set(ret_error, -EINVAL, "%s has no place",
					 nodes[i]);
	bytes = world_allocate(count * FABRIC_PLACE_SIZE);
	for (size_t i = 0; i < count; i++)
		memcpy(bytes + i * FABRIC_PLACE_SIZE, places[i].bytes,
		       places[i].size);
	*ret_bytes = bytes;
	*ret_size = count * FABRIC_PLACE_SIZE;
	return 0;
}

static const struct fairlead_manager_ops manager_ops = {
	.assemble = assemble,
	.configure = configure,
	.destroy = destroy_state,
	.pools = pools,
	.reserve = reserve,
	.describe = describe,
	.pack = pack,
	.outside = tell_outside,
};

/* --- node half --- */

struct object {
	bool is_there;
	uint32_t uid;
};

struct fabric_node {
	unsigned int index;
	const struct hardware_events *events;
	fabric_joined_fn *joined;
	void *ctx;
	uint32_t number;                     /* of its place, */
	uint32_t asked_count;                /* since it has it */
	struct object objects[FABRIC_LIMIT]; /* by identifier */
};

struct fabric_node *fabric_node_create(unsigned int index,
				       const struct hardware_events *events,
				       fabric_joined_fn *joined, void *ctx)
{
	struct fabric_node *node = world_allocate(sizeof(*node));

	node->index = index;
	node->number = 1;
	node->events = events;
	node->joined = joined;
	node->ctx = ctx;
	return node;
}

void fabric_node_destroy(struct fabric_node *node)
{
	free(node);
}

void fabric_node_reset(struct fabric_node *node)
{
	memset(node->objects, 0, sizeof(node->objects));
}

uint32_t fabric_node_number(const struct fabric_node *node)
{
	return node->number;
}

struct fabric_place fabric_place_read(const uint8_t *bytes, size_t size)
{
	struct reader reader = reader_of(bytes, size);
	struct fabric_place place = { .node = read_u8(&reader) };

	place.number = read_u32(&reader);
	return reader_is_done(&reader) ? place : (struct fabric_place){ 0 };
}

static int tell_place(void *state, struct fairlead_place *ret_place,
		      struct fairlead_error *ret_error)
{
	struct fabric_node *node = state;
	struct writer writer = { 0 };

	if (++node->asked_count == PLACE_MOVES) {
		node->asked_count = 0;
		node->number++;
	}
	if (node->number % FABRIC_PLACE_NONE == 0)
		return error_set(ret_error, -EIO, "it is nowhere");
	write_u8(&writer, (uint8_t)node->index);
	write_u32(&writer, node->number);
	ret_place->size = writer.size;
	memcpy(ret_place->bytes, writer.data, writer.size);
	writer_fini(&writer);
	return 0;
}

static int dead(struct fairlead_error *ret_error)
{
	return error_set(ret_error, -EIO, "the daemon is dead");
}

static int open_node(const struct fairlead_setting *settings, size_t count,
		     void **ret_state, struct fairlead_error *ret_error)
{
	return error_set(ret_error, -ENOSYS, "the simulation has the state");
}

static void close_node(void *state)
{
}

static int probe(void *state,
		 void (*emit)(void *arg, const struct fairlead_device *device),
		 void *arg, struct fairlead_error *ret_error)
{
	const struct fairlead_device device = { .name = "fabric0",
						.is_usable = true };

	emit(arg, &device);
	return 0;
}

static void tell_made(struct fabric_node *node, uint32_t id, uint32_t uid)
{
	const struct hardware_service service = {
		.nic = FABRIC_DEVICE,
		.svc_id = id,
		.uid = uid,
		.vni_count = 1,
		.vnis = { (uint16_t)id },
	};

	node->events->made(node->ctx, &service);
}

static int make(void *state, const struct fairlead_lane *lane, bool is_dry_run,
		struct fairlead_record *ret_record,
		struct fairlead_warnings *warnings,
		struct fairlead_error *ret_error)
{
	struct fabric_node *node = state;
	struct object *object;

	if (node->events->step(node->ctx))
		return dead(ret_error);
	if (lane->id_count != 1 || lane->ids[0] >= FABRIC_LIMIT)
		return error_set(ret_error, -EINVAL, "no such identifier");
	object = &node->objects[lane->ids[0]];
	if (object->is_there)
		return error_set(ret_error, -EEXIST, "group %u is in use",
				 lane->ids[0]);
	if (is_dry_run)
		return 0;
	node->joined(node->ctx, lane);
	*object = (struct object){ .is_there = true, .uid = lane->uid };
	tell_made(node, lane->ids[0], lane->uid);
	if (node->events->step(node->ctx))
		return dead(ret_error);
	ret_record->size = 1;
	ret_record->bytes[0] = 1;
	return 0;
}

static int take_back(void *state, const struct fairlead_lane *lane,
		     const struct fairlead_record *record, bool is_dry_run,
		     struct fairlead_warnings *warnings,
		     struct fairlead_error *ret_error)
{
	struct fabric_node *node = state;
	struct object *object;

	if (node->events->step(node->ctx))
		return dead(ret_error);
	if (lane->id_count != 1 || lane->ids[0] >= FABRIC_LIMIT)
		return 0;
	object = &node->objects[lane->ids[0]];
	if (!object->is_there || object->uid != lane->uid || is_dry_run)
		return 0;
	object->is_there = false;
	node->events->gone(node->ctx, FABRIC_DEVICE, lane->ids[0]);
	if (node->events->step(node->ctx))
		return dead(ret_error);
	return 0;
}

static int list(void *state,
		void (*emit)(void *arg, const struct fairlead_object *object),
		void *arg, struct fairlead_error *ret_error)
{
	const struct fabric_node *node = state;

	for (uint32_t i = 0; i < FABRIC_LIMIT; i++) {
		const struct fairlead_object object = {
			.device = "fabric0",
			.id = i,
			.flags = FAIRLEAD_OBJECT_ENABLED,
			.uid = node->objects[i].uid,
			.id_count = 1,
			.ids = { i },
		};

		if (node->objects[i].is_there)
			emit(arg, &object);
	}
	return 0;
}

static int destroy_object(void *state, const struct fairlead_object *object,
			  bool is_dry_run, struct fairlead_error *ret_error)
{
	struct fabric_node *node = state;

	if (object->id >= FABRIC_LIMIT || !node->objects[object->id].is_there ||
	    node->objects[object->id].uid != object->uid)
		return error_set(ret_error, -ENOENT, "it is not there");
	if (is_dry_run)
		return 0;
	node->objects[object->id].is_there = false;
	node->events->gone(node->ctx, FABRIC_DEVICE, object->id);
	return 0;
}

static const struct fairlead_node_ops node_ops = {
	.open = open_node,
	.place = tell_place,
	.close = close_node,
	.probe = probe,
	.apply = make,
	.revoke = take_back,
	.list = list,
	.destroy = destroy_object,
};

static const char *const variables[] = { NULL };

const struct fairlead_driver fabric_driver = {
	.abi = FAIRLEAD_DRIVER_ABI,
	.name = "fabric",
	.description = "an interconnect of the simulation",
	.variables = variables,
	.manager = &manager_ops,
	.node = &node_ops,
};
