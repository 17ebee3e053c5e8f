/* SPDX-License-Identifier: BSD-3-Clause */
/* An endpoint: what is bound to it, its name, its end. */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <utlist.h>

#include "link/test/core/testcore.h"

static int ep_bind(struct fid *fid, struct fid *other, uint64_t flags)
{
	struct tc_ep *ep = (struct tc_ep *)fid;
	int result = tc_fault(ep->domain, "bind");

	if (result != 0)
		return result;
	switch (other->fclass) {
	case FI_CLASS_CQ:
		if ((flags & FI_TRANSMIT) != 0) {
			ep->send_cq = (struct tc_cq *)other;
			ep->send_cq->uses++;
		}
		if ((flags & FI_RECV) != 0) {
			ep->receive_cq = (struct tc_cq *)other;
			ep->receive_cq->uses++;
		}
		return 0;
	case FI_CLASS_AV:
		ep->av = (struct tc_av *)other;
		return 0;
	default:
		return -FI_EINVAL;
	}
}

static int ep_control(struct fid *fid, int command, void *arg)
{
	struct tc_ep *ep = (struct tc_ep *)fid;
	int result = tc_fault(ep->domain, "enable");

	if (command != FI_ENABLE)
		return -FI_ENOSYS;
	if (result == 0)
		result = tc_fault(ep->domain, "open");
	if (result == 0 && ep->av == NULL)
		result = -FI_ENOAV;
	if (result == 0)
		result = tc_socket_open(ep);
	if (result == 0)
		DL_APPEND(ep->domain->endpoints, ep);
	return result;
}

static int ep_getname(struct fid *fid, void *bytes, size_t *size)
{
	struct tc_ep *ep = (struct tc_ep *)fid;
	size_t room = *size;
	int result = tc_fault(ep->domain, "getname");

	if (result != 0)
		return result;
	*size = sizeof(ep->number);
	if (room < sizeof(ep->number))
		return -FI_ETOOSMALL;
	memcpy(bytes, &ep->number, sizeof(ep->number));
	return 0;
}

static struct fi_ops_cm cm_ops = {
	.size = sizeof(cm_ops),
	.getname = ep_getname,
};

static int no_option(struct fid *fid, int level, int name, void *value,
		     size_t *size)
{
	return -FI_ENOPROTOOPT;
}

static int no_setting(struct fid *fid, int level, int name, const void *value,
		      size_t size)
{
	return -FI_ENOPROTOOPT;
}

static struct fi_ops_ep ep_ops = {
	.size = sizeof(ep_ops),
	.cancel = tc_cancel,
	.getopt = no_option,
	.setopt = no_setting,
};

static void ops_free(struct tc_op *list)
{
	for (struct tc_op *op = list, *next; op != NULL; op = next) {
		next = op->next;
		free(op->copy);
		free(op);
	}
}

static int ep_close(struct fid *fid)
{
	struct tc_ep *ep = (struct tc_ep *)fid;

	if (ep->send_cq != NULL)
		ep->send_cq->uses--;
	if (ep->receive_cq != NULL)
		ep->receive_cq->uses--;
	if (ep->prev != NULL)
		DL_DELETE(ep->domain->endpoints, ep);
	ops_free(ep->posted[0]);
	ops_free(ep->posted[1]);
	ops_free(ep->active);
	for (unsigned int i = 0; i < 2; i++)
		for (struct tc_unexpected *m = ep->unexpected[i], *next;
		     m != NULL; m = next) {
			next = m->next;
			free(m);
		}
	tc_peers_drop(ep);
	if (ep->fd >= 0)
		close(ep->fd);
	free(ep);
	return 0;
}

static struct fi_ops ep_fid_ops = {
	.size = sizeof(ep_fid_ops),
	.close = ep_close,
	.bind = ep_bind,
	.control = ep_control,
	.ops_open = tc_no_ops,
};

int tc_ep_open(struct fid_domain *fid, struct fi_info *info,
	       struct fid_ep **ret_ep, void *context)
{
	struct tc_domain *domain = (struct tc_domain *)fid;
	struct tc_ep *ep;
	int result = tc_fault(domain, "endpoint");

	if (result == 0)
		result = tc_fault(domain, "open");
	if (result != 0)
		return result;
	ep = calloc(1, sizeof(*ep));
	if (ep == NULL)
		return -FI_ENOMEM;
	ep->fid.fid.fclass = FI_CLASS_EP;
	ep->fid.fid.context = context;
	ep->fid.fid.ops = &ep_fid_ops;
	ep->fid.ops = &ep_ops;
	ep->fid.cm = &cm_ops;
	ep->fid.msg = &tc_msg_ops;
	ep->fid.tagged = &tc_tagged_ops;
	ep->fid.rma = &tc_rma_ops;
	ep->domain = domain;
	ep->fd = -1;
	*ret_ep = &ep->fid;
	return 0;
}
