/* SPDX-License-Identifier: BSD-3-Clause */
/* All that one process opens before it does anything, and closes. */
#include <string.h>

#include <rdma/fi_eq.h>

#include "link/test/sweep.h"

#define KEY 77

static void queues_open(struct pair *pair)
{
	struct fi_cq_attr cq = { .format = FI_CQ_FORMAT_TAGGED,
				 .wait_obj = FI_WAIT_FD };
	struct fi_cntr_attr cntr = { .events = FI_CNTR_EVENTS_COMP };
	struct fi_av_attr av = { .type = FI_AV_TABLE };

	tried(pair, fi_cq_open(pair->domain, &cq, &pair->send_cq, NULL));
	tried(pair, fi_cq_open(pair->domain, &cq, &pair->receive_cq, NULL));
	tried(pair, fi_cntr_open(pair->domain, &cntr, &pair->send_cntr, NULL));
	tried(pair, fi_av_open(pair->domain, &av, &pair->av, NULL));
}

static void endpoint_open(struct pair *pair)
{
	size_t size = sizeof(pair->peer_name);

	tried(pair, fi_endpoint(pair->domain, pair->info, &pair->ep, NULL));
	tried(pair, fi_ep_bind(pair->ep, &pair->send_cq->fid, FI_TRANSMIT));
	tried(pair, fi_ep_bind(pair->ep, &pair->receive_cq->fid, FI_RECV));
	tried(pair, fi_ep_bind(pair->ep, &pair->send_cntr->fid, FI_SEND));
	tried(pair, fi_ep_bind(pair->ep, &pair->av->fid, 0));
	tried(pair, fi_enable(pair->ep));
	pair_do(fi_getname(&pair->ep->fid, pair->peer_name, &size));
}

static void all_close(struct pair *pair)
{
	pair_do(fi_close(&pair->ep->fid));
	pair_do(fi_close(&pair->av->fid));
	pair_do(fi_close(&pair->send_cntr->fid));
	pair_do(fi_close(&pair->send_cq->fid));
	pair_do(fi_close(&pair->receive_cq->fid));
}

void sweep_open(struct fi_info *info)
{
	const uint64_t access = FI_REMOTE_READ | FI_REMOTE_WRITE;
	struct pair pair = { .info = info, .fd = -1 };
	struct fid_mr *mr;
	struct fid_ep *alias = NULL;

	tried(&pair, fi_fabric(info->fabric_attr, &pair.fabric, NULL));
	tried(&pair, fi_domain(pair.fabric, info, &pair.domain, NULL));
	tried(&pair, fi_mr_reg(pair.domain, sweep_in, 100, access, 0, KEY, 0,
			       &mr, NULL));
	queues_open(&pair);
	endpoint_open(&pair);
	insert(&pair);
	tried(&pair, fi_ep_alias(pair.ep, &alias, FI_TRANSMIT));
	pair_do(fi_close(&alias->fid));
	pair_do(fi_close(&mr->fid));
	tried(&pair, fi_av_remove(pair.av, &pair.peer, 1, 0));
	all_close(&pair);
	pair_do(fi_close(&pair.domain->fid));
	pair_do(fi_close(&pair.fabric->fid));
}
