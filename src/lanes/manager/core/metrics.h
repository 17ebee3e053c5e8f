/* SPDX-License-Identifier: BSD-3-Clause */
/* Counters of the core since its start; gauges are computed when asked for. */
#pragma once

#include <stdint.h>

#define METRICS_BUCKETS 10

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
