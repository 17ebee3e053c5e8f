/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The seams: everything a pure module wants from the world comes through one
 * of these tables. src/sys has the real ones, src/sim the simulated ones, and
 * only main.c files and tests choose.
 *
 * A pure module has no timers: it takes the time with each call, and says by
 * a x_deadline_ms() function when it wants to be called again.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#define DEADLINE_NONE UINT64_MAX

/* Two clocks: monotonic for every order and deadline, wall for people. */
struct clock_ops {
	uint64_t (*monotonic_ms)(void *ctx);
	uint64_t (*wall_us)(void *ctx); /* since 1970 */
};

struct clock_seam {
	const struct clock_ops *ops;
	void *ctx;
};

static inline uint64_t clock_monotonic_ms(const struct clock_seam *clock)
{
	return clock->ops->monotonic_ms(clock->ctx);
}

static inline uint64_t clock_wall_us(const struct clock_seam *clock)
{
	return clock->ops->wall_us(clock->ctx);
}

struct rng_ops {
	/* Fill with unpredictable bytes; cannot fail. */
	void (*fill)(void *ctx, void *bytes, size_t size);
};

struct rng_seam {
	const struct rng_ops *ops;
	void *ctx;
};

static inline void rng_fill(const struct rng_seam *rng, void *bytes,
			    size_t size)
{
	rng->ops->fill(rng->ctx, bytes, size);
}

static inline uint64_t rng_u64(const struct rng_seam *rng)
{
	uint64_t value;

	rng->ops->fill(rng->ctx, &value, sizeof(value));
	return value;
}

/*
 * Network: frames to and from peers. A peer is a connection's handle, never
 * reused in a process. Frames may be lost when a connection breaks; a module
 * that needs an answer asks again.
 */
struct net_ops {
	/*
	 * Queue a copy of the frame. -ENOTCONN: no such peer; -ENOBUFS: its
	 * queue is full (the frame is dropped).
	 */
	int (*send)(void *ctx, uint64_t peer, const void *frame, size_t size);
	/* Close after what is queued; the closed event still comes. */
	void (*close)(void *ctx, uint64_t peer);
};

struct net_seam {
	const struct net_ops *ops;
	void *ctx;
};

/*
 * Store: the manager's journal. A batch is written as one transaction; `done`
 * is called from the event loop, in the order of the commits, once the batch
 * is on disk (0) or has failed as a whole (negative errno: -ENOSPC disk full,
 * -EIO, -ESTALE when another process has taken the journal over).
 */
enum store_table {
	STORE_META,      /* key -> number in id: epoch, cursors, ... */
	STORE_JOB,       /* id: grant id, key: job key, body: the record */
	STORE_TOMBSTONE, /* id: grant id, key: a released job's key */
	STORE_EVENT,     /* id: grant id, sub: 1, 2, ...; body: one JSON line */
	STORE_NODE,      /* key: node name, body: the record */
	STORE_TABLE_COUNT,
};

enum store_verb {
	STORE_PUT,    /* insert or replace */
	STORE_DELETE, /* absent is no error */
};

struct store_row {
	enum store_table table;
	enum store_verb verb;
	uint64_t id;
	uint64_t sub;
	const char *key;  /* "" where the table has none */
	const void *body; /* NULL where the table has none */
	size_t size;      /* bytes of body */
};

struct store_batch; /* rows in order; src/manager/store/batch.h */

struct store_ops {
	void (*commit)(void *ctx, struct store_batch *batch_owned,
		       void (*done)(void *arg, int result), void *arg);
};

struct store_seam {
	const struct store_ops *ops;
	void *ctx;
};
