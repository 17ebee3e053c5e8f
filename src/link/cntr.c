/* SPDX-License-Identifier: BSD-3-Clause */
/* Counters: what was sent and received, with a completion or without. */
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "link/endpoint.h"

#define PAUSE_MIN_NS 2000
#define PAUSE_MAX_NS 200000
#define SPINS        2000

static struct link_cntr *of(struct fid_cntr *fid)
{
	return (struct link_cntr *)fid;
}

void cntr_count(struct link_cntr *cntr, bool is_well)
{
	if (cntr != NULL)
		__atomic_add_fetch(is_well ? &cntr->value : &cntr->errors, 1,
				   __ATOMIC_ACQ_REL);
}

static void progress(struct link_cntr *cntr)
{
	for (unsigned int i = 0; i < cntr->endpoints.count; i++)
		ep_progress(cntr->endpoints.list[i]);
}

static uint64_t cntr_read(struct fid_cntr *fid)
{
	progress(of(fid));
	return peek_at(of(fid)->value);
}

static uint64_t cntr_readerr(struct fid_cntr *fid)
{
	progress(of(fid));
	return peek_at(of(fid)->errors);
}

static int cntr_add(struct fid_cntr *fid, uint64_t value)
{
	__atomic_add_fetch(&of(fid)->value, value, __ATOMIC_ACQ_REL);
	return 0;
}

static int cntr_adderr(struct fid_cntr *fid, uint64_t value)
{
	__atomic_add_fetch(&of(fid)->errors, value, __ATOMIC_ACQ_REL);
	return 0;
}

static int cntr_set(struct fid_cntr *fid, uint64_t value)
{
	set_seen(of(fid)->value, value);
	return 0;
}

static int cntr_seterr(struct fid_cntr *fid, uint64_t value)
{
	set_seen(of(fid)->errors, value);
	return 0;
}

static uint64_t now_ms(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * 1000 + (uint64_t)now.tv_nsec / 1000000;
}

/* Polls for a while, then with pauses that get longer. */
static int cntr_wait(struct fid_cntr *fid, uint64_t threshold, int timeout_ms)
{
	uint64_t errors = peek_at(of(fid)->errors);
	uint64_t end = now_ms() + (uint64_t)timeout_ms;
	uint64_t pause = PAUSE_MIN_NS;

	for (unsigned int spins = 0;; spins++) {
		if (cntr_read(fid) >= threshold)
			return 0;
		if (peek_at(of(fid)->errors) != errors)
			return -FI_EAVAIL;
		if (spins < SPINS && timeout_ms != 0)
			continue;
		if (timeout_ms >= 0 && now_ms() >= end)
			return -FI_ETIMEDOUT;
		nanosleep(&(struct timespec){ .tv_nsec = (long)pause }, NULL);
		if (pause < PAUSE_MAX_NS)
			pause *= 2;
	}
}

static struct fi_ops_cntr cntr_ops = {
	.size = sizeof(cntr_ops),
	.read = cntr_read,
	.readerr = cntr_readerr,
	.add = cntr_add,
	.set = cntr_set,
	.wait = cntr_wait,
	.adderr = cntr_adderr,
	.seterr = cntr_seterr,
};

static int cntr_close(struct fid *fid)
{
	struct link_cntr *cntr = (struct link_cntr *)fid;

	if (cntr->endpoints.uses > 0)
		return -FI_EBUSY;
	domain_hold(cntr->domain, -1);
	free(cntr->endpoints.list);
	free(cntr);
	return 0;
}

static struct fi_ops cntr_fid_ops = {
	.size = sizeof(cntr_fid_ops),
	.close = cntr_close,
	.bind = no_bind,
	.control = no_control,
	.ops_open = no_ops_open,
};

int link_cntr_open(struct fid_domain *domain_fid, struct fi_cntr_attr *attr,
		   struct fid_cntr **ret_cntr, void *context)
{
	struct link_domain *domain = (struct link_domain *)domain_fid;
	struct link_cntr *cntr;

	if (attr->events != FI_CNTR_EVENTS_COMP || attr->flags != 0)
		return -FI_EINVAL;
	if (attr->wait_obj != FI_WAIT_NONE &&
	    attr->wait_obj != FI_WAIT_UNSPEC && attr->wait_obj != FI_WAIT_YIELD)
		return -FI_ENOSYS;
	cntr = calloc(1, sizeof(*cntr));
	if (cntr == NULL)
		return -FI_ENOMEM;
	cntr->fid.fid.fclass = FI_CLASS_CNTR;
	cntr->fid.fid.context = context;
	cntr->fid.fid.ops = &cntr_fid_ops;
	cntr->fid.ops = &cntr_ops;
	cntr->domain = domain;
	domain_hold(domain, 1);
	*ret_cntr = &cntr->fid;
	return 0;
}
