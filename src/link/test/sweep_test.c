/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Want of memory at each allocation of the provider's in turn, in either of two
 * processes: each round is the same work (sweep.h), with another one refused, once.
 * A short run takes those that are the first of their place in the provider, and of
 * the others some.
 */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "link/test/lone.h"
#include "link/test/refuse.h"
#include "link/test/sweep.h"

#define SKIP   77
#define SAMPLE 8 /* of one process, in a short run */

/* Of the first process and the second one, in memory that both have. */
static struct refuse *sides;

static void all_is_done_in_spite_of_it(struct pair *pair)
{
	pair_check(refuse_begin(&sides[pair->is_first ? 0 : 1]));
	sweep_unlisted(pair);
	sweep_messages(pair);
	sweep_memory(pair);
	sweep_events(pair);
}

static const struct pair_setting setting = {
	.caps = FI_MSG | FI_TAGGED | FI_RMA | FI_ATOMIC | FI_DIRECTED_RECV |
		FI_SOURCE | FI_MULTI_RECV | FI_RMA_EVENT,
	.inserts_itself = true,
};

static int round_of_two(void)
{
	static const struct pair_case cases[] = {
		pair_case(all_is_done_in_spite_of_it),
	};

	return pair_run(&setting, cases, COUNT_OF(cases));
}

static int round_of_one(void)
{
	struct fi_info *info = lone_info(setting.caps, FI_THREAD_UNSPEC);

	pair_check(info != NULL && refuse_begin(&sides[0]));
	sweep_open(info);
	fi_freeinfo(info);
	return 0;
}

/* In a process of its own. Returns how that ended. */
static int round_run(int (*round)(void), unsigned int side,
		     unsigned int refused)
{
	int status = 0;
	pid_t child;

	memset(sides, 0, 2 * sizeof(*sides));
	sides[side].refused = refused;
	fflush(stdout);
	child = fork();
	pair_check(child >= 0);
	if (child == 0) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		if (refused != 0 && freopen("/dev/null", "w", stdout) == NULL)
			exit(1);
		exit(round());
	}
	pair_check(waitpid(child, &status, 0) == child);
	return WIFEXITED(status) ? WEXITSTATUS(status) : 1;
}

static bool is_first_of_site(const struct refuse *all, unsigned int which)
{
	for (unsigned int i = 0; i < which; i++)
		if (all->sites[i] == all->sites[which])
			return false;
	return true;
}

static bool is_long(void)
{
	const char *length = getenv("FAIRLEAD_TEST");

	return length != NULL && strcmp(length, "long") == 0;
}

/*
 * Marks those that are refused. In a short run each process has every other one of
 * the sample, and the first one: they do the same.
 */
static void choose(const struct refuse *all, unsigned int side, bool *chosen)
{
	unsigned int step = all->count / SAMPLE + 1, next = 0;

	for (unsigned int i = 0; i < all->count; i++) {
		bool is_of_sample = is_first_of_site(all, i) || i % step == 0;
		chosen[i] = is_long() || i == 0 ||
			    (is_of_sample && next++ % 2 == side);
	}
}

/* Returns what main() should. */
static int sweep(const char *what, int (*round)(void), unsigned int side)
{
	static bool chosen[REFUSE_MAX];
	unsigned int count, rounds = 0;
	int result = round_run(round, side, 0);

	if (result != 0)
		return result;
	count = sides[side].count;
	pair_check(count > 0 && count <= REFUSE_MAX);
	choose(&sides[side], side, chosen);
	for (unsigned int i = 0; i < count; i++) {
		if (!chosen[i])
			continue;
		rounds++;
		if (round_run(round, side, i + 1) == 0)
			continue;
		fprintf(stderr, "%s: without allocation %u of %u\n", what,
			i + 1, count);
		return 1;
	}
	printf("%s: %u of %u allocations were refused, one at a time\n", what,
	       rounds, count);
	return 0;
}

int main(void)
{
	int result;

	sides = mmap(NULL, 2 * sizeof(*sides), PROT_READ | PROT_WRITE,
		     MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	pair_check(sides != MAP_FAILED);
	/* What libfabric looks for in the beginning is there for all rounds. */
	fi_freeinfo(lone_info(setting.caps, FI_THREAD_UNSPEC));
	result = sweep("the first process", round_of_two, 0);
	if (result == 0)
		result = sweep("the second process", round_of_two, 1);
	if (result == 0)
		result = sweep("what is opened", round_of_one, 0);
	return result;
}
