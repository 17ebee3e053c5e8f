/* SPDX-License-Identifier: BSD-3-Clause */
/* Taking a lane back: all that is its own, and nothing else. */
#include <stdio.h>

#include "contract/contract.h"

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
	lane_make(contract, 2, OTHER_USER(contract), &lanes[2]);
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

static void a_dry_run_says_what_is_busy(void **state)
{
	const struct contract *contract = *state;
	struct contract_fixture *fixture = contract->fixture;
	const struct fairlead_node_ops *node = contract->node;
	struct fairlead_error error = { 0 };
	struct fairlead_record record;
	struct warning_list warnings;
	struct object_list objects;
	struct object_list after;
	struct fairlead_lane lane;
	char text[32];
	pid_t pid;

	if (makes_nothing(contract))
		return;
	lane_make(contract, 0, fixture->owner, &lane);
	lane_apply(contract, &lane, &record);
	objects_of(contract, &lane, &objects);
	pid = fixture->hold(fixture, &objects.list[0]);
	objects_read(contract, &objects);
	warnings_init(&warnings);
	assert_int_equal(node->revoke(contract->node_state, &lane, &record,
				      true, &warnings.warnings, &error),
			 -EBUSY);
	error_assert(&error, -EBUSY);
	snprintf(text, sizeof(text), "pid %d ", (int)pid);
	if (pid > 0 && !strstr(error.text, text))
		fail_msg("'%s' is not in '%s'", text, error.text);
	/* The other device is free, and would be cleared. */
	assert_int_equal(warnings.count, 1);
	objects_read(contract, &after);
	objects_assert_equal(&objects, &after);
	objects_of(contract, &lane, &objects);
	error = (struct fairlead_error){ 0 };
	assert_int_equal(node->destroy(contract->node_state, &objects.list[0],
				       true, &error),
			 -EBUSY);
	error_assert(&error, -EBUSY);
	fixture->let_go(fixture);
	assert_int_equal(node->destroy(contract->node_state, &objects.list[0],
				       true, &error),
			 0);
	assert_int_equal(lane_revoke(contract, &lane, &record, &error), 0);
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

const struct CMUnitTest contract_revoke_cases[] = {
	CONTRACT_CASE(revoke_twice_is_done_once),
	CONTRACT_CASE(revoke_without_a_record_finds_the_lane),
	CONTRACT_CASE(revoke_of_an_unknown_lane_is_done),
	CONTRACT_CASE(revoke_goes_on_after_a_damaged_record),
	CONTRACT_CASE(a_record_outlives_the_process),
	CONTRACT_CASE(revoke_leaves_others_alone),
	CONTRACT_CASE(revoke_spares_who_got_the_place),
	CONTRACT_CASE(busy_is_said_and_ends),
	CONTRACT_CASE(a_dry_run_says_what_is_busy),
	CONTRACT_CASE(a_device_that_is_gone_holds_nothing),
	CONTRACT_CASE(destroy_spares_the_system),
	CONTRACT_CASE(destroy_of_nothing_is_said),
};
const size_t contract_revoke_case_count =
	sizeof(contract_revoke_cases) / sizeof(contract_revoke_cases[0]);
