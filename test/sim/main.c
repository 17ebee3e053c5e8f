/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * test/sim/run: whole clusters, one a seed. Seeds are shared out among --jobs
 * processes, each of which tells its coverage to the first one. The exit status
 * is WORLD_EXIT_BROKEN when an invariant was broken, and 1 when something that
 * was to be tried never happened, or the run itself failed.
 */
#include <getopt.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <sodium.h>

#include "expected.h"
#include "shares.h"
#include "world.h"

struct options {
	struct world_options world;
	uint64_t count;
	unsigned int jobs;
	bool is_complete; /* everything has to have happened */
	bool prints_hash;
};

static const char usage[] =
	"usage: test/sim/run [--seed N] [--seeds COUNT] [--nodes M] [--steps "
	"JOBS]\n"
	"                    [--faults NAME,...] [--jobs PROCESSES] "
	"[--complete]\n"
	"                    [--hash] [--verbose]\n"
	"\n"
	"  --seed N       the first seed (1)\n"
	"  --seeds COUNT  so many seeds (1)\n"
	"  --nodes M      nodes of a cluster, 1 to 8 (the seed decides)\n"
	"  --steps JOBS   jobs of a cluster (the seed decides)\n"
	"  --faults LIST  only these:";

static void show_usage(FILE *file)
{
	fputs(usage, file);
	for (int i = 0; world_fault_names()[i] != NULL; i++)
		fprintf(file, " %s", world_fault_names()[i]);
	fputs("\n"
	      "  --jobs COUNT   processes that share the seeds (1)\n"
	      "  --complete     what never happened is a failure\n"
	      "  --hash         print the hash of each trace\n"
	      "  --verbose      print each trace\n",
	      file);
}

static uint32_t parse_faults(char *text)
{
	uint32_t faults = 0;
	char *name;

	while ((name = strsep(&text, ",")) != NULL) {
		int i = 0;

		while (world_fault_names()[i] != NULL &&
		       strcmp(world_fault_names()[i], name) != 0)
			i++;
		if (world_fault_names()[i] == NULL && *name != 0 &&
		    strcmp(name, "none") != 0) {
			fprintf(stderr, "there is no fault '%s'\n", name);
			exit(2);
		}
		if (world_fault_names()[i] != NULL)
			faults |= 1u << i;
	}
	return faults;
}

static void parse(int argc, char **argv, struct options *options)
{
	static const struct option longs[] = {
		{ "seed", required_argument, NULL, 's' },
		{ "seeds", required_argument, NULL, 'c' },
		{ "nodes", required_argument, NULL, 'n' },
		{ "steps", required_argument, NULL, 't' },
		{ "faults", required_argument, NULL, 'f' },
		{ "jobs", required_argument, NULL, 'j' },
		{ "complete", no_argument, NULL, 'C' },
		{ "hash", no_argument, NULL, 'h' },
		{ "verbose", no_argument, NULL, 'v' },
		{ "help", no_argument, NULL, '?' },
		{ 0 },
	};
	int option;

	while ((option = getopt_long(argc, argv, "", longs, NULL)) != -1) {
		switch (option) {
		case 's':
			options->world.seed = shares_number(optarg, UINT64_MAX);
			break;
		case 'c':
			options->count = shares_number(optarg, 1000000000);
			break;
		case 'n':
			options->world.node_count = (unsigned int)shares_number(
				optarg, WORLD_NODES_MAX);
			break;
		case 't':
			options->world.steps =
				(unsigned int)shares_number(optarg, 1000000);
			break;
		case 'f':
			options->world.faults = parse_faults(optarg);
			break;
		case 'j':
			options->jobs =
				(unsigned int)shares_number(optarg, SHARES_MAX);
			break;
		case 'C':
			options->is_complete = true;
			break;
		case 'h':
			options->prints_hash = true;
			break;
		case 'v':
			options->world.is_verbose = true;
			break;
		default:
			show_usage(stderr);
			exit(2);
		}
	}
	if (optind < argc || options->jobs == 0) {
		show_usage(stderr);
		exit(2);
	}
}

static void run_seed(const struct options *options, uint64_t seed,
		     struct coverage *coverage)
{
	struct world_options world_options = options->world;
	struct world *world;

	world_options.seed = seed;
	world = world_create(&world_options, coverage);
	world_run(world);
	if (options->prints_hash)
		printf("seed %" PRIu64 " events %" PRIu64 " hash %016" PRIx64
		       "\n",
		       seed, world->trace_count, world->trace_hash);
	world_destroy(world);
}

/* Every jobs-th seed, from the first one on. */
static void run_share(const void *ctx, unsigned int first,
		      struct coverage *coverage)
{
	const struct options *options = ctx;

	for (uint64_t i = first; i < options->count; i += options->jobs)
		run_seed(options, options->world.seed + i, coverage);
}

int main(int argc, char **argv)
{
	struct options options = {
		.world = { .seed = 1, .faults = (1u << FAULT_COUNT) - 1 },
		.count = 1,
		.jobs = 1,
	};
	struct coverage *coverage = coverage_create();

	parse(argc, argv, &options);
	if (sodium_init() < 0)
		abort();
	expected_add(coverage, options.count);
	return shares_end(
		shares_run(options.jobs, run_share, &options, coverage),
		coverage, !options.world.is_verbose, options.is_complete,
		options.world.seed, options.count);
}
