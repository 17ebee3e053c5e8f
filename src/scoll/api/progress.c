/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The lock, the descriptor, and what goes on inside. A thread that waits does
 * so without the lock; a call of another one that leaves something to do, or
 * an earlier time to do it, wakes it by the event descriptor. Calls from
 * callbacks need not: who called them looks again before he waits.
 */
#include "scoll/api/internal.h"

#include <errno.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <time.h>

#include "sys/clock.h"

void scoll_lock(const struct scoll *scoll)
{
	pthread_mutex_lock((pthread_mutex_t *)&scoll->lock);
}

void scoll_unlock(const struct scoll *scoll)
{
	pthread_mutex_unlock((pthread_mutex_t *)&scoll->lock);
}

void scoll_unlock_changed(struct scoll *scoll)
{
	bool is_ours = scoll->is_busy &&
		       pthread_equal(scoll->busy_thread, pthread_self());

	if (!is_ours && !scoll->is_kicked)
		scoll->is_kicked = eventfd_write(scoll->event_fd, 1) == 0;
	scoll_unlock(scoll);
}

struct scoll *scoll_of_group(const scoll_group_t *group)
{
	return scoll_core_options(scoll_core_of_group(group))->instance;
}

struct scoll *scoll_of_request(const scoll_request_t *request)
{
	return scoll_core_options(scoll_core_of_request(request))->instance;
}

static int callbacks_run(struct scoll *scoll)
{
	struct core_callback callback;
	int count = 0;

	while (count < CALLBACKS_PER_PROGRESS &&
	       scoll_core_callback_take(scoll->core, &callback)) {
		int result;

		scoll_unlock(scoll);
		result = core_callback_call(&callback);
		scoll_lock(scoll);
		scoll_core_callback_done(scoll->core, sys_monotonic_ns(),
					 &callback, result);
		count++;
	}
	scoll->has_more = count == CALLBACKS_PER_PROGRESS;
	return count;
}

/* Ends of what callbacks have started may call for others. */
static bool settle(struct scoll *scoll, uint64_t now_ns)
{
	const struct transport *transport = &scoll->transport;

	return transport->kind->settle != NULL &&
	       transport->kind->settle(transport->ctx, now_ns);
}

int scoll_run(struct scoll *scoll, uint64_t now_ns)
{
	eventfd_t value;
	int count = 0;

	if (scoll->is_kicked)
		eventfd_read(scoll->event_fd, &value);
	scoll->is_kicked = false;
	scoll->transport.kind->progress(scoll->transport.ctx, now_ns);
	if (scoll->port != NULL)
		port_run(scoll->port, now_ns);
	news_deliver(scoll);
	if (scoll_core_deadline_ns(scoll->core) <= now_ns)
		scoll_core_tick(scoll->core, now_ns);
	do {
		count += callbacks_run(scoll);
	} while (!scoll->has_more && settle(scoll, now_ns));
	return count;
}

uint64_t scoll_due_ns(struct scoll *scoll)
{
	uint64_t due_ns = scoll_core_deadline_ns(scoll->core);
	uint64_t other_ns =
		scoll->transport.kind->deadline_ns(scoll->transport.ctx);

	if (scoll->has_more || discovery_has_news(scoll->discovery))
		return 0;
	if (other_ns < due_ns)
		due_ns = other_ns;
	if (scoll->port != NULL) {
		other_ns = port_due_ns(scoll->port);
		if (other_ns < due_ns)
			due_ns = other_ns;
	}
	return due_ns;
}

void scoll_pause(struct scoll *scoll, uint64_t until_ns)
{
	struct pollfd fd = { .fd = scoll->epoll_fd, .events = POLLIN };
	uint64_t due_ns = scoll_due_ns(scoll);
	uint64_t now_ns = sys_monotonic_ns();
	struct timespec wait;

	if (until_ns < due_ns)
		due_ns = until_ns;
	if (due_ns <= now_ns)
		return;
	wait.tv_sec = (time_t)((due_ns - now_ns) / 1000000000);
	wait.tv_nsec = (long)((due_ns - now_ns) % 1000000000);
	scoll_unlock(scoll);
	ppoll(&fd, 1, due_ns != DEADLINE_NONE ? &wait : NULL, NULL);
	scoll_lock(scoll);
}

/* One thread at a time. */
static int enter(struct scoll *scoll)
{
	scoll_lock(scoll);
	if (scoll->is_busy) {
		scoll_unlock(scoll);
		return -EBUSY;
	}
	scoll->is_busy = true;
	scoll->busy_thread = pthread_self();
	return 0;
}

static void leave(struct scoll *scoll)
{
	scoll->is_busy = false;
	scoll_unlock(scoll);
}

int scoll_progress(scoll_t *scoll)
{
	int result = enter(scoll);

	if (result < 0)
		return result;
	result = scoll_run(scoll, sys_monotonic_ns());
	leave(scoll);
	return result;
}

int scoll_wait(scoll_t *scoll, scoll_duration_t timeout)
{
	uint64_t until_ns = DEADLINE_NONE;
	int result = enter(scoll);

	if (result < 0)
		return result;
	if (timeout >= 0)
		until_ns = sys_monotonic_ns() + (uint64_t)timeout;
	scoll_pause(scoll, until_ns);
	result = scoll_run(scoll, sys_monotonic_ns());
	leave(scoll);
	return result;
}

int scoll_fd(scoll_t *scoll)
{
	return scoll->epoll_fd;
}

scoll_duration_t scoll_timeout(scoll_t *scoll)
{
	uint64_t due_ns, now_ns;

	scoll_lock(scoll);
	due_ns = scoll_due_ns(scoll);
	now_ns = sys_monotonic_ns();
	scoll_unlock(scoll);
	if (due_ns == DEADLINE_NONE)
		return -1;
	return due_ns > now_ns ? (scoll_duration_t)(due_ns - now_ns) : 0;
}
