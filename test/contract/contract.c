/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Each case gets a world of its own, made by the fixture, so that the order
 * of the cases says nothing. Descriptors are counted around each case: none
 * may be left, whatever went wrong inside.
 */
#include "contract/contract.h"

#include <dirent.h>
#include <stdio.h>
#include <unistd.h>

#include "base/idset.h"

#define CONTRACT_CASES_MAX 100

static struct contract_fixture *current_fixture; /* for contract_open */
static uint32_t descriptors_before;

static uint32_t count_descriptors(void)
{
	DIR *dir = opendir("/proc/self/fd");
	uint32_t count = 0;

	assert_non_null(dir);
	while (readdir(dir))
		count++;
	closedir(dir);
	return count;
}

int contract_open(void **state)
{
	struct contract_fixture *fixture = current_fixture;
	struct contract *contract = calloc(1, sizeof(*contract));
	struct fairlead_error error;

	assert_non_null(contract);
	descriptors_before = count_descriptors();
	fixture->start(fixture);
	contract->fixture = fixture;
	contract->driver = fixture->driver;
	contract->manager = fixture->driver->manager;
	contract->node = fixture->driver->node;
	if (contract->manager->configure(
		    fixture->settings, fixture->setting_count,
		    &contract->manager_state, &error) < 0 ||
	    (contract->node &&
	     contract->node->open(fixture->settings, fixture->setting_count,
				  &contract->node_state, &error) < 0))
		fail_msg("the fixture's settings are refused: %s", error.text);
	*state = contract;
	return 0;
}

int contract_close(void **state)
{
	struct contract *contract = *state;

	if (contract->node)
		contract->node->close(contract->node_state);
	contract->manager->destroy(contract->manager_state);
	contract->fixture->stop(contract->fixture);
	assert_int_equal(count_descriptors(), descriptors_before);
	free(contract);
	return 0;
}

static void collect_object(void *arg, const struct fairlead_object *object)
{
	struct object_list *list = arg;

	assert_true(list->count < CONTRACT_OBJECTS_MAX);
	list->list[list->count++] = *object;
}

void objects_read(const struct contract *contract, struct object_list *list)
{
	struct fairlead_error error = { 0 };

	list->count = 0;
	if (contract->node->list(contract->node_state, collect_object, list,
				 &error) < 0)
		fail_msg("list failed: %s", error.text);
}

static bool is_same(const struct fairlead_object *a,
		    const struct fairlead_object *b)
{
	const uint32_t flags = ~(uint32_t)FAIRLEAD_OBJECT_BUSY;

	return strcmp(a->device, b->device) == 0 && a->id == b->id &&
	       (a->flags & flags) == (b->flags & flags) && a->uid == b->uid &&
	       a->id_count == b->id_count &&
	       memcmp(a->ids, b->ids, a->id_count * sizeof(a->ids[0])) == 0;
}

void objects_assert_equal(const struct object_list *a,
			  const struct object_list *b)
{
	for (uint32_t i = 0; i < a->count; i++) {
		bool is_found = false;

		for (uint32_t k = 0; k < b->count; k++)
			is_found |= is_same(&a->list[i], &b->list[k]);
		if (!is_found)
			fail_msg("object %u on '%s' is in one list only",
				 a->list[i].id, a->list[i].device);
	}
	assert_int_equal(a->count, b->count);
}

void objects_of(const struct contract *contract,
		const struct fairlead_lane *lane, struct object_list *list)
{
	struct object_list all;

	objects_read(contract, &all);
	list->count = 0;
	for (uint32_t i = 0; i < all.count; i++) {
		const struct fairlead_object *object = &all.list[i];

		if (object->uid == lane->uid &&
		    object->id_count == lane->id_count &&
		    memcmp(object->ids, lane->ids,
			   lane->id_count * sizeof(lane->ids[0])) == 0)
			list->list[list->count++] = *object;
	}
}

static void add_warning(struct fairlead_warnings *warnings, const char *text)
{
	struct warning_list *list = (struct warning_list *)warnings;

	assert_true(list->count < CONTRACT_WARNINGS_MAX);
	snprintf(list->list[list->count], sizeof(list->list[0]), "%s", text);
	list->count++;
}

void warnings_init(struct warning_list *list)
{
	list->warnings.add = add_warning;
	list->count = 0;
}

const char *const contract_nodes[CONTRACT_NODES] = { "n0", "n1" };
const uint32_t contract_tasks[CONTRACT_NODES] = { 4, 1 };

void plan_make(const struct contract *contract, const char *options,
	       struct fairlead_plan *ret_plan)
{
	const uint32_t cores[CONTRACT_NODES] = { 4, 2 };
	const struct fairlead_driver_request request = {
		.key = "contract/1/0",
		.uid = 1000,
		.gid = 1000,
		.options = options,
		.node_count = CONTRACT_NODES,
		.nodes = contract_nodes,
		.cores = cores,
		.tasks = contract_tasks,
	};
	struct fairlead_error error = { 0 };

	memset(ret_plan, 0, sizeof(*ret_plan));
	if (contract->manager->reserve(contract->manager_state, &request,
				       ret_plan, &error) < 0)
		fail_msg("options '%s' are refused: %s", options, error.text);
}

/* The index-th identifier of a pool, counted from its lowest. */
static uint32_t pick(const struct fairlead_pool_spec *pool, uint32_t index)
{
	_auto_(idset_destroyp) struct idset *set = NULL;
	uint32_t id;

	assert_int_equal(idset_parse(pool->universe, pool->limit, &set, NULL),
			 0);
	id = idset_next(set, 0);
	while (index-- > 0)
		id = idset_next(set, id + 1);
	assert_true(id != IDSET_NONE);
	return id;
}

void lane_make(const struct contract *contract, uint32_t number, uid_t uid,
	       struct fairlead_lane *ret_lane)
{
	struct fairlead_pool_spec pools[FAIRLEAD_POOLS_MAX];
	struct fairlead_plan plan;
	size_t pool_count =
		contract->manager->pools(contract->manager_state, pools);

	plan_make(contract, contract->fixture->options, &plan);
	*ret_lane = (struct fairlead_lane){
		.grant_id = 100 + number,
		.uid = uid,
		.gid = uid,
		.cores = 4,
		.tasks = 4,
	};
	for (size_t i = 0; i < pool_count; i++) {
		for (uint32_t k = 0; k < plan.counts[i]; k++)
			ret_lane->ids[ret_lane->id_count++] =
				pick(&pools[i], number * plan.counts[i] + k);
		if (plan.runs[i].length == 0)
			continue;
		ret_lane->ids[ret_lane->id_count++] =
			pick(&pools[i], number * plan.runs[i].length);
		ret_lane->ids[ret_lane->id_count++] =
			pick(&pools[i], (number + 1) * plan.runs[i].length - 1);
	}
	strcpy(ret_lane->options, plan.options);
}

void lane_apply(const struct contract *contract,
		const struct fairlead_lane *lane,
		struct fairlead_record *record)
{
	struct fairlead_error error = { 0 };
	struct warning_list warnings;

	warnings_init(&warnings);
	memset(record, 0xee, sizeof(*record));
	if (contract->node->apply(contract->node_state, lane, false, record,
				  &warnings.warnings, &error) < 0)
		fail_msg("apply failed: %s", error.text);
	assert_true(record->size <= FAIRLEAD_RECORD_MAX);
}

int lane_revoke(const struct contract *contract,
		const struct fairlead_lane *lane,
		const struct fairlead_record *record,
		struct fairlead_error *ret_error)
{
	struct warning_list warnings;
	int result;

	warnings_init(&warnings);
	*ret_error = (struct fairlead_error){ 0 };
	result = contract->node->revoke(contract->node_state, lane, record,
					false, &warnings.warnings, ret_error);
	if (result < 0)
		error_assert(ret_error, result);
	if (result != 0 && result != -EBUSY)
		fail_msg("revoke failed: %s", ret_error->text);
	return result;
}

void error_assert(const struct fairlead_error *error, int code)
{
	size_t size = strlen(error->text);

	assert_true(code < 0);
	assert_int_equal(error->code, code);
	assert_true(size > 0 && size < FAIRLEAD_ERROR_TEXT_MAX);
	if (strchr(".\n ", error->text[size - 1]))
		fail_msg("ends in a full stop or a blank: '%s'", error->text);
}

int contract_run_manager(struct contract_fixture *fixture)
{
	current_fixture = fixture;
	return _cmocka_run_group_tests(fixture->driver->name,
				       contract_manager_cases,
				       contract_manager_case_count, NULL, NULL);
}

int contract_run(struct contract_fixture *fixture)
{
	const struct {
		const struct CMUnitTest *cases;
		size_t count;
	} groups[] = {
		{ contract_manager_cases, contract_manager_case_count },
		{ contract_apply_cases, contract_apply_case_count },
		{ contract_revoke_cases, contract_revoke_case_count },
		{ contract_env_cases, contract_env_case_count },
	};
	struct CMUnitTest tests[CONTRACT_CASES_MAX];
	size_t count = 0;

	current_fixture = fixture;
	for (size_t i = 0; i < sizeof(groups) / sizeof(groups[0]); i++) {
		assert_true(count + groups[i].count <= CONTRACT_CASES_MAX);
		memcpy(tests + count, groups[i].cases,
		       groups[i].count * sizeof(tests[0]));
		count += groups[i].count;
	}
	return _cmocka_run_group_tests(fixture->driver->name, tests, count,
				       NULL, NULL);
}
