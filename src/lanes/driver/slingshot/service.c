/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A service is recognised by what it grants, never by its id alone: ids are
 * reused at once, and differ between the NICs of a node. Owner and VNIs
 * identify it, since VNIs are given to one job at a time.
 */
#include "lanes/driver/slingshot/service.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "lanes/driver/slingshot/policy.h"

static uint32_t least(uint32_t a, uint32_t b)
{
	return a < b ? a : b;
}

static bool is_for_jobs(uint32_t vni)
{
	return vni <= UINT16_MAX && vni != 0 && vni != 1 && vni != 10;
}

static int read_vnis(const struct fairlead_lane *lane,
		     struct slingshot_lane *ret_lane,
		     struct fairlead_error *ret_error)
{
	if (lane->id_count > CXI_SVC_MAX_VNIS)
		return error_set(ret_error, -EINVAL,
				 "lane has %u VNIs, a service at most %d",
				 lane->id_count, CXI_SVC_MAX_VNIS);
	for (uint32_t i = 0; i < lane->id_count; i++) {
		uint32_t vni = lane->ids[i];

		if (!is_for_jobs(vni))
			return error_set(ret_error, -EINVAL,
					 "lane has VNI %u, which is not for "
					 "jobs",
					 vni);
		for (uint32_t k = 0; k < i; k++) {
			if (lane->ids[k] == vni)
				return error_set(ret_error, -EINVAL,
						 "lane has VNI %u twice", vni);
		}
		ret_lane->vnis[i] = (uint16_t)vni;
	}
	ret_lane->vni_count = lane->id_count;
	return 0;
}

int slingshot_lane_read(const struct fairlead_lane *lane, bool with_options,
			struct slingshot_lane *ret_lane,
			struct fairlead_error *ret_error)
{
	struct slingshot_lane read = {
		.uid = lane->uid,
		.cores = lane->cores,
		.tasks = lane->tasks,
		.is_in_netns = slingshot_options_have_netns(lane->options)
	};
	struct slingshot_request request;
	int result = read_vnis(lane, &read, ret_error);

	if (result < 0)
		return result;
	if (with_options) {
		if (lane->cores == 0)
			return error_set(ret_error, -EINVAL,
					 "lane has no cores on this node");
		result = slingshot_request_parse(lane->options,
						 &slingshot_policy_default,
						 &slingshot_policy_unlimited, 0,
						 &request, ret_error);
		if (result < 0)
			return error_prefix(ret_error, "options of the lane");
		if (request.has_exclusive_cp && read.vni_count != 1)
			return error_set(ret_error, -EINVAL,
					 "lane has %u VNIs, with option "
					 "'exclusive_cp' it has one",
					 read.vni_count);
		read.policy = request.policy;
		read.has_exclusive_cp = request.has_exclusive_cp;
	}
	*ret_lane = read;
	return 0;
}

void slingshot_service_fill(const struct slingshot_lane *lane,
			    const struct cxi_rsrc_limits *limits,
			    struct cxi_svc_desc *ret_desc)
{
	struct cxi_svc_desc desc = {
		.restricted_members = 1,
		.restricted_vnis = !lane->has_exclusive_cp,
		.restricted_tcs = 1,
		.resource_limits = 1,
		.enable = 1,
		.num_vld_vnis = lane->has_exclusive_cp
					? 0
					: (uint8_t)lane->vni_count,
		.members = {
			{ .svc_member.uid = lane->uid,
			  .type = CXI_SVC_MEMBER_UID },
			{ .type = CXI_SVC_MEMBER_IGNORE },
		},
		.limits = *limits,
	};

	/* The NIC's driver lets a namespace in only where no uid is named. */
	if (lane->is_in_netns)
		desc.members[0] = (struct cxi_svc_member){
			.type = CXI_SVC_MEMBER_NET_NS,
		};
	/* The NIC's driver lists them also where it does not obey them. */
	memcpy(desc.vnis, lane->vnis, sizeof(desc.vnis));
	for (int tc = 0; tc < CXI_TC_MAX; tc++)
		desc.tcs[tc] = lane->policy.tcs & 1u << tc;
	*ret_desc = desc;
}

uint32_t slingshot_service_vni_count(const struct cxi_svc_desc *desc)
{
	if (!desc->restricted_vnis)
		return desc->vnis[0] != 0;
	return least(desc->num_vld_vnis, CXI_SVC_MAX_VNIS);
}

static bool has_vni(const struct cxi_svc_desc *desc, uint16_t vni)
{
	for (uint32_t i = 0; i < slingshot_service_vni_count(desc); i++) {
		if (desc->vnis[i] == vni)
			return true;
	}
	return false;
}

uint16_t slingshot_service_shares(const struct cxi_svc_desc *desc,
				  const struct slingshot_lane *lane)
{
	for (uint32_t i = 0; i < lane->vni_count; i++) {
		if (has_vni(desc, lane->vnis[i]))
			return lane->vnis[i];
	}
	return 0;
}

bool slingshot_service_is_in_netns(const struct cxi_svc_desc *desc)
{
	enum cxi_svc_member_type first = desc->members[0].type;
	enum cxi_svc_member_type second = desc->members[1].type;

	return desc->restricted_members && ((first == CXI_SVC_MEMBER_NET_NS &&
					     second == CXI_SVC_MEMBER_IGNORE) ||
					    (first == CXI_SVC_MEMBER_IGNORE &&
					     second == CXI_SVC_MEMBER_NET_NS));
}

/* One member is the owner, or the namespace, and the other nobody. */
static bool is_owned(const struct cxi_svc_desc *desc,
		     const struct slingshot_lane *lane)
{
	const struct cxi_svc_member *members = desc->members;

	if (lane->is_in_netns)
		return slingshot_service_is_in_netns(desc);
	return desc->restricted_members &&
	       slingshot_service_uid(desc) == lane->uid &&
	       (members[0].type == CXI_SVC_MEMBER_IGNORE ||
		members[1].type == CXI_SVC_MEMBER_IGNORE);
}

bool slingshot_service_is_of(const struct cxi_svc_desc *desc,
			     const struct slingshot_lane *lane)
{
	if (desc->is_system_svc || desc->svc_id == CXI_DEFAULT_SVC_ID ||
	    lane->vni_count == 0 ||
	    slingshot_service_vni_count(desc) != lane->vni_count ||
	    !is_owned(desc, lane))
		return false;
	for (uint32_t i = 0; i < lane->vni_count; i++) {
		if (!has_vni(desc, lane->vnis[i]))
			return false;
	}
	return true;
}

bool slingshot_service_admits(const struct cxi_svc_desc *desc, uint32_t uid)
{
	bool has_uid = false;

	if (!desc->restricted_members)
		return true;
	for (int i = 0; i < CXI_SVC_MAX_MEMBERS; i++) {
		const struct cxi_svc_member *member = &desc->members[i];

		if (member->type == CXI_SVC_MEMBER_GID ||
		    member->type == CXI_SVC_MEMBER_NET_NS)
			return true;
		if (member->type == CXI_SVC_MEMBER_UID)
			has_uid |= member->svc_member.uid == uid;
	}
	return has_uid;
}

uint32_t slingshot_service_uid(const struct cxi_svc_desc *desc)
{
	for (int i = 0; desc->restricted_members && i < CXI_SVC_MAX_MEMBERS;
	     i++) {
		if (desc->members[i].type == CXI_SVC_MEMBER_UID)
			return desc->members[i].svc_member.uid;
	}
	return UINT32_MAX;
}

uint32_t slingshot_service_tcs(const struct cxi_svc_desc *desc)
{
	uint32_t tcs = 0;

	if (!desc->restricted_tcs)
		return SLINGSHOT_TCS_ALL;
	for (int tc = 0; tc < CXI_TC_MAX; tc++) {
		if (desc->tcs[tc])
			tcs |= 1u << tc;
	}
	return tcs;
}

void slingshot_vnis_format(const uint16_t *vnis, uint32_t count,
			   char text[SLINGSHOT_VNIS_TEXT_MAX])
{
	size_t used = 0;

	text[0] = '\0';
	for (uint32_t i = 0; i < count && i < CXI_SVC_MAX_VNIS; i++)
		used += (size_t)snprintf(text + used,
					 SLINGSHOT_VNIS_TEXT_MAX - used, "%s%u",
					 i ? "," : "", vnis[i]);
}

void slingshot_limits_format(const struct cxi_rsrc_limits *limits,
			     char text[SLINGSHOT_LIMITS_TEXT_MAX])
{
	size_t used = 0;

	for (int type = 0; type < CXI_RSRC_TYPE_MAX; type++)
		used += (size_t)snprintf(text + used,
					 SLINGSHOT_LIMITS_TEXT_MAX - used,
					 "%s%s=%u/%u", type ? " " : "",
					 slingshot_resource_name(type),
					 limits->type[type].res,
					 limits->type[type].max);
}

/*
 * --- limits ---
 *
 * Only reservations are accounted by the NIC's driver: the sum of the maxima
 * may exceed the device. So a maximum is what the policy says, clamped to the
 * device, and only the reservation is scaled back. What is free is computed
 * here from the list of services, since the NIC's driver reports it wrongly
 * when it refuses.
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

/* Kept for other jobs, rounded up. */
static uint32_t kept_of(const struct slingshot_policy *policy,
			const struct slingshot_usage *usage,
			enum cxi_rsrc_type type)
{
	return (usage->total[type] * policy->keep + 99) / 100;
}

/* What of `wanted` can be set aside; notes a shortfall. */
static uint32_t scale(struct slingshot_limits *limits,
		      const struct slingshot_policy *policy,
		      enum cxi_rsrc_type type,
		      const struct slingshot_usage *usage, uint32_t wanted)
{
	uint32_t total = usage->total[type];
	uint32_t free = free_of(usage, type);
	uint32_t most_here = total - kept_of(policy, usage, type);

	if (wanted <= least(free, most_here))
		return wanted;
	if (most_here < least(free, total))
		return fall_short(limits, type, wanted, most_here,
				  "%u%% of %u are kept for other jobs",
				  policy->keep, total);
	return free == total ? fall_short(limits, type, wanted, free,
					  "the device has %u", total)
			     : fall_short(limits, type, wanted, free,
					  "%u of %u are free", free, total);
}

static uint32_t scale_les(struct slingshot_limits *limits,
			  const struct slingshot_policy *policy,
			  const struct slingshot_usage *usage, uint32_t wanted)
{
	if (wanted > 0 && usage->le_pools >= CXI_LE_POOLS)
		return fall_short(limits, CXI_RSRC_TYPE_LE, wanted, 0,
				  "all %d pools are taken", CXI_LE_POOLS);
	return scale(limits, policy, CXI_RSRC_TYPE_LE, usage, wanted);
}

static uint32_t scale_tles(struct slingshot_limits *limits,
			   const struct slingshot_policy *policy,
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
	return scale(limits, policy, type, usage, wanted);
}

static void check_minimum(const struct slingshot_policy *policy,
			  struct slingshot_shortfall *shortfall)
{
	uint32_t minimum = (shortfall->wanted * policy->minimum + 99) / 100;

	if (shortfall->got < minimum)
		shortfall->minimum = minimum;
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
			max = res = scale_tles(&limits, policy, usage, wanted);
		else if (type == CXI_RSRC_TYPE_LE)
			res = scale_les(&limits, policy, usage, wanted);
		else
			res = scale(&limits, policy, type, usage, wanted);
		limits.limits.type[type].max = (uint16_t)max;
		limits.limits.type[type].res = (uint16_t)res;
	}
	for (uint32_t i = 0; i < limits.shortfall_count; i++)
		check_minimum(policy, &limits.shortfalls[i]);
	*ret_limits = limits;
}

const struct slingshot_shortfall *slingshot_limits_refused(
	const struct slingshot_policy *policy,
	const struct slingshot_limits *limits)
{
	for (uint32_t i = 0; i < limits->shortfall_count; i++) {
		if (policy->refuses_less && limits->shortfalls[i].minimum > 0)
			return &limits->shortfalls[i];
	}
	return NULL;
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
	char minimum[40] = "";

	if (shortfall->minimum > 0)
		snprintf(minimum, sizeof(minimum), ", the minimum is %u",
			 shortfall->minimum);
	snprintf(text, capacity, "%s: wanted %u %s, reserved %u (%s)%s", device,
		 shortfall->wanted, slingshot_resource_name(shortfall->type),
		 shortfall->got, shortfall->why, minimum);
}
