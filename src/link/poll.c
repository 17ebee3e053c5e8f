/* SPDX-License-Identifier: BSD-3-Clause */
/* Poll sets: which of some queues and counters have something new. */
#include <stdlib.h>
#include <utlist.h>

#include "link/cntr.h"
#include "link/cq.h"

struct link_member {
	struct link_member *prev, *next;
	struct fid *fid; /* a queue or counter */
};

struct link_poll {
	struct fid_poll fid;
	struct link_domain *domain;
	struct link_lock lock;
	struct link_member *members;
};

static struct link_poll *of(struct fid_poll *fid)
{
	return (struct link_poll *)fid;
}

/* A member keeps its queue or counter open. */
static void hold(struct fid *fid, int count)
{
	int *polls = fid->fclass == FI_CLASS_CQ
			     ? &((struct link_cq *)fid)->polls
			     : &((struct link_cntr *)fid)->polls;

	__atomic_add_fetch(polls, count, __ATOMIC_ACQ_REL);
}

static bool has_news(struct fid *fid)
{
	return fid->fclass == FI_CLASS_CQ
		       ? cq_has_news((struct link_cq *)fid)
		       : cntr_has_news((struct link_cntr *)fid);
}

static int poll_poll(struct fid_poll *fid, void **contexts, int count)
{
	struct link_poll *set = of(fid);
	struct link_member *member;
	int found = 0;

	link_lock(&set->lock);
	DL_FOREACH (set->members, member) {
		if (found == count)
			break;
		if (has_news(member->fid))
			contexts[found++] = member->fid->context;
	}
	link_unlock(&set->lock);
	return found;
}

static struct link_member *member_of(struct link_poll *set,
				     const struct fid *fid)
{
	struct link_member *member;

	DL_SEARCH_SCALAR(set->members, member, fid, fid);
	return member;
}

static int poll_add(struct fid_poll *fid, struct fid *what, uint64_t flags)
{
	struct link_poll *set = of(fid);
	struct link_member *member;
	bool is_there;

	if (flags != 0 ||
	    (what->fclass != FI_CLASS_CQ && what->fclass != FI_CLASS_CNTR))
		return -FI_EINVAL;
	member = malloc(sizeof(*member));
	if (member == NULL)
		return -FI_ENOMEM;
	member->fid = what;
	link_lock(&set->lock);
	is_there = member_of(set, what) != NULL;
	if (!is_there) {
		DL_APPEND(set->members, member);
		hold(what, 1);
	}
	link_unlock(&set->lock);
	if (is_there)
		free(member);
	return 0;
}

static int poll_del(struct fid_poll *fid, struct fid *what, uint64_t flags)
{
	struct link_poll *set = of(fid);
	struct link_member *member;

	if (flags != 0)
		return -FI_EINVAL;
	link_lock(&set->lock);
	member = member_of(set, what);
	if (member != NULL) {
		DL_DELETE(set->members, member);
		hold(what, -1);
	}
	link_unlock(&set->lock);
	free(member);
	return member == NULL ? -FI_EINVAL : 0;
}

static struct fi_ops_poll poll_ops = {
	.size = sizeof(poll_ops),
	.poll = poll_poll,
	.poll_add = poll_add,
	.poll_del = poll_del,
};

static int poll_close(struct fid *fid)
{
	struct link_poll *set = (struct link_poll *)fid;

	if (set->members != NULL)
		return -FI_EBUSY;
	domain_hold(set->domain, -1);
	link_lock_fini(&set->lock);
	free(set);
	return 0;
}

static struct fi_ops poll_fid_ops = {
	.size = sizeof(poll_fid_ops),
	.close = poll_close,
	.bind = no_bind,
	.control = no_control,
	.ops_open = no_ops_open,
};

int link_poll_open(struct fid_domain *domain_fid, struct fi_poll_attr *attr,
		   struct fid_poll **ret_poll)
{
	struct link_domain *domain = (struct link_domain *)domain_fid;
	struct link_poll *set;

	if (attr != NULL && attr->flags != 0)
		return -FI_EINVAL;
	set = calloc(1, sizeof(*set));
	if (set == NULL)
		return -FI_ENOMEM;
	set->fid.fid.fclass = FI_CLASS_POLL;
	set->fid.fid.ops = &poll_fid_ops;
	set->fid.ops = &poll_ops;
	set->domain = domain;
	link_lock_init(&set->lock, domain->is_threaded);
	domain_hold(domain, 1);
	*ret_poll = &set->fid;
	return 0;
}
