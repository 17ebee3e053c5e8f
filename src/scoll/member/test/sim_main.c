/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * gossip-sim: worlds, one a seed. The exit status is 3 when something was not
 * true that has to be, and 1 when something that was to be tried never
 * happened (--complete).
 */
#include <getopt.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "world.h"

#define EXIT_BROKEN 3

static void usage(void)
{
	fputs("usage: gossip-sim [--seed N] [--seeds COUNT] [--hash] "
	      "[--complete]\n",
	      stderr);
	exit(2);
}

static uint64_t number(const char *text)
{
	char *end;
	uint64_t value = strtoull(text, &end, 10);

	if (end == text || *end != 0)
		usage();
	return value;
}

static int report(const struct world_result *result)
{
	int status = 0;

	for (int i = 0; i < WORLD_COUNT; i++) {
		printf("%12" PRIu64 "  %s\n", result->counts[i],
		       world_count_names[i]);
		if (result->counts[i] == 0) {
			fprintf(stderr, "never happened: %s\n",
				world_count_names[i]);
			status = 1;
		}
	}
	printf("%12" PRIu64 "  seconds simulated\n",
	       result->simulated_ms / 1000);
	return status;
}

int main(int argc, char **argv)
{
	static const struct option longs[] = {
		{ "seed", required_argument, NULL, 's' },
		{ "seeds", required_argument, NULL, 'c' },
		{ "hash", no_argument, NULL, 'h' },
		{ "complete", no_argument, NULL, 'C' },
		{ 0 },
	};
	struct world_result result = { 0 };
	uint64_t seed = 1, count = 1;
	int prints_hash = 0, is_complete = 0;
	int option;

	while ((option = getopt_long(argc, argv, "", longs, NULL)) != -1) {
		switch (option) {
		case 's':
			seed = number(optarg);
			break;
		case 'c':
			count = number(optarg);
			break;
		case 'h':
			prints_hash = 1;
			break;
		case 'C':
			is_complete = 1;
			break;
		default:
			usage();
		}
	}
	for (uint64_t i = 0; i < count; i++) {
		world_run(seed + i, &result);
		if (prints_hash)
			printf("seed %" PRIu64 " hash %016" PRIx64 "\n",
			       seed + i, result.hash);
		if (result.broken[0] != 0) {
			fprintf(stderr, "%s\n", result.broken);
			return EXIT_BROKEN;
		}
	}
	return is_complete ? report(&result) : 0;
}
