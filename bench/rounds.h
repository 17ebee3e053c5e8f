/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What the programs that time rounds of a collective share: numbers from the
 * command line, the clock, and the report.
 */
#pragma once

#include <stdint.h>

#define ROUNDS_MAX     1000000
#define ROUNDS_WARM_UP 20 /* first ones, that are not reported */

/* A number of the command line; ends the program when it is none. */
unsigned long rounds_number(const char *text, unsigned long least,
			    unsigned long most);
/* Say what failed, with errno, and end the program. */
void rounds_die(const char *what) __attribute__((noreturn));
uint64_t rounds_now_ns(void);
/*
 * Wait for all children; print one JSON object: best_ns, median_ns, and of one
 * round cpu_ns and switches (of context) of all processes, warm-up counted.
 * Sorts the rounds.
 */
void rounds_report(uint64_t *rounds_ns, unsigned int count);
