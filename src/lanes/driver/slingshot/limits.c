/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Only reservations are accounted by the NIC's driver: the sum of the maxima
 * may exceed the device. So a maximum is what the policy says, clamped to the
 * device, and only the reservation is scaled back.
 *
 * Three kinds of resources differ from the rest:
 *
 * - Trigger list entries (TLEs) come from one of four pools. The default
 *   service has one, even when it is disabled; every service with a TLE
 *   limit takes another, and at least 8 TLEs. The driver sets the maximum
 *   equal to the reservation. A service without a pool must ask for none.
 * - A service without limits of its own counts as one with a TLE maximum, so
 *   it takes a pool and 8 TLEs too.
 * - List entries (LEs) that are reserved come from one of 15 pools; a
 *   service that reserves none shares pool 0.
 */
#include "lanes/driver/slingshot/limits.h"

#include <stdarg.h>
#include <stdio.h>

static uint32_t least(uint32_t a, uint32_t b)
{
	return a < b ? a : b;
}

static uint32_t most(uint32_t a, uint32_t b)
{
	return a > b ? a : b;
}

/* In the order of the types. */
static void read_totals(const struct cxil_devinfo *info,
			uint32_t ret_totals[CXI_RSRC_TYPE_MAX])
{
	ret_totals[CXI_RSRC_TYPE_PTE] = info->num_ptes;
	ret_totals[CXI_RSRC_TYPE_TXQ] = info->num_txqs;
	ret_totals[CXI_RSRC_TYPE_TGQ] = info->num_tgqs;
	ret_totals[CXI_RSRC_TYPE_EQ] = info->num_eqs;
	ret_totals[CXI_RSRC_TYPE_CT] = info->num_cts;
	ret_totals[CXI_RSRC_TYPE_LE] = info->num_les;
	ret_totals[CXI_RSRC_TYPE_TLE] = info->num_tles;
	ret_totals[CXI_RSRC_TYPE_AC] = info->num_acs;
}

static void count_tles(const struct cxi_svc_desc *service,
		       struct slingshot_usage *usage)
{
	const struct cxi_limits *tles = &service->limits.tles;

	if (service->svc_id == CXI_DEFAULT_SVC_ID) {
		usage->reserved[CXI_RSRC_TYPE_TLE] += tles->res;
		return;
	}
	if (service->resource_limits && tles->max == 0 && tles->res == 0)
		return;
	usage->reserved[CXI_RSRC_TYPE_TLE] += most(tles->res, CXI_TLE_RES_MIN);
	usage->tle_pools++;
}

void slingshot_usage_count(const struct cxil_devinfo *info,
			   const struct cxi_svc_desc *services, size_t count,
			   struct slingshot_usage *ret_usage)
{
	struct slingshot_usage usage = { .tle_pools = 1 };

	read_totals(info, usage.total);
	for (size_t i = 0; i < count; i++) {
		const struct cxi_svc_desc *service = &services[i];

		count_tles(service, &usage);
		for (int type = 0; type < CXI_RSRC_TYPE_MAX; type++) {
			if (type != CXI_RSRC_TYPE_TLE)
				usage.reserved[type] +=
					service->limits.type[type].res;
		}
		if (service->limits.les.res > 0)
			usage.le_pools++;
		if (service->enable)
			usage.receive_entries += service->restricted_vnis
							 ? service->num_vld_vnis
							 : 1;
	}
	*ret_usage = usage;
}

static uint32_t free_of(const struct slingshot_usage *usage,
			enum cxi_rsrc_type type)
{
	return usage->total[type] -
	       least(usage->reserved[type], usage->total[type]);
}

/* Note that less is reserved than was wanted; why: a format of what there is. */
__attribute__((format(printf, 5, 6))) static uint32_t fall_short(
	struct slingshot_limits *limits, enum cxi_rsrc_type type,
	uint32_t wanted, uint32_t got, const char *why, ...)
{
	struct slingshot_shortfall *shortfall =
		&limits->shortfalls[limits->shortfall_count++];
	va_list args;

	*shortfall = (struct slingshot_shortfall){
		.type = type,
		.wanted = wanted,
		.got = got,
	};
	va_start(args, why);
	vsnprintf(shortfall->why, sizeof(shortfall->why), why, args);
	va_end(args);
	return got;
}

/* What of `wanted` can be set aside; notes a shortfall. */
static uint32_t scale(struct slingshot_limits *limits, enum cxi_rsrc_type type,
		      const struct slingshot_usage *usage, uint32_t wanted)
{
	uint32_t total = usage->total[type];
	uint32_t free = free_of(usage, type);

	if (wanted <= free)
		return wanted;
	return free == total ? fall_short(limits, type, wanted, free,
					  "the device has %u", total)
			     : fall_short(limits, type, wanted, free,
					  "%u of %u are free", free, total);
}

static uint32_t scale_les(struct slingshot_limits *limits,
			  const struct slingshot_usage *usage, uint32_t wanted)
{
	if (wanted > 0 && usage->le_pools >= CXI_LE_POOLS)
		return fall_short(limits, CXI_RSRC_TYPE_LE, wanted, 0,
				  "all %d pools are taken", CXI_LE_POOLS);
	return scale(limits, CXI_RSRC_TYPE_LE, usage, wanted);
}

static uint32_t scale_tles(struct slingshot_limits *limits,
			   const struct slingshot_usage *usage, uint32_t wanted)
{
	enum cxi_rsrc_type type = CXI_RSRC_TYPE_TLE;
	uint32_t free = free_of(usage, type);

	if (wanted == 0)
		return 0;
	if (usage->tle_pools >= CXI_TLE_POOLS)
		return fall_short(limits, type, wanted, 0,
				  "all %d pools are taken", CXI_TLE_POOLS);
	if (free < CXI_TLE_RES_MIN)
		return fall_short(limits, type, wanted, 0,
				  "%u of %u are free, %d is the least", free,
				  usage->total[type], CXI_TLE_RES_MIN);
	return scale(limits, type, usage, wanted);
}

void slingshot_limits_plan(const struct slingshot_policy *policy,
			   uint32_t cores, const struct slingshot_usage *usage,
			   struct slingshot_limits *ret_limits)
{
	struct slingshot_limits limits = { 0 };

	for (int type = 0; type < CXI_RSRC_TYPE_MAX; type++) {
		uint64_t product = (uint64_t)policy->per_core[type] * cores;
		uint32_t wanted = product < policy->max[type]
					  ? (uint32_t)product
					  : policy->max[type];
		uint32_t max = least(policy->max[type], usage->total[type]);
		uint32_t res;

		if (type == CXI_RSRC_TYPE_TLE)
			max = res = scale_tles(&limits, usage, wanted);
		else if (type == CXI_RSRC_TYPE_LE)
			res = scale_les(&limits, usage, wanted);
		else
			res = scale(&limits, type, usage, wanted);
		limits.limits.type[type].max = (uint16_t)max;
		limits.limits.type[type].res = (uint16_t)res;
	}
	*ret_limits = limits;
}

uint32_t slingshot_lnis_per_rgid(uint32_t tasks, uint32_t nics)
{
	uint64_t rgids = (uint64_t)nics * CXI_RGIDS;

	if (tasks == 0 || rgids == 0)
		return 1;
	return (uint32_t)((tasks + rgids - 1) / rgids);
}

void slingshot_shortfall_format(const struct slingshot_shortfall *shortfall,
				const char *device, char *text, size_t capacity)
{
	snprintf(text, capacity, "%s: wanted %u %s, reserved %u (%s)", device,
		 shortfall->wanted, slingshot_resource_name(shortfall->type),
		 shortfall->got, shortfall->why);
}
