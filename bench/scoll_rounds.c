/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Rounds of a broadcast and its replies by libscoll, one after the other.
 *
 *	scoll_rounds PROVIDER NODES TREE DOWN UP ROUNDS blocking|polling
 *		plain|sealed
 *
 * Prints what rounds_report() does; cold_ns, the time to make the group, when
 * nobody is connected to anybody; and with `allocations.so` preloaded how often
 * all processes together asked for memory in the second half of the rounds.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "scoll_crew.h"

static bool is_word(const char *text, const char *yes, const char *no)
{
	if (strcmp(text, yes) != 0 && strcmp(text, no) != 0) {
		fprintf(stderr, "scoll_rounds: '%s' is neither %s nor %s\n",
			text, yes, no);
		exit(2);
	}
	return strcmp(text, yes) == 0;
}

static uint64_t last_reached(const struct crew *crew)
{
	uint64_t last_ns = 0;

	for (unsigned int i = 1; i < crew->options.count; i++)
		if (crew->slots[i].reached_ns > last_ns)
			last_ns = crew->slots[i].reached_ns;
	return last_ns;
}

static void check(const struct crew *crew, const struct crew_call *call)
{
	unsigned int all = 0;

	for (unsigned int i = 1; i < crew->options.count; i++)
		all |= 1u << i % 8;
	all |= 1;
	if (call->status < 0 || (crew->options.up > 0 && call->up[0] != all)) {
		errno = call->status < 0 ? -call->status : EBADMSG;
		rounds_die("a round");
	}
}

int main(int argc, char **argv)
{
	struct crew_options options;
	static struct crew crew;
	struct crew_call call = { .is_done = false };
	uint64_t start_ns, allocations = 0, allocations_end;
	struct rounds *rounds;
	scoll_group_t *group;
	unsigned int count;
	uint8_t *bytes;
	size_t down;

	if (argc != 9) {
		fprintf(stderr, "usage: scoll_rounds PROVIDER NODES TREE DOWN "
				"UP ROUNDS blocking|polling plain|sealed\n");
		return 2;
	}
	options = (struct crew_options){
		.provider = argv[1],
		.count = (unsigned int)rounds_number(argv[2], 2, CREW_MAX),
		.tree = argv[3],
		.up = rounds_number(argv[5], 0, CREW_UP_MAX),
		.is_polling = is_word(argv[7], "polling", "blocking"),
		.is_sealed = is_word(argv[8], "sealed", "plain"),
		.rtt = 5000000000,
	};
	down = rounds_number(argv[4], 0, SCOLL_BCAST_MAX);
	count = (unsigned int)rounds_number(argv[6], 1, ROUNDS_MAX);
	rounds = rounds_create(count);
	bytes = calloc(1, down + 1);
	if (bytes == NULL)
		rounds_die("allocate");
	crew_open(&crew, &options, rounds);
	if (crew.index != 0)
		crew_run(&crew, NULL);
	start_ns = rounds_now_ns();
	group = crew_group(&crew, 0, options.count, true);
	rounds_note(rounds, "cold_ns", (double)(rounds_now_ns() - start_ns));
	for (unsigned int i = 0; rounds_next(rounds); i++) {
		if (i == ROUNDS_WARM_UP + count / 2)
			crew_allocations(&crew, &allocations);
		crew_send(&crew, group, bytes, down, 0, &call);
		crew_run(&crew, &call.is_done);
		rounds_done(rounds, last_reached(&crew));
		check(&crew, &call);
	}
	if (crew_allocations(&crew, &allocations_end))
		rounds_note(rounds, "allocations",
			    (double)(allocations_end - allocations));
	rounds_kill(rounds);
	rounds_report(rounds);
	crew_close(&crew);
	rounds_destroy(rounds);
	free(bytes);
	return 0;
}
