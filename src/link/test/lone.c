/* SPDX-License-Identifier: BSD-3-Clause */
#include <sched.h>
#include <string.h>

#include "link/test/lone.h"

struct fi_info *lone_info(uint64_t caps, enum fi_threading threading)
{
	struct fi_info *hints = fi_allocinfo(), *info = NULL;

	hints->caps = caps;
	hints->ep_attr->type = FI_EP_RDM;
	hints->domain_attr->threading = threading;
	hints->fabric_attr->prov_name = strdup("fairlead");
	if (fi_getinfo(fi_version(), NULL, NULL, 0, hints, &info) != 0)
		info = NULL;
	fi_freeinfo(hints);
	return info;
}

void lone_domain_open(struct lone *lone)
{
	pair_do(fi_fabric(lone->info->fabric_attr, &lone->fabric, NULL));
	pair_do(fi_domain(lone->fabric, lone->info, &lone->domain, NULL));
}

void lone_domain_close(struct lone *lone)
{
	pair_do(fi_close(&lone->domain->fid));
	pair_do(fi_close(&lone->fabric->fid));
	fi_freeinfo(lone->info);
}

void lone_endpoint_make(struct lone *lone)
{
	struct fi_cq_attr cq = { .format = FI_CQ_FORMAT_TAGGED };
	struct fi_av_attr av = { .type = FI_AV_TABLE };

	pair_do(fi_cq_open(lone->domain, &cq, &lone->cq, NULL));
	pair_do(fi_av_open(lone->domain, &av, &lone->av, NULL));
	pair_do(fi_endpoint(lone->domain, lone->info, &lone->ep, NULL));
	pair_do(fi_ep_bind(lone->ep, &lone->cq->fid, FI_TRANSMIT | FI_RECV));
	pair_do(fi_ep_bind(lone->ep, &lone->av->fid, 0));
}

void lone_endpoint_open(struct lone *lone)
{
	size_t size = sizeof(lone->name);

	lone_endpoint_make(lone);
	pair_do(fi_enable(lone->ep));
	pair_do(fi_getname(&lone->ep->fid, lone->name, &size));
}

void lone_endpoint_close(struct lone *lone)
{
	pair_do(fi_close(&lone->ep->fid));
	pair_do(fi_close(&lone->av->fid));
	pair_do(fi_close(&lone->cq->fid));
}

struct fi_cq_tagged_entry lone_wait(struct lone *lone, fi_addr_t *ret_source)
{
	struct fi_cq_tagged_entry entry;
	fi_addr_t source;
	ssize_t got;

	while ((got = fi_cq_readfrom(lone->cq, &entry, 1, &source)) ==
	       -FI_EAGAIN)
		sched_yield(); /* the other side is to go on */
	pair_check(got == 1);
	if (ret_source != NULL)
		*ret_source = source;
	return entry;
}
