/* SPDX-License-Identifier: BSD-3-Clause */
/* Which endpoints a queue, a counter or a thread makes go on. */
#pragma once

#include "link/compat.h"
#include "link/lock.h"

struct fid;
struct link_domain;
struct link_ep;

/*
 * Endpoints that go on when somebody looks at a queue or counter of theirs. Who
 * looks takes no lock, and may meet one that is being closed: so places are
 * freed with the queue only, and the memory of endpoints with their domain
 * (what is left of them then: see ep_progress()).
 */
struct bound {
	struct bound *next;
	struct link_ep *ep; /* NULL: a place for another one */
};

struct endpoints {
	struct link_lock lock; /* of changes */
	struct bound *first;   /* each endpoint once */
	int uses;              /* bindings */
};

void endpoints_init(struct endpoints *all, const struct link_domain *domain);
void endpoints_fini(struct endpoints *all);
/* Who counts in it, or completes to it, keeps it open. Any thread. */
static inline void endpoints_hold(struct endpoints *all, int count)
{
	__atomic_add_fetch(&all->uses, count, __ATOMIC_ACQ_REL);
}
/* An endpoint is in it once, however often it was added. 0, or -FI_ENOMEM. */
int endpoints_add(struct endpoints *all, struct link_ep *ep);
void endpoints_remove(struct endpoints *all, const struct link_ep *ep);
/* Has each go on; whether anything happened. Any thread. */
bool endpoints_progress(const struct endpoints *all);

/* As fi_ep_bind(); not when it is enabled. */
int ep_bind(struct fid *fid, struct fid *other, uint64_t flags);
/* Ends all of them: the endpoint is about to be closed. */
void ep_unbind(struct link_ep *ep);
