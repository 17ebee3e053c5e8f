/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What fi_getinfo offers because each core of a link has it, or because it is made
 * without them.
 */
#include "link/direct.h"

/* Frames to one peer are taken in as they were sent, whatever rail has them. */
#define ORDER_OF_FRAMES                                             \
	(FI_ORDER_SAS | FI_ORDER_ATOMIC_RAR | FI_ORDER_ATOMIC_RAW | \
	 FI_ORDER_ATOMIC_WAR | FI_ORDER_ATOMIC_WAW)
/* Where reads and writes are frames, too. */
#define ORDER_OF_SHARED                                              \
	(FI_ORDER_RAR | FI_ORDER_RAW | FI_ORDER_WAR | FI_ORDER_WAW | \
	 FI_ORDER_SAW | FI_ORDER_RMA_RAR | FI_ORDER_RMA_RAW |        \
	 FI_ORDER_RMA_WAR | FI_ORDER_RMA_WAW)
/*
 * What holds where reads and writes are the core's: not between these and atomic
 * operations, which come later than the core would do them.
 */
#define ORDER_OF_CORES                                            \
	(FI_ORDER_RMA_RAR | FI_ORDER_RMA_RAW | FI_ORDER_RMA_WAR | \
	 FI_ORDER_RMA_WAW | FI_ORDER_SAW)

static uint64_t order_of_core(const struct core *core)
{
	uint64_t order;

	if (core->way == RAIL_SHARED)
		return ORDER_OF_SHARED;
	order = core->info->tx_attr->msg_order & core->info->rx_attr->msg_order;
	/* Older names for what is of both kinds. */
	if ((order & FI_ORDER_RAR) != 0)
		order |= FI_ORDER_RMA_RAR;
	if ((order & FI_ORDER_RAW) != 0)
		order |= FI_ORDER_RMA_RAW;
	if ((order & FI_ORDER_WAR) != 0)
		order |= FI_ORDER_RMA_WAR;
	if ((order & FI_ORDER_WAW) != 0)
		order |= FI_ORDER_RMA_WAW;
	return order & ORDER_OF_CORES;
}

/* Without atomic operations, the order of reads and writes is that of all. */
static uint64_t order_widened(uint64_t order)
{
	static const struct {
		uint64_t rma, all;
	} names[] = { { FI_ORDER_RMA_RAR, FI_ORDER_RAR },
		      { FI_ORDER_RMA_RAW, FI_ORDER_RAW },
		      { FI_ORDER_RMA_WAR, FI_ORDER_WAR },
		      { FI_ORDER_RMA_WAW, FI_ORDER_WAW } };

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		if ((order & names[i].rma) != 0)
			order |= names[i].all;
	return order;
}

static uint64_t order_of(const struct core_set *set, uint64_t caps)
{
	uint64_t order = ORDER_OF_SHARED;
	unsigned int fabrics = 0;

	for (unsigned int i = 0; i < set->count; i++) {
		order &= order_of_core(&set->cores[i]);
		fabrics += set->cores[i].way != RAIL_SHARED;
	}
	/* Several rails do not wait for each other. */
	if (fabrics > 1)
		order = 0;
	if ((caps & FI_ATOMIC) == 0)
		order = order_widened(order);
	return order | ORDER_OF_FRAMES;
}

/* How much of it: an atomic operation is never larger than this. */
static size_t order_size(const struct core_set *set, uint64_t order,
			 uint64_t rma)
{
	return (order & rma) != 0 ? SIZE_MAX : atomic_max(set);
}

static void limit(size_t *value, size_t max)
{
	if (*value > max)
		*value = max;
}

void offer_fill(struct fi_info *info, const struct core_set *set)
{
	uint64_t order = order_of(set, info->caps);

	info->tx_attr->msg_order = info->rx_attr->msg_order = order;
	info->ep_attr->max_order_raw_size =
		order_size(set, order, FI_ORDER_RMA_RAW);
	info->ep_attr->max_order_war_size =
		order_size(set, order, FI_ORDER_RMA_WAR);
	info->ep_attr->max_order_waw_size =
		order_size(set, order, FI_ORDER_RMA_WAW);
	info->domain_attr->mr_iov_limit = LINK_IOV_MAX;
	info->tx_attr->rma_iov_limit = LINK_IOV_MAX;
	for (unsigned int i = 0; i < set->count; i++) {
		const struct fi_info *core = set->cores[i].info;
		if (set->cores[i].way == RAIL_SHARED)
			continue;
		limit(&info->domain_attr->mr_iov_limit,
		      core->domain_attr->mr_iov_limit);
		limit(&info->tx_attr->rma_iov_limit,
		      core->tx_attr->rma_iov_limit);
		limit(&info->tx_attr->iov_limit, core->tx_attr->iov_limit);
	}
}

bool offer_suffices(const struct fi_info *info, const struct fi_info *hints)
{
	const struct fi_tx_attr *tx = hints == NULL ? NULL : hints->tx_attr;
	const struct fi_rx_attr *rx = hints == NULL ? NULL : hints->rx_attr;
	const struct fi_domain_attr *domain =
		hints == NULL ? NULL : hints->domain_attr;
	uint64_t order = info->tx_attr->msg_order;

	if (tx != NULL && ((tx->msg_order & ~order) != 0 ||
			   tx->iov_limit > info->tx_attr->iov_limit ||
			   tx->rma_iov_limit > info->tx_attr->rma_iov_limit))
		return false;
	if (rx != NULL && (rx->msg_order & ~order) != 0)
		return false;
	return domain == NULL ||
	       domain->mr_iov_limit <= info->domain_attr->mr_iov_limit;
}
