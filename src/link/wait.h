/* SPDX-License-Identifier: BSD-3-Clause */
/* How programs wait for queues and counters, and look at several at once. */
#pragma once

#include "link/compat.h"

struct link_cntr;
struct link_cq;

/* What a queue or counter is waited for by; see wait.c. */
struct wait {
	enum fi_wait_obj kind;
	int fd; /* -1: there is none */
	unsigned int pause_ns;
};

/* --- wait.c --- */

/* -FI_ENOSYS for what cannot be waited by. */
int wait_open(struct wait *wait, enum fi_wait_obj kind);
void wait_close(struct wait *wait);
/* Before a program waits: wakes it up in a while. */
int wait_try(struct wait *wait, bool has_something);
/* Wakes up who waits. Any thread. */
void wait_wake(struct wait *wait);
int wait_control(struct wait *wait, int command, void *arg);
/*
 * Of a call that waits: it polls for a while, then with longer and longer
 * pauses.
 */
struct patience {
	int timeout_ms; /* negative: for ever */
	uint64_t end_ns;
	unsigned int spins;
	long sleep_ns;
};
void patience_init(struct patience *patience, int timeout_ms);
/* After each look without success; false: the time is over. */
bool patience_lasts(struct patience *patience);

/* --- what wait.c asks: 0, or -FI_EAGAIN when there is something --- */

int eq_trywait(struct fid *eq);
int cq_trywait(struct link_cq *cq);
int cntr_trywait(struct link_cntr *cntr);

int link_trywait(struct fid_fabric *fabric, struct fid **fids, int count);
