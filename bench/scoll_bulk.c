/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Rounds of a broadcast with bulk data, one after the other.
 *
 *	scoll_bulk PROVIDER NODES TREE BYTES SEGMENT ROUNDS [NAMESPACE]
 *
 * TREE: as text, or "chain". NAMESPACE: see struct crew_options. Prints what
 * rounds_report() does.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "scoll_crew.h"

#define BYTES_MAX (256u << 20)

int main(int argc, char **argv)
{
	struct crew_options options;
	static struct crew crew;
	struct crew_call call = { .is_done = false };
	struct rounds *rounds;
	scoll_group_t *group;

	if (argc != 7 && argc != 8) {
		fprintf(stderr, "usage: scoll_bulk PROVIDER NODES TREE BYTES "
				"SEGMENT ROUNDS [NAMESPACE]\n");
		return 2;
	}
	options = (struct crew_options){
		.provider = argv[1],
		.count = (unsigned int)rounds_number(argv[2], 2, CREW_MAX),
		.tree = argv[3],
		.bulk = rounds_number(argv[4], 1, BYTES_MAX),
		.bulk_segment = rounds_number(argv[5], 1, BYTES_MAX),
		.up = 8,
		.rtt = 5000000000,
		.namespace = argc == 8 ? argv[7] : NULL,
	};
	rounds = rounds_create_with(
		(unsigned int)rounds_number(argv[6], 1, ROUNDS_MAX), 1);
	crew_open(&crew, &options, rounds);
	if (crew.index != 0)
		crew_run(&crew, NULL);
	group = crew_group(&crew, 0, options.count, true);
	while (rounds_next(rounds)) {
		crew_send(&crew, group, NULL, 0, options.bulk, &call);
		crew_run(&crew, &call.is_done);
		rounds_done(rounds, 0);
		if (call.status < 0) {
			errno = -call.status;
			rounds_die("a round");
		}
	}
	rounds_kill(rounds);
	rounds_report(rounds);
	crew_close(&crew);
	rounds_destroy(rounds);
	return 0;
}
