/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The commands of this node, as the half without privileges knows them: it has
 * the launcher start them, reads what they write, and keeps what came of them
 * for a while, so that who asks again, over another way, gets the same answer.
 */
#pragma once

#include <scoll.h>
#include <uv.h>

#include "base/log.h"
#include "config.h"
#include "launcher.h"
#include "results.h"

#define RUNS_MAX 1024 /* that are known */

struct runs;

/* Waits for one outcome. In the caller's struct. */
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

/* -ENOMEM. */
int runs_create(const struct runs_options *options, struct runs **ret_runs);
/* Stops all commands. The loop frees it. */
void runs_destroy(struct runs *runs);

/*
 * Have a credential's command run, unless it is or was already, and be told
 * what came of it: later, or from inside when that is known. `root`: who asks;
 * when the node that asked first is lost the command is stopped.
 */
void runs_join(struct runs *runs, const char *credential, size_t size,
	       scoll_nid_t root, struct exec_waiter *waiter);
/*
 * It waits no more, if it did. A command that nobody waits for is not started;
 * one that the launcher has goes on, for who asks again.
 */
void runs_leave(struct exec_waiter *waiter);
/*
 * Stop the command whose secret this is; of one whose secret is not known yet
 * the last is kept until it is.
 */
void runs_stop(struct runs *runs, const uint8_t key[EXEC_ID_BYTES],
	       const uint8_t secret[EXEC_ID_BYTES]);
void runs_root_lost(struct runs *runs, scoll_nid_t root);
/* Ask the launcher whether uid may do it. -ENOMEM. */
int runs_check(struct runs *runs, uint64_t tag, uid_t uid,
	       const char *credential, size_t size);
