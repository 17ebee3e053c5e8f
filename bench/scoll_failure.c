/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * When a broadcast ends at its root although some of its nodes are dead or
 * stand still, and nobody was notified.
 *
 *	scoll_failure PROVIDER NODES TREE FAILED kill|stop R_MS P_MS
 *
 * The failed ones are spread over the group. Prints one JSON object: time_ns;
 * bound_ns, which is (depth + 1) R + P; how many nodes the root says were
 * lost; and how long the next broadcast took, to those who are left.
 */
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "scoll_crew.h"

static bool is_failed(unsigned int index, unsigned int count,
		      unsigned int failed)
{
	for (unsigned int i = 1; i <= failed; i++)
		if (index == i * count / (failed + 1))
			return true;
	return false;
}

static uint64_t round_run(struct crew *crew, scoll_group_t *group,
			  struct crew_call *call)
{
	uint64_t start_ns = rounds_now_ns();

	crew_send(crew, group, "round", 5, 0, call);
	crew_run(crew, &call->is_done);
	return rounds_now_ns() - start_ns;
}

/* A group of those who have not failed. */
static scoll_group_t *rest_group(struct crew *crew, unsigned int failed)
{
	unsigned int left[CREW_MAX], count = 0;

	for (unsigned int i = 0; i < crew->options.count; i++)
		if (!is_failed(i, crew->options.count, failed))
			left[count++] = i;
	return crew_group_of(crew, left, count, true);
}

int main(int argc, char **argv)
{
	struct crew_options options;
	static struct crew crew;
	struct crew_call call = { .is_done = false };
	struct rounds *rounds;
	unsigned int failed;
	uint64_t time_ns, bound_ns;
	scoll_group_t *group;
	int how;

	if (argc != 8) {
		fprintf(stderr, "usage: scoll_failure PROVIDER NODES TREE "
				"FAILED kill|stop R_MS P_MS\n");
		return 2;
	}
	options = (struct crew_options){
		.provider = argv[1],
		.count = (unsigned int)rounds_number(argv[2], 3, CREW_MAX),
		.tree = argv[3],
		.up = 8,
	};
	failed = (unsigned int)rounds_number(argv[4], 0, options.count - 2);
	how = strcmp(argv[5], "kill") == 0 ? SIGKILL : SIGSTOP;
	options.rtt =
		(scoll_duration_t)rounds_number(argv[6], 1, 60000) * 1000000;
	options.timeout =
		(scoll_duration_t)rounds_number(argv[7], 1, 60000) * 1000000;
	rounds = rounds_create(1);
	crew_open(&crew, &options, rounds);
	if (crew.index != 0)
		crew_run(&crew, NULL);
	group = crew_group(&crew, 0, options.count, true);
	round_run(&crew, group, &call);
	for (unsigned int i = 1; i < options.count; i++)
		if (is_failed(i, options.count, failed))
			kill(rounds_pid(rounds, i - 1), how);
	time_ns = round_run(&crew, group, &call);
	bound_ns = (call.depth + 1) * (uint64_t)options.rtt +
		   (uint64_t)options.timeout;
	printf("{\"time_ns\": %llu, \"bound_ns\": %llu, \"lost\": %u, ",
	       (unsigned long long)time_ns, (unsigned long long)bound_ns,
	       call.failure_count);
	group = rest_group(&crew, failed);
	time_ns = round_run(&crew, group, &call);
	if (call.status < 0) {
		errno = -call.status;
		rounds_die("a round of those who are left");
	}
	printf("\"next_ns\": %llu}\n", (unsigned long long)time_ns);
	rounds_kill(rounds);
	crew_close(&crew);
	rounds_destroy(rounds);
	return 0;
}
