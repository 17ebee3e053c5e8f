/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The blocking forms: start, then poll and process until the answer is there
 * or the time is up. A call that is given up is forgotten; should its answer
 * come after all, nobody is called.
 */
#include "lanes/client/handle.h"

#include <errno.h>
#include <limits.h>
#include <poll.h>
#include <string.h>
#include <time.h>

struct waiting {
	bool is_done;
	bool is_hinted;
	bool has_text; /* the caller wants the answer as text */
	int result;
	json_t *answer;
	char *text;
	struct fairlead_error *ret_error;
};

static void finish(void *arg, const struct handle_answer *answer)
{
	struct waiting *waiting = arg;

	waiting->is_done = true;
	waiting->result = answer->result;
	if (answer->result < 0 && waiting->is_hinted)
		handle_error_hinted(answer, waiting->ret_error);
	else if (answer->result < 0)
		error_set(waiting->ret_error, answer->result, "%s",
			  answer->error);
	waiting->answer = json_incref(answer->object);
	if (!waiting->has_text || !answer->object)
		return;
	waiting->text = strndup(answer->text, answer->text_size);
	if (!waiting->text)
		waiting->result =
			error_set(waiting->ret_error, -ENOMEM, "out of memory");
}

static uint64_t now_ms(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

/* Wait for the socket: 0, or -ETIMEDOUT. */
static int wait_until(struct fairlead *handle, uint64_t deadline_ms)
{
	struct pollfd poll_fd = {
		.fd = handle->fd,
		.events = fairlead_events(handle),
	};
	uint64_t now = now_ms();
	int timeout_ms = -1;

	if (deadline_ms && now >= deadline_ms)
		return -ETIMEDOUT;
	if (deadline_ms)
		timeout_ms = deadline_ms - now > INT_MAX ? INT_MAX
							 : deadline_ms - now;
	if (poll(&poll_fd, 1, timeout_ms) < 0 && errno != EINTR)
		return -errno;
	return 0;
}

static int wait_answer(struct fairlead *handle, uint64_t id,
		       struct waiting *waiting)
{
	uint64_t deadline_ms =
		handle->timeout_ms ? now_ms() + handle->timeout_ms : 0;
	int result = 0;

	/* Sent in any case, however short the time is. */
	fairlead_process(handle);
	while (!waiting->is_done && result == 0) {
		result = wait_until(handle, deadline_ms);
		if (result == 0)
			fairlead_process(handle);
	}
	if (waiting->is_done)
		return waiting->result;
	handle_forget(handle, id);
	if (result != -ETIMEDOUT)
		return error_set(waiting->ret_error, result,
				 "cannot wait for the daemon: %s",
				 strerror(-result));
	return error_set(waiting->ret_error, result,
			 "no answer from the daemon within %u ms; it is not "
			 "known whether it was done",
			 handle->timeout_ms);
}

static int call_and_wait(struct fairlead *handle, const char *op,
			 const json_t *members, struct waiting *waiting)
{
	uint64_t id;
	int result;

	if (handle->is_delivering)
		return error_set(waiting->ret_error, -EDEADLK,
				 "a callback must not wait for an answer");
	result = handle_start(handle, op, members,
			      (struct client_call){ .fn = finish,
						    .arg = waiting },
			      &id, waiting->ret_error);
	if (result < 0)
		return result;
	handle_enter(handle);
	result = wait_answer(handle, id, waiting);
	handle_leave(handle);
	return result;
}

int handle_call(struct fairlead *handle, const char *op, const json_t *members,
		bool is_hinted, json_t **ret_answer,
		struct fairlead_error *ret_error)
{
	struct waiting waiting = {
		.is_hinted = is_hinted,
		.ret_error = ret_error,
	};
	int result = call_and_wait(handle, op, members, &waiting);

	if (ret_answer)
		*ret_answer = waiting.answer;
	else
		json_decref(waiting.answer);
	return result;
}

int fairlead_call(struct fairlead *handle, const char *op, const char *members,
		  char **ret_json, struct fairlead_error *ret_error)
{
	struct waiting waiting = {
		.has_text = ret_json != NULL,
		.ret_error = ret_error,
	};
	json_auto_t *object = NULL;
	int result = handle_members(members, &object, ret_error);

	if (result == 0)
		result = call_and_wait(handle, op, object, &waiting);
	json_decref(waiting.answer);
	if (ret_json)
		*ret_json = waiting.text;
	return result;
}
