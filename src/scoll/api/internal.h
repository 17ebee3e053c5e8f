/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What the files of libscoll's interface know of each other.
 *
 * One lock for all of an instance. It is never held while the user's code
 * runs: callbacks, notifications. What the user's code is called with the lock
 * held (authenticator, oobgrp, permute) must not call the library.
 */
#pragma once

#include <assert.h>
#include <pthread.h>
#include <stdbool.h>

#include "scoll.h"
#include "scoll/api/port.h"
#include "scoll/core/core.h"
#include "scoll/member/given.h"
#include "scoll/transport/transport.h"
#include "scoll/tree/tree.h"

#define CALLBACKS_PER_PROGRESS 256

static_assert(ROSTER_NODE_MAX >= SCOLL_NODES_MAX,
	      "discovery can have each member of a group");

struct scoll {
	pthread_mutex_t lock;
	/* In progress or wait; calls from there wake nobody. */
	bool is_busy;
	pthread_t busy_thread;
	bool is_kicked; /* event_fd is readable */
	bool has_more;  /* callbacks are left from the last progress */
	int epoll_fd;   /* the two transports' and the next one */
	int event_fd;   /* a call of another thread changed something */
	struct transport transport;
	struct scoll_port *port; /* NULL: discovery is given */
	struct given *given;     /* NULL: it is gossip */
	struct discovery *discovery;
	struct memberships *memberships;
	struct tree_types tree_types;
	struct core_options options;
	struct scoll_core *core;
	void (*notify)(void *ctx, scoll_nid_t nid, enum scoll_liveness news);
	void *notify_ctx;
};

void scoll_lock(const struct scoll *scoll);
/* After a call that only asked. */
void scoll_unlock(const struct scoll *scoll);
/* After one that may have something to do or to wait for. */
void scoll_unlock_changed(struct scoll *scoll);

/* What a call of the core returns, with the lock held. */
#define SCOLL_LOCKED(scoll, call)                           \
	({                                                  \
		__auto_type _r = (scoll_lock(scoll), call); \
		scoll_unlock(scoll);                        \
		_r;                                         \
	})
#define SCOLL_LOCKED_CHANGED(scoll, call)                   \
	({                                                  \
		__auto_type _r = (scoll_lock(scoll), call); \
		scoll_unlock_changed(scoll);                \
		_r;                                         \
	})

/* The instance of a handle. */
struct scoll *scoll_of_group(const scoll_group_t *group);
struct scoll *scoll_of_request(const scoll_request_t *request);

/* --- progress.c --- */

/* All that is due, with the lock held but for callbacks; how many of them. */
int scoll_run(struct scoll *scoll, uint64_t now_ns);
/* When there is something to do at the latest; 0: now. */
uint64_t scoll_due_ns(struct scoll *scoll);
/* Wait on the descriptor, without the lock. */
void scoll_pause(struct scoll *scoll, uint64_t until_ns);

/* --- news.c --- */

/* Reset connections to a node that died. */
void news_apply(struct scoll *scoll, scoll_nid_t nid, enum scoll_liveness news);
/* Do it for what gossip knows, and notify the user without the lock. */
void news_deliver(struct scoll *scoll);
