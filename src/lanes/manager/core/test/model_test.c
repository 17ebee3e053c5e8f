/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Random events in a small cluster. After each one nothing that a node holds
 * is free or another's; the tables agree, and the journal makes the same core.
 * In the end, when all has healed, nothing is left. Over all seeds every edge
 * of the state machines was taken.
 *
 * FAIRLEAD_TEST=long: more seeds. CORE_MODEL_SEED=N: that one, verified after
 * each step.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>

#include "lanes/manager/core/test/world.h"

#define STEPS 6000

static size_t hits[512]; /* by edge, over all seeds */
static uint64_t lined, applied, busy, lost, doubled, refused, forced;

static void edges_add(const struct fixture *f)
{
	const char *const *names = core_edges();

	for (size_t i = 0; names[i] != NULL; i++)
		hits[i] += edge_hits(f, names[i]);
}

static void nothing_is_left(const struct world *world)
{
	struct fixture *f = world->fixture;

	for (size_t n = 0; n < WORLD_NODES; n++) {
		const struct world_node *node = &world->nodes[n];

		for (size_t i = 0; i < node->lane_count; i++)
			if (!node->lanes[i].is_tombstone)
				fail_msg("%s still has grant %llu: %s",
					 node->name,
					 (unsigned long long)node->lanes[i]
						 .grant_id,
					 events(f, node->lanes[i].grant_id));
	}
	assert_int_equal(f->core->jobs.count, 0);
	assert_string_equal(vnis(f, "held"), "");
	assert_string_equal(vnis(f, "quarantined"), "");
	assert_string_equal(vnis(f, "withheld"), "");
	for (size_t i = 0; i < 2; i++) {
		const struct pool *pool =
			&f->core->interconnects.list[3].pools[i];

		assert_int_equal(idset_count(pool->held), 0);
		assert_int_equal(idset_count(pool->quarantined), 0);
		assert_int_equal(idset_count(pool->withheld), 0);
	}
	assert_null(f->core->interconnects.list[3].pools[1].runs->taken.root);
	assert_null(f->core->release_waits);
}

static void run(uint64_t seed, int verify_every)
{
	static struct world world;

	world_init(&world, seed);
	for (int step = 0; step < STEPS; step++) {
		world_step(&world);
		world_verify(&world);
		if (step % verify_every == 0)
			verify(world.fixture);
		if (step % 256 == 0) {
			fixture_forget(world.fixture);
			world.fanouts_seen = 0;
			world.acks_seen = 0;
			world.notices_seen = 0;
		}
	}
	world_heal(&world);
	verify(world.fixture);
	nothing_is_left(&world);
	edges_add(world.fixture);
	lined += world.lined;
	applied += world.applied;
	busy += world.busy;
	lost += world.lost;
	doubled += world.doubled;
	refused += world.refused;
	forced += world.forced;
	world_fini(&world);
}

static void seeds_from_an_environment(const char *text)
{
	run(strtoull(text, NULL, 10), 1);
}

static void no_identifier_is_held_twice_and_none_is_lost(void **state)
{
	const char *mode = getenv("FAIRLEAD_TEST");
	const char *seed = getenv("CORE_MODEL_SEED");
	bool is_long = mode != NULL && strcmp(mode, "long") == 0;
	uint64_t count = is_long ? 400 : 40;

	if (seed != NULL) {
		seeds_from_an_environment(seed);
		return;
	}
	for (uint64_t i = 1; i <= count; i++) {
		printf("seed %llu\n", (unsigned long long)i);
		run(i, is_long ? 7 : 61);
	}
	printf("applied %llu busy %llu lost %llu doubled %llu refused %llu "
	       "forced %llu\n",
	       (unsigned long long)applied, (unsigned long long)busy,
	       (unsigned long long)lost, (unsigned long long)doubled,
	       (unsigned long long)refused, (unsigned long long)forced);
	assert_true(forced > 0 && lined > 0);
}

/* What this world does not do; each has a test of its own. */
static const char *const elsewhere[] = {
	"limit:",
	"recovery:",
	"error:quarantine-release:-EINVAL",
	"error:quarantine-release:-ENOENT",
	"error:register:",
	"error:reserve:-EPERM",
	"error:apply:-EPERM",
	"error:apply:members",
	"error:release:-EPERM",
	"error:node:",
	"error:reserve:-EINVAL",
	"reserve:goes-on-without",
	"report:grant-with-other-identifiers",
	"report:grant-never-applied-there",
	"report:unknown-grant",
	"part:missing->applied",
	"part:applied->revoked",
};

static bool is_elsewhere(const char *edge)
{
	for (size_t i = 0; i < sizeof(elsewhere) / sizeof(elsewhere[0]); i++)
		if (strncmp(edge, elsewhere[i], strlen(elsewhere[i])) == 0)
			return true;
	return false;
}

static void every_edge_was_taken(void **state)
{
	const char *const *names = core_edges();
	size_t missing = 0;

	if (getenv("CORE_MODEL_SEED") != NULL)
		return;
	for (size_t i = 0; names[i] != NULL; i++) {
		printf("%7zu %s%s\n", hits[i], names[i],
		       is_elsewhere(names[i]) ? " (elsewhere)" : "");
		missing += hits[i] == 0 && !is_elsewhere(names[i]);
	}
	assert_int_equal(missing, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(no_identifier_is_held_twice_and_none_is_lost),
		cmocka_unit_test(every_edge_was_taken),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
