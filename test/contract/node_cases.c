/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The half that acts. A driver that makes nothing on nodes (device_count 0)
 * has the same cases: then there are no objects, before or after.
 */
#include <stdio.h>

#include "contract/contract.h"
#include "sim/heap.h"

#define STRANGER(contract) ((contract)->fixture->owner + 1)

static bool makes_nothing(const struct contract *contract)
{
	return contract->fixture->device_count == 0;
}

struct device_list {
	uint32_t count;
	struct fairlead_device list[CONTRACT_OBJECTS_MAX];
};

static void collect_device(void *arg, const struct fairlead_device *device)
{
	struct device_list *list = arg;

	assert_true(list->count < CONTRACT_OBJECTS_MAX);
	list->list[list->count++] = *device;
}

static void devices_read(const struct contract *contract,
			 struct device_list *list)
{
	struct fairlead_error error = { 0 };

	list->count = 0;
	if (contract->node->probe(contract->node_state, collect_device, list,
				  &error) < 0)
		fail_msg("probe failed: %s", error.text);
}

static void probe_shows_every_device(void **state)
{
	const struct contract *contract = *state;
	struct device_list devices;

	devices_read(contract, &devices);
	assert_int_equal(devices.count, contract->fixture->device_count);
	for (uint32_t i = 0; i < devices.count; i++) {
		const struct fairlead_device *device = &devices.list[i];

		assert_true(device->is_usable);
		assert_true(strlen(device->name) > 0);
		assert_true(device->resource_count <= FAIRLEAD_RESOURCES_MAX);
		for (uint32_t k = 0; k < device->resource_count; k++)
			assert_true(device->resources[k].reserved <=
				    device->resources[k].total);
		for (uint32_t k = 0; k < i; k++)
			assert_string_not_equal(device->name,
						devices.list[k].name);
	}
}

static void apply_makes_one_object_on_each_device(void **state)
{
	const struct contract *contract = *state;
	struct fairlead_record record;
	struct fairlead_error error;
	struct object_list before;
	struct object_list made;
	struct object_list after;
	struct fairlead_lane lane;

	lane_make(contract, 0, contract->fixture->owner, &lane);
	objects_read(contract, &before);
	lane_apply(contract, &lane, &record);
	objects_of(contract, &lane, &made);
	objects_read(contract, &after);
	assert_int_equal(made.count, contract->fixture->device_count);
	assert_int_equal(after.count, before.count + made.count);
	for (uint32_t i = 0; i < made.count; i++) {
		assert_int_equal(made.list[i].flags, FAIRLEAD_OBJECT_ENABLED);
		for (uint32_t k = 0; k < i; k++)
			assert_string_not_equal(made.list[i].device,
						made.list[k].device);
	}
	assert_int_equal(lane_revoke(contract, &lane, &record, &error), 0);
	objects_read(contract, &after);
	objects_assert_equal(&before, &after);
}

static void apply_shows_in_what_is_reserved(void **state)
{
	const struct contract *contract = *state;
	struct fairlead_record record;
	struct device_list before;
	struct device_list after;
	struct fairlead_lane lane;

	lane_make(contract, 0, contract->fixture->owner, &lane);
	devices_read(contract, &before);
	lane_apply(contract, &lane, &record);
	devices_read(contract, &after);
	for (uint32_t i = 0; i < before.count; i++) {
		bool is_more = before.list[i].resource_count == 0;

		for (uint32_t k = 0; k < before.list[i].resource_count; k++)
			is_more |= after.list[i].resources[k].reserved >
				   before.list[i].resources[k].reserved;
		assert_true(is_more);
	}
}

static void lane_is_for_its_owner_only(void **state)
{
	const struct contract *contract = *state;
	struct contract_fixture *fixture = contract->fixture;
	struct fairlead_record records[2];
	struct fairlead_lane lanes[2];
	struct object_list objects[2];
	struct fairlead_error error;

	lane_make(contract, 0, fixture->owner, &lanes[0]);
	lane_make(contract, 1, STRANGER(contract), &lanes[1]);
	for (int i = 0; i < 2; i++) {
		lane_apply(contract, &lanes[i], &records[i]);
		objects_of(contract, &lanes[i], &objects[i]);
		assert_int_equal(objects[i].count, fixture->device_count);
	}
	for (uint32_t i = 0; i < fixture->device_count; i++) {
		assert_int_equal(fixture->use(fixture, &objects[0].list[i]), 0);
		assert_int_equal(fixture->use(fixture, &objects[1].list[i]),
				 -EPERM);
	}
	assert_int_equal(lane_revoke(contract, &lanes[0], &records[0], &error),
			 0);
	for (uint32_t i = 0; i < fixture->device_count; i++)
		assert_true(fixture->use(fixture, &objects[0].list[i]) < 0);
}

static void apply_is_all_or_nothing(void **state)
{
	const struct contract *contract = *state;
	struct contract_fixture *fixture = contract->fixture;
	struct fairlead_record record = { .size = 77 };
	struct fairlead_error error = { 0 };
	struct warning_list warnings;
	struct object_list before;
	struct object_list after;
	struct device_list devices;
	struct fairlead_lane lane;
	int result;

	if (makes_nothing(contract)) {
		assert_null(fixture->fail_second);
		return;
	}
	lane_make(contract, 0, fixture->owner, &lane);
	objects_read(contract, &before);
	devices_read(contract, &devices);
	fixture->fail_second(fixture);
	warnings_init(&warnings);
	result = contract->node->apply(contract->node_state, &lane, false,
				       &record, &warnings.warnings, &error);
	error_assert(&error, result);
	assert_non_null(strstr(error.text, devices.list[1].name));
	assert_int_equal(record.size, 77);
	objects_read(contract, &after);
	objects_assert_equal(&before, &after);
	/* The failure was of that moment. */
	lane_apply(contract, &lane, &record);
}

static void a_second_apply_is_refused_and_changes_nothing(void **state)
{
	const struct contract *contract = *state;
	struct fairlead_record second = { .size = 77 };
	struct fairlead_error error = { 0 };
	struct warning_list warnings;
	struct fairlead_record record;
	struct object_list before;
	struct object_list after;
	struct fairlead_lane lane;
	int result;

	lane_make(contract, 0, contract->fixture->owner, &lane);
	lane_apply(contract, &lane, &record);
	objects_read(contract, &before);
	warnings_init(&warnings);
	result = contract->node->apply(contract->node_state, &lane, false,
				       &second, &warnings.warnings, &error);
	if (makes_nothing(contract)) {
		assert_int_equal(result, 0);
	} else {
		assert_int_equal(result, -EEXIST);
		error_assert(&error, result);
		assert_int_equal(second.size, 77);
	}
	objects_read(contract, &after);
	objects_assert_equal(&before, &after);
	assert_int_equal(lane_revoke(contract, &lane, &record, &error), 0);
}

static void identifiers_of_another_lane_are_refused(void **state)
{
	const struct contract *contract = *state;
	struct fairlead_record record = { 0 };
	struct fairlead_error error = { 0 };
	struct warning_list warnings;
	struct object_list before;
	struct object_list after;
	struct fairlead_lane lane;
	int result;

	lane_make(contract, 0, contract->fixture->owner, &lane);
	lane_apply(contract, &lane, &record);
	objects_read(contract, &before);
	lane.uid = STRANGER(contract);
	warnings_init(&warnings);
	result = contract->node->apply(contract->node_state, &lane, false,
				       &record, &warnings.warnings, &error);
	assert_int_equal(result, makes_nothing(contract) ? 0 : -EEXIST);
	/* What its caller does after a failure takes nothing of the other. */
	record.size = 0;
	assert_int_equal(lane_revoke(contract, &lane, &record, &error), 0);
	objects_read(contract, &after);
	objects_assert_equal(&before, &after);
}

static void revoke_twice_is_done_once(void **state)
{
	const struct contract *contract = *state;
	struct fairlead_record record;
	struct fairlead_error error;
	struct object_list before;
	struct object_list after;
	struct fairlead_lane lane;

	objects_read(contract, &before);
	lane_make(contract, 0, contract->fixture->owner, &lane);
	lane_apply(contract, &lane, &record);
	assert_int_equal(lane_revoke(contract, &lane, &record, &error), 0);
	assert_int_equal(lane_revoke(contract, &lane, &record, &error), 0);
	objects_read(contract, &after);
	objects_assert_equal(&before, &after);
	/* And the lane can be made again. */
	lane_apply(contract, &lane, &record);
	assert_int_equal(lane_revoke(contract, &lane, &record, &error), 0);
}

static void revoke_without_a_record_finds_the_lane(void **state)
{
	const struct contract *contract = *state;
	struct fairlead_record record;
	struct fairlead_error error;
	struct object_list before;
	struct object_list after;
	struct fairlead_lane lane;

	objects_read(contract, &before);
	lane_make(contract, 0, contract->fixture->owner, &lane);
	lane_apply(contract, &lane, &record);
	/* A manager's REVOKE names owner and identifiers, no more. */
	record.size = 0;
	lane.cores = 0;
	lane.tasks = 0;
	lane.options[0] = '\0';
	assert_int_equal(lane_revoke(contract, &lane, &record, &error), 0);
	objects_read(contract, &after);
	objects_assert_equal(&before, &after);
}

static void revoke_of_an_unknown_lane_is_done(void **state)
{
	const struct contract *contract = *state;
	struct fairlead_record record = { 0 };
	struct fairlead_error error;
	struct object_list before;
	struct object_list after;
	struct fairlead_lane lane;

	lane_make(contract, 5, contract->fixture->owner, &lane);
	objects_read(contract, &before);
	assert_int_equal(lane_revoke(contract, &lane, &record, &error), 0);
	objects_read(contract, &after);
	objects_assert_equal(&before, &after);
}

static void revoke_goes_on_after_a_damaged_record(void **state)
{
	const struct contract *contract = *state;
	struct fairlead_record record;
	struct fairlead_error error;
	struct object_list before;
	struct object_list after;
	struct fairlead_lane lane;

	objects_read(contract, &before);
	lane_make(contract, 0, contract->fixture->owner, &lane);
	lane_apply(contract, &lane, &record);
	memset(record.bytes, 0xff, sizeof(record.bytes));
	record.size = sizeof(record.bytes);
	assert_int_equal(lane_revoke(contract, &lane, &record, &error), 0);
	objects_read(contract, &after);
	objects_assert_equal(&before, &after);
}

static void a_record_outlives_the_process(void **state)
{
	struct contract *contract = *state;
	struct fairlead_record record;
	struct fairlead_error error;
	struct object_list before;
	struct object_list after;
	struct fairlead_lane lane;

	objects_read(contract, &before);
	lane_make(contract, 0, contract->fixture->owner, &lane);
	lane_apply(contract, &lane, &record);
	contract->node->close(contract->node_state);
	assert_int_equal(contract->node->open(contract->fixture->settings,
					      contract->fixture->setting_count,
					      &contract->node_state, &error),
			 0);
	assert_int_equal(lane_revoke(contract, &lane, &record, &error), 0);
	objects_read(contract, &after);
	objects_assert_equal(&before, &after);
}

static void revoke_leaves_others_alone(void **state)
{
	const struct contract *contract = *state;
	uid_t owner = contract->fixture->owner;
	struct fairlead_record records[3];
	struct fairlead_lane lanes[3];
	struct fairlead_error error;
	struct object_list before;
	struct object_list after;

	lane_make(contract, 0, owner, &lanes[0]);
	lane_make(contract, 1, owner, &lanes[1]);
	lane_make(contract, 2, STRANGER(contract), &lanes[2]);
	lane_apply(contract, &lanes[1], &records[1]);
	lane_apply(contract, &lanes[2], &records[2]);
	objects_read(contract, &before);
	lane_apply(contract, &lanes[0], &records[0]);
	assert_int_equal(lane_revoke(contract, &lanes[0], &records[0], &error),
			 0);
	objects_read(contract, &after);
	objects_assert_equal(&before, &after);
}

/* Ids on a device are given again at once; a record is then out of date. */
static void revoke_spares_who_got_the_place(void **state)
{
	const struct contract *contract = *state;
	struct fairlead_record records[2];
	struct fairlead_lane lanes[2];
	struct fairlead_error error = { 0 };
	struct object_list objects;
	struct object_list before;
	struct object_list after;

	lane_make(contract, 0, contract->fixture->owner, &lanes[0]);
	lane_make(contract, 1, contract->fixture->owner, &lanes[1]);
	lane_apply(contract, &lanes[0], &records[0]);
	objects_of(contract, &lanes[0], &objects);
	for (uint32_t i = 0; i < objects.count; i++)
		assert_int_equal(contract->node->destroy(contract->node_state,
							 &objects.list[i],
							 false, &error),
				 0);
	lane_apply(contract, &lanes[1], &records[1]);
	objects_read(contract, &before);
	assert_int_equal(lane_revoke(contract, &lanes[0], &records[0], &error),
			 0);
	objects_read(contract, &after);
	objects_assert_equal(&before, &after);
	/* Nor does destroy take another's for what was listed. */
	for (uint32_t i = 0; i < objects.count; i++) {
		assert_int_equal(contract->node->destroy(contract->node_state,
							 &objects.list[i],
							 false, &error),
				 -ENOENT);
		error_assert(&error, -ENOENT);
	}
	objects_read(contract, &after);
	objects_assert_equal(&before, &after);
}

static void busy_is_said_and_ends(void **state)
{
	const struct contract *contract = *state;
	struct contract_fixture *fixture = contract->fixture;
	struct fairlead_record record;
	struct fairlead_error error;
	struct object_list objects;
	struct fairlead_lane lane;
	char text[32];
	pid_t pid;

	if (makes_nothing(contract)) {
		assert_null(fixture->hold);
		return;
	}
	lane_make(contract, 0, fixture->owner, &lane);
	lane_apply(contract, &lane, &record);
	objects_of(contract, &lane, &objects);
	pid = fixture->hold(fixture, &objects.list[0]);
	assert_int_equal(lane_revoke(contract, &lane, &record, &error), -EBUSY);
	assert_non_null(strstr(error.text, objects.list[0].device));
	assert_null(strstr(error.text, objects.list[1].device));
	snprintf(text, sizeof(text), " %u ", objects.list[0].id);
	assert_non_null(strstr(error.text, text));
	snprintf(text, sizeof(text), "%u", lane.ids[0]);
	assert_non_null(strstr(error.text, text));
	snprintf(text, sizeof(text), "pid %d ", (int)pid);
	if (pid > 0 && !strstr(error.text, text))
		fail_msg("'%s' is not in '%s'", text, error.text);
	/* The rest is taken all the same. */
	objects_of(contract, &lane, &objects);
	assert_int_equal(objects.count, 1);
	assert_int_equal(contract->node->destroy(contract->node_state,
						 &objects.list[0], false,
						 &error),
			 -EBUSY);
	fixture->let_go(fixture);
	assert_int_equal(lane_revoke(contract, &lane, &record, &error), 0);
	objects_of(contract, &lane, &objects);
	assert_int_equal(objects.count, 0);
}

static void a_device_that_is_gone_holds_nothing(void **state)
{
	const struct contract *contract = *state;
	struct contract_fixture *fixture = contract->fixture;
	struct fairlead_record record;
	struct fairlead_error error;
	struct object_list objects;
	struct fairlead_lane lane;

	if (makes_nothing(contract)) {
		assert_null(fixture->remove_second);
		return;
	}
	lane_make(contract, 0, fixture->owner, &lane);
	lane_apply(contract, &lane, &record);
	fixture->remove_second(fixture);
	objects_of(contract, &lane, &objects);
	assert_int_equal(objects.count, 1);
	assert_int_equal(lane_revoke(contract, &lane, &record, &error), 0);
	objects_of(contract, &lane, &objects);
	assert_int_equal(objects.count, 0);
}

static void a_dry_run_touches_nothing(void **state)
{
	const struct contract *contract = *state;
	struct fairlead_record record = { .size = 77 };
	struct fairlead_error error = { 0 };
	struct warning_list warnings;
	struct object_list before;
	struct object_list after;
	struct fairlead_lane lane;

	lane_make(contract, 0, contract->fixture->owner, &lane);
	objects_read(contract, &before);
	warnings_init(&warnings);
	assert_int_equal(contract->node->apply(contract->node_state, &lane,
					       true, &record,
					       &warnings.warnings, &error),
			 0);
	assert_true(warnings.count >= contract->fixture->device_count);
	if (!makes_nothing(contract))
		assert_int_equal(record.size, 77);
	objects_read(contract, &after);
	objects_assert_equal(&before, &after);

	lane_apply(contract, &lane, &record);
	objects_read(contract, &before);
	warnings_init(&warnings);
	assert_int_equal(contract->node->revoke(contract->node_state, &lane,
						&record, true,
						&warnings.warnings, &error),
			 0);
	assert_true(warnings.count >= contract->fixture->device_count);
	for (uint32_t i = 0; i < before.count; i++)
		contract->node->destroy(contract->node_state, &before.list[i],
					true, &error);
	objects_read(contract, &after);
	objects_assert_equal(&before, &after);
}

static void destroy_spares_the_system(void **state)
{
	const struct contract *contract = *state;
	const uint32_t system =
		FAIRLEAD_OBJECT_SYSTEM | FAIRLEAD_OBJECT_DEFAULT;
	struct object_list before;
	struct object_list after;

	objects_read(contract, &before);
	assert_int_equal(before.count > 0, !makes_nothing(contract));
	for (uint32_t i = 0; i < before.count; i++) {
		struct fairlead_error error = { 0 };

		assert_true(before.list[i].flags & system);
		assert_int_equal(contract->node->destroy(contract->node_state,
							 &before.list[i], false,
							 &error),
				 -EPERM);
		error_assert(&error, -EPERM);
	}
	objects_read(contract, &after);
	objects_assert_equal(&before, &after);
}

static void destroy_of_nothing_is_said(void **state)
{
	const struct contract *contract = *state;
	struct fairlead_object object = { .device = "nosuch0", .id = 3 };
	struct fairlead_error error = { 0 };

	assert_int_equal(contract->node->destroy(contract->node_state, &object,
						 false, &error),
			 -ENOENT);
	error_assert(&error, -ENOENT);
}

struct environment {
	const char *const *names;
	uint32_t seen[32];
	char values[32][1100];
	bool is_set[32];
};

static void collect_variable(void *arg, const char *name, const char *value)
{
	struct environment *environment = arg;
	size_t i = 0;

	while (environment->names[i] &&
	       strcmp(environment->names[i], name) != 0)
		i++;
	assert_non_null(environment->names[i]);
	environment->seen[i]++;
	environment->is_set[i] = value != NULL;
	if (value)
		snprintf(environment->values[i], sizeof(environment->values[i]),
			 "%s", value);
}

static void environment_read(const struct contract *contract,
			     const struct fairlead_lane *lane,
			     const struct fairlead_record *record,
			     struct environment *environment)
{
	struct fairlead_error error = { 0 };

	memset(environment, 0, sizeof(*environment));
	environment->names = contract->driver->variables;
	if (contract->node->env &&
	    contract->node->env(contract->node_state, lane, record,
				collect_variable, environment, &error) < 0)
		fail_msg("env failed: %s", error.text);
}

static const char *get_variable(void *arg, const char *name)
{
	const struct environment *environment = arg;

	for (size_t i = 0; environment->names[i]; i++) {
		if (strcmp(environment->names[i], name) == 0)
			return environment->is_set[i] ? environment->values[i]
						      : NULL;
	}
	return NULL;
}

static void every_variable_is_set_for_a_lane(void **state)
{
	const struct contract *contract = *state;
	struct environment environment;
	struct fairlead_record record;
	struct fairlead_lane lane;

	lane_make(contract, 0, contract->fixture->owner, &lane);
	lane_apply(contract, &lane, &record);
	environment_read(contract, &lane, &record, &environment);
	for (size_t i = 0; environment.names[i]; i++) {
		assert_int_equal(environment.seen[i], 1);
		assert_true(environment.is_set[i]);
		assert_true(strlen(environment.values[i]) > 0);
		assert_null(strpbrk(environment.values[i], "\n\r"));
	}
}

static void every_variable_is_unset_without_a_lane(void **state)
{
	const struct contract *contract = *state;
	struct fairlead_record record = { 0 };
	struct environment environment;

	environment_read(contract, NULL, &record, &environment);
	for (size_t i = 0; environment.names[i]; i++) {
		assert_int_equal(environment.seen[i], 1);
		assert_false(environment.is_set[i]);
	}
}

static void only_a_living_lane_of_ones_own_is_inherited(void **state)
{
	const struct contract *contract = *state;
	uid_t owner = contract->fixture->owner;
	struct environment environment;
	struct fairlead_record record;
	struct fairlead_error error = { 0 };
	struct fairlead_lane lane;

	if (!contract->node->inherit) {
		assert_null(contract->driver->variables[0]);
		return;
	}
	lane_make(contract, 0, owner, &lane);
	environment_read(contract, NULL, &record, &environment);
	assert_int_equal(contract->node->inherit(contract->node_state, owner,
						 get_variable, &environment,
						 &error),
			 0);
	lane_apply(contract, &lane, &record);
	environment_read(contract, &lane, &record, &environment);
	assert_int_equal(contract->node->inherit(contract->node_state, owner,
						 get_variable, &environment,
						 &error),
			 0);
	assert_int_equal(contract->node->inherit(
				 contract->node_state, STRANGER(contract),
				 get_variable, &environment, &error),
			 -ENODEV);
	error_assert(&error, -ENODEV);
	assert_int_equal(lane_revoke(contract, &lane, &record, &error), 0);
	assert_int_equal(contract->node->inherit(contract->node_state, owner,
						 get_variable, &environment,
						 &error),
			 -ENODEV);
	error_assert(&error, -ENODEV);
}

struct attempt {
	const struct contract *contract;
	const struct fairlead_lane *lane;
	struct fairlead_record record;
};

static int try_apply(void *ctx)
{
	struct attempt *attempt = ctx;
	const struct contract *contract = attempt->contract;
	struct fairlead_error error = { 0 };
	struct warning_list warnings;

	warnings_init(&warnings);
	return contract->node->apply(contract->node_state, attempt->lane, false,
				     &attempt->record, &warnings.warnings,
				     &error);
}

static void no_memory_leaves_nothing_behind(void **state)
{
	const struct contract *contract = *state;
	struct fairlead_lane lane;
	struct attempt attempt = { .contract = contract, .lane = &lane };
	struct fairlead_error error;
	struct object_list before;
	struct object_list after;
	unsigned int n;
	int result;

	objects_read(contract, &before);
	lane_make(contract, 0, contract->fixture->owner, &lane);
	for (n = 1; sim_heap_fails(n, &result, try_apply, &attempt); n++) {
		assert_int_equal(result, -ENOMEM);
		objects_read(contract, &after);
		objects_assert_equal(&before, &after);
	}
	assert_int_equal(result, 0);
	assert_int_equal(lane_revoke(contract, &lane, &attempt.record, &error),
			 0);
}

const struct CMUnitTest contract_node_cases[] = {
	CONTRACT_CASE(probe_shows_every_device),
	CONTRACT_CASE(apply_makes_one_object_on_each_device),
	CONTRACT_CASE(apply_shows_in_what_is_reserved),
	CONTRACT_CASE(lane_is_for_its_owner_only),
	CONTRACT_CASE(apply_is_all_or_nothing),
	CONTRACT_CASE(a_second_apply_is_refused_and_changes_nothing),
	CONTRACT_CASE(identifiers_of_another_lane_are_refused),
	CONTRACT_CASE(revoke_twice_is_done_once),
	CONTRACT_CASE(revoke_without_a_record_finds_the_lane),
	CONTRACT_CASE(revoke_of_an_unknown_lane_is_done),
	CONTRACT_CASE(revoke_goes_on_after_a_damaged_record),
	CONTRACT_CASE(a_record_outlives_the_process),
	CONTRACT_CASE(revoke_leaves_others_alone),
	CONTRACT_CASE(revoke_spares_who_got_the_place),
	CONTRACT_CASE(busy_is_said_and_ends),
	CONTRACT_CASE(a_device_that_is_gone_holds_nothing),
	CONTRACT_CASE(a_dry_run_touches_nothing),
	CONTRACT_CASE(destroy_spares_the_system),
	CONTRACT_CASE(destroy_of_nothing_is_said),
	CONTRACT_CASE(every_variable_is_set_for_a_lane),
	CONTRACT_CASE(every_variable_is_unset_without_a_lane),
	CONTRACT_CASE(only_a_living_lane_of_ones_own_is_inherited),
	CONTRACT_CASE(no_memory_leaves_nothing_behind),
};
const size_t contract_node_case_count =
	sizeof(contract_node_cases) / sizeof(contract_node_cases[0]);
