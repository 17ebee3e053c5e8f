/* SPDX-License-Identifier: BSD-3-Clause */
/* The environment of a job's tasks. */
#include <stdio.h>

#include "contract/contract.h"

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
	const char *some = contract->fixture->some_variables;
	struct environment environment;
	struct fairlead_record record;
	struct fairlead_lane lane;

	lane_make(contract, 0, contract->fixture->owner, &lane);
	lane_apply(contract, &lane, &record);
	environment_read(contract, &lane, &record, &environment);
	for (size_t i = 0; environment.names[i]; i++) {
		assert_int_equal(environment.seen[i], 1);
		if (some != NULL &&
		    strncmp(environment.names[i], some, strlen(some)) == 0)
			continue;
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
				 contract->node_state, OTHER_USER(contract),
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

static void a_summary_is_a_line(void **state)
{
	const struct contract *contract = *state;
	char text[FAIRLEAD_SUMMARY_MAX + 2];

	if (!contract->node->summarize)
		return;
	memset(text, '\n', sizeof(text));
	contract->node->summarize(contract->node_state, text);
	assert_in_range(strnlen(text, sizeof(text)), 1, FAIRLEAD_SUMMARY_MAX);
	assert_null(strchr(text, '\n'));
	assert_int_equal(text[FAIRLEAD_SUMMARY_MAX + 1], '\n');
}

const struct CMUnitTest contract_env_cases[] = {
	CONTRACT_CASE(every_variable_is_set_for_a_lane),
	CONTRACT_CASE(every_variable_is_unset_without_a_lane),
	CONTRACT_CASE(only_a_living_lane_of_ones_own_is_inherited),
	CONTRACT_CASE(a_summary_is_a_line),
};
const size_t contract_env_case_count =
	sizeof(contract_env_cases) / sizeof(contract_env_cases[0]);
