/* SPDX-License-Identifier: BSD-3-Clause */
/* Fabric and domain: names, and the cores that endpoints are made of. */
#include <stdlib.h>
#include <string.h>

#include "link/domain.h"
#include "link/av.h"
#include "link/cntr.h"
#include "link/cq.h"
#include "link/direct.h"
#include "link/eq.h"
#include "link/locality.h"
#include "link/mr.h"
#include "link/presence.h"
#include "link/progress.h"
#include "link/rma.h"

int no_bind(struct fid *fid, struct fid *other, uint64_t flags)
{
	return -FI_ENOSYS;
}

int no_control(struct fid *fid, int command, void *arg)
{
	return -FI_ENOSYS;
}

int no_ops_open(struct fid *fid, const char *name, uint64_t flags, void **ops,
		void *context)
{
	return -FI_ENOSYS;
}

/* --- fabric --- */

static int fabric_close(struct fid *fid)
{
	struct link_fabric_object *fabric = (struct link_fabric_object *)fid;

	if (peek_at(fabric->uses) > 0)
		return -FI_EBUSY;
	free(fabric);
	return 0;
}

static struct fi_ops fabric_fid_ops = {
	.size = sizeof(fabric_fid_ops),
	.close = fabric_close,
	.bind = no_bind,
	.control = no_control,
	.ops_open = no_ops_open,
};

static int no_passive(struct fid_fabric *fabric, struct fi_info *info,
		      struct fid_pep **pep, void *context)
{
	return -FI_ENOSYS;
}

static int no_wait(struct fid_fabric *fabric, struct fi_wait_attr *attr,
		   struct fid_wait **wait)
{
	return -FI_ENOSYS;
}

static struct fi_ops_fabric fabric_ops = {
	.size = sizeof(fabric_ops),
	.domain = link_domain_open,
	.passive_ep = no_passive,
	.eq_open = link_eq_open,
	.wait_open = no_wait,
	.trywait = link_trywait,
};

int link_fabric(struct fi_fabric_attr *attr, struct fid_fabric **ret_fabric,
		void *context)
{
	struct link_fabric_object *fabric;

	if (layer_is_core(attr))
		return layer_fabric(attr, ret_fabric, context);
	fabric = calloc(1, sizeof(*fabric));
	if (fabric == NULL)
		return -FI_ENOMEM;
	fabric->fid.fid.fclass = FI_CLASS_FABRIC;
	fabric->fid.fid.context = context;
	fabric->fid.fid.ops = &fabric_fid_ops;
	fabric->fid.ops = &fabric_ops;
	*ret_fabric = &fabric->fid;
	return 0;
}

/* --- domain --- */

static void domain_free(struct link_domain *domain)
{
	eps_destroy(domain);
	progress_fini(&domain->progress);
	core_set_fini(&domain->cores);
	link_lock_fini(&domain->memory);
	link_lock_fini(&domain->reaching);
	free(domain);
}

static int domain_close(struct fid *fid)
{
	struct link_domain *domain = (struct link_domain *)fid;
	struct link_fabric_object *fabric =
		(struct link_fabric_object *)domain->fabric;

	if (peek_at(domain->uses) > 0)
		return -FI_EBUSY;
	progress_stop(&domain->progress);
	fabric_hold(fabric, -1);
	if (domain->eq != NULL)
		eq_hold(domain->eq, -1);
	domain_free(domain);
	return 0;
}

/* For registrations that end with an event: ours have ended at once. */
static int domain_bind(struct fid *fid, struct fid *other, uint64_t flags)
{
	struct link_domain *domain = (struct link_domain *)fid;

	if (other->fclass != FI_CLASS_EQ || (flags & ~FI_REG_MR) != 0)
		return -FI_EINVAL;
	if (domain->eq != NULL)
		return -FI_EINVAL;
	domain->eq = (struct fid_eq *)other;
	eq_hold(domain->eq, 1);
	return 0;
}

static struct fi_ops domain_fid_ops = {
	.size = sizeof(domain_fid_ops),
	.close = domain_close,
	.bind = domain_bind,
	.control = no_control,
	.ops_open = no_ops_open,
};

static int no_scalable(struct fid_domain *domain, struct fi_info *info,
		       struct fid_ep **ep, void *context)
{
	return -FI_ENOSYS;
}

static int no_stx(struct fid_domain *domain, struct fi_tx_attr *attr,
		  struct fid_stx **stx, void *context)
{
	return -FI_ENOSYS;
}

static int no_srx(struct fid_domain *domain, struct fi_rx_attr *attr,
		  struct fid_ep **srx, void *context)
{
	return -FI_ENOSYS;
}

static int no_poll(struct fid_domain *domain, struct fi_poll_attr *attr,
		   struct fid_poll **set)
{
	return -FI_ENOSYS;
}

static struct fi_ops_domain domain_ops = {
	.size = sizeof(domain_ops),
	.av_open = link_av_open,
	.cq_open = link_cq_open,
	.endpoint = link_ep_open,
	.scalable_ep = no_scalable,
	.cntr_open = link_cntr_open,
	.poll_open = no_poll,
	.stx_ctx = no_stx,
	.srx_ctx = no_srx,
	.query_atomic = link_query_atomic,
};

/*
 * Both sides join the same cores in the same order, use them in the same way
 * and speak alike, or they are no peers.
 */
uint32_t link_digest(const struct link_text *text, const struct core_set *set)
{
	uint64_t hash = UINT64_C(0xcbf29ce484222325) ^ LINK_PROTOCOL;

	for (unsigned int i = 0; i < text->count; i++)
		for (const char *c = text->rails[i].provider;; c++) {
			hash = (hash ^ (uint8_t)*c) * UINT64_C(0x100000001b3);
			if (*c == '\0')
				break;
		}
	for (unsigned int i = 0; i < set->count; i++)
		if (set->cores[i].way == RAIL_MATCHED)
			hash = (hash ^ (i + 1)) * UINT64_C(0x100000001b3);
	return (uint32_t)(hash ^ hash >> 32);
}

static int cores_open(struct link_domain *domain, const struct fi_info *info)
{
	struct fairlead_error error = { 0 };
	int result = core_set_find(&domain->text, NULL, &domain->cores, &error);

	if (result != 0) {
		link_warn(DOMAIN, "%s\n", error.text);
		return result;
	}
	core_set_settle(&domain->cores,
			info->ep_attr == NULL ? 0
					      : info->ep_attr->mem_tag_format);
	return 0;
}

static uint64_t name_wait_ns(void)
{
	uint64_t ms =
		setting_number("FI_FAIRLEAD_NAME_WAIT", LINK_NAME_WAIT_MS);

	return (ms < LINK_NAME_WAIT_MAX_MS ? ms : LINK_NAME_WAIT_MAX_MS) *
	       1000000;
}

int link_domain_open(struct fid_fabric *fabric, struct fi_info *info,
		     struct fid_domain **ret_domain, void *context)
{
	struct fairlead_error error = { 0 };
	struct link_domain *domain;
	struct links links;
	int result;

	if (info->domain_attr->name == NULL)
		return -FI_EINVAL;
	domain = calloc(1, sizeof(*domain));
	if (domain == NULL)
		return -FI_ENOMEM;
	result = links_parse(info->domain_attr->name, &links, &error);
	if (result != 0 || links.count != 1) {
		link_warn(DOMAIN, "a domain that is no link: %s\n", error.text);
		free(domain);
		return -FI_EINVAL;
	}
	domain->text = links.links[0];
	/* A thread of ours is beside the program's, whatever that says. */
	domain->is_threaded =
		info->domain_attr->threading != FI_THREAD_DOMAIN ||
		info->domain_attr->data_progress == FI_PROGRESS_AUTO;
	progress_init(domain, info->domain_attr->data_progress);
	domain->is_virtual = info->domain_attr->mr_mode == MR_BASIC;
	domain->chooses_keys =
		domain->is_virtual ||
		(info->domain_attr->mr_mode & FI_MR_PROV_KEY) != 0;
	link_lock_init(&domain->memory, domain->is_threaded);
	link_lock_init(&domain->reaching, domain->is_threaded);
	result = cores_open(domain, info);
	if (result != 0) {
		domain_free(domain);
		return result;
	}
	if (domain->cores.cores[0].way == RAIL_SHARED)
		presence_sweep(locality_node());
	domain->fid.fid.fclass = FI_CLASS_DOMAIN;
	domain->fid.fid.context = context;
	domain->fid.fid.ops = &domain_fid_ops;
	domain->fid.ops = &domain_ops;
	domain->fid.mr = &link_mr_ops;
	domain->fabric = fabric;
	domain->digest = link_digest(&domain->text, &domain->cores);
	domain->name_wait_ns = name_wait_ns();
	domain->atomic_max = atomic_max(&domain->cores);
	domain->format = info->addr_format;
	fabric_hold((struct link_fabric_object *)fabric, 1);
	*ret_domain = &domain->fid;
	return 0;
}
