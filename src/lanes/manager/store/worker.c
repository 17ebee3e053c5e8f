/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Two queues under one mutex: what waits for the thread, and what is done and
 * waits for the loop. The thread takes one read at a time, or all commits that
 * wait in a row, and holds no lock while it works.
 *
 * A commit that failed makes those behind it fail as well (-ECANCELED), until
 * the loop has its result: their callers did not know of it.
 */
#include "lanes/manager/store/worker.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <utlist.h>

#include "base/error.h"
#include "base/memory.h"
#include "lanes/manager/store/row.h"
#include "lanes/manager/store/store.h"

#define TOGETHER_MAX 64 /* commits that are one transaction */

struct store_request {
	struct store_request *prev, *next;
	struct store_batch *batch; /* to write, or what was read */
	void (*commit_done)(void *arg, int result); /* NULL: a read */
	void (*read_done)(void *arg, int result, const struct store_row *rows,
			  size_t count);
	void *arg;
	enum store_table table;
	uint64_t id;
	char *key;
	int result; /* not 0 before its turn: it is not carried out */
	struct fairlead_error error;
};

struct store_worker {
	uv_thread_t thread;
	uv_async_t wakeup; /* of the loop */
	struct store *store;
	/* The loop's only: */
	size_t request_count;
	char error[FAIRLEAD_ERROR_TEXT_MAX];
	void (*stopped)(void *arg);
	void *stopped_arg;
	/* Under the mutex: */
	uv_mutex_t mutex;
	uv_cond_t changed; /* waiting has grown, or is_stopping */
	struct store_request *waiting;
	struct store_request *done;
	bool has_failed; /* a commit, and the loop does not know yet */
	bool is_stopping;
};

static void request_destroy(struct store_request *request)
{
	store_batch_destroy(request->batch);
	free(request->key);
	free(request);
}

static int collect_row(void *arg, const struct store_row *row)
{
	return store_batch_add(arg, row);
}

static int read_rows(struct store *store, struct store_request *request)
{
	int result;

	request->batch = store_batch_create();
	result = store_read(store, request->table, request->id, request->key,
			    collect_row, request->batch, &request->error);
	if (result == -ENOBUFS)
		error_set(&request->error, result, "too much to read at once");
	return result;
}

static void cancel(struct store_request *request)
{
	request->result = error_set(&request->error, -ECANCELED,
				    "an earlier write to the journal failed");
}

static void write_together(struct store *store, struct store_request *requests)
{
	const struct store_batch *batches[TOGETHER_MAX] = { NULL };
	struct store_request *request;
	size_t count = 0;
	int result;

	DL_FOREACH (requests, request)
		batches[count++] = request->batch;
	result = store_write_all(store, batches, count, &requests->error);
	DL_FOREACH (requests, request) {
		if (result == 0)
			request->result = request->next != NULL;
		else if (request == requests)
			request->result = result;
		else
			cancel(request);
	}
}

/* On the thread, without the mutex. */
static void carry_out(struct store *store, struct store_request *requests)
{
	if (requests->result < 0)
		return;
	if (requests->commit_done != NULL)
		write_together(store, requests);
	else
		requests->result = read_rows(store, requests);
}

/* One that is refused already has its turn alone, as a read has. */
static bool is_writing(const struct store_request *request)
{
	return request->commit_done != NULL && request->result == 0;
}

/* Take what is carried out next; there is something. Under the mutex. */
static struct store_request *take_next(struct store_worker *worker)
{
	struct store_request *request = worker->waiting;
	struct store_request *taken = NULL;
	size_t row_count = 0, byte_count = 0, count = 0;

	if (worker->has_failed && is_writing(request))
		cancel(request);
	do {
		if (is_writing(request)) {
			row_count += store_batch_count(request->batch);
			byte_count += store_batch_bytes(request->batch);
		}
		DL_DELETE(worker->waiting, request);
		DL_APPEND(taken, request);
		request = worker->waiting;
	} while (is_writing(taken) && request != NULL && is_writing(request) &&
		 ++count < TOGETHER_MAX && row_count < STORE_BATCH_ROWS_FULL &&
		 byte_count < STORE_BATCH_BYTES_FULL);
	return taken;
}

static void run(void *arg)
{
	struct store_worker *worker = arg;

	uv_mutex_lock(&worker->mutex);
	for (;;) {
		struct store_request *requests;

		if (worker->waiting == NULL && worker->is_stopping)
			break;
		if (worker->waiting == NULL) {
			uv_cond_wait(&worker->changed, &worker->mutex);
			continue;
		}
		requests = take_next(worker);
		uv_mutex_unlock(&worker->mutex);
		carry_out(worker->store, requests);
		uv_mutex_lock(&worker->mutex);
		if (requests->commit_done != NULL && requests->result < 0 &&
		    requests->result != -ECANCELED)
			worker->has_failed = true;
		DL_CONCAT(worker->done, requests);
		uv_async_send(&worker->wakeup);
	}
	uv_mutex_unlock(&worker->mutex);
	uv_async_send(&worker->wakeup);
}

static void give_read(struct store_request *request)
{
	const struct store_row *rows = NULL;
	size_t count = 0;

	if (request->result == 0) {
		rows = store_batch_rows(request->batch);
		count = store_batch_count(request->batch);
	}
	request->read_done(request->arg, request->result, rows, count);
	request_destroy(request);
}

static void give_result(struct store_worker *worker,
			struct store_request *request)
{
	void (*done)(void *arg, int result) = request->commit_done;
	void *arg = request->arg;
	int result = request->result;

	worker->request_count--;
	if (result < 0)
		memcpy(worker->error, request->error.text,
		       sizeof(worker->error));
	if (done == NULL) {
		give_read(request);
		return;
	}
	request_destroy(request);
	done(arg, result);
}

/* A commit has failed: cancel those that were given before the loop knew. */
static void requests_cancel(struct store_worker *worker)
{
	struct store_request *request;

	uv_mutex_lock(&worker->mutex);
	worker->has_failed = false;
	DL_FOREACH (worker->waiting, request) {
		if (request->commit_done != NULL && request->result == 0)
			cancel(request);
	}
	uv_mutex_unlock(&worker->mutex);
}

static void closed(uv_handle_t *handle)
{
	struct store_worker *worker = handle->data;
	void (*stopped)(void *arg) = worker->stopped;
	void *arg = worker->stopped_arg;

	uv_cond_destroy(&worker->changed);
	uv_mutex_destroy(&worker->mutex);
	free(worker);
	stopped(arg);
}

static void woken(uv_async_t *wakeup)
{
	struct store_worker *worker = wakeup->data;
	struct store_request *done;
	struct store_request *request, *next;

	uv_mutex_lock(&worker->mutex);
	done = worker->done;
	worker->done = NULL;
	uv_mutex_unlock(&worker->mutex);
	DL_FOREACH_SAFE (done, request, next) {
		if (request->commit_done != NULL && request->result < 0 &&
		    request->result != -ECANCELED)
			requests_cancel(worker);
		give_result(worker, request);
	}
	if (worker->stopped == NULL || worker->request_count > 0 ||
	    uv_is_closing((uv_handle_t *)wakeup))
		return;
	uv_thread_join(&worker->thread);
	uv_close((uv_handle_t *)wakeup, closed);
}

static void submit(struct store_worker *worker, struct store_request *request)
{
	assert(worker->stopped == NULL);
	if (worker->request_count >= STORE_WORKER_REQUESTS_MAX)
		request->result = error_set(&request->error, -ENOBUFS,
					    "too many requests wait for the "
					    "journal: try again later");
	worker->request_count++;
	uv_mutex_lock(&worker->mutex);
	DL_APPEND(worker->waiting, request);
	uv_cond_signal(&worker->changed);
	uv_mutex_unlock(&worker->mutex);
}

static void commit(void *ctx, struct store_batch *batch_owned,
		   void (*done)(void *arg, int result), void *arg)
{
	struct store_request *request = memory_alloc(sizeof(*request));

	request->batch = batch_owned;
	request->commit_done = done;
	request->arg = arg;
	submit(ctx, request);
}

static void read_key(void *ctx, enum store_table table, uint64_t id,
		     const char *key,
		     void (*done)(void *arg, int result,
				  const struct store_row *rows, size_t count),
		     void *arg)
{
	struct store_request *request = memory_alloc(sizeof(*request));

	request->key = memory_text(key != NULL ? key : "");
	request->read_done = done;
	request->arg = arg;
	request->table = table;
	request->id = id;
	submit(ctx, request);
}

struct store_seam store_worker_seam(struct store_worker *worker)
{
	static const struct store_ops ops = {
		.commit = commit,
		.read = read_key,
	};

	return (struct store_seam){ .ops = &ops, .ctx = worker };
}

static int thread_start(struct store_worker *worker)
{
	int result = uv_mutex_init(&worker->mutex);

	if (result < 0)
		return result;
	result = uv_cond_init(&worker->changed);
	if (result == 0) {
		result = uv_thread_create(&worker->thread, run, worker);
		if (result == 0)
			return 0;
		uv_cond_destroy(&worker->changed);
	}
	uv_mutex_destroy(&worker->mutex);
	return result;
}

static void given_up(uv_handle_t *handle)
{
	free(handle->data);
}

int store_worker_start(uv_loop_t *loop, struct store *store,
		       struct store_worker **ret_worker)
{
	struct store_worker *worker = memory_alloc(sizeof(*worker));
	int result;

	worker->store = store;
	result = uv_async_init(loop, &worker->wakeup, woken);
	if (result < 0) {
		free(worker);
		return result;
	}
	worker->wakeup.data = worker;
	result = thread_start(worker);
	if (result < 0) {
		uv_close((uv_handle_t *)&worker->wakeup, given_up);
		return result;
	}
	*ret_worker = worker;
	return 0;
}

const char *store_worker_error(const struct store_worker *worker)
{
	return worker->error;
}

void store_worker_stop(struct store_worker *worker, void (*stopped)(void *arg),
		       void *arg)
{
	assert(worker->stopped == NULL);
	worker->stopped = stopped;
	worker->stopped_arg = arg;
	uv_mutex_lock(&worker->mutex);
	worker->is_stopping = true;
	uv_cond_signal(&worker->changed);
	uv_mutex_unlock(&worker->mutex);
}
