/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What the link provider costs beside a core alone, or one link beside another:
 * two processes, each on a processor of its own, that measure both sides in
 * turns.
 *
 * Usage: link [OPTION...] ONE OTHER SLICES MEASURE...
 *   ONE, OTHER  sides: see link_side.h
 *   SLICES   of each side and measure; which side is first changes from one to
 *            the next
 *   MEASURE  latency:SIZE:ROUNDS          ns one way, there and back
 *            stream:SIZE:WINDOW:WINDOWS   ns a message
 *            write:SIZE:WINDOW:WINDOWS    the same of the other's memory
 *            read:SIZE:WINDOW:WINDOWS
 *            memory:COUNT                 bytes for each peer that is known
 *   --posted N        ONE has receives that nothing matches
 *   --unexpected N    ONE has messages that nobody expects
 *   --nap             who waits sleeps between two looks; which part of the
 *                     machine is busy meanwhile is printed, too
 *   --namespaces A,B  the processes' network namespaces, as of `ip netns`
 *
 * Prints both sides' slices of each measure:
 * {"slices": [[[ONE...], [OTHER...]], ...], "busy": [ONE, OTHER]}
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

#define SLICES_MAX   1000
#define SIZE_MAX_    (64 << 20)
#define COUNT_MAX    10000000
#define MEASURES_MAX 64
#define SIDES        2

enum kind {
	LATENCY,
	STREAM,
	WRITE,
	READ,
	MEMORY
};

struct measure {
	enum kind kind;
	size_t size;
	unsigned int window, count;
	double results[SIDES][SLICES_MAX];
};

struct plan {
	const char *names[SIDES];
	char *namespaces[SIDES];
	unsigned int slices, posted, unexpected;
	bool is_napping;
	size_t size; /* of the largest message */
	bool is_reaching;
	unsigned int count;
	struct measure *measures;
};

static void usage(void)
{
	fprintf(stderr,
		"usage: link [OPTION...] ONE OTHER SLICES MEASURE...\n");
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
	case 'p':
		plan->posted = number(optarg, 0, COUNT_MAX);
		break;
	case 'u':
		plan->unexpected = number(optarg, 0, COUNT_MAX);
		break;
	case 's':
		plan->is_napping = true;
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

static unsigned int part_number(char **text, unsigned long least,
				unsigned long most)
{
	const char *part = strsep(text, ":");

	if (part == NULL)
		usage();
	return number(part, least, most);
}

static void measure_parse(struct measure *measure, char *text)
{
	static const char *const kinds[] = { "latency", "stream", "write",
					     "read", "memory" };
	const char *kind = strsep(&text, ":");

	while (strcmp(kind, kinds[measure->kind]) != 0)
		if (++measure->kind > MEMORY)
			usage();
	if (measure->kind != MEMORY)
		measure->size = part_number(&text, 0, SIZE_MAX_);
	if (measure->kind != LATENCY && measure->kind != MEMORY)
		measure->window = part_number(&text, 1, SIDE_WINDOW);
	measure->count = part_number(&text, 1, COUNT_MAX);
	if (text != NULL)
		usage();
}

static struct plan plan_parse(int argc, char **argv)
{
	static const struct option options[] = {
		{ "posted", required_argument, NULL, 'p' },
		{ "unexpected", required_argument, NULL, 'u' },
		{ "nap", no_argument, NULL, 's' },
		{ "namespaces", required_argument, NULL, 'n' },
		{ 0 },
	};
	struct plan plan = { 0 };
	int option;

	while ((option = getopt_long(argc, argv, "", options, NULL)) != -1)
		option_take(&plan, option);
	if (argc - optind < 4 || argc - optind > 3 + MEASURES_MAX)
		usage();
	argv += optind;
	plan.names[0] = argv[0];
	plan.names[1] = argv[1];
	plan.slices = number(argv[2], 1, SLICES_MAX);
	plan.count = (unsigned int)(argc - optind - 3);
	plan.measures = calloc(plan.count, sizeof(*plan.measures));
	if (plan.measures == NULL)
		rounds_die("allocate");
	for (unsigned int i = 0; i < plan.count; i++) {
		measure_parse(&plan.measures[i], argv[3 + i]);
		if (plan.measures[i].size > plan.size)
			plan.size = plan.measures[i].size;
		plan.is_reaching |= plan.measures[i].kind == WRITE ||
				    plan.measures[i].kind == READ;
	}
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

static double measure_once(const struct measure *measure, struct side *side)
{
	switch (measure->kind) {
	case LATENCY:
		return side_latency(side, measure->size, measure->count);
	case STREAM:
		return side_stream(side, measure->size, measure->window,
				   measure->count);
	case WRITE:
	case READ:
		return side_access(side, measure->kind == READ, measure->size,
				   measure->window, measure->count);
	default:
		return side_know(side, measure->count);
	}
}

/* --- both sides in turns --- */

static void sides_open(const struct plan *plan, bool is_first, int fd,
		       struct side *sides[SIDES])
{
	for (int k = 0; k < SIDES; k++)
		sides[k] = side_open(plan->names[k], is_first, fd, plan->size,
				     plan->is_napping, plan->is_reaching);
	if (side_leave(sides[0], plan->unexpected) < plan->unexpected ||
	    side_post(sides[0], plan->posted) < plan->posted) {
		errno = ENOSPC;
		rounds_die(plan->names[0]);
	}
}

/* Connections are made, and memory is touched; but peers are known once. */
static void warm_up(const struct plan *plan, struct side *sides[SIDES])
{
	for (unsigned int m = 0; m < plan->count; m++)
		for (int k = 0; k < SIDES; k++)
			if (plan->measures[m].kind != MEMORY)
				measure_once(&plan->measures[m], sides[k]);
}

static void measure_all(const struct plan *plan, struct side *sides[SIDES],
			struct rounds_usage usage[SIDES])
{
	for (unsigned int i = 0; i < plan->slices; i++)
		for (unsigned int m = 0; m < plan->count; m++)
			for (unsigned int k = 0; k < SIDES; k++) {
				struct measure *measure = &plan->measures[m];
				unsigned int which = (k + i) % SIDES;
				struct rounds_usage *used = &usage[which];

				if (plan->is_napping)
					rounds_machine_add(used, -1);
				measure->results[which][i] =
					measure_once(measure, sides[which]);
				if (plan->is_napping)
					rounds_machine_add(used, 1);
			}
}

static void print_list(const double *values, unsigned int count)
{
	for (unsigned int i = 0; i < count; i++)
		printf("%s%.4f", i == 0 ? "[" : ", ", values[i]);
	printf("]");
}

static void print(const struct plan *plan,
		  const struct rounds_usage usage[SIDES])
{
	double busy[SIDES];

	for (int k = 0; k < SIDES; k++)
		busy[k] = usage[k].all > 0 ? usage[k].busy / usage[k].all : 0;
	printf("{\"slices\": [");
	for (unsigned int m = 0; m < plan->count; m++) {
		printf("%s[", m == 0 ? "" : ", ");
		print_list(plan->measures[m].results[0], plan->slices);
		printf(", ");
		print_list(plan->measures[m].results[1], plan->slices);
		printf("]");
	}
	printf("], \"busy\": ");
	print_list(busy, SIDES);
	printf("}\n");
}

static void run(const struct plan *plan, bool is_first, int fd)
{
	struct rounds_usage usage[SIDES] = { 0 };
	struct side *sides[SIDES];

	sides_open(plan, is_first, fd, sides);
	warm_up(plan, sides);
	measure_all(plan, sides, usage);
	for (int k = 0; k < SIDES; k++)
		side_close(sides[k]);
	if (is_first)
		print(plan, usage);
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
