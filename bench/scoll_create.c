/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What it takes to make a group of processes that are connected already: at
 * once, and with its first broadcast.
 *
 *	scoll_create PROVIDER NODES ROUNDS
 *
 * Prints one JSON object, ns, medians: `immediate`, until all have it;
 * `delayed`, the call alone; `first`, its first broadcast of 8 bytes, which
 * carries the members; `later`, another one.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "scoll_crew.h"

#define CREATIONS_MAX 1000

enum what {
	IMMEDIATE,
	DELAYED,
	FIRST,
	LATER,
	WHAT_COUNT
};

static uint64_t round_run(struct crew *crew, scoll_group_t *group)
{
	struct crew_call call = { .is_done = false };
	uint64_t start_ns = rounds_now_ns();

	crew_send(crew, group, "8 bytes", 8, 0, &call);
	crew_run(crew, &call.is_done);
	if (call.status < 0) {
		errno = -call.status;
		rounds_die("a round");
	}
	return rounds_now_ns() - start_ns;
}

int main(int argc, char **argv)
{
	static const char *const names[] = { "immediate", "delayed", "first",
					     "later" };
	static uint64_t times[WHAT_COUNT][CREATIONS_MAX];
	struct crew_options options;
	static struct crew crew;
	struct rounds *rounds;
	unsigned int count;

	if (argc != 4) {
		fprintf(stderr, "usage: scoll_create PROVIDER NODES ROUNDS\n");
		return 2;
	}
	options = (struct crew_options){
		.provider = argv[1],
		.count = (unsigned int)rounds_number(argv[2], 2, 128),
		.tree = "knomial:4",
		.up = 8,
		.rtt = 5000000000,
	};
	count = (unsigned int)rounds_number(argv[3], 1, CREATIONS_MAX);
	rounds = rounds_create(1);
	crew_open(&crew, &options, rounds);
	if (crew.index != 0)
		crew_run(&crew, NULL);
	round_run(&crew, crew_group(&crew, 0, options.count, true));
	for (unsigned int i = 0; i < count; i++) {
		uint64_t start_ns = rounds_now_ns();
		scoll_group_t *group;

		crew_group(&crew, 0, options.count, true);
		times[IMMEDIATE][i] = rounds_now_ns() - start_ns;
		start_ns = rounds_now_ns();
		group = crew_group(&crew, 0, options.count, false);
		times[DELAYED][i] = rounds_now_ns() - start_ns;
		times[FIRST][i] = round_run(&crew, group);
		times[LATER][i] = round_run(&crew, group);
	}
	for (int i = 0; i < WHAT_COUNT; i++)
		printf("%s\"%s\": %llu", i == 0 ? "{" : ", ", names[i],
		       (unsigned long long)rounds_summarize(times[i], count)
			       .median);
	printf("}\n");
	rounds_kill(rounds);
	crew_close(&crew);
	rounds_destroy(rounds);
	return 0;
}
