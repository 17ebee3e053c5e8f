/* SPDX-License-Identifier: BSD-3-Clause */
/* The half that decides: repeatable, well formed, and says what is wrong. */
#include <ctype.h>
#include <jansson.h>

#include "base/idset.h"
#include "contract/contract.h"

#define UNKNOWN_SETTING "no_such_setting"

static void the_driver_says_what_it_is(void **state)
{
	const struct contract *contract = *state;
	const struct fairlead_driver *driver = contract->driver;
	size_t size = strlen(driver->name);

	assert_int_equal(driver->abi, FAIRLEAD_DRIVER_ABI);
	assert_in_range(size, 1, FAIRLEAD_DRIVER_NAME_MAX);
	for (size_t i = 0; i < size; i++)
		assert_true(islower(driver->name[i]) ||
			    isdigit(driver->name[i]));
	assert_true(strlen(driver->description) > 0);
	assert_null(strchr(driver->description, '\n'));
	for (size_t i = 0; driver->variables[i]; i++)
		assert_null(strpbrk(driver->variables[i], "= \n"));
	if (driver->node)
		assert_int_equal(driver->variables[0] != NULL,
				 driver->node->env != NULL);
}

static void all_operations_that_must_be_are_there(void **state)
{
	const struct contract *contract = *state;
	const struct fairlead_manager_ops *manager = contract->manager;
	const struct fairlead_node_ops *node = contract->node;

	assert_true(manager->configure && manager->destroy && manager->pools &&
		    manager->reserve && manager->describe);
	manager->destroy(NULL);
	if (!node)
		return;
	assert_true(node->open && node->close && node->probe && node->apply &&
		    node->revoke && node->list && node->destroy);
	node->close(NULL);
}

static void the_fixture_s_settings_are_listed(void **state)
{
	const struct contract *contract = *state;
	const struct contract_fixture *fixture = contract->fixture;

	for (size_t i = 0; i < fixture->setting_count; i++) {
		const struct fairlead_setting_spec *spec =
			contract->driver->settings->specs;

		while (spec->name &&
		       strcmp(spec->name, fixture->settings[i].name) != 0)
			spec++;
		assert_non_null(spec->name);
	}
}

static void unknown_settings_are_all_named_with_their_lines(void **state)
{
	const struct contract *contract = *state;
	const struct fairlead_setting list[] = {
		{ UNKNOWN_SETTING "_a", "1", 31 },
		{ UNKNOWN_SETTING "_b", "2", 87 },
	};
	struct fairlead_error error = { 0 };
	void *data = NULL;

	assert_int_equal(contract->manager->configure(list, 2, &data, &error),
			 -EINVAL);
	error_assert(&error, -EINVAL);
	assert_null(data);
	assert_non_null(strstr(error.text, "line 31: '" UNKNOWN_SETTING "_a'"));
	assert_non_null(strstr(error.text, "line 87: '" UNKNOWN_SETTING "_b'"));
	if (!contract->node)
		return;
	assert_int_equal(contract->node->open(list, 2, &data, &error), -EINVAL);
	error_assert(&error, -EINVAL);
	assert_null(data);
}

static void pools_are_well_formed_and_stay_the_same(void **state)
{
	const struct contract *contract = *state;
	struct fairlead_pool_spec first[FAIRLEAD_POOLS_MAX];
	struct fairlead_pool_spec second[FAIRLEAD_POOLS_MAX];
	size_t count = contract->manager->pools(contract->manager_state, first);

	assert_true(count <= FAIRLEAD_POOLS_MAX);
	assert_int_equal(contract->manager->pools(contract->manager_state,
						  second),
			 count);
	for (size_t i = 0; i < count; i++) {
		_auto_(idset_destroyp) struct idset *set = NULL;

		assert_in_range(strnlen(first[i].name, sizeof(first[i].name)),
				1, FAIRLEAD_POOL_NAME_MAX);
		assert_int_equal(idset_parse(first[i].universe, first[i].limit,
					     &set, NULL),
				 0);
		assert_true(idset_count(set) > 0);
		assert_true(first[i].positions <= FAIRLEAD_POSITIONS_MAX);
		assert_true(first[i].positions == 0 ||
			    first[i].limit <= FAIRLEAD_RUN_IDS_MAX);
		assert_int_equal(first[i].positions, second[i].positions);
		assert_string_equal(first[i].name, second[i].name);
		assert_string_equal(first[i].universe, second[i].universe);
		for (size_t k = 0; k < i; k++)
			assert_string_not_equal(first[i].name, first[k].name);
	}
}

static void assert_same_plan(const struct fairlead_plan *a,
			     const struct fairlead_plan *b)
{
	assert_memory_equal(a->counts, b->counts, sizeof(a->counts));
	assert_memory_equal(a->runs, b->runs, sizeof(a->runs));
	assert_int_equal(a->secret_size, b->secret_size);
	assert_int_equal(a->is_fatal, b->is_fatal);
	assert_int_equal(a->has_lane, b->has_lane);
	assert_string_equal(a->reason, b->reason);
	assert_string_equal(a->options, b->options);
}

static void reserve_decides_the_same_each_time(void **state)
{
	struct contract *contract = *state;
	const struct contract_fixture *fixture = contract->fixture;
	struct fairlead_plan first;
	struct fairlead_plan plan;
	struct fairlead_error error;

	plan_make(contract, fixture->options, &first);
	for (int i = 0; i < 3; i++) {
		if (fixture->options_none)
			plan_make(contract, fixture->options_none, &plan);
		plan_make(contract, fixture->options, &plan);
		assert_same_plan(&first, &plan);
	}
	/* As after a restart. */
	contract->manager->destroy(contract->manager_state);
	assert_int_equal(contract->manager->configure(
				 fixture->settings, fixture->setting_count,
				 &contract->manager_state, &error),
			 0);
	plan_make(contract, fixture->options, &plan);
	assert_same_plan(&first, &plan);
}

static void a_plan_stays_within_the_pools_and_the_lane(void **state)
{
	const struct contract *contract = *state;
	struct fairlead_pool_spec pools[FAIRLEAD_POOLS_MAX];
	struct fairlead_plan plan;
	uint32_t sum = 0;
	size_t count = contract->manager->pools(contract->manager_state, pools);

	plan_make(contract, contract->fixture->options, &plan);
	for (size_t i = 0; i < FAIRLEAD_POOLS_MAX; i++) {
		const struct fairlead_run *run = &plan.runs[i];

		sum += plan.counts[i] + (run->length > 0 ? 2 : 0);
		if (i >= count)
			assert_int_equal(plan.counts[i] + run->length, 0);
		else if (pools[i].positions == 0)
			assert_int_equal(run->length, 0);
		else
			assert_true(plan.counts[i] == 0 &&
				    run->low <= run->high &&
				    run->high < pools[i].positions);
	}
	assert_true(plan.secret_size <= FAIRLEAD_SECRET_MAX);
	assert_true(plan.secret_size == 0 || contract->manager->pack);
	assert_true(sum <= FAIRLEAD_LANE_IDS_MAX);
	assert_int_equal(plan.has_lane, contract->fixture->device_count > 0);
	assert_int_equal(plan.reason[0] == '\0', sum > 0);
}

static void completed_options_are_options_for_the_same_plan(void **state)
{
	const struct contract *contract = *state;
	struct fairlead_plan first;
	struct fairlead_plan second;

	plan_make(contract, contract->fixture->options, &first);
	plan_make(contract, first.options, &second);
	assert_same_plan(&first, &second);
}

static void a_job_without_a_lane_gets_the_reason(void **state)
{
	const struct contract *contract = *state;
	const char *options = contract->fixture->options_none;
	struct fairlead_plan plan;

	/* A driver that has no such option makes no lane at all. */
	if (!options) {
		assert_int_equal(contract->fixture->device_count, 0);
		options = contract->fixture->options;
	}
	plan_make(contract, options, &plan);
	assert_false(plan.has_lane);
	for (size_t i = 0; i < FAIRLEAD_POOLS_MAX; i++)
		assert_int_equal(plan.counts[i] + plan.runs[i].length, 0);
	assert_int_equal(plan.secret_size, 0);
	assert_true(strlen(plan.reason) > 0);
}

static void bad_options_are_refused_with_a_text(void **state)
{
	const struct contract *contract = *state;
	char long_text[FAIRLEAD_OPTIONS_MAX + 2];
	const char *const texts[] = {
		contract->fixture->options_bad,
		"no_such_option=1",
		",",
		"a b",
		"\x01",
		"\xff",
		long_text,
	};

	memset(long_text, 'a', sizeof(long_text) - 1);
	long_text[sizeof(long_text) - 1] = '\0';
	for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
		const struct fairlead_driver_request request = {
			.key = "contract/1/0",
			.options = texts[i],
		};
		struct fairlead_plan plan = { .counts = { 77 } };
		struct fairlead_error error = { 0 };
		int result;

		result = contract->manager->reserve(contract->manager_state,
						    &request, &plan, &error);
		if (result != -EINVAL && result != -E2BIG)
			fail_msg("'%s' gives %d", texts[i], result);
		error_assert(&error, result);
		assert_int_equal(plan.counts[0], 77);
	}
}

static json_t *describe(const struct contract *contract,
			const struct fairlead_lane *lane, const char *reason)
{
	_auto_(freep) char *text = NULL;
	_auto_(freep) char *compact = NULL;
	const char *name = NULL;
	json_t *context;

	assert_int_equal(contract->manager->describe(contract->manager_state,
						     lane, reason, &name,
						     &text),
			 0);
	assert_string_equal(name, contract->driver->event
					  ? contract->driver->event
					  : contract->driver->name);
	assert_null(strpbrk(name, " \"\n"));
	assert_null(strchr(text, '\n'));
	context = json_loads(text, JSON_REJECT_DUPLICATES, NULL);
	assert_true(json_is_object(context));
	compact = json_dumps(context, JSON_COMPACT);
	assert_string_equal(text, compact);
	assert_true(json_is_object(json_object_get(context, "reservation")));
	return context;
}

static void the_event_is_one_json_object(void **state)
{
	const struct contract *contract = *state;
	const char *reason = "a reason with \"quotes\" and \\";
	struct fairlead_lane lane;
	json_t *context;
	json_t *text;

	lane_make(contract, 0, contract->fixture->owner, &lane);
	json_decref(describe(contract, &lane, ""));
	lane.id_count = 0;
	context = describe(contract, &lane, reason);
	text = json_object_get(context, "empty-reason");
	if (text)
		assert_string_equal(json_string_value(text), reason);
	json_decref(context);
}

/* What the driver packs of a secret of that byte; the caller frees it. */
static uint8_t *pack(const struct contract *contract,
		     const struct fairlead_plan *plan, int byte,
		     size_t *ret_size)
{
	uint8_t secret[FAIRLEAD_SECRET_MAX];
	struct fairlead_lane lane;
	const struct fairlead_pack pack = {
		.lane = &lane,
		.runs = plan->runs,
		.node_count = CONTRACT_NODES,
		.nodes = contract_nodes,
		.tasks = contract_tasks,
		.secret = secret,
		.secret_size = plan->secret_size,
	};
	struct fairlead_error error = { 0 };
	uint8_t *bytes = NULL;

	memset(secret, byte, sizeof(secret));
	lane_make(contract, 0, contract->fixture->owner, &lane);
	if (contract->manager->pack(contract->manager_state, &pack, &bytes,
				    ret_size, &error) < 0)
		fail_msg("pack failed: %s", error.text);
	assert_in_range(*ret_size, 1, FAIRLEAD_PACKED_MAX);
	return bytes;
}

static void secrets_are_packed_the_same_each_time(void **state)
{
	struct contract *contract = *state;
	struct fairlead_plan plan;
	size_t sizes[3];
	uint8_t *packed[3];

	plan_make(contract, contract->fixture->options, &plan);
	if (plan.secret_size == 0)
		return;
	for (size_t i = 0; i < 3; i++)
		packed[i] =
			pack(contract, &plan, i < 2 ? 0x5a : 0x5b, &sizes[i]);
	assert_int_equal(sizes[0], sizes[1]);
	assert_memory_equal(packed[0], packed[1], sizes[0]);
	/* It is of the secret that they are made. */
	assert_true(sizes[0] != sizes[2] ||
		    memcmp(packed[0], packed[2], sizes[0]) != 0);
	for (size_t i = 0; i < 3; i++)
		free(packed[i]);
}

static void two_states_do_not_know_each_other(void **state)
{
	const struct contract *contract = *state;
	struct contract other = *contract;
	struct fairlead_error error;
	struct fairlead_plan first;
	struct fairlead_plan second;

	plan_make(contract, contract->fixture->options, &first);
	assert_int_equal(
		contract->manager->configure(contract->fixture->settings,
					     contract->fixture->setting_count,
					     &other.manager_state, &error),
		0);
	plan_make(&other, contract->fixture->options, &second);
	assert_same_plan(&first, &second);
	contract->manager->destroy(other.manager_state);
	plan_make(contract, contract->fixture->options, &second);
	assert_same_plan(&first, &second);
}

const struct CMUnitTest contract_manager_cases[] = {
	CONTRACT_CASE(the_driver_says_what_it_is),
	CONTRACT_CASE(all_operations_that_must_be_are_there),
	CONTRACT_CASE(the_fixture_s_settings_are_listed),
	CONTRACT_CASE(unknown_settings_are_all_named_with_their_lines),
	CONTRACT_CASE(pools_are_well_formed_and_stay_the_same),
	CONTRACT_CASE(reserve_decides_the_same_each_time),
	CONTRACT_CASE(a_plan_stays_within_the_pools_and_the_lane),
	CONTRACT_CASE(completed_options_are_options_for_the_same_plan),
	CONTRACT_CASE(a_job_without_a_lane_gets_the_reason),
	CONTRACT_CASE(bad_options_are_refused_with_a_text),
	CONTRACT_CASE(the_event_is_one_json_object),
	CONTRACT_CASE(secrets_are_packed_the_same_each_time),
	CONTRACT_CASE(two_states_do_not_know_each_other),
};
const size_t contract_manager_case_count =
	sizeof(contract_manager_cases) / sizeof(contract_manager_cases[0]);
