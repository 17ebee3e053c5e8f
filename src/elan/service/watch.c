/* SPDX-License-Identifier: BSD-3-Clause */
/* A pidfd is readable when its process has ended, whoever waits for that. */
#include "elan/service/watch.h"

#include <errno.h>
#include <stdlib.h>
#include <utlist.h>

#include "base/cleanup.h"
#include "base/memory.h"
#include "elan/service/proc.h"

struct rms_watch {
	struct rms_watch *prev, *next;
	struct watches *watches;
	struct rms_process process;
	uv_poll_t poll;
	int pidfd;
};

struct watches {
	uv_loop_t *loop;
	void (*ended)(void *ctx, const struct rms_process *process);
	void *ctx;
	struct rms_watch *list;
};

struct watches *watches_create(uv_loop_t *loop,
			       void (*ended)(void *ctx,
					     const struct rms_process *process),
			       void *ctx)
{
	struct watches *watches = memory_alloc(sizeof(*watches));

	watches->loop = loop;
	watches->ended = ended;
	watches->ctx = ctx;
	return watches;
}

static void on_closed(uv_handle_t *handle)
{
	struct rms_watch *watch = handle->data;

	close(watch->pidfd);
	free(watch);
}

static void end(struct rms_watch *watch)
{
	DL_DELETE(watch->watches->list, watch);
	uv_close((uv_handle_t *)&watch->poll, on_closed);
}

void watches_destroy(struct watches *watches)
{
	struct rms_watch *watch, *next;

	if (watches == NULL)
		return;
	DL_FOREACH_SAFE (watches->list, watch, next) {
		end(watch);
	}
	free(watches);
}

static void on_end(uv_poll_t *poll, int status, int events)
{
	struct rms_watch *watch = poll->data;
	struct watches *watches = watch->watches;
	struct rms_process process = watch->process;

	end(watch);
	watches->ended(watches->ctx, &process);
}

int watches_add(struct watches *watches, const struct rms_process *process)
{
	_auto_(freep) struct rms_watch *watch = NULL;
	_auto_(closep) int pidfd = -1;
	struct rms_watch *other;
	int result;

	DL_FOREACH (watches->list, other) {
		if (process_is(&other->process, process))
			return proc_has_ended(other->pidfd) ? -ESRCH : 0;
	}
	pidfd = proc_open(process);
	if (pidfd < 0)
		return pidfd;
	watch = memory_alloc(sizeof(*watch));
	result = uv_poll_init(watches->loop, &watch->poll, pidfd);
	if (result < 0)
		return result;
	watch->poll.data = watch;
	watch->watches = watches;
	watch->process = *process;
	watch->pidfd = pidfd;
	pidfd = -1;
	uv_poll_start(&watch->poll, UV_READABLE, on_end);
	DL_APPEND(watches->list, watch);
	take_ptr(watch);
	return 0;
}
