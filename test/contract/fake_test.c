/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The contract suite on a driver that was made for it: two devices in memory
 * and two pools. The suite is tried on it first, so that a case that fails on a
 * real driver says something about that driver.
 *
 * A lane is a slot on each device: owner and identifiers. A slot's index is
 * its id and is given again at once. Slot 0 is the system's.
 */
#include <stdio.h>

#include "contract/contract.h"
#include "lanes/driver/common/options.h"
#include "base/settings.h"

#define DEVICES 2
#define SLOTS   8
#define OWNER   1000

struct slot {
	bool is_used;
	bool is_held;
	uint32_t uid;
	uint32_t id_count;
	uint32_t ids[2];
};

static struct {
	bool is_gone[DEVICES];
	bool fails[DEVICES];
	struct slot slots[DEVICES][SLOTS];
} world;

static const struct fairlead_setting_spec setting_specs[] = {
	{ "size", &settings_number, 0, "10", 0, NULL, 1, 100 },
	{ NULL },
};
static const struct fairlead_settings settings_known = { setting_specs,
							 sizeof(uint32_t) };
static const char *const variables[] = { "FAKE_LANE", NULL };

/* --- manager half --- */

static int configure(const struct fairlead_setting *list, size_t count,
		     void **ret_state, struct fairlead_error *ret_error)
{
	struct settings_errors errors = { 0 };
	const struct settings settings = { list, count, &errors };
	uint32_t *state;
	uint32_t size;
	int result;

	settings_read(&settings, &settings_known, &size);
	result = settings_finish(&errors, ret_error);
	if (result < 0)
		return result;
	state = malloc(sizeof(*state));
	if (!state)
		return error_set(ret_error, -ENOMEM, "out of memory");
	*state = size;
	*ret_state = state;
	return 0;
}

static size_t pools(void *state,
		    struct fairlead_pool_spec specs[FAIRLEAD_POOLS_MAX])
{
	specs[0] = (struct fairlead_pool_spec){ "context", 64, "8-63" };
	specs[1] = (struct fairlead_pool_spec){ "key", 32, "1,3,5-31" };
	return 2;
}

static int reserve(void *state, const struct fairlead_driver_request *request,
		   struct fairlead_plan *ret_plan,
		   struct fairlead_error *ret_error)
{
	struct fairlead_plan plan = { .counts = { 1, 1 },
				      .is_fatal = true,
				      .has_lane = true };
	struct options options;
	int result = options_parse(&options, request->options, ret_error);

	if (result < 0)
		return result;
	if (options.count > 0 && strcmp(options.items[0].name, "off") == 0) {
		plan = (struct fairlead_plan){ .is_fatal = true,
					       .reason = "disabled",
					       .options = "off" };
	} else if (options.count > 0) {
		return error_set(ret_error, -EINVAL, "no option '%s'",
				 options.items[0].name);
	}
	*ret_plan = plan;
	return 0;
}

static int describe(void *state, const struct fairlead_lane *lane,
		    const char *reason, const char **ret_event_name,
		    char **ret_context)
{
	char *text = strdup("{\"reservation\":{}}");

	if (!text)
		return -ENOMEM;
	*ret_event_name = "fake";
	*ret_context = text;
	return 0;
}

/* --- node half --- */

static int open_node(const struct fairlead_setting *list, size_t count,
		     void **ret_state, struct fairlead_error *ret_error)
{
	return configure(list, count, ret_state, ret_error);
}

static void device_name(int device, char name[32])
{
	snprintf(name, 32, "fake%d", device);
}

static uint32_t count_used(int device)
{
	uint32_t count = 0;

	for (int i = 0; i < SLOTS; i++)
		count += world.slots[device][i].is_used;
	return count;
}

static int probe(void *state,
		 void (*emit)(void *arg, const struct fairlead_device *device),
		 void *arg, struct fairlead_error *ret_error)
{
	for (int i = 0; i < DEVICES; i++) {
		struct fairlead_device device = {
			.is_usable = true,
			.resource_count = 1,
			.resources = { { "slots", SLOTS, count_used(i) } },
		};

		device_name(i, device.name);
		if (!world.is_gone[i])
			emit(arg, &device);
	}
	return 0;
}

static bool is_of(const struct slot *slot, const struct fairlead_lane *lane)
{
	return slot->is_used && slot->uid == lane->uid &&
	       slot->id_count == lane->id_count &&
	       memcmp(slot->ids, lane->ids,
		      lane->id_count * sizeof(lane->ids[0])) == 0;
}

static bool shares(const struct slot *slot, const struct fairlead_lane *lane)
{
	return slot->is_used && slot->id_count > 0 &&
	       slot->ids[0] == lane->ids[0];
}

static int take_slot(int device, const struct fairlead_lane *lane,
		     struct fairlead_error *ret_error)
{
	struct slot *slots = world.slots[device];

	for (int i = 0; i < SLOTS; i++) {
		if (shares(&slots[i], lane))
			return error_set(ret_error, -EEXIST,
					 "fake%d: context %u is in use", device,
					 lane->ids[0]);
	}
	if (world.fails[device]) {
		world.fails[device] = false;
		return error_set(ret_error, -ENOSPC, "fake%d: no slot", device);
	}
	for (int i = 0; i < SLOTS; i++) {
		if (slots[i].is_used)
			continue;
		slots[i] =
			(struct slot){ .is_used = true,
				       .uid = lane->uid,
				       .id_count = 2,
				       .ids = { lane->ids[0], lane->ids[1] } };
		return i;
	}
	return error_set(ret_error, -ENOSPC, "fake%d: no slot", device);
}

static int apply(void *state, const struct fairlead_lane *lane, bool is_dry_run,
		 struct fairlead_record *ret_record,
		 struct fairlead_warnings *warnings,
		 struct fairlead_error *ret_error)
{
	_auto_(freep) char *taken = malloc(DEVICES);

	if (!taken)
		return error_set(ret_error, -ENOMEM, "out of memory");
	for (int i = 0; i < DEVICES; i++) {
		int slot;

		if (is_dry_run) {
			warnings->add(warnings, "would take a slot");
			continue;
		}
		slot = take_slot(i, lane, ret_error);
		if (slot < 0) {
			while (i-- > 0)
				world.slots[i][(int)taken[i]].is_used = false;
			return slot;
		}
		taken[i] = (char)slot;
	}
	if (!is_dry_run) {
		memcpy(ret_record->bytes, taken, DEVICES);
		ret_record->size = DEVICES;
	}
	return 0;
}

static int say_held(int device, int slot, const uint32_t *ids,
		    struct fairlead_error *ret_error)
{
	return error_set(ret_error, -EBUSY,
			 "fake%d: slot %d (context %u) is held", device, slot,
			 ids[0]);
}

static int revoke_lane(void *state, const struct fairlead_lane *lane,
		       const struct fairlead_record *record, bool is_dry_run,
		       struct fairlead_warnings *warnings,
		       struct fairlead_error *ret_error)
{
	int result = 0;

	for (int i = 0; i < DEVICES; i++) {
		for (int k = 0; k < SLOTS && !world.is_gone[i]; k++) {
			struct slot *slot = &world.slots[i][k];

			if (!is_of(slot, lane))
				continue;
			if (slot->is_held)
				result = say_held(i, k, slot->ids, ret_error);
			else if (is_dry_run)
				warnings->add(warnings, "would free a slot");
			else
				slot->is_used = false;
		}
	}
	return result;
}

static int env(void *state, const struct fairlead_lane *lane,
	       const struct fairlead_record *record,
	       void (*emit)(void *arg, const char *name, const char *value),
	       void *arg, struct fairlead_error *ret_error)
{
	char text[32];

	snprintf(text, sizeof(text), "%u", lane ? lane->ids[0] : 0);
	emit(arg, variables[0], lane ? text : NULL);
	return 0;
}

static int inherit(void *state, uid_t uid,
		   const char *(*get)(void *arg, const char *name), void *arg,
		   struct fairlead_error *ret_error)
{
	const char *text = get(arg, variables[0]);

	if (!text)
		return 0;
	for (int i = 0; i < SLOTS; i++) {
		const struct slot *slot = &world.slots[0][i];

		if (slot->is_used && slot->uid == uid && slot->id_count > 0 &&
		    slot->ids[0] == (uint32_t)atoi(text))
			return 0;
	}
	return error_set(ret_error, -ENODEV, "there is no lane %s of uid %u",
			 text, uid);
}

static int list(void *state,
		void (*emit)(void *arg, const struct fairlead_object *object),
		void *arg, struct fairlead_error *ret_error)
{
	for (int i = 0; i < DEVICES; i++) {
		for (int k = 0; k < SLOTS && !world.is_gone[i]; k++) {
			const struct slot *slot = &world.slots[i][k];
			struct fairlead_object object = {
				.id = (uint32_t)k,
				.flags = k == 0 ? FAIRLEAD_OBJECT_SYSTEM
						: FAIRLEAD_OBJECT_ENABLED,
				.uid = slot->uid,
				.id_count = slot->id_count,
				.ids = { slot->ids[0], slot->ids[1] },
			};

			device_name(i, object.device);
			if (slot->is_used)
				emit(arg, &object);
		}
	}
	return 0;
}

static struct slot *find_slot(const struct fairlead_object *object)
{
	char name[32];

	for (int i = 0; i < DEVICES; i++) {
		struct slot *slot = &world.slots[i][object->id % SLOTS];

		device_name(i, name);
		if (strcmp(name, object->device) == 0 && slot->is_used &&
		    slot->uid == object->uid &&
		    memcmp(slot->ids, object->ids, sizeof(slot->ids)) == 0)
			return slot;
	}
	return NULL;
}

static int destroy(void *state, const struct fairlead_object *object,
		   bool is_dry_run, struct fairlead_error *ret_error)
{
	struct slot *slot = find_slot(object);

	if (!slot)
		return error_set(ret_error, -ENOENT, "%s: no slot %u",
				 object->device, object->id);
	if (object->id == 0)
		return error_set(ret_error, -EPERM, "slot 0 is the system's");
	if (slot->is_held)
		return say_held(0, (int)object->id, slot->ids, ret_error);
	slot->is_used = is_dry_run;
	return 0;
}

static const struct fairlead_manager_ops manager_ops = {
	.configure = configure,
	.destroy = free,
	.pools = pools,
	.reserve = reserve,
	.describe = describe,
};

static const struct fairlead_node_ops node_ops = {
	.open = open_node,
	.close = free,
	.probe = probe,
	.apply = apply,
	.revoke = revoke_lane,
	.env = env,
	.inherit = inherit,
	.list = list,
	.destroy = destroy,
};

static const struct fairlead_driver fake_driver = {
	.abi = FAIRLEAD_DRIVER_ABI,
	.name = "fake",
	.description = "devices in memory, for the contract suite",
	.settings = &settings_known,
	.variables = variables,
	.manager = &manager_ops,
	.node = &node_ops,
};

/* --- fixture --- */

static void start(struct contract_fixture *fixture)
{
	memset(&world, 0, sizeof(world));
	for (int i = 0; i < DEVICES; i++)
		world.slots[i][0].is_used = true;
	fixture->owner = OWNER;
	fixture->settings[0] = (struct fairlead_setting){ "size", "20", 1 };
	fixture->setting_count = 1;
}

static void stop(struct contract_fixture *fixture)
{
}

static void fail_second(struct contract_fixture *fixture)
{
	world.fails[1] = true;
}

static void remove_second(struct contract_fixture *fixture)
{
	world.is_gone[1] = true;
}

static int use(struct contract_fixture *fixture,
	       const struct fairlead_object *object)
{
	const struct slot *slot = find_slot(object);

	if (!slot)
		return -EINVAL;
	return slot->uid == OWNER ? 0 : -EPERM;
}

static pid_t hold(struct contract_fixture *fixture,
		  const struct fairlead_object *object)
{
	find_slot(object)->is_held = true;
	return 0;
}

static void let_go(struct contract_fixture *fixture)
{
	for (int i = 0; i < SLOTS; i++)
		world.slots[0][i].is_held = false;
}

int main(void)
{
	struct contract_fixture fixture = {
		.driver = &fake_driver,
		.options = "",
		.options_none = "off",
		.options_bad = "vnis=2",
		.device_count = DEVICES,
		.start = start,
		.stop = stop,
		.fail_second = fail_second,
		.remove_second = remove_second,
		.use = use,
		.hold = hold,
		.let_go = let_go,
	};

	return contract_run(&fixture);
}
