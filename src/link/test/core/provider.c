/* SPDX-License-Identifier: BSD-3-Clause */
/* The provider itself, its fabric and its two domains. */
#include <stdlib.h>
#include <string.h>

#include "link/test/core/testcore.h"

#define NAME      "testcore"
#define CAPS_SEND (FI_MSG | FI_TAGGED | FI_RMA | FI_SEND | FI_READ | FI_WRITE)
#define CAPS_RECEIVE                                              \
	(FI_MSG | FI_TAGGED | FI_RMA | FI_RECV | FI_REMOTE_READ | \
	 FI_REMOTE_WRITE | FI_DIRECTED_RECV | FI_SOURCE)
#define CAPS (CAPS_SEND | CAPS_RECEIVE | FI_LOCAL_COMM | FI_REMOTE_COMM)

int tc_no_bind(struct fid *fid, struct fid *other, uint64_t flags)
{
	return -FI_ENOSYS;
}

int tc_no_control(struct fid *fid, int command, void *arg)
{
	return -FI_ENOSYS;
}

int tc_no_ops(struct fid *fid, const char *name, uint64_t flags, void **ops,
	      void *context)
{
	return -FI_ENOSYS;
}

/* --- fi_getinfo --- */

static bool is_asked_for(const struct fi_info *hints, const char *domain)
{
	if (hints == NULL)
		return true;
	if ((hints->caps & ~CAPS) != 0)
		return false;
	if (hints->ep_attr != NULL && hints->ep_attr->type != FI_EP_UNSPEC &&
	    hints->ep_attr->type != FI_EP_RDM)
		return false;
	if (hints->tx_attr != NULL && hints->tx_attr->inject_size > TC_INJECT)
		return false;
	if (hints->domain_attr == NULL)
		return true;
	if (hints->domain_attr->threading != FI_THREAD_UNSPEC &&
	    hints->domain_attr->threading != FI_THREAD_DOMAIN)
		return false;
	if ((tc_mr_mode() & ~(uint64_t)hints->domain_attr->mr_mode) != 0)
		return false;
	return hints->domain_attr->name == NULL ||
	       strcmp(hints->domain_attr->name, domain) == 0;
}

static void queues_fill(struct fi_info *info)
{
	info->tx_attr->caps = CAPS_SEND;
	info->tx_attr->msg_order = FI_ORDER_SAS;
	info->tx_attr->inject_size = TC_INJECT;
	info->tx_attr->size = 1024;
	info->tx_attr->iov_limit = TC_IOV_MAX;
	info->tx_attr->rma_iov_limit = 1;
	info->rx_attr->caps = CAPS_RECEIVE;
	info->rx_attr->msg_order = FI_ORDER_SAS;
	info->rx_attr->size = 1024;
	info->rx_attr->iov_limit = TC_IOV_MAX;
}

static struct fi_info *info_make(uint32_t version, const char *domain)
{
	struct fi_info *info = fi_allocinfo();

	if (info == NULL)
		return NULL;
	info->caps = CAPS;
	queues_fill(info);
	info->ep_attr->type = FI_EP_RDM;
	info->ep_attr->protocol_version = 1;
	info->ep_attr->max_msg_size = SIZE_MAX;
	info->ep_attr->mem_tag_format = UINT64_C(0xaaaaaaaaaaaaaaaa);
	info->ep_attr->tx_ctx_cnt = info->ep_attr->rx_ctx_cnt = 1;
	info->domain_attr->name = strdup(domain);
	info->domain_attr->threading = FI_THREAD_DOMAIN;
	info->domain_attr->control_progress = FI_PROGRESS_MANUAL;
	info->domain_attr->data_progress = FI_PROGRESS_MANUAL;
	info->domain_attr->resource_mgmt = FI_RM_ENABLED;
	info->domain_attr->av_type = FI_AV_UNSPEC;
	info->domain_attr->mr_mode = (int)tc_mr_mode();
	info->domain_attr->mr_key_size = sizeof(uint64_t);
	info->domain_attr->cq_data_size = sizeof(uint64_t);
	info->domain_attr->mr_iov_limit = 1; /* an access lies in one part */
	info->domain_attr->cq_cnt = info->domain_attr->ep_cnt = 1024;
	info->domain_attr->mr_cnt = 65536;
	info->fabric_attr->name = strdup(NAME);
	info->fabric_attr->prov_version = FI_VERSION(0, 1);
	info->fabric_attr->api_version = version;
	return info;
}

static int tc_getinfo(uint32_t version, const char *node, const char *service,
		      uint64_t flags, const struct fi_info *hints,
		      struct fi_info **ret_info)
{
	static const char *const domains[] = { "tc0", "tc1" };
	struct fi_info *list = NULL, **end = &list;

	for (size_t i = 0; i < 2; i++)
		if (is_asked_for(hints, domains[i])) {
			*end = info_make(version, domains[i]);
			if (*end == NULL) {
				fi_freeinfo(list);
				return -FI_ENOMEM;
			}
			end = &(*end)->next;
		}
	if (list == NULL)
		return -FI_ENODATA;
	*ret_info = list;
	return 0;
}

/* --- domain --- */

static int domain_close(struct fid *fid)
{
	struct tc_domain *domain = (struct tc_domain *)fid;

	if (domain->mrs != NULL)
		return -FI_EBUSY;
	free(domain);
	return 0;
}

static struct fi_ops domain_fid_ops = {
	.size = sizeof(domain_fid_ops),
	.close = domain_close,
	.bind = tc_no_bind,
	.control = tc_no_control,
	.ops_open = tc_no_ops,
};

static int no_scalable(struct fid_domain *domain, struct fi_info *info,
		       struct fid_ep **ep, void *context)
{
	return -FI_ENOSYS;
}

static int no_cntr(struct fid_domain *domain, struct fi_cntr_attr *attr,
		   struct fid_cntr **cntr, void *context)
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
	.av_open = tc_av_open,
	.cq_open = tc_cq_open,
	.endpoint = tc_ep_open,
	.scalable_ep = no_scalable,
	.cntr_open = no_cntr,
	.poll_open = no_poll,
	.stx_ctx = no_stx,
	.srx_ctx = no_srx,
};

static int domain_open(struct fid_fabric *fabric, struct fi_info *info,
		       struct fid_domain **ret_domain, void *context)
{
	struct tc_domain *domain = calloc(1, sizeof(*domain));
	int result;

	if (domain == NULL)
		return -FI_ENOMEM;
	strncpy(domain->name, info->domain_attr->name,
		sizeof(domain->name) - 1);
	result = tc_fault(domain, "domain");
	if (result == 0)
		result = tc_fault(domain, "open");
	if (result != 0) {
		free(domain);
		return result;
	}
	domain->fid.fid.fclass = FI_CLASS_DOMAIN;
	domain->fid.fid.context = context;
	domain->fid.fid.ops = &domain_fid_ops;
	domain->fid.ops = &domain_ops;
	domain->fid.mr = &tc_mr_ops;
	domain->mr_mode = (uint64_t)info->domain_attr->mr_mode;
	*ret_domain = &domain->fid;
	return 0;
}

/* --- fabric --- */

static int fabric_close(struct fid *fid)
{
	free(fid);
	return 0;
}

static struct fi_ops fabric_fid_ops = {
	.size = sizeof(fabric_fid_ops),
	.close = fabric_close,
	.bind = tc_no_bind,
	.control = tc_no_control,
	.ops_open = tc_no_ops,
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
	.domain = domain_open,
	.passive_ep = no_passive,
	.eq_open = no_queue,
	.wait_open = no_wait,
};

static int tc_fabric(struct fi_fabric_attr *attr,
		     struct fid_fabric **ret_fabric, void *context)
{
	struct fid_fabric *fabric;
	int result = tc_fault(NULL, "fabric");

	if (result == 0)
		result = tc_fault(NULL, "open");
	if (result != 0)
		return result;
	fabric = calloc(1, sizeof(*fabric));
	if (fabric == NULL)
		return -FI_ENOMEM;
	fabric->fid.fclass = FI_CLASS_FABRIC;
	fabric->fid.context = context;
	fabric->fid.ops = &fabric_fid_ops;
	fabric->ops = &fabric_ops;
	*ret_fabric = fabric;
	return 0;
}

static void cleanup(void)
{
}

static struct fi_provider provider = {
	.version = FI_VERSION(0, 1),
	.fi_version = FI_VERSION(FI_MAJOR_VERSION, FI_MINOR_VERSION),
	.name = NAME,
	.getinfo = tc_getinfo,
	.fabric = tc_fabric,
	.cleanup = cleanup,
};

__attribute__((visibility("default"))) struct fi_provider *fi_prov_ini(void);

struct fi_provider *fi_prov_ini(void)
{
	/* Others have other structures. */
	return FI_MAJOR(fi_version()) == FI_MAJOR_VERSION &&
			       FI_MINOR(fi_version()) == FI_MINOR_VERSION
		       ? &provider
		       : NULL;
}
