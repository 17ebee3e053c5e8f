/* SPDX-License-Identifier: BSD-3-Clause */
/* A daemon can die at each call of the node half. */
#include "elan.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "lanes/driver/elan3/elan3.h"
#include "lanes/driver/elan3/place.h"
#include "lanes/driver/elan3/reply.h"
#include "lanes/driver/elan3/settings.h"

#define EVERY 5 /* seeds, the last one has it */

bool elan_is_there(const struct world *world)
{
	return world->options.seed % EVERY == EVERY - 1;
}

uint32_t elan_id(unsigned int index)
{
	return 3 + 2 * index;
}

void elan_settings(struct fairlead_setting settings[ELAN_SETTINGS])
{
	static char genders[WORLD_NODES_MAX * 20];

	genders[0] = 0;
	for (unsigned int i = 0; i < WORLD_NODES_MAX; i++)
		sprintf(genders + strlen(genders), "n%u elanid=%u\n", i,
			elan_id(i));
	settings[0] = (struct fairlead_setting){
		.name = "genders",
		.value = "/genders",
		.line = 4,
		.content = genders,
		.content_size = strlen(genders),
	};
	settings[1] = (struct fairlead_setting){ "programs", ELAN_PROGRAMS, 5 };
	settings[2] = (struct fairlead_setting){ "contexts", ELAN_CONTEXTS, 6 };
}

/* --- node half --- */

struct lane_there {
	bool is_there;
	uint32_t uid;
	uint32_t first, last; /* contexts */
};

struct elan_node {
	unsigned int index;
	const struct hardware_events *events;
	elan_joined_fn *joined;
	void *ctx;
	struct lane_there lanes[ELAN_PROGRAM_LIMIT]; /* by program */
};

struct elan_node *elan_node_create(unsigned int index,
				   const struct hardware_events *events,
				   elan_joined_fn *joined, void *ctx)
{
	struct elan_node *node = world_allocate(sizeof(*node));

	node->index = index;
	node->events = events;
	node->joined = joined;
	node->ctx = ctx;
	return node;
}

void elan_node_destroy(struct elan_node *node)
{
	free(node);
}

void elan_node_reset(struct elan_node *node)
{
	memset(node->lanes, 0, sizeof(node->lanes));
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

static int tell_place(void *state, struct fairlead_place *ret_place,
		      struct fairlead_error *ret_error)
{
	const struct elan_node *node = state;
	const struct elan3_place place = {
		.rail_count = 1,
		.rails = { { ELAN3_PORT_UP, elan_id(node->index) } },
	};

	elan3_place_encode(&place, ret_place);
	return 0;
}

static int probe(void *state,
		 void (*emit)(void *arg, const struct fairlead_device *device),
		 void *arg, struct fairlead_error *ret_error)
{
	const struct fairlead_device device = { .name = "elan0",
						.is_usable = true };

	emit(arg, &device);
	return 0;
}

/* NULL: the lane is not one of this interconnect. */
static struct lane_there *find(struct elan_node *node,
			       const struct fairlead_lane *lane)
{
	if (lane->id_count != ELAN3_ID_COUNT ||
	    lane->ids[ELAN3_ID_PROGRAM] >= ELAN_PROGRAM_LIMIT)
		return NULL;
	return &node->lanes[lane->ids[ELAN3_ID_PROGRAM]];
}

static void tell_made(struct elan_node *node, const struct fairlead_lane *lane)
{
	struct hardware_service service = {
		.nic = ELAN_DEVICE,
		.svc_id = lane->ids[ELAN3_ID_PROGRAM],
		.uid = lane->uid,
	};

	for (uint32_t id = lane->ids[ELAN3_ID_FIRST];
	     id <= lane->ids[ELAN3_ID_LAST]; id++)
		service.vnis[service.vni_count++] = (uint16_t)id;
	node->events->made(node->ctx, &service);
}

/* The capability is this lane's. */
static int key_read(const struct fairlead_lane *lane,
		    struct elan_userkey *ret_key,
		    struct fairlead_error *ret_error)
{
	struct elan3_reply reply = { 0 };
	int result = elan3_reply_decode(lane->secrets, lane->secrets_size,
					&reply, ret_error);

	if (result == 0 && (reply.program != lane->ids[ELAN3_ID_PROGRAM] ||
			    reply.cap_count != 1 ||
			    (uint32_t)reply.caps[0].cap_lowcontext !=
				    lane->ids[ELAN3_ID_FIRST] ||
			    (uint32_t)reply.caps[0].cap_highcontext !=
				    lane->ids[ELAN3_ID_LAST]))
		result = error_set(ret_error, -EBADMSG,
				   "the capability is another lane's");
	else if (result == 0)
		*ret_key = reply.caps[0].cap_userkey;
	elan3_reply_fini(&reply);
	return result;
}

static int make(void *state, const struct fairlead_lane *lane, bool is_dry_run,
		struct fairlead_record *ret_record,
		struct fairlead_warnings *warnings,
		struct fairlead_error *ret_error)
{
	struct elan_node *node = state;
	struct lane_there *there = find(node, lane);
	struct elan_userkey key;
	int result;

	if (node->events->step(node->ctx))
		return dead(ret_error);
	if (there == NULL)
		return error_set(ret_error, -EINVAL, "no such program");
	if (there->is_there)
		return error_set(ret_error, -EEXIST, "program %u is in use",
				 lane->ids[ELAN3_ID_PROGRAM]);
	if (is_dry_run)
		return 0;
	result = key_read(lane, &key, ret_error);
	if (result < 0)
		return result;
	node->joined(node->ctx, lane, &key);
	*there = (struct lane_there){
		.is_there = true,
		.uid = lane->uid,
		.first = lane->ids[ELAN3_ID_FIRST],
		.last = lane->ids[ELAN3_ID_LAST],
	};
	tell_made(node, lane);
	if (node->events->step(node->ctx))
		return dead(ret_error);
	ret_record->size = 1;
	ret_record->bytes[0] = 1;
	return 0;
}

static void take(struct elan_node *node, struct lane_there *there)
{
	there->is_there = false;
	node->events->gone(node->ctx, ELAN_DEVICE,
			   (uint32_t)(there - node->lanes));
}

static int take_back(void *state, const struct fairlead_lane *lane,
		     const struct fairlead_record *record, bool is_dry_run,
		     struct fairlead_warnings *warnings,
		     struct fairlead_error *ret_error)
{
	struct elan_node *node = state;
	struct lane_there *there = find(node, lane);

	if (node->events->step(node->ctx))
		return dead(ret_error);
	if (there == NULL || !there->is_there || there->uid != lane->uid ||
	    is_dry_run)
		return 0;
	take(node, there);
	if (node->events->step(node->ctx))
		return dead(ret_error);
	return 0;
}

static struct fairlead_object object_of(const struct elan_node *node,
					uint32_t program)
{
	const struct lane_there *there = &node->lanes[program];

	return (struct fairlead_object){
		.device = "elan0",
		.id = program,
		.flags = FAIRLEAD_OBJECT_ENABLED,
		.uid = there->uid,
		.id_count = ELAN3_ID_COUNT,
		.ids = { program, there->first, there->last },
	};
}

static int list(void *state,
		void (*emit)(void *arg, const struct fairlead_object *object),
		void *arg, struct fairlead_error *ret_error)
{
	const struct elan_node *node = state;

	for (uint32_t i = 0; i < ELAN_PROGRAM_LIMIT; i++) {
		const struct fairlead_object object = object_of(node, i);

		if (node->lanes[i].is_there)
			emit(arg, &object);
	}
	return 0;
}

static int destroy_object(void *state, const struct fairlead_object *object,
			  bool is_dry_run, struct fairlead_error *ret_error)
{
	struct elan_node *node = state;

	if (object->id >= ELAN_PROGRAM_LIMIT ||
	    !node->lanes[object->id].is_there ||
	    node->lanes[object->id].uid != object->uid)
		return error_set(ret_error, -ENOENT, "it is not there");
	if (!is_dry_run)
		take(node, &node->lanes[object->id]);
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

const struct fairlead_driver elan_driver = {
	.abi = FAIRLEAD_DRIVER_ABI,
	.name = ELAN3_NAME,
	.description = "an Elan of the simulation",
	.settings = &elan3_settings,
	.variables = variables,
	.manager = &elan3_manager_ops,
	.node = &node_ops,
};
