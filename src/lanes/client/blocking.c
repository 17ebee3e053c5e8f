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
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/cleanup.h"

struct waiting {
	bool is_done;
	bool is_hinted;
	int result;
	char *json;
	struct fairlead_error *ret_error;
};

static void finish(void *arg, const struct fairlead_answer *answer)
{
	struct waiting *waiting = arg;
	bool is_hinted = waiting->is_hinted && *answer->hint;

	waiting->is_done = true;
	waiting->result = answer->result;
	if (answer->result < 0)
		error_set(waiting->ret_error, answer->result, "%s%s%s%s",
			  answer->error, is_hinted ? " (" : "",
			  is_hinted ? answer->hint : "", is_hinted ? ")" : "");
	if (!answer->json)
		return;
	waiting->json = strdup(answer->json);
	if (!waiting->json)
		waiting->result =
			error_set(waiting->ret_error, -ENOMEM, "memory is out");
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

int handle_call(struct fairlead *handle, const char *op, const json_t *members,
		bool is_hinted, char **ret_json,
		struct fairlead_error *ret_error)
{
	struct waiting waiting = {
		.is_hinted = is_hinted,
		.ret_error = ret_error,
	};
	uint64_t id;
	int result;

	*ret_json = NULL;
	if (handle->is_delivering)
		return error_set(ret_error, -EDEADLK,
				 "a callback must not wait for an answer");
	result = handle_start(handle, op, members, finish, &waiting, &id,
			      ret_error);
	if (result < 0)
		return result;
	handle_enter(handle);
	result = wait_answer(handle, id, &waiting);
	handle_leave(handle);
	*ret_json = waiting.json;
	return result;
}

int fairlead_call(struct fairlead *handle, const char *op, const char *members,
		  char **ret_json, struct fairlead_error *ret_error)
{
	_auto_(freep) char *json = NULL;
	json_auto_t *object = NULL;
	int result;

	if (ret_json)
		*ret_json = NULL;
	if (members) {
		object = json_loads(members, JSON_REJECT_DUPLICATES, NULL);
		if (!json_is_object(object))
			return error_set(ret_error, -EINVAL,
					 "a call's members are no JSON object");
	}
	result = handle_call(handle, op, object, false, &json, ret_error);
	if (ret_json)
		*ret_json = take_ptr(json);
	return result;
}
