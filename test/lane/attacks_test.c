/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Usage: attacks_test LEVEL FAMILY: what keeps other users out (world.h), and
 * what VXLAN goes over, 4 or 6. Each attack is shown to work where nothing
 * keeps anybody out, and then to fail; or to work still, where its level is
 * above this one. All over each of two rails, with IPv4 and IPv6 in the lane.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "attacks.h"

#define TESTS_MAX     256
#define NAME_MAX_SIZE 128

/* One test; cmocka keeps the pointers. */
struct trial {
	struct world *open, *closed;
	enum world_level level;
	const struct attack *attack;
	uint8_t family, rail;
	char name[NAME_MAX_SIZE];
};

struct trials {
	struct world *open;   /* nothing keeps anybody out */
	struct world *closed; /* the level does */
	enum world_level level;
	const char *level_name;
	size_t count;
	struct trial list[TESTS_MAX];
	struct CMUnitTest tests[TESTS_MAX];
};

static void run_trial(void **state)
{
	const struct trial *trial = *state;
	const struct attack *attack = trial->attack;
	bool is_closed = attack->closed_by <= trial->level;

	trial->open->rail = trial->closed->rail = trial->rail;
	if (!attack->works(trial->open, trial->family))
		fail_msg("without rules it does not work either");
	if (attack->works(trial->closed, trial->family) == is_closed)
		fail_msg("%s", is_closed ? "it works in spite of the rules"
					 : "it does not work any more");
}

static void trial_add(struct trials *trials, const struct attack *attack,
		      uint8_t family, uint8_t rail)
{
	bool is_open = attack->closed_by != LEVEL_NEVER &&
		       attack->closed_by > trials->level;
	struct trial *trial = &trials->list[trials->count];

	assert_true(trials->count < TESTS_MAX);
	*trial = (struct trial){
		.open = trials->open,
		.closed = trials->closed,
		.level = trials->level,
		.attack = attack,
		.family = family,
		.rail = rail,
	};
	snprintf(trial->name, sizeof(trial->name), "%s, IPv%u, rail %u%s%s",
		 attack->name, family, rail, is_open ? ": OPEN with " : "",
		 is_open ? trials->level_name : "");
	trials->tests[trials->count++] = (struct CMUnitTest){
		.name = trial->name,
		.test_func = run_trial,
		.initial_state = trial,
	};
}

static void trials_add(struct trials *trials, const struct attack *list)
{
	for (; list->name != NULL; list++) {
		for (uint8_t rail = 0; rail < RAIL_COUNT; rail++) {
			trial_add(trials, list, 4, rail);
			trial_add(trials, list, 6, rail);
		}
	}
}

int main(int argc, char **argv)
{
	static struct trials trials;
	uint8_t family;
	int result;

	if (argc != 3 || !world_level_parse(argv[1], &trials.level)) {
		fprintf(stderr, "usage: attacks_test LEVEL FAMILY\n");
		return 2;
	}
	trials.level_name = argv[1];
	family = strcmp(argv[2], "6") == 0 ? 6 : 4;
	trials.open = world_create(family);
	trials.closed = trials.open ? world_create(family) : NULL;
	if (trials.closed == NULL ||
	    !world_has_level(trials.closed, trials.level))
		return 77;
	world_enforce(trials.closed, trials.level);
	trials_add(&trials, attacks_by_socket);
	trials_add(&trials, attacks_by_vxlan);
	trials_add(&trials, attacks_by_kernel);
	trials_add(&trials, passages);
	result = _cmocka_run_group_tests("attacks", trials.tests, trials.count,
					 NULL, NULL);
	world_destroy(trials.closed);
	world_destroy(trials.open);
	return result;
}
