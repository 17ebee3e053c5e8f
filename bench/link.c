/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What the link provider costs beside a core alone, or one link beside another:
 * two processes, each on a processor of its own, that measure both sides in
 * turns.
 *
 * Usage: link [OPTION...] MEASURE ONE OTHER SIZE COUNT SLICES
 *   MEASURE  latency: ns one way, there and back; stream: ns a message, in
 *            windows; memory: bytes for each of COUNT peers that are known
 *   ONE, OTHER  sides: see link_side.h
 *   SIZE     bytes of a message
 *   COUNT    rounds of a slice, or windows
 *   SLICES   of each side; which is first changes from one to the next
 *   --window N        messages of a window (64)
 *   --posted N        receives that nothing matches are there
 *   --unexpected N    messages that nobody expects are there
 *   --namespaces A,B  the processes' network namespaces, as of `ip netns`
 *
 * Prints a list of both sides' slices: [[ONE...], [OTHER...]].
 */
#include <errno.h>
#include <fcntl.h>
#include <getopt.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "link_side.h"
#include "rounds.h"

#define SLICES_MAX 1000
#define SIZE_MAX_  (64 << 20)
#define COUNT_MAX  10000000
#define SIDES      2

struct plan {
	const char *measure;
	const char *names[SIDES];
	size_t size;
	unsigned int count, slices, window, posted, unexpected;
	char *namespaces[SIDES];
};

static void usage(void)
{
	fprintf(stderr, "usage: link [OPTION...] MEASURE ONE OTHER SIZE COUNT "
			"SLICES\n");
	exit(2);
}

static unsigned int number(const char *text, unsigned long least,
			   unsigned long most)
{
	return (unsigned int)rounds_number(text, least, most);
}

static void option_take(struct plan *plan, int option)
{
	char *comma;

	switch (option) {
	case 'w':
		plan->window = number(optarg, 1, SIDE_WINDOW);
		break;
	case 'p':
		plan->posted = number(optarg, 0, COUNT_MAX);
		break;
	case 'u':
		plan->unexpected = number(optarg, 0, COUNT_MAX);
		break;
	case 'n':
		comma = strchr(optarg, ',');
		if (comma == NULL)
			usage();
		*comma = '\0';
		plan->namespaces[0] = optarg;
		plan->namespaces[1] = comma + 1;
		break;
	default:
		usage();
	}
}

static struct plan plan_parse(int argc, char **argv)
{
	static const struct option options[] = {
		{ "window", required_argument, NULL, 'w' },
		{ "posted", required_argument, NULL, 'p' },
		{ "unexpected", required_argument, NULL, 'u' },
		{ "namespaces", required_argument, NULL, 'n' },
		{ 0 },
	};
	struct plan plan = { .window = SIDE_WINDOW };
	int option;

	while ((option = getopt_long(argc, argv, "", options, NULL)) != -1)
		option_take(&plan, option);
	if (argc - optind != 6)
		usage();
	argv += optind;
	plan.measure = argv[0];
	plan.names[0] = argv[1];
	plan.names[1] = argv[2];
	plan.size = rounds_number(argv[3], 0, SIZE_MAX_);
	plan.count = number(argv[4], 1, COUNT_MAX);
	plan.slices = number(argv[5], 1, SLICES_MAX);
	return plan;
}

/* A machine with one processor has both on it. */
static void place_take(const struct plan *plan, int which)
{
	cpu_set_t set;
	char path[256];
	int fd;

	CPU_ZERO(&set);
	CPU_SET(which, &set);
	sched_setaffinity(0, sizeof(set), &set);
	if (plan->namespaces[which] == NULL)
		return;
	snprintf(path, sizeof(path), "/run/netns/%s", plan->namespaces[which]);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0 || setns(fd, CLONE_NEWNET) != 0)
		rounds_die(path);
	close(fd);
}

static double measure(const struct plan *plan, struct side *side)
{
	if (strcmp(plan->measure, "latency") == 0)
		return side_latency(side, plan->size, plan->count);
	if (strcmp(plan->measure, "stream") == 0)
		return side_stream(side, plan->size, plan->window, plan->count);
	if (strcmp(plan->measure, "memory") == 0)
		return side_know(side, plan->count);
	usage();
	return 0;
}

static void print(const struct plan *plan, double results[SIDES][SLICES_MAX])
{
	for (int k = 0; k < SIDES; k++)
		for (unsigned int i = 0; i < plan->slices; i++)
			printf("%s%.4f%s",
			       i > 0   ? ", "
			       : k > 0 ? "], ["
				       : "[[",
			       results[k][i],
			       i + 1 == plan->slices && k == 1 ? "]]\n" : "");
}

static void run(const struct plan *plan, bool is_first, int fd)
{
	static double results[SIDES][SLICES_MAX];
	struct side *sides[SIDES];

	for (int k = 0; k < SIDES; k++) {
		sides[k] = side_open(plan->names[k], is_first, fd, plan->size);
		if (side_leave(sides[k], plan->unexpected) < plan->unexpected ||
		    side_post(sides[k], plan->posted) < plan->posted) {
			errno = ENOSPC;
			rounds_die(plan->names[k]);
		}
	}
	for (unsigned int i = 0; i < plan->slices; i++)
		for (unsigned int k = 0; k < SIDES; k++) {
			unsigned int which = (k + i) % SIDES;
			results[which][i] = measure(plan, sides[which]);
		}
	for (int k = 0; k < SIDES; k++)
		side_close(sides[k]);
	if (is_first)
		print(plan, results);
}

int main(int argc, char **argv)
{
	struct plan plan = plan_parse(argc, argv);
	int fds[2], status = 0;
	pid_t child;

	if (socketpair(AF_UNIX, SOCK_STREAM, 0, fds) != 0)
		rounds_die("socketpair");
	child = fork();
	if (child < 0)
		rounds_die("fork");
	if (child == 0)
		prctl(PR_SET_PDEATHSIG, SIGKILL);
	place_take(&plan, child == 0);
	close(fds[child == 0 ? 0 : 1]);
	run(&plan, child != 0, fds[child == 0 ? 1 : 0]);
	if (child == 0)
		return 0;
	if (waitpid(child, &status, 0) != child || status != 0)
		return 1;
	return 0;
}
