/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The store seam over a libuv loop: one thread that carries out commits and
 * reads in the order they came, and hands the results to the loop.
 *
 * Group commit: commits that wait are written together, as one transaction.
 * The caller collects rows in larger batches where it can, which is cheaper.
 *
 * Everything here is called on the loop's thread. While no request waits or is
 * in flight the store may be used directly, for instance to read the journal
 * again after a commit has failed.
 */
#pragma once

#include <stdbool.h>
#include <uv.h>

#include "lanes/manager/store/row.h"

struct store;
struct store_worker;

/* Requests that wait or are in flight; one more gets -ENOBUFS. */
#define STORE_WORKER_REQUESTS_MAX 1024

/*
 * Start the thread. The store stays the caller's and outlives the worker.
 * -EAGAIN: no thread.
 */
int store_worker_start(uv_loop_t *loop, struct store *store,
		       struct store_worker **ret_worker);

/* Valid until stopped() of store_worker_stop(); no request after stop. */
struct store_seam store_worker_seam(struct store_worker *worker);

/*
 * The text of the last commit or read that failed, with what to do; "" before
 * the first one. Valid until the loop runs on.
 */
const char *store_worker_error(const struct store_worker *worker);

/*
 * Carry out what waits, give its results, end the thread, free the worker, and
 * call stopped. The worker keeps the loop alive until then.
 */
void store_worker_stop(struct store_worker *worker, void (*stopped)(void *arg),
		       void *arg);
