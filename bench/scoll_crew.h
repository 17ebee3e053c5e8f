/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Processes on one machine that are members of each other's groups: number 0
 * is who opens the crew, the others are its children. Their service answers
 * each request with the bitwise or of its own bytes and its children's.
 *
 * What fails ends the program: these are benchmarks.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "rounds.h"
#include "scoll.h"

#define CREW_MAX     256
#define CREW_SERVICE 7
#define CREW_UP_MAX  4096

struct crew;

struct crew_options {
	unsigned int count; /* of processes */
	const char *provider;
	const char *tree; /* as text; "chain": each node has one child */
	size_t up;        /* bytes of a reply */
	bool is_polling;
	bool is_sealed; /* with the authenticator of one key */
	scoll_duration_t rtt;
	scoll_duration_t timeout; /* of a request; 0: half a minute */
	size_t bulk;              /* bytes of bulk data that may come */
	size_t bulk_segment;      /* 0: the library's */
	/* What each but the root does with a request; NULL: nothing. */
	void (*request)(struct crew *crew, const void *bytes, size_t size);
	/*
	 * Number i is in the network namespace with this name and i behind it,
	 * at 10.77.0.(i + 1). NULL: all are where we are, at 127.0.0.1.
	 */
	const char *namespace;
};

/* What a process says to all, in shared memory; it is alone in its lines. */
struct crew_slot {
	uint8_t address[192];
	size_t address_size;
	uint64_t reached_ns; /* when the last request came */
	uint64_t noted_ns;   /* the program's */
	/* How often it had asked for memory when that came; see below. */
	uint64_t allocations;
} __attribute__((aligned(64)));

struct crew_work;

struct crew {
	struct crew_options options;
	unsigned int index; /* ours */
	scoll_t *scoll;
	struct scoll_authenticator *auth;
	struct crew_slot *slots; /* shared: of all */
	struct crew_work *free;
	uint8_t *bulk; /* ours: what is sent, or where it goes */
	struct iovec bulk_iov;
	const uint64_t *allocations; /* ours; NULL: not counted */
	struct crew_barrier *barrier;
};

/*
 * Fork, open an instance each, and tell all where all are. Returns in each
 * process, with its `index`.
 */
void crew_open(struct crew *crew, const struct crew_options *options,
	       struct rounds *rounds);
/* Number 0, when the others have been ended. */
void crew_close(struct crew *crew);
/* Wait until all have come here; members' instances go on meanwhile. */
void crew_meet(struct crew *crew);
/* Progress until it is true; NULL: for ever. */
void crew_run(struct crew *crew, const bool *is_done);

scoll_nid_t crew_nid(unsigned int index);
/* A group of `count` of us, from number `first` on and around. */
scoll_group_t *crew_group(struct crew *crew, unsigned int first,
			  unsigned int count, bool populate_now);
/* One of these. */
scoll_group_t *crew_group_of(struct crew *crew, const unsigned int *indexes,
			     unsigned int count, bool populate_now);

struct crew_call {
	bool is_done;
	int status;
	unsigned int failure_count;
	unsigned int depth;                   /* of its tree */
	uint8_t up[CREW_UP_MAX];              /* what came */
	void (*done)(struct crew_call *call); /* NULL, or called at the end */
	void *ctx;
};

/*
 * Send a request to the group, with this much of our bulk data; it ends during
 * crew_run.
 */
void crew_send(struct crew *crew, scoll_group_t *group, const void *bytes,
	       size_t size, size_t bulk, struct crew_call *call);

/*
 * How often all of us have asked for memory, by any way, until the last
 * request. False: `allocations.so` is not preloaded.
 */
bool crew_allocations(const struct crew *crew, uint64_t *ret_count);
