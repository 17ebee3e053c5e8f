/* SPDX-License-Identifier: BSD-3-Clause */
/* Counters: what was sent and received, with a completion or without. */
#include <stdlib.h>
#include <string.h>

#include "link/cntr.h"

static struct link_cntr *of(struct fid_cntr *fid)
{
	return (struct link_cntr *)fid;
}

void cntr_count(struct link_cntr *cntr, bool is_well)
{
	if (cntr == NULL)
		return;
	__atomic_add_fetch(is_well ? &cntr->value : &cntr->errors, 1,
			   __ATOMIC_ACQ_REL);
	if (cntr->wait.fd >= 0)
		wait_wake(&cntr->wait);
}

static void progress(struct link_cntr *cntr)
{
	endpoints_progress(&cntr->endpoints);
	if (peek_at(cntr->memory) != NULL)
		domain_progress(cntr->memory);
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

/* What the program does itself is no news to it. */
static int cntr_add(struct fid_cntr *fid, uint64_t value)
{
	__atomic_add_fetch(&of(fid)->reported, value, __ATOMIC_ACQ_REL);
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
	set_seen(of(fid)->reported, value + peek_at(of(fid)->errors));
	return 0;
}

static int cntr_seterr(struct fid_cntr *fid, uint64_t value)
{
	set_seen(of(fid)->errors, value);
	return 0;
}

static int cntr_wait(struct fid_cntr *fid, uint64_t threshold, int timeout_ms)
{
	uint64_t errors = peek_at(of(fid)->errors);
	struct patience patience;

	patience_init(&patience, timeout_ms);
	do {
		if (cntr_read(fid) >= threshold)
			return 0;
		if (peek_at(of(fid)->errors) != errors)
			return -FI_EAVAIL;
	} while (patience_lasts(&patience));
	return -FI_ETIMEDOUT;
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

static bool has_news(struct link_cntr *cntr)
{
	uint64_t both, reported;

	progress(cntr);
	both = peek_at(cntr->value) + peek_at(cntr->errors);
	reported = peek_at(cntr->reported);
	set_seen(cntr->reported, both);
	return both != reported;
}

int cntr_trywait(struct link_cntr *cntr)
{
	return wait_try(&cntr->wait, has_news(cntr));
}

static int cntr_control(struct fid *fid, int command, void *arg)
{
	return wait_control(&((struct link_cntr *)fid)->wait, command, arg);
}

static int cntr_close(struct fid *fid)
{
	struct link_cntr *cntr = (struct link_cntr *)fid;

	if (peek_at(cntr->endpoints.uses) > 0)
		return -FI_EBUSY;
	wait_close(&cntr->wait);
	domain_hold(cntr->domain, -1);
	endpoints_fini(&cntr->endpoints);
	free(cntr);
	return 0;
}

static struct fi_ops cntr_fid_ops = {
	.size = sizeof(cntr_fid_ops),
	.close = cntr_close,
	.bind = no_bind,
	.control = cntr_control,
	.ops_open = no_ops_open,
};

int link_cntr_open(struct fid_domain *domain_fid, struct fi_cntr_attr *attr,
		   struct fid_cntr **ret_cntr, void *context)
{
	struct link_domain *domain = (struct link_domain *)domain_fid;
	struct link_cntr *cntr;
	int result;

	if (attr->events != FI_CNTR_EVENTS_COMP || attr->flags != 0)
		return -FI_EINVAL;
	cntr = calloc(1, sizeof(*cntr));
	if (cntr == NULL)
		return -FI_ENOMEM;
	result = wait_open(&cntr->wait, attr->wait_obj);
	if (result != 0) {
		free(cntr);
		return result;
	}
	cntr->fid.fid.fclass = FI_CLASS_CNTR;
	cntr->fid.fid.context = context;
	cntr->fid.fid.ops = &cntr_fid_ops;
	cntr->fid.ops = &cntr_ops;
	cntr->domain = domain;
	endpoints_init(&cntr->endpoints, domain);
	domain_hold(domain, 1);
	*ret_cntr = &cntr->fid;
	return 0;
}
