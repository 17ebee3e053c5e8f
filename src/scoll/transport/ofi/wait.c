/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The descriptor. A queue with one (FI_WAIT_FD) shows it, after fi_trywait has
 * said that nothing was missed. A provider without one is looked at when a
 * timer rings: soon while there is traffic, more and more seldom when there is
 * none. No thread.
 */
#include "scoll/transport/ofi/internal.h"

#include <sys/timerfd.h>
#include <unistd.h>

#define PERIOD_MIN_NS UINT64_C(20000)
#define PERIOD_MAX_NS UINT64_C(5000000)

static void arm(struct transport_ofi *t, uint64_t period_ns)
{
	struct itimerspec when = {
		.it_interval.tv_nsec = (long)period_ns,
		.it_value.tv_nsec = (long)period_ns,
	};

	if (period_ns == t->timer_period_ns)
		return;
	t->timer_period_ns = period_ns;
	timerfd_settime(t->timer_fd, 0, &when, NULL);
}

static int queue_fd(struct transport_ofi *t)
{
	int fd = -1;

	return fi_control(&t->cq->fid, FI_GETWAIT, &fd) == 0 ? fd : -1;
}

int wait_open(struct transport_ofi *t)
{
	t->fd = queue_fd(t);
	if (t->fd >= 0)
		return 0;
	t->timer_fd =
		timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC | TFD_NONBLOCK);
	if (t->timer_fd < 0)
		return -errno;
	arm(t, PERIOD_MIN_NS);
	return 0;
}

void wait_active(struct transport_ofi *t, bool is_active)
{
	uint64_t period_ns = PERIOD_MIN_NS, ticks;

	if (t->timer_fd < 0 ||
	    read(t->timer_fd, &ticks, sizeof(ticks)) != sizeof(ticks))
		return;
	if (!is_active)
		period_ns = t->timer_period_ns * 2;
	if (period_ns > PERIOD_MAX_NS)
		period_ns = PERIOD_MAX_NS;
	arm(t, period_ns);
}

int ofi_fd(void *ctx)
{
	struct transport_ofi *t = ctx;
	return t->fd >= 0 ? t->fd : t->timer_fd;
}

uint64_t ofi_deadline_ns(void *ctx)
{
	struct transport_ofi *t = ctx;
	struct fid *fids[] = { &t->cq->fid };
	uint64_t sweep_ns = stale_deadline_ns(t);

	if (t->is_stopped)
		return DEADLINE_NONE;
	if (t->fd < 0) {
		if (t->is_unread)
			return 0;
	} else if (fi_trywait(t->fabric, fids, 1) != 0) {
		return 0;
	}
	return sweep_ns < t->check_ns ? sweep_ns : t->check_ns;
}

void wait_close(struct transport_ofi *t)
{
	if (t->timer_fd >= 0)
		close(t->timer_fd);
}
