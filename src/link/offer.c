/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What fi_getinfo offers because each core of a link has it, or because it is
 * made without them.
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
 * What holds where reads and writes are the core's: not between these and
 * atomic operations, which come later than the core would do them.
 */
#define ORDER_OF_CORES                                            \
	(FI_ORDER_RMA_RAR | FI_ORDER_RMA_RAW | FI_ORDER_RMA_WAR | \
	 FI_ORDER_RMA_WAW | FI_ORDER_SAW)

static uint64_t order_of_core(const struct link_core *core)
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

static unsigned int fabric_count(const struct core_set *set)
{
	unsigned int count = 0;

	for (unsigned int i = 0; i < set->count; i++)
		count += set->cores[i].way != RAIL_SHARED;
	return count;
}

static uint64_t order_of(const struct core_set *set, uint64_t caps)
{
	uint64_t order = ORDER_OF_SHARED;

	for (unsigned int i = 0; i < set->count; i++)
		order &= order_of_core(&set->cores[i]);
	/* Several rails do not wait for each other. */
	if (fabric_count(set) > 1)
		order = 0;
	if ((caps & FI_ATOMIC) == 0)
		order = order_widened(order);
	return order | ORDER_OF_FRAMES;
}

static void limit(size_t *value, size_t max)
{
	if (*value > max)
		*value = max;
}

/*
 * How much of it: reads and writes as the core has it, or else atomic
 * operations alone, which are never larger than this. Who asks for less has no
 * more.
 */
static size_t order_size(bool is_core_s, size_t of_core, size_t of_atomics,
			 size_t asked)
{
	size_t size = is_core_s ? of_core : of_atomics;

	return asked != 0 && asked < size ? asked : size;
}

static void order_fill(struct fi_info *info, const struct fi_info *hints,
		       const struct core_set *set)
{
	static const struct fi_ep_attr nothing;
	const struct fi_ep_attr *asked = hints == NULL || hints->ep_attr == NULL
						 ? &nothing
						 : hints->ep_attr;
	struct fi_ep_attr *attr = info->ep_attr;
	uint64_t order = order_of(set, info->caps);
	size_t raw = SIZE_MAX, war = SIZE_MAX, waw = SIZE_MAX;
	size_t most = atomic_max(set);

	for (unsigned int i = 0; i < set->count; i++) {
		const struct fi_info *core = set->cores[i].info;
		if (set->cores[i].way == RAIL_SHARED)
			continue;
		limit(&raw, core->ep_attr->max_order_raw_size);
		limit(&war, core->ep_attr->max_order_war_size);
		limit(&waw, core->ep_attr->max_order_waw_size);
	}
	info->tx_attr->msg_order = info->rx_attr->msg_order = order;
	attr->max_order_raw_size =
		order_size((order & FI_ORDER_RMA_RAW) != 0, raw, most,
			   asked->max_order_raw_size);
	attr->max_order_war_size =
		order_size((order & FI_ORDER_RMA_WAR) != 0, war, most,
			   asked->max_order_war_size);
	attr->max_order_waw_size =
		order_size((order & FI_ORDER_RMA_WAW) != 0, waw, most,
			   asked->max_order_waw_size);
}

void offer_fill(struct fi_info *info, const struct fi_info *hints,
		const struct core_set *set)
{
	unsigned int fabrics = fabric_count(set);

	order_fill(info, hints, set);
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
		/* By several it goes in pieces. */
		if (fabrics == 1)
			limit(&info->ep_attr->max_msg_size,
			      core->ep_attr->max_msg_size);
	}
}
