/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Counters of the core since its start (gauges are computed when asked for),
 * and how numbers are written for Prometheus.
 */
#pragma once

#include <stdint.h>

#include "base/bytes.h"

#define METRICS_BUCKETS 13

/* Times of one kind of operation, for a Prometheus histogram. */
struct histogram {
	uint64_t buckets[METRICS_BUCKETS]; /* not cumulative */
	uint64_t count;                    /* also those above all buckets */
	uint64_t sum_ms;
};

enum metrics_op {
	METRICS_RESERVE,
	METRICS_APPLY,
	METRICS_RELEASE,
	METRICS_OP_COUNT,
};

struct metrics {
	uint64_t done[METRICS_OP_COUNT];
	uint64_t failed[METRICS_OP_COUNT];
	uint64_t registrations;
	uint64_t reboots;
	uint64_t confirmations;
	uint64_t lanes_lost;
	struct histogram apply_ms;
	struct histogram revoke_ms;
};

void histogram_add(struct histogram *histogram, uint64_t value_ms);

/* --- text: names begin with fairlead_, times are in seconds --- */

void metrics_line(struct writer *out, const char *format, ...)
	__attribute__((format(printf, 2, 3)));
/* What the lines of that name mean. */
void metrics_family(struct writer *out, const char *name, const char *type,
		    const char *help);
/* A family of one line. */
void metrics_number(struct writer *out, const char *name, const char *type,
		    const char *help, uint64_t value);
/* The lines of one histogram; label: `name="value"`, or "". */
void metrics_histogram(struct writer *out, const char *name, const char *label,
		       const struct histogram *histogram);
