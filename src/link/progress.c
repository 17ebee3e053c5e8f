/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The thread that has the endpoints of a domain go on, at FI_PROGRESS_AUTO.
 * Cores that share memory have nothing to wait by, so it looks: all the time
 * for a short while after something has happened, then with pauses that grow
 * while nothing does. So what comes waits for about as long as nothing came
 * before it, and for PAUSE_MAX_NS at most; and a processor is left alone.
 */
#include <sched.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <time.h>
#include <unistd.h>
#include <utlist.h>

#include "link/progress.h"
#include "link/clock.h"
#include "link/endpoint.h"

#define SPIN_NS      20000
#define PAUSE_MIN_NS 5000
#define PAUSE_MAX_NS 1000000
#define EXIT_S       2     /* for the thread to end */
#define SLACK_NS     1000L /* by which the kernel may wake it later */

/*
 * All threads: libfabric's cleanup() knows of no domain. No other lock is taken
 * while this one is held, but by threads that are waited for.
 */
static struct {
	pthread_mutex_t lock;
	struct progress *first;
	pid_t process; /* that has begun one last */
	bool ends_at_exit;
} all = { .lock = PTHREAD_MUTEX_INITIALIZER };

void progress_init(struct link_domain *domain, enum fi_progress model)
{
	domain->progress.is_wanted = model == FI_PROGRESS_AUTO;
	endpoints_init(&domain->progress.endpoints, domain);
}

void progress_fini(struct progress *progress)
{
	endpoints_fini(&progress->endpoints);
}

/* --- the thread --- */

static void *go_on(void *arg)
{
	struct progress *progress = arg;
	uint64_t happened_ns = clock_now_ns();
	long pause_ns = PAUSE_MIN_NS;

	prctl(PR_SET_TIMERSLACK, SLACK_NS);
	while (!peek_at(progress->is_over)) {
		bool has_happened = endpoints_progress(&progress->endpoints);
		uint64_t now_ns = clock_now_ns();
		if (has_happened) {
			happened_ns = now_ns;
			pause_ns = PAUSE_MIN_NS;
		}
		if (now_ns - happened_ns < SPIN_NS) {
			/* Who waits for a rail's lock has to get it, too. */
			sched_yield();
			continue;
		}
		nanosleep(&(struct timespec){ .tv_nsec = pause_ns }, NULL);
		if (pause_ns < PAUSE_MAX_NS / 2)
			pause_ns *= 2;
		else
			pause_ns = PAUSE_MAX_NS;
	}
	return NULL;
}

/* The program's signals are for its own threads. */
static int thread_begin(struct progress *progress)
{
	sigset_t every, before;
	int error;

	sigfillset(&every);
	pthread_sigmask(SIG_SETMASK, &every, &before);
	error = pthread_create(&progress->thread, NULL, go_on, progress);
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	if (error != 0) {
		link_warn(DOMAIN, "no thread for FI_PROGRESS_AUTO: %s\n",
			  fi_strerror(error));
		return -error;
	}
	pthread_setname_np(progress->thread, PROVIDER_NAME);
	return 0;
}

/* --- where it begins and ends: all of it locked --- */

/*
 * Nothing of a process that has forked goes on here: it may have held the lock.
 */
static void all_lock(void)
{
	if (peek_at(all.process) != 0 && peek_at(all.process) != getpid()) {
		pthread_mutex_init(&all.lock, NULL);
		set_seen(all.process, getpid());
	}
	pthread_mutex_lock(&all.lock);
}

static void all_unlock(void)
{
	pthread_mutex_unlock(&all.lock);
}

static int start(struct progress *progress)
{
	pid_t process = getpid();
	int result;

	if (progress->process == process)
		return 0;
	/*
	 * cleanup() alone is late: libfabric may have unloaded cores before us.
	 * The handler goes with this library, if that is unloaded before the
	 * end.
	 */
	if (!all.ends_at_exit && atexit(progress_stop_all) != 0)
		return -FI_ENOMEM;
	all.ends_at_exit = true;
	progress->is_over = false;
	result = thread_begin(progress);
	if (result != 0)
		return result;
	/* It may be there as that of a process that has forked. */
	if (progress->process == 0)
		DL_APPEND(all.first, progress);
	progress->process = process;
	set_seen(all.process, process);
	return 0;
}

/*
 * Who ends the process in a handler of a signal may hold a lock that the thread
 * waits for: then it waits to the end.
 */
static void thread_end(struct progress *progress, bool is_exit)
{
	struct timespec until;

	set_seen(progress->is_over, true);
	if (!is_exit) {
		pthread_join(progress->thread, NULL);
		return;
	}
	clock_gettime(CLOCK_REALTIME, &until);
	until.tv_sec += EXIT_S;
	pthread_timedjoin_np(progress->thread, NULL, &until);
}

static void stop(struct progress *progress, bool is_exit)
{
	if (progress->process == 0)
		return;
	if (progress->process == getpid())
		thread_end(progress, is_exit);
	progress->process = 0;
	DL_DELETE(all.first, progress);
}

int progress_join(struct link_ep *ep)
{
	struct progress *progress = &ep->domain->progress;
	int result;

	if (!progress->is_wanted)
		return 0;
	all_lock();
	result = start(progress);
	all_unlock();
	return result != 0 ? result : endpoints_add(&progress->endpoints, ep);
}

void progress_leave(struct link_ep *ep)
{
	struct progress *progress = &ep->domain->progress;

	if (progress->is_wanted)
		endpoints_remove(&progress->endpoints, ep);
}

void progress_stop(struct progress *progress)
{
	if (!progress->is_wanted)
		return;
	all_lock();
	stop(progress, false);
	all_unlock();
}

void progress_stop_all(void)
{
	all_lock();
	while (all.first != NULL)
		stop(all.first, true);
	all_unlock();
}
