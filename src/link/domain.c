/* SPDX-License-Identifier: BSD-3-Clause */
/* Fabric and domain: names, and the cores that endpoints are made of. */
#include <stdlib.h>
#include <string.h>

#include "link/endpoint.h"

struct link_fabric_object {
	struct fid_fabric fid;
	int uses;
};

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

	if (fabric->uses > 0)
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

static int no_queue(struct fid_fabric *fabric, struct fi_eq_attr *attr,
		    struct fid_eq **eq, void *context)
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
	.eq_open = no_queue,
	.wait_open = no_wait,
};

int link_fabric(struct fi_fabric_attr *attr, struct fid_fabric **ret_fabric,
		void *context)
{
	struct link_fabric_object *fabric;

	if (attr->name != NULL && strcmp(attr->name, PROVIDER_NAME) != 0)
		return -FI_ENODATA;
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
	core_set_fini(&domain->cores);
	link_lock_fini(&domain->memory);
	free(domain);
}

static int domain_close(struct fid *fid)
{
	struct link_domain *domain = (struct link_domain *)fid;
	struct link_fabric_object *fabric =
		(struct link_fabric_object *)domain->fabric;

	if (peek_at(domain->uses) > 0)
		return -FI_EBUSY;
	fabric->uses--;
	domain_free(domain);
	return 0;
}

static struct fi_ops domain_fid_ops = {
	.size = sizeof(domain_fid_ops),
	.close = domain_close,
	.bind = no_bind,
	.control = no_control,
	.ops_open = no_ops_open,
};

static int no_scalable(struct fid_domain *domain, struct fi_info *info,
		       struct fid_ep **ep, void *context)
{
	return -FI_ENOSYS;
}

static int no_poll(struct fid_domain *domain, struct fi_poll_attr *attr,
		   struct fid_poll **poll)
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
};

/* Both sides join the same cores in the same order, or they are no peers. */
static uint32_t digest_of(const struct link_text *text)
{
	uint64_t hash = UINT64_C(0xcbf29ce484222325);

	for (unsigned int i = 0; i < text->count; i++)
		for (const char *c = text->rails[i].provider;; c++) {
			hash = (hash ^ (uint8_t)*c) * UINT64_C(0x100000001b3);
			if (*c == '\0')
				break;
		}
	return (uint32_t)(hash ^ hash >> 32);
}

static int cores_open(struct link_domain *domain, const struct fi_info *info)
{
	struct fairlead_error error = { 0 };
	int result = core_set_find(&domain->text, &domain->cores, &error);

	if (result != 0) {
		link_warn(DOMAIN, "%s\n", error.text);
		return result;
	}
	return 0;
}

int link_domain_open(struct fid_fabric *fabric, struct fi_info *info,
		     struct fid_domain **ret_domain, void *context)
{
	struct link_domain *domain = calloc(1, sizeof(*domain));
	struct fairlead_error error = { 0 };
	struct links links;
	int result;

	if (domain == NULL)
		return -FI_ENOMEM;
	result = links_parse(info->domain_attr->name, &links, &error);
	if (result != 0 || links.count != 1) {
		link_warn(DOMAIN, "a domain that is no link: %s\n", error.text);
		free(domain);
		return -FI_EINVAL;
	}
	domain->text = links.links[0];
	domain->is_threaded = info->domain_attr->threading != FI_THREAD_DOMAIN;
	link_lock_init(&domain->memory, domain->is_threaded);
	result = cores_open(domain, info);
	if (result != 0) {
		domain_free(domain);
		return result;
	}
	domain->fid.fid.fclass = FI_CLASS_DOMAIN;
	domain->fid.fid.context = context;
	domain->fid.fid.ops = &domain_fid_ops;
	domain->fid.ops = &domain_ops;
	domain->fid.mr = &link_mr_ops;
	domain->fabric = fabric;
	domain->digest = digest_of(&domain->text);
	((struct link_fabric_object *)fabric)->uses++;
	*ret_domain = &domain->fid;
	return 0;
}
