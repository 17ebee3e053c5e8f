/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * CPU time is what the kernel's clock of each process says, switches what is in
 * its /proc: both at the end of the warm-up and at that of the last round, so
 * that neither start nor end of a process counts.
 */
#include "rounds.h"

#include <dirent.h>
#include <errno.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define PROCESSES_MAX 1024
#define NOTES_MAX     8

struct rounds {
	unsigned int count; /* to report */
	unsigned int warm_up;
	unsigned int done; /* of all */
	unsigned int reached_count;
	uint64_t start_ns;
	uint64_t first_ns;
	uint64_t *times_ns, *reached_ns;
	struct rounds_usage begin, end;
	unsigned int pid_count;
	pid_t pids[PROCESSES_MAX];
	unsigned int note_count;
	struct {
		const char *name;
		double value;
	} notes[NOTES_MAX];
};

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

static uint64_t clock_ns(clockid_t clock)
{
	struct timespec now;

	if (clock_gettime(clock, &now) < 0)
		rounds_die("read a clock");
	return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

uint64_t rounds_now_ns(void)
{
	return clock_ns(CLOCK_MONOTONIC);
}

void *rounds_shared(size_t size)
{
	void *memory = mmap(NULL, size, PROT_READ | PROT_WRITE,
			    MAP_SHARED | MAP_ANONYMOUS, -1, 0);

	if (memory == MAP_FAILED)
		rounds_die("share memory");
	return memory;
}

uint64_t rounds_last(const uint64_t *times_ns, unsigned int count)
{
	uint64_t last_ns = 0;

	for (unsigned int i = 0; i < count; i++)
		if (times_ns[i] > last_ns)
			last_ns = times_ns[i];
	return last_ns;
}

static int compare(const void *one, const void *other)
{
	const uint64_t *a = one, *b = other;

	return *a < *b ? -1 : *a > *b;
}

struct rounds_summary rounds_summarize(uint64_t *values, unsigned int count)
{
	qsort(values, count, sizeof(*values), compare);
	return (struct rounds_summary){ values[0], values[count / 2] };
}

/* --- what processes use --- */

static double switches_of(const char *path)
{
	double all = 0, some;
	char line[256];
	FILE *file = fopen(path, "re");

	while (file != NULL && fgets(line, sizeof(line), file) != NULL) {
		const char *at = strstr(line, "ctxt_switches:");

		if (at != NULL && sscanf(at, "ctxt_switches: %lf", &some) == 1)
			all += some;
	}
	if (file != NULL)
		fclose(file);
	return all;
}

void rounds_usage_add(pid_t pid, struct rounds_usage *usage)
{
	struct dirent *entry;
	clockid_t clock;
	char path[64];
	DIR *tasks;

	snprintf(path, sizeof(path), "/proc/%d/task", (int)pid);
	tasks = opendir(path);
	if (clock_getcpuclockid(pid, &clock) != 0 || tasks == NULL)
		rounds_die("see what a process uses");
	usage->cpu_ns += (double)clock_ns(clock);
	while ((entry = readdir(tasks)) != NULL) {
		char status[512];

		snprintf(status, sizeof(status), "%s/%s/status", path,
			 entry->d_name);
		usage->switches += switches_of(status);
	}
	closedir(tasks);
}

void rounds_machine_add(struct rounds_usage *usage, int sign)
{
	/* user nice system idle iowait irq soft steal */
	double ticks[8] = { 0 };
	FILE *file = fopen("/proc/stat", "re");

	if (file == NULL ||
	    fscanf(file, "cpu %lf %lf %lf %lf %lf %lf %lf %lf", &ticks[0],
		   &ticks[1], &ticks[2], &ticks[3], &ticks[4], &ticks[5],
		   &ticks[6], &ticks[7]) != 8)
		rounds_die("read /proc/stat");
	fclose(file);
	for (int i = 0; i < 8; i++) {
		usage->all += sign * ticks[i];
		if (i != 3 && i != 4)
			usage->busy += sign * ticks[i];
	}
}

struct rounds_usage rounds_usage(const struct rounds *rounds)
{
	struct rounds_usage usage = { 0 };

	rounds_machine_add(&usage, 1);
	rounds_usage_add(getpid(), &usage);
	for (unsigned int i = 0; i < rounds->pid_count; i++)
		rounds_usage_add(rounds->pids[i], &usage);
	return usage;
}

/* --- rounds --- */

struct rounds *rounds_create(unsigned int count)
{
	return rounds_create_with(count, ROUNDS_WARM_UP);
}

struct rounds *rounds_create_with(unsigned int count, unsigned int warm_up)
{
	struct rounds *rounds = calloc(1, sizeof(*rounds));

	if (rounds == NULL)
		rounds_die("allocate");
	rounds->count = count;
	rounds->warm_up = warm_up;
	rounds->times_ns = calloc(count, sizeof(*rounds->times_ns));
	rounds->reached_ns = calloc(count, sizeof(*rounds->reached_ns));
	if (rounds->times_ns == NULL || rounds->reached_ns == NULL)
		rounds_die("allocate");
	return rounds;
}

void rounds_destroy(struct rounds *rounds)
{
	free(rounds->times_ns);
	free(rounds->reached_ns);
	free(rounds);
}

pid_t rounds_fork(struct rounds *rounds)
{
	pid_t parent = getpid(), pid;

	if (rounds->pid_count == PROCESSES_MAX) {
		errno = E2BIG;
		rounds_die("fork");
	}
	fflush(NULL);
	pid = fork();
	if (pid < 0)
		rounds_die("fork");
	if (pid > 0) {
		rounds->pids[rounds->pid_count++] = pid;
		return pid;
	}
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (getppid() != parent)
		_exit(1);
	return 0;
}

pid_t rounds_pid(const struct rounds *rounds, unsigned int index)
{
	return rounds->pids[index];
}

int rounds_next(struct rounds *rounds)
{
	if (rounds->done == rounds->warm_up + rounds->count)
		return 0;
	if (rounds->done == rounds->warm_up)
		rounds->begin = rounds_usage(rounds);
	rounds->start_ns = rounds_now_ns();
	return 1;
}

void rounds_done(struct rounds *rounds, uint64_t reached_ns)
{
	uint64_t time_ns = rounds_now_ns() - rounds->start_ns;
	unsigned int round = rounds->done++;

	if (round == 0)
		rounds->first_ns = time_ns;
	if (round < rounds->warm_up)
		return;
	round -= rounds->warm_up;
	rounds->times_ns[round] = time_ns;
	if (reached_ns != 0)
		rounds->reached_ns[rounds->reached_count++] =
			reached_ns - rounds->start_ns;
	if (round + 1 == rounds->count)
		rounds->end = rounds_usage(rounds);
}

void rounds_note(struct rounds *rounds, const char *name, double value)
{
	if (rounds->note_count == NOTES_MAX)
		return;
	rounds->notes[rounds->note_count].name = name;
	rounds->notes[rounds->note_count++].value = value;
}

void rounds_kill(struct rounds *rounds)
{
	for (unsigned int i = 0; i < rounds->pid_count; i++)
		kill(rounds->pids[i], SIGKILL);
}

void rounds_report(struct rounds *rounds)
{
	struct rounds_summary times =
		rounds_summarize(rounds->times_ns, rounds->count);
	double count = rounds->count;
	double all = rounds->end.all - rounds->begin.all;

	while (wait(NULL) > 0)
		;
	printf("{\"first_ns\": %" PRIu64 ", \"best_ns\": %" PRIu64
	       ", \"median_ns\": %" PRIu64 ", \"cpu_ns\": %.0f, "
	       "\"switches\": %.1f, \"busy\": %.2f",
	       rounds->first_ns, times.best, times.median,
	       (rounds->end.cpu_ns - rounds->begin.cpu_ns) / count,
	       (rounds->end.switches - rounds->begin.switches) / count,
	       all > 0 ? (rounds->end.busy - rounds->begin.busy) / all : 0);
	if (rounds->reached_count == rounds->count) {
		struct rounds_summary reached =
			rounds_summarize(rounds->reached_ns, rounds->count);

		printf(", \"reach_best_ns\": %" PRIu64
		       ", \"reach_median_ns\": %" PRIu64,
		       reached.best, reached.median);
	}
	for (unsigned int i = 0; i < rounds->note_count; i++)
		printf(", \"%s\": %.9g", rounds->notes[i].name,
		       rounds->notes[i].value);
	printf("}\n");
}
