/* SPDX-License-Identifier: BSD-3-Clause */
/* CPU time and switches are the kernel's: of us and of our ended children. */
#include "rounds.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>

unsigned long rounds_number(const char *text, unsigned long least,
			    unsigned long most)
{
	char *end;
	unsigned long value = strtoul(text, &end, 10);

	if (*end == 0 && end != text && value >= least && value <= most)
		return value;
	fprintf(stderr, "%s: '%s' is no number from %lu to %lu\n",
		program_invocation_short_name, text, least, most);
	exit(2);
}

void rounds_die(const char *what)
{
	fprintf(stderr, "%s: %s: %s\n", program_invocation_short_name, what,
		strerror(errno));
	exit(1);
}

uint64_t rounds_now_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

static int compare(const void *one, const void *other)
{
	const uint64_t *a = one, *b = other;

	return *a < *b ? -1 : *a > *b;
}

static double time_ns(struct timeval time)
{
	return (double)time.tv_sec * 1e9 + (double)time.tv_usec * 1e3;
}

void rounds_report(uint64_t *rounds_ns, unsigned int count)
{
	double all = count + ROUNDS_WARM_UP, cpu_ns = 0, switches = 0;

	while (wait(NULL) > 0)
		;
	for (int i = 0; i < 2; i++) {
		struct rusage usage;

		getrusage(i == 0 ? RUSAGE_SELF : RUSAGE_CHILDREN, &usage);
		cpu_ns += time_ns(usage.ru_utime) + time_ns(usage.ru_stime);
		switches += (double)(usage.ru_nvcsw + usage.ru_nivcsw);
	}
	qsort(rounds_ns, count, sizeof(*rounds_ns), compare);
	printf("{\"best_ns\": %llu, \"median_ns\": %llu, \"cpu_ns\": %.0f, "
	       "\"switches\": %.1f}\n",
	       (unsigned long long)rounds_ns[0],
	       (unsigned long long)rounds_ns[count / 2], cpu_ns / all,
	       switches / all);
}
