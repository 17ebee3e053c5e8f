/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The commands of this node, in the half without privileges: it has the launcher
 * start them, reads their output, and keeps their outcomes for a while, so that
 * a root that asks again gets the same one.
 */
#pragma once

#include <scoll.h>
#include <uv.h>

#include "base/log.h"
#include "config.h"
#include "launcher.h"
#include "results.h"

#define RUNS_MAX 1024 /* that run or have run */

struct runs;

/* Waits for one outcome. Part of the caller's struct. */
struct exec_waiter {
	struct exec_waiter *prev, *next;
	struct exec_run *run; /* NULL: does not wait */
	/* Called once; the outcome is borrowed for the call. */
	void (*done)(struct exec_waiter *waiter, const struct outcome *outcome);
};

/* Called with each answer of the launcher to runs_check(). */
typedef void (*runs_checked_fn)(void *ctx, uint64_t tag,
				const struct launcher_answer *answer);

struct runs_options {
	uv_loop_t *loop;
	const struct exec_config *config;
	const struct log *log;
	int launcher_fd; /* taken over */
	runs_checked_fn checked;
	void (*lost)(void *ctx); /* the launcher is gone */
	void *ctx;
};

struct runs *runs_create(const struct runs_options *options);
/* Stops all commands. The loop frees it. */
void runs_destroy(struct runs *runs);

/*
 * Run a credential's command, unless it runs or has run. The waiter gets its
 * outcome: later, or from inside when it is known. When the first `root` is lost
 * the command is stopped.
 */
void runs_join(struct runs *runs, const char *credential, size_t size,
	       scoll_nid_t root, struct exec_waiter *waiter);
/*
 * Wait no more. A command without waiters is not started; one that the launcher
 * has goes on, for a root that asks again.
 */
void runs_leave(struct exec_waiter *waiter);
/*
 * Stop the command if this is its secret. Before that is known, the last secret
 * is kept and compared later.
 */
void runs_stop(struct runs *runs, const uint8_t key[EXEC_ID_BYTES],
	       const uint8_t secret[EXEC_ID_BYTES]);
void runs_root_lost(struct runs *runs, scoll_nid_t root);
/* Have the launcher check whether uid may run it. -EBUSY. */
int runs_check(struct runs *runs, uint64_t tag, uid_t uid,
	       const char *credential, size_t size);
