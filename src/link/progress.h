/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What goes on without the program: a thread for each domain at
 * FI_PROGRESS_AUTO, from its first endpoint that is enabled until it is closed,
 * or the process ends. At FI_PROGRESS_MANUAL all of it does nothing.
 */
#pragma once

#include "link/bind.h"
#include "link/compat.h"

/* The thread of a domain at FI_PROGRESS_AUTO; see progress.c. */
struct progress {
	bool is_wanted;
	struct endpoints endpoints; /* that are enabled */
	pid_t process;              /* whose the thread is; 0: there is none */
	pthread_t thread;
	bool is_over;                 /* the thread is to end */
	struct progress *prev, *next; /* of all that have a thread */
};

void progress_init(struct link_domain *domain, enum fi_progress model);
/* The thread was stopped, or there was none. */
void progress_fini(struct progress *progress);
/*
 * From now on an endpoint is looked after, also while it is enabled; not any
 * more. 0, or a negative errno: there is no thread to be had, or no memory.
 */
int progress_join(struct link_ep *ep);
void progress_leave(struct link_ep *ep);
/* Ends the thread, and waits until it has; of another process there is none. */
void progress_stop(struct progress *progress);
/* The same of all domains that are open. */
void progress_stop_all(void);
