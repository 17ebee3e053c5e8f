/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Resources of a NIC: what services reserve, the TLE and LE pools that come
 * with it, and what is in use.
 *
 * Only reservations are accounted, the sum of the maxima never is. The driver
 * looks first, in the order of the types, and stops at the first one that is
 * lacking; TLEs it does not look at until it takes. That is why the fail info
 * is incomplete, and it is kept so here. The four PEs have the same LEs
 * reserved and the same pools taken at all times, so one count stands for all.
 */
#include "emu/cxi/core/model.h"

#include <assert.h>
#include <errno.h>
#include <strings.h>

static uint32_t unreserved(const struct nic *nic, enum cxi_rsrc_type type)
{
	assert(nic->reserved[type] <= nic->softnic->config.totals[type]);
	return nic->softnic->config.totals[type] - nic->reserved[type];
}

static void fill_in_limits(const struct nic *nic, struct softnic_svc *service)
{
	struct cxi_svc_desc *desc = &service->desc;

	for (unsigned int i = 0;
	     !desc->resource_limits && i < CXI_RSRC_TYPE_MAX; i++) {
		desc->limits.type[i].max = nic->softnic->config.totals[i];
		desc->limits.type[i].res = 0;
	}
}

static void adjust_tles(struct softnic_svc *service)
{
	struct cxi_limits *tles = &service->desc.limits.tles;

	if (service->desc.svc_id == CXI_DEFAULT_SVC_ID)
		return;
	if (tles->res < TLE_POOL_MIN)
		tles->res = TLE_POOL_MIN;
	tles->max = tles->res;
}

static int check_available(struct nic *nic, struct softnic_svc *service,
			   struct cxi_svc_fail_info *fail_info)
{
	for (unsigned int i = 0; i < CXI_RSRC_TYPE_MAX; i++) {
		struct cxi_limits *limits = &service->desc.limits.type[i];
		uint32_t available;

		if (limits->res == 0 && limits->max == 0)
			continue;
		if (i == CXI_RSRC_TYPE_TLE) {
			adjust_tles(service);
			continue;
		}
		available = unreserved(nic, i);
		fail_info->rsrc_avail[i] = (uint16_t)available;
		if (limits->res > available)
			return -ENOSPC;
	}
	return 0;
}

/* The lowest free pool, or POOL_NONE. */
static int take_pool(uint32_t *pools, int count)
{
	for (int id = 0; id < count; id++) {
		if (!(*pools & 1u << id)) {
			*pools |= 1u << id;
			return id;
		}
	}
	return POOL_NONE;
}

static int take(struct nic *nic, struct softnic_svc *service,
		enum cxi_rsrc_type type, struct cxi_svc_fail_info *fail_info)
{
	const struct cxi_limits *limits = &service->desc.limits.type[type];

	if (limits->res == 0 && (limits->max == 0 || type == CXI_RSRC_TYPE_LE))
		return 0;
	if (limits->res > unreserved(nic, type))
		return -ENOSPC;
	if (type == CXI_RSRC_TYPE_LE) {
		service->le_pool = take_pool(&nic->le_pools, LE_POOL_COUNT);
		fail_info->no_le_pools = service->le_pool == POOL_NONE;
	}
	if (type == CXI_RSRC_TYPE_TLE) {
		service->tle_pool = take_pool(&nic->tle_pools, TLE_POOL_COUNT);
		fail_info->no_tle_pools = service->tle_pool == POOL_NONE;
	}
	if (fail_info->no_le_pools || fail_info->no_tle_pools)
		return -ENOSPC;
	nic->reserved[type] += limits->res;
	service->reserved[type] = limits->res;
	return 0;
}

int limits_reserve(struct nic *nic, struct softnic_svc *service,
		   struct cxi_svc_fail_info *fail_info)
{
	int result;

	fill_in_limits(nic, service);
	result = check_available(nic, service, fail_info);
	for (unsigned int i = 0; result == 0 && i < CXI_RSRC_TYPE_MAX; i++)
		result = take(nic, service, i, fail_info);
	if (result < 0)
		limits_release(nic, service);
	return result;
}

void limits_release(struct nic *nic, const struct softnic_svc *service)
{
	for (unsigned int i = 0; i < CXI_RSRC_TYPE_MAX; i++) {
		assert(nic->reserved[i] >= service->reserved[i]);
		nic->reserved[i] -= service->reserved[i];
	}
	if (service->tle_pool != POOL_NONE)
		nic->tle_pools &= ~(1u << service->tle_pool);
	if (service->le_pool != POOL_NONE)
		nic->le_pools &= ~(1u << service->le_pool);
}

uint32_t limits_shared_use(const struct nic *nic, enum cxi_rsrc_type type)
{
	uint32_t use = 0;

	for (unsigned int id = 1; id <= SOFTNIC_SERVICE_MAX; id++) {
		const struct softnic_svc *service = nic->services[id];

		if (service != NULL &&
		    service->in_use[type] > service->reserved[type])
			use += (uint32_t)service->in_use[type] -
			       service->reserved[type];
	}
	return use;
}

int limits_consume(const struct nic *nic, struct softnic_svc *service,
		   enum cxi_rsrc_type type)
{
	if (service->in_use[type] >= service->reserved[type]) {
		if (service->in_use[type] >=
		    service->desc.limits.type[type].max)
			return -ENOSPC;
		if (limits_shared_use(nic, type) >=
		    nic->softnic->config.totals[type])
			return -ENOSPC;
	}
	service->in_use[type]++;
	return 0;
}
