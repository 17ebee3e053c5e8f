/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Descriptors of queues and counters for programs that use poll(2), and how
 * blocking calls wait. Some cores have no descriptor (shared memory), and all
 * need calls to make progress: so the descriptor is a timer's, which wakes the
 * program to poll. The pause grows while nothing arrives.
 */
#include <errno.h>
#include <sys/timerfd.h>
#include <time.h>
#include <unistd.h>

#include "link/wait.h"
#include "link/clock.h"
#include "link/cntr.h"
#include "link/cq.h"

#define PAUSE_MIN_NS 10000
#define PAUSE_MAX_NS 1000000
/* Within a call: so often without a pause, then as long as that. */
#define SPINS        2000
#define SLEEP_MIN_NS 2000
#define SLEEP_MAX_NS 200000

void patience_init(struct patience *patience, int timeout_ms)
{
	*patience = (struct patience){
		.timeout_ms = timeout_ms,
		.end_ns = clock_now_ns() + (uint64_t)timeout_ms * 1000000,
		.sleep_ns = SLEEP_MIN_NS,
	};
}

bool patience_lasts(struct patience *patience)
{
	if (patience->timeout_ms != 0 && ++patience->spins <= SPINS)
		return true;
	if (patience->timeout_ms >= 0 && clock_now_ns() >= patience->end_ns)
		return false;
	nanosleep(&(struct timespec){ .tv_nsec = patience->sleep_ns }, NULL);
	if (patience->sleep_ns < SLEEP_MAX_NS)
		patience->sleep_ns *= 2;
	return true;
}

int wait_open(struct wait *wait, enum fi_wait_obj kind)
{
	wait->kind = kind;
	wait->pause_ns = PAUSE_MIN_NS;
	wait->fd = -1;
	switch (kind) {
	case FI_WAIT_NONE:
	case FI_WAIT_UNSPEC:
	case FI_WAIT_YIELD:
		return 0;
	case FI_WAIT_FD:
		wait->fd = timerfd_create(CLOCK_MONOTONIC,
					  TFD_CLOEXEC | TFD_NONBLOCK);
		return wait->fd < 0 ? -errno : 0;
	default:
		/* As a rule no thread of ours runs that would signal one. */
		return -FI_ENOSYS;
	}
}

void wait_close(struct wait *wait)
{
	if (wait->fd >= 0)
		close(wait->fd);
}

static void timer_set(struct wait *wait, unsigned int ns)
{
	const struct itimerspec in = { .it_value = { .tv_nsec = ns } };

	timerfd_settime(wait->fd, 0, &in, NULL);
}

/* Setting the timer again makes the descriptor unreadable, too. */
int wait_try(struct wait *wait, bool has_something)
{
	unsigned int pause_ns;

	if (wait->fd < 0)
		return -FI_EINVAL;
	if (has_something) {
		set_seen(wait->pause_ns, PAUSE_MIN_NS);
		return -FI_EAGAIN;
	}
	/* Several threads may wait: each makes it longer, or none. */
	pause_ns = peek_at(wait->pause_ns);
	timer_set(wait, pause_ns);
	if (pause_ns < PAUSE_MAX_NS)
		set_seen(wait->pause_ns, 2 * pause_ns);
	return 0;
}

void wait_wake(struct wait *wait)
{
	if (wait->fd >= 0)
		timer_set(wait, 1);
}

int wait_control(struct wait *wait, int command, void *arg)
{
	switch (command) {
	case FI_GETWAIT:
		if (wait->fd < 0)
			return -FI_ENOSYS;
		*(int *)arg = wait->fd;
		return 0;
	case FI_GETWAITOBJ:
		*(enum fi_wait_obj *)arg = wait->kind;
		return 0;
	default:
		return -FI_ENOSYS;
	}
}

int link_trywait(struct fid_fabric *fabric, struct fid **fids, int count)
{
	for (int i = 0; i < count; i++) {
		int result;

		switch (fids[i]->fclass) {
		case FI_CLASS_CQ:
			result = cq_trywait((struct link_cq *)fids[i]);
			break;
		case FI_CLASS_CNTR:
			result = cntr_trywait((struct link_cntr *)fids[i]);
			break;
		case FI_CLASS_EQ:
			result = eq_trywait(fids[i]);
			break;
		default:
			return -FI_EINVAL;
		}
		if (result != 0)
			return result;
	}
	return 0;
}
