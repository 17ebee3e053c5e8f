/* SPDX-License-Identifier: BSD-3-Clause */
/* Counters for engine_metrics.c. */
#pragma once

#include <stdint.h>

#define OPS_MAX     32 /* ops of the client protocol */
#define BUCKETS_MAX 9
#define TIME_BUCKETS                                      \
	{                                                 \
		1, 5, 10, 50, 100, 500, 1000, 5000, 30000 \
	} /* ms */
#define ROW_BUCKETS_MAX 9
#define ROW_BUCKETS                                         \
	{                                                   \
		1, 4, 16, 64, 256, 1024, 4096, 16384, 65536 \
	} /* rows of a commit */

/* How long things took. */
struct times {
	uint64_t count;
	uint64_t sum_ms;
	uint64_t buckets[BUCKETS_MAX]; /* of those up to that time */
};

void times_add(struct times *times, uint64_t took_ms);

struct op_metrics {
	struct times times;
	uint64_t failed_count;
};

enum manager_refusal {
	REFUSAL_MALFORMED, /* not a message of the protocol */
	REFUSAL_KEY,       /* a false MAC, or a key that is not known */
	REFUSAL_REPLAYED,  /* answers to another challenge */
	REFUSAL_UNKNOWN,   /* not one of our nodes */
	REFUSAL_PROOF,     /* a claim of a higher epoch without a proof */
	REFUSAL_STALE,     /* a confirmation of another life, or of nothing */
	REFUSAL_CROWDED,   /* it had not registered while others waited */
	REFUSAL_ADDRESS,   /* it has no endpoint for collectives */
	REFUSAL_COUNT,
};

struct counters {
	struct op_metrics ops[OPS_MAX];
	uint64_t client_refused_count;
	struct times commits; /* from submission until on disk */
	uint64_t row_count, commit_failed_count, replay_count;
	uint64_t byte_count;  /* keys and bodies of the rows */
	uint64_t commit_rows; /* of a commit of which not all is known yet */
	uint64_t row_buckets[ROW_BUCKETS_MAX]; /* commits of up to that many */
	uint64_t refusals[REFUSAL_COUNT];
	uint64_t command_count; /* that were signed */
	uint64_t answer_count;
	uint64_t lease_count; /* nodes whose lease ran out */
};
