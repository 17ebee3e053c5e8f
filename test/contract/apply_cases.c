/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Making a lane: what is there afterwards, also when it fails. A driver that
 * makes nothing on nodes (device_count 0) has the same cases: then there are
 * no objects, before or after.
 */
#include "contract/contract.h"

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
	lane_make(contract, 1, OTHER_USER(contract), &lanes[1]);
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
	lane.uid = OTHER_USER(contract);
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

const struct CMUnitTest contract_apply_cases[] = {
	CONTRACT_CASE(probe_shows_every_device),
	CONTRACT_CASE(apply_makes_one_object_on_each_device),
	CONTRACT_CASE(apply_shows_in_what_is_reserved),
	CONTRACT_CASE(lane_is_for_its_owner_only),
	CONTRACT_CASE(apply_is_all_or_nothing),
	CONTRACT_CASE(a_second_apply_is_refused_and_changes_nothing),
	CONTRACT_CASE(identifiers_of_another_lane_are_refused),
	CONTRACT_CASE(a_dry_run_touches_nothing),
};
const size_t contract_apply_case_count =
	sizeof(contract_apply_cases) / sizeof(contract_apply_cases[0]);
