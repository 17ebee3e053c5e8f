/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What the programs that time rounds of a collective share: numbers from the
 * command line, the clock, processes, and the report.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#define ROUNDS_MAX     1000000
#define ROUNDS_WARM_UP 20 /* first ones, that are not reported */

/* A number of the command line; ends the program when it is none. */
unsigned long rounds_number(const char *text, unsigned long least,
			    unsigned long most);
/* Say what failed, with errno, and end the program. */
void rounds_die(const char *what) __attribute__((noreturn));
uint64_t rounds_now_ns(void);
/* Zeroed memory that children share. */
void *rounds_shared(size_t size);
/* The latest of what `count` nodes have noted. */
uint64_t rounds_last(const uint64_t *times_ns, unsigned int count);

/* What was smallest, and in the middle; sorts them. */
struct rounds_summary {
	uint64_t best, median;
};
struct rounds_summary rounds_summarize(uint64_t *values, unsigned int count);

/* CPU time and switches of context of a process and all its threads. */
struct rounds_usage {
	double cpu_ns, switches;
	double busy, all; /* ticks of the machine, whoever used them */
};
void rounds_usage_add(pid_t pid, struct rounds_usage *usage);
/* Ticks of the machine so far, or less these (-1). */
void rounds_machine_add(struct rounds_usage *usage, int sign);

struct rounds;

/* Of us and the children so far. */
struct rounds_usage rounds_usage(const struct rounds *rounds);

/* Warm-up and `count` more. Ends the program when there is no memory. */
struct rounds *rounds_create(unsigned int count);
/* With another warm-up than ROUNDS_WARM_UP. */
struct rounds *rounds_create_with(unsigned int count, unsigned int warm_up);
void rounds_destroy(struct rounds *rounds);
/* As fork(); the child's usage is reported, too. Dies with its parent. */
pid_t rounds_fork(struct rounds *rounds);
/* The child that was made after so many others. */
pid_t rounds_pid(const struct rounds *rounds, unsigned int index);
/* Before each round: false when all have been. */
int rounds_next(struct rounds *rounds);
/*
 * It is over; `reached` (0: not known) is when the last one had the message.
 * After the last round the children's usage is read: they still run then.
 */
void rounds_done(struct rounds *rounds, uint64_t reached_ns);
/* One more number for the report; the name is borrowed. */
void rounds_note(struct rounds *rounds, const char *name, double value);
/* End the children. */
void rounds_kill(struct rounds *rounds);
/*
 * Wait for all children; print one JSON object: ns of the first round, of the
 * best and of the median one, and of one round cpu_ns and switches (of context)
 * of all processes, warm-up left out; which part of the machine was busy;
 * reach_best_ns and reach_median_ns if they are known; and what was noted.
 */
void rounds_report(struct rounds *rounds);
