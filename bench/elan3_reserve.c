/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What a lane on Elan costs when so many jobs have one: the search for a run of
 * contexts alone, in a pool as the manager has it; to take the run and give it
 * back; and to reserve and release by the manager's core, with the driver, the
 * keys and their sealing, when rows cost nothing.
 *
 * Usage: elan3_reserve --config FILE --live N[,N...] [--rounds N]
 *   --live N,...   jobs that are live, rising
 *   --rounds N     of each measure, at each of them (2000)
 *
 * A job has 1 to 8 neighbours of the configuration's nodes, n0 to n(N-1), whose
 * ElanIDs are 0 to N-1, and 1 to 16 tasks on each: at random, the same in each
 * run. Prints a name and a number a line: for each N the median and the best
 * of slices, in ns of a CPU.
 */
#include <errno.h>
#include <getopt.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "core_bed.h"
#include "lanes/manager/core/pool.h"
#include "rounds.h"

#define JOB_NODES_MAX 8
#define JOB_TASKS_MAX 16
#define SLICES        20
#define LIVE_MAX      50000

struct job {
	uint32_t first, last; /* nodes */
	uint32_t tasks;
};

struct world {
	struct bed *bed;
	struct pool pool;
	uint32_t node_count;
	uint64_t random;
	uint64_t job;
	unsigned int rounds;
};

static void on_row(void *arg, const struct store_row *row)
{
}

static uint32_t random_below(struct world *world, uint32_t limit)
{
	world->random ^= world->random << 13;
	world->random ^= world->random >> 7;
	world->random ^= world->random << 17;
	return (uint32_t)(world->random % limit);
}

static struct job job_next(struct world *world)
{
	uint32_t count = 1 + random_below(world, JOB_NODES_MAX);
	struct job job = {
		.first = random_below(world, world->node_count - count + 1),
		.tasks = 1 + random_below(world, JOB_TASKS_MAX),
	};

	job.last = job.first + count - 1;
	return job;
}

static struct fairlead_run run_of(const struct job *job)
{
	return (struct fairlead_run){
		.low = job->first,
		.high = job->last,
		.length = job->tasks,
	};
}

/* --- what is measured; each returns something that was found --- */

static uint64_t seek(struct world *world)
{
	struct job job = job_next(world);
	const struct fairlead_run wanted = run_of(&job);
	uint32_t first = 0;

	if (!pool_run_find(&world->pool, &wanted, &first))
		bed_die("search", "there is no run");
	return first;
}

static uint64_t take_and_put(struct world *world)
{
	struct job job = job_next(world);
	const struct fairlead_run wanted = run_of(&job);
	struct run_area area = { .low = job.first, .high = job.last };
	uint32_t ids[2];

	pool_run_take(&world->pool, &wanted, ids);
	area.first = ids[0];
	area.last = ids[1];
	pool_run_put(&world->pool, &area, false);
	return area.first;
}

static uint64_t reserve_and_release(struct world *world)
{
	struct job job = job_next(world);
	uint64_t grant_id = bed_reserve_range(world->bed, ++world->job,
					      job.first, job.last, job.tasks);

	bed_release(world->bed, grant_id);
	return grant_id;
}

struct measure {
	const char *name;
	uint64_t (*run)(struct world *world);
	unsigned int per_round; /* it is so short */
};

static const struct measure measures[] = {
	{ "search", seek, 10 },
	{ "take", take_and_put, 10 },
	{ "reserve", reserve_and_release, 1 },
};

/* Nothing is waited for, so that what others do to the machine is left out. */
static uint64_t cpu_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
	return (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec;
}

static void measure(struct world *world, const struct measure *measure,
		    uint64_t live)
{
	unsigned int count = world->rounds * measure->per_round / SLICES + 1;
	uint64_t slices[SLICES], found = 0;
	struct rounds_summary summary;

	for (unsigned int i = 0; i < SLICES; i++) {
		uint64_t start_ns = cpu_ns();

		for (unsigned int k = 0; k < count; k++)
			found |= measure->run(world);
		slices[i] = (cpu_ns() - start_ns) / count;
	}
	if (found == 0 && live > 0)
		bed_die(measure->name, "all runs were the first");
	summary = rounds_summarize(slices, SLICES);
	printf("%s_%" PRIu64 " %" PRIu64 "\n", measure->name, live,
	       summary.median);
	printf("%s_best_%" PRIu64 " %" PRIu64 "\n", measure->name, live,
	       summary.best);
}

/* --- the world --- */

/* One more job in the pool and with the manager. */
static void job_add(struct world *world)
{
	struct job job = job_next(world);
	const struct fairlead_run wanted = run_of(&job);
	uint32_t ids[2];

	pool_run_take(&world->pool, &wanted, ids);
	bed_reserve_range(world->bed, ++world->job, job.first, job.last,
			  job.tasks);
}

static void world_open(struct world *world, const char *config_path)
{
	static const struct edge_probe no_probe;
	const struct fairlead_pool_spec spec = {
		.name = "context",
		.limit = 2047,
		.universe = "1024-2046",
		.positions = 16384,
	};
	struct fairlead_error error;

	world->bed = bed_create(config_path);
	world->node_count = bed_node_count(world->bed);
	if (world->node_count < JOB_NODES_MAX)
		bed_die(config_path, "there are too few nodes");
	bed_start(world->bed, 1, on_row, NULL);
	if (pool_init(&world->pool, "elan3", &spec, &no_probe, &error) < 0)
		bed_die("pool", error.text);
	world->random = 0x9e3779b97f4a7c15;
}

/* The next number of the list; false: it is at its end. */
static bool live_next(char **text, uint64_t *ret_live)
{
	char *word = strsep(text, ",");

	if (word == NULL)
		return false;
	*ret_live = rounds_number(word, 0, LIVE_MAX);
	return true;
}

int main(int argc, char **argv)
{
	static const struct option options[] = {
		{ "config", required_argument, NULL, 'c' },
		{ "live", required_argument, NULL, 'l' },
		{ "rounds", required_argument, NULL, 'r' },
		{ 0 },
	};
	struct world world = { .rounds = 2000 };
	const char *config_path = NULL;
	uint64_t live, count = 0;
	char *list = NULL;
	int option;

	while ((option = getopt_long(argc, argv, "", options, NULL)) != -1) {
		if (option == 'c')
			config_path = optarg;
		else if (option == 'l')
			list = optarg;
		else if (option == 'r')
			world.rounds = (unsigned int)rounds_number(optarg, 1,
								   ROUNDS_MAX);
		else
			exit(2);
	}
	if (config_path == NULL || list == NULL || optind != argc)
		bed_die("usage", "elan3_reserve --config FILE --live N[,N...]");
	world_open(&world, config_path);
	while (live_next(&list, &live)) {
		if (live < count)
			bed_die("usage", "--live falls");
		for (; count < live; count++)
			job_add(&world);
		for (size_t i = 0; i < sizeof(measures) / sizeof(*measures);
		     i++)
			measure(&world, &measures[i], live);
	}
	pool_fini(&world.pool);
	bed_destroy(world.bed);
	return 0;
}
