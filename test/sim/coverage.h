/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * How often everything happened that a simulation is meant to try: faults,
 * edges of the state machines, errors, checks. A name that was expected and
 * never happened is a failure of the simulation, unless it is known that no
 * simulation of this size can reach it, and why.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "base/cleanup.h"

struct coverage;

/* When memory runs out, the process ends. */
struct coverage *coverage_create(void);
void coverage_destroy(struct coverage *coverage);
DEFINE_AUTO(struct coverage, coverage_destroy)

/* It is expected: it is listed even at zero. */
void coverage_expect(struct coverage *coverage, const char *name);
/* It cannot happen here, for a reason; that it does happen is no failure. */
void coverage_excuse(struct coverage *coverage, const char *name,
		     const char *reason);
void coverage_add(struct coverage *coverage, const char *name, uint64_t count);
void coverage_hit(struct coverage *coverage, const char *format, ...)
	__attribute__((format(printf, 2, 3)));

/* Between processes: one line a name. -EBADMSG: a line that is none. */
void coverage_write(const struct coverage *coverage, FILE *file);
int coverage_read(struct coverage *coverage, FILE *file);

/* Everything, sorted; then what was never seen. How many are missing. */
unsigned int coverage_report(struct coverage *coverage, FILE *file);
