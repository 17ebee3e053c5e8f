/* SPDX-License-Identifier: BSD-3-Clause */
#include "link/test/beside.h"

void beside_open(struct beside *beside, struct pair *pair)
{
	struct fi_cq_attr cq = { .format = FI_CQ_FORMAT_TAGGED };
	struct fi_av_attr av = { .type = FI_AV_TABLE };
	uint8_t name[64];
	size_t size = sizeof(name);

	*beside = (struct beside){ .its = FI_ADDR_NOTAVAIL };
	pair_do(fi_cq_open(pair->domain, &cq, &beside->cq, NULL));
	pair_do(fi_av_open(pair->domain, &av, &beside->av, NULL));
	pair_do(fi_endpoint(pair->domain, pair->info, &beside->ep, NULL));
	pair_do(fi_ep_bind(beside->ep, &beside->cq->fid,
			   FI_TRANSMIT | FI_RECV));
	pair_do(fi_ep_bind(beside->ep, &beside->av->fid, 0));
	pair_do(fi_enable(beside->ep));
	pair_do(fi_getname(&pair->ep->fid, name, &size));
	pair_check(fi_av_insert(beside->av, name, 1, &beside->mine, 0, NULL) ==
		   1);
}

fi_addr_t beside_insert(struct beside *beside, struct pair *pair)
{
	uint8_t name[64];
	size_t size = sizeof(name);

	pair_do(fi_getname(&beside->ep->fid, name, &size));
	pair_check(fi_av_insert(pair->av, name, 1, &beside->its, 0, NULL) == 1);
	return beside->its;
}

void beside_close(struct beside *beside)
{
	pair_do(fi_close(&beside->ep->fid));
	pair_do(fi_close(&beside->av->fid));
	pair_do(fi_close(&beside->cq->fid));
}
