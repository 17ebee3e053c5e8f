/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Many broadcasts at once: each of the first ROOTS processes keeps OUTSTANDING
 * of them under way over GROUPS groups of everybody, until it has had COUNT.
 *
 *	scoll_rate PROVIDER NODES TREE DOWN ROOTS GROUPS OUTSTANDING COUNT
 *
 * Prints one JSON object: broadcasts per_s, from the moment when all are ready
 * until the last one has ended, and cpu_ns and switches for each of them.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "scoll_crew.h"

#define GROUPS_MAX      64
#define OUTSTANDING_MAX 1024

struct sender {
	struct crew *crew;
	scoll_group_t *groups[GROUPS_MAX];
	unsigned int group_count, outstanding;
	unsigned long left, under_way;
	uint64_t sent;
	size_t down;
	uint8_t bytes[SCOLL_BCAST_MAX];
	bool is_done;
	struct crew_call calls[OUTSTANDING_MAX];
};

static void call_send(struct sender *sender, struct crew_call *call)
{
	sender->left--;
	sender->under_way++;
	crew_send(sender->crew,
		  sender->groups[sender->sent++ % sender->group_count],
		  sender->bytes, sender->down, 0, call);
}

static void call_done(struct crew_call *call)
{
	struct sender *sender = call->ctx;

	if (call->status < 0) {
		errno = -call->status;
		rounds_die("a broadcast");
	}
	sender->under_way--;
	if (sender->left > 0)
		call_send(sender, call);
	sender->is_done = sender->under_way == 0;
}

static void send_all(struct sender *sender, unsigned long count)
{
	sender->left = count;
	sender->is_done = false;
	for (unsigned int i = 0; i < sender->outstanding && sender->left > 0;
	     i++) {
		sender->calls[i].done = call_done;
		sender->calls[i].ctx = sender;
		call_send(sender, &sender->calls[i]);
	}
	crew_run(sender->crew, &sender->is_done);
}

/* All are ready; what roots do, and what others do meanwhile. */
static void life(struct crew *crew, struct sender *sender, unsigned int roots,
		 unsigned long count, struct rounds *rounds)
{
	struct rounds_usage begin = { 0 }, end;
	uint64_t start_ns, last_ns = 0;

	if (crew->index < roots)
		for (unsigned int i = 0; i < sender->group_count; i++)
			sender->groups[i] = crew_group(
				crew, crew->index, crew->options.count, true);
	crew_meet(crew);
	if (crew->index < roots)
		send_all(sender, sender->outstanding * 4);
	crew_meet(crew);
	if (crew->index == 0)
		begin = rounds_usage(rounds);
	crew_meet(crew);
	start_ns = rounds_now_ns();
	if (crew->index < roots)
		send_all(sender, count);
	crew->slots[crew->index].noted_ns = rounds_now_ns();
	crew_meet(crew);
	if (crew->index > 0)
		crew_run(crew, NULL);
	for (unsigned int i = 0; i < roots; i++)
		if (crew->slots[i].noted_ns > last_ns)
			last_ns = crew->slots[i].noted_ns;
	end = rounds_usage(rounds);
	printf("{\"per_s\": %.1f, \"cpu_ns\": %.0f, \"switches\": %.2f}\n",
	       (double)(count * roots) * 1e9 / (double)(last_ns - start_ns),
	       (end.cpu_ns - begin.cpu_ns) / (double)(count * roots),
	       (end.switches - begin.switches) / (double)(count * roots));
}

int main(int argc, char **argv)
{
	struct crew_options options;
	static struct sender sender;
	static struct crew crew;
	struct rounds *rounds;
	unsigned int roots;
	unsigned long count;

	if (argc != 9) {
		fprintf(stderr, "usage: scoll_rate PROVIDER NODES TREE DOWN "
				"ROOTS GROUPS OUTSTANDING COUNT\n");
		return 2;
	}
	options = (struct crew_options){
		.provider = argv[1],
		.count = (unsigned int)rounds_number(argv[2], 2, CREW_MAX),
		.tree = argv[3],
		.up = 8,
		.rtt = 5000000000,
	};
	sender.crew = &crew;
	sender.down = rounds_number(argv[4], 0, SCOLL_BCAST_MAX);
	roots = (unsigned int)rounds_number(argv[5], 1, options.count);
	sender.group_count =
		(unsigned int)rounds_number(argv[6], 1, GROUPS_MAX);
	sender.outstanding =
		(unsigned int)rounds_number(argv[7], 1, OUTSTANDING_MAX);
	count = rounds_number(argv[8], 1, ROUNDS_MAX);
	rounds = rounds_create(1);
	crew_open(&crew, &options, rounds);
	life(&crew, &sender, roots, count, rounds);
	rounds_kill(rounds);
	crew_close(&crew);
	rounds_destroy(rounds);
	return 0;
}
