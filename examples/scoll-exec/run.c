/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The launcher has one request at a time, so that neither half blocks the other
 * by not reading. A command is over when its supervisor reports it: what is in
 * the pipe by then is still read, but nothing waits for processes that were left
 * behind with the pipe open.
 */
#include "run.h"

#include <sodium.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <utlist.h>

#include "base/hash.h"
#include "base/memory.h"
#include "order.h"
#include "supervise.h"
#include "sys/clock.h"

#define READ_BYTES   65536
#define DRAIN_READS  64 /* of what a command has left in its pipe */
#define KEEP_NS      (UINT64_C(60) * 1000000000)
#define REQUESTS_MAX 4096 /* that wait for the launcher */

struct run_request {
	struct run_request *prev, *next;
	enum launcher_op op;
	uint64_t tag;
	uid_t uid;
	char *credential;
	size_t size;
	struct exec_run *run; /* of START */
};

enum run_state {
	RUN_REQUESTED, /* the launcher has it, or will */
	RUN_GOES,
	RUN_OVER,
};

struct exec_run {
	struct runs *runs;
	uint8_t key[EXEC_ID_BYTES];
	enum run_state state;
	scoll_nid_t root;
	uv_poll_t output, control;
	int output_fd, control_fd;
	int open_handles;
	bool is_stop_wanted;
	bool is_stop_kept; /* stop_digest is of the last STOP, to be compared */
	bool is_forgotten; /* freed when its handles are closed */
	uint8_t stop_digest[EXEC_ID_BYTES];
	uint64_t time_limit_ns; /* the command's */
	uint64_t keep_until_ns; /* when it is over */
	struct outcome outcome;
	uint8_t *bytes; /* of output */
	size_t size, capacity;
	struct exec_waiter *waiters;
	UT_hash_handle hh;
};

struct runs {
	struct runs_options options;
	struct exec_run *runs;
	struct run_request *requests;
	size_t request_count;
	bool is_asked; /* the launcher has the first one */
	uv_poll_t launcher;
};

static void run_forget(struct exec_run *run);

/* --- requests --- */

static void request_free(struct run_request *request)
{
	free(request->credential);
	free(request);
}

static void ask_next(struct runs *runs)
{
	struct run_request *request = runs->requests;

	if (runs->is_asked || request == NULL)
		return;
	if (launcher_ask(runs->options.launcher_fd, request->op, request->tag,
			 request->uid, request->credential,
			 request->size) < 0) {
		runs->options.lost(runs->options.ctx);
		return;
	}
	runs->is_asked = true;
}

static int request_add(struct runs *runs, const struct run_request *values,
		       const char *credential)
{
	struct run_request *request;

	if (runs->request_count >= REQUESTS_MAX)
		return -EBUSY;
	request = memory_copy(values, sizeof(*values));
	request->credential = memory_copy(credential, values->size);
	DL_APPEND(runs->requests, request);
	runs->request_count++;
	ask_next(runs);
	return 0;
}

/* NULL: the launcher has it, or had it. */
static struct run_request *request_waiting(const struct exec_run *run)
{
	const struct runs *runs = run->runs;
	struct run_request *request = runs->requests;

	if (runs->is_asked && request != NULL)
		request = request->next;
	while (request != NULL && request->run != run)
		request = request->next;
	return request;
}

int runs_check(struct runs *runs, uint64_t tag, uid_t uid,
	       const char *credential, size_t size)
{
	struct run_request request = {
		.op = LAUNCHER_CHECK, .tag = tag, .uid = uid, .size = size
	};

	return request_add(runs, &request, credential);
}

/* --- the end --- */

static void on_closed(uv_handle_t *handle)
{
	struct exec_run *run = handle->data;

	run->open_handles--;
	if (run->is_forgotten && run->open_handles == 0)
		run_forget(run);
}

static void poll_close(uv_poll_t *poll, int *fd)
{
	if (*fd < 0)
		return;
	uv_poll_stop(poll);
	uv_close((uv_handle_t *)poll, on_closed);
	close(*fd);
	*fd = -1;
}

static void waiter_remove(struct exec_waiter *waiter)
{
	if (waiter->run != NULL)
		DL_DELETE(waiter->run->waiters, waiter);
	waiter->run = NULL;
}

/* Frees it after libuv has closed its handles. */
static void run_forget(struct exec_run *run)
{
	if (!run->is_forgotten) {
		HASH_DEL(run->runs->runs, run);
		while (run->waiters != NULL)
			waiter_remove(run->waiters);
		run->is_forgotten = true;
		poll_close(&run->output, &run->output_fd);
		poll_close(&run->control, &run->control_fd);
	}
	if (run->open_handles > 0)
		return;
	free(run->bytes);
	free(run);
}

static void run_end(struct exec_run *run, struct outcome outcome)
{
	struct exec_waiter *waiter, *next;

	outcome.output = run->bytes;
	outcome.size = run->size;
	outcome.flags = run->outcome.flags;
	run->outcome = outcome;
	run->state = RUN_OVER;
	run->keep_until_ns = sys_monotonic_ns() + run->time_limit_ns + KEEP_NS;
	poll_close(&run->output, &run->output_fd);
	poll_close(&run->control, &run->control_fd);
	DL_FOREACH_SAFE (run->waiters, waiter, next) {
		waiter_remove(waiter);
		waiter->done(waiter, &run->outcome);
	}
}

static void refuse(struct exec_run *run, int result, const char *text)
{
	free(run->bytes);
	run->bytes = (uint8_t *)memory_text(text);
	run->size = strlen(text);
	run_end(run, (struct outcome){ .kind = OUTCOME_REFUSED,
				       .code = (uint32_t)-result });
}

/* --- while it goes --- */

static void append(struct exec_run *run, const uint8_t *bytes, size_t count)
{
	size_t limit = run->runs->options.config->output_bytes;

	if (count > limit - run->size) {
		count = limit - run->size;
		run->outcome.flags |= OUTCOME_TRUNCATED;
	}
	if (count > run->capacity - run->size) {
		run->capacity = run->capacity * 2 + count;
		run->bytes = memory_resize(run->bytes, run->capacity, 1);
	}
	if (count > 0)
		memcpy(run->bytes + run->size, bytes, count);
	run->size += count;
}

/* False: there is nothing more now. */
static bool read_output(struct exec_run *run)
{
	uint8_t bytes[READ_BYTES];
	ssize_t count;

	if (run->output_fd < 0)
		return false;
	count = read(run->output_fd, bytes, sizeof(bytes));
	if (count > 0)
		append(run, bytes, (size_t)count);
	else if (count == 0 || (errno != EAGAIN && errno != EINTR))
		poll_close(&run->output, &run->output_fd);
	return count > 0;
}

static void on_output(uv_poll_t *poll, int status, int events)
{
	read_output(poll->data);
}

static void on_control(uv_poll_t *poll, int status, int events)
{
	struct exec_run *run = poll->data;
	uint8_t report[REPORT_BYTES];
	ssize_t count = recv(run->control_fd, report, sizeof(report), 0);
	struct reader reader = reader_of(report, sizeof(report));
	struct outcome outcome = { 0 };

	if (count < 0 && (errno == EINTR || errno == EAGAIN))
		return;
	for (int i = 0; i < DRAIN_READS && read_output(run); i++)
		;
	if (count != sizeof(report)) {
		refuse(run, -EIO, "its supervisor died");
		return;
	}
	outcome.kind = read_u8(&reader);
	outcome.code = read_u32(&reader);
	if (outcome.kind == OUTCOME_REFUSED)
		refuse(run, -(int)outcome.code, strerror((int)outcome.code));
	else
		run_end(run, outcome);
}

static int poll_open(struct exec_run *run, uv_poll_t *poll, int fd, int *ret_fd,
		     uv_poll_cb callback)
{
	int result = uv_poll_init(run->runs->options.loop, poll, fd);

	if (result < 0) {
		close(fd);
		return result;
	}
	poll->data = run;
	run->open_handles++;
	*ret_fd = fd;
	return uv_poll_start(poll, UV_READABLE | UV_DISCONNECT, callback);
}

/* The supervisor stops the command when our end is closed for writing. */
static void run_stop(struct exec_run *run)
{
	run->is_stop_wanted = true;
	if (run->control_fd >= 0)
		shutdown(run->control_fd, SHUT_WR);
}

static void run_goes(struct exec_run *run, struct launcher_answer *answer)
{
	int result;

	run->state = RUN_GOES;
	run->time_limit_ns = answer->timeout_ms * UINT64_C(1000000);
	if (run->is_stop_kept &&
	    sodium_memcmp(run->stop_digest, answer->stop_digest,
			  EXEC_ID_BYTES) == 0)
		run->is_stop_wanted = true;
	memcpy(run->stop_digest, answer->stop_digest, EXEC_ID_BYTES);
	result = poll_open(run, &run->output, answer->output_fd,
			   &run->output_fd, on_output);
	if (result == 0)
		result = poll_open(run, &run->control, answer->control_fd,
				   &run->control_fd, on_control);
	else
		close(answer->control_fd);
	answer->output_fd = answer->control_fd = -1;
	if (result < 0)
		refuse(run, result, "cannot be watched");
	else if (run->is_stop_wanted)
		run_stop(run);
}

static void on_answer(struct runs *runs, struct launcher_answer *answer)
{
	struct run_request *request = runs->requests;

	if (request == NULL || !runs->is_asked || answer->tag != request->tag) {
		runs->options.lost(runs->options.ctx);
		return;
	}
	DL_DELETE(runs->requests, request);
	runs->request_count--;
	runs->is_asked = false;
	if (request->op == LAUNCHER_CHECK)
		runs->options.checked(runs->options.ctx, request->tag, answer);
	else if (answer->result < 0)
		refuse(request->run, answer->result, answer->text);
	else if (answer->control_fd >= 0)
		run_goes(request->run, answer);
	else
		refuse(request->run, -EIO, "out of descriptors");
	request_free(request);
}

static void on_launcher(uv_poll_t *poll, int status, int events)
{
	struct runs *runs = poll->data;
	struct launcher_answer answer;

	if (launcher_receive(runs->options.launcher_fd, &answer) < 0) {
		runs->options.lost(runs->options.ctx);
		return;
	}
	on_answer(runs, &answer);
	closep(&answer.output_fd);
	closep(&answer.control_fd);
	free(answer.nodes);
	ask_next(runs);
}

/* --- callers --- */

/* Forget outcomes that have expired; if that is not enough, the oldest. */
static bool make_space(struct runs *runs)
{
	uint64_t now_ns = sys_monotonic_ns();
	struct exec_run *run, *next, *oldest = NULL;

	HASH_ITER (hh, runs->runs, run, next) {
		if (run->state != RUN_OVER)
			continue;
		if (run->keep_until_ns < now_ns)
			run_forget(run);
		else if (oldest == NULL ||
			 run->keep_until_ns < oldest->keep_until_ns)
			oldest = run;
	}
	if (HASH_COUNT(runs->runs) >= RUNS_MAX && oldest != NULL)
		run_forget(oldest);
	return HASH_COUNT(runs->runs) < RUNS_MAX;
}

static struct exec_run *run_create(struct runs *runs,
				   const uint8_t key[EXEC_ID_BYTES],
				   const char *credential, size_t size,
				   scoll_nid_t root)
{
	struct run_request request = { .op = LAUNCHER_START, .size = size };
	struct exec_run *run;

	if (!make_space(runs))
		return NULL;
	run = memory_alloc(sizeof(*run));
	run->runs = runs;
	run->root = root;
	run->output_fd = run->control_fd = -1;
	memcpy(run->key, key, EXEC_ID_BYTES);
	request.run = run;
	HASH_ADD(hh, runs->runs, key, sizeof(run->key), run);
	if (!hash_was_added(run))
		memory_end();
	if (request_add(runs, &request, credential) < 0) {
		HASH_DEL(runs->runs, run);
		free(run);
		return NULL;
	}
	return run;
}

void runs_join(struct runs *runs, const char *credential, size_t size,
	       scoll_nid_t root, struct exec_waiter *waiter)
{
	static const char text[] = "too many commands";
	const struct outcome busy = {
		.kind = OUTCOME_REFUSED,
		.code = EBUSY,
		.output = (const uint8_t *)text,
		.size = sizeof(text) - 1,
	};
	uint8_t key[EXEC_ID_BYTES];
	struct exec_run *run;

	exec_digest(credential, size, key);
	HASH_FIND(hh, runs->runs, key, sizeof(key), run);
	if (run == NULL)
		run = run_create(runs, key, credential, size, root);
	if (run == NULL) {
		waiter->done(waiter, &busy);
		return;
	}
	if (run->state == RUN_OVER) {
		waiter->done(waiter, &run->outcome);
		return;
	}
	waiter->run = run;
	DL_APPEND(run->waiters, waiter);
}

void runs_leave(struct exec_waiter *waiter)
{
	struct exec_run *run = waiter->run;
	struct run_request *request;

	waiter_remove(waiter);
	if (run == NULL || run->waiters != NULL)
		return;
	request = request_waiting(run);
	if (request == NULL)
		return;
	DL_DELETE(run->runs->requests, request);
	run->runs->request_count--;
	request_free(request);
	run_forget(run);
}

void runs_stop(struct runs *runs, const uint8_t key[EXEC_ID_BYTES],
	       const uint8_t secret[EXEC_ID_BYTES])
{
	uint8_t digest[EXEC_ID_BYTES];
	struct exec_run *run;

	HASH_FIND(hh, runs->runs, key, EXEC_ID_BYTES, run);
	if (run == NULL || run->state == RUN_OVER)
		return;
	exec_digest(secret, EXEC_ID_BYTES, digest);
	if (run->state == RUN_REQUESTED) {
		memcpy(run->stop_digest, digest, EXEC_ID_BYTES);
		run->is_stop_kept = true;
	} else if (sodium_memcmp(digest, run->stop_digest, EXEC_ID_BYTES) ==
		   0) {
		run_stop(run);
	}
}

void runs_root_lost(struct runs *runs, scoll_nid_t root)
{
	struct exec_run *run, *next;

	HASH_ITER (hh, runs->runs, run, next) {
		if (run->root == root && run->state != RUN_OVER)
			run_stop(run);
	}
}

/* --- life --- */

struct runs *runs_create(const struct runs_options *options)
{
	struct runs *runs = memory_alloc(sizeof(*runs));

	runs->options = *options;
	uv_poll_init(options->loop, &runs->launcher, options->launcher_fd);
	runs->launcher.data = runs;
	uv_poll_start(&runs->launcher, UV_READABLE | UV_DISCONNECT,
		      on_launcher);
	return runs;
}

static void on_launcher_closed(uv_handle_t *handle)
{
	struct runs *runs = handle->data;

	close(runs->options.launcher_fd);
	free(runs);
}

void runs_destroy(struct runs *runs)
{
	struct run_request *request, *next_request;
	struct exec_run *run, *next;

	if (runs == NULL)
		return;
	DL_FOREACH_SAFE (runs->requests, request, next_request) {
		DL_DELETE(runs->requests, request);
		request_free(request);
	}
	HASH_ITER (hh, runs->runs, run, next)
		run_forget(run);
	uv_close((uv_handle_t *)&runs->launcher, on_launcher_closed);
}
