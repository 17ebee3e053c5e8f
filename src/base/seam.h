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

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define DEADLINE_NONE UINT64_MAX

/* DEADLINE_NONE when either is, or the time is beyond what can be said. */
static inline uint64_t deadline_after(uint64_t now_ns, uint64_t duration_ns)
{
	return now_ns > DEADLINE_NONE - duration_ns ? DEADLINE_NONE
						    : now_ns + duration_ns;
}

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
	/*
	 * Optional. The connection is over, or the peer has ended it, though
	 * the closed event may come later: a frame that is handled now may have
	 * waited for long.
	 */
	bool (*is_over)(void *ctx, uint64_t peer);
};

struct net_seam {
	const struct net_ops *ops;
	void *ctx;
};

/* false also where it is not known. */
static inline bool net_is_over(const struct net_seam *net, uint64_t peer)
{
	return net->ops->is_over != NULL && net->ops->is_over(net->ctx, peer);
}

/*
 * Files besides the manager's journal that have to survive a crash: small ones
 * that are replaced as a whole, and locks. Paths are NUL terminated and
 * borrowed. What is made is readable by the owner only (0700, 0600), and a file
 * that others could read no longer is. Every change is on disk when the call
 * returns. All return 0 or a count, or a negative errno.
 */
struct file_ops {
	/* Make a directory unless it is there; its parent has to exist. */
	int (*make_directory)(void *ctx, const char *path);
	/* Make an empty file unless it is there. */
	int (*make_file)(void *ctx, const char *path);
	/* Read a whole file: its size. -ENOENT; -EFBIG: above capacity. */
	int (*load)(void *ctx, const char *path, void *bytes, size_t capacity);
	/* Give a file new contents: after a crash it has the old or the new. */
	int (*replace)(void *ctx, const char *path, const void *bytes,
		       size_t size);
	/* To the same directory; a file with the new name goes. -ENOENT. */
	int (*rename)(void *ctx, const char *from, const char *to);
	/*
	 * Lock a file, which is made unless it is there; the lock ends with
	 * unlock or with the process. -EBUSY: held, by the process
	 * *ret_holder (0: not known), which is written in this case only.
	 */
	int (*lock)(void *ctx, const char *path, void **ret_lock,
		    uint64_t *ret_holder);
	void (*unlock)(void *ctx, void *lock);
};

struct file_seam {
	const struct file_ops *ops;
	void *ctx;
};
