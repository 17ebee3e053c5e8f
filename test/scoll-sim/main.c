/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * test/scoll-sim/run: whole clusters of collectives, one a seed, and the scale
 * run. Seeds are shared out among --jobs processes, each of which tells its
 * coverage to the first one. The exit status is CLUSTER_EXIT_BROKEN when an
 * invariant was broken, and 1 when something that was to be tried never
 * happened, or the run itself failed.
 */
#include <getopt.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <sodium.h>

#include "scale.h"
#include "scenario.h"
#include "../sim/shares.h"

struct options {
	struct scenario_options scenario;
	uint64_t count;
	uint64_t scale; /* members of the scale run; 0: none */
	unsigned int jobs;
	bool is_complete;
};

static const char usage[] =
	"usage: test/scoll-sim/run [--seed N] [--seeds COUNT] [--nodes M]\n"
	"                          [--jobs PROCESSES] [--complete] [--hash]\n"
	"                          [--verbose]\n"
	"       test/scoll-sim/run --scale M\n"
	"\n"
	"  --seed N       the first seed (1)\n"
	"  --seeds COUNT  so many seeds (1)\n"
	"  --nodes M      members of a cluster, 1 to 160 (the seed decides)\n"
	"  --jobs COUNT   processes that share the seeds (1)\n"
	"  --complete     what never happened is a failure\n"
	"  --hash         print the hash of each seed's events and states\n"
	"  --verbose      print what happens\n"
	"  --scale M      broadcasts and reductions over M members, timed\n";

static void parse(int argc, char **argv, struct options *options)
{
	static const struct option longs[] = {
		{ "seed", required_argument, NULL, 's' },
		{ "seeds", required_argument, NULL, 'c' },
		{ "nodes", required_argument, NULL, 'n' },
		{ "jobs", required_argument, NULL, 'j' },
		{ "scale", required_argument, NULL, 'S' },
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
			options->scenario.seed =
				shares_number(optarg, UINT64_MAX);
			break;
		case 'c':
			options->count = shares_number(optarg, 1000000000);
			break;
		case 'n':
			options->scenario.node_count =
				(uint32_t)shares_number(optarg, 160);
			break;
		case 'j':
			options->jobs =
				(unsigned int)shares_number(optarg, SHARES_MAX);
			break;
		case 'S':
			options->scale = shares_number(optarg, SCOLL_NODES_MAX);
			break;
		case 'C':
			options->is_complete = true;
			break;
		case 'h':
			options->scenario.prints_hash = true;
			break;
		case 'v':
			options->scenario.is_verbose = true;
			break;
		default:
			fputs(usage, stderr);
			exit(2);
		}
	}
	if (optind < argc || options->jobs == 0) {
		fputs(usage, stderr);
		exit(2);
	}
}

/* Every jobs-th seed, from the first one on. */
static void run_share(const void *ctx, unsigned int first,
		      struct coverage *coverage)
{
	const struct options *options = ctx;

	for (uint64_t i = first; i < options->count; i += options->jobs) {
		struct scenario_options scenario = options->scenario;
		struct scenario_result result;

		scenario.seed += i;
		scenario.coverage = coverage;
		scenario_run(&scenario, &result);
		coverage_add(coverage, "events", result.events);
		coverage_add(coverage, "virtual seconds",
			     result.virtual_ns / CLUSTER_SECOND);
		if (scenario.prints_hash)
			printf("seed %" PRIu64 " events %" PRIu64
			       " hash %016" PRIx64 "\n",
			       scenario.seed, result.events, result.hash);
	}
}

int main(int argc, char **argv)
{
	struct options options = {
		.scenario = { .seed = 1 },
		.count = 1,
		.jobs = 1,
	};
	struct coverage *coverage;

	parse(argc, argv, &options);
	if (sodium_init() < 0)
		abort();
	if (options.scale > 0)
		return scale_run((uint32_t)options.scale);
	coverage = coverage_create();
	scenario_expect(coverage);
	return shares_end(
		shares_run(options.jobs, run_share, &options, coverage),
		coverage, !options.scenario.is_verbose, options.is_complete,
		options.scenario.seed, options.count);
}
