/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A service is recognised by what it grants, never by its id alone: ids are
 * reused at once, and differ between the NICs of a node. Owner and VNIs
 * identify it, since VNIs are given to one job at a time.
 */
#include "lanes/driver/slingshot/service.h"

#include <stdio.h>
#include <string.h>

#include "lanes/driver/slingshot/policy.h"

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
	struct slingshot_lane read = { .uid = lane->uid,
				       .cores = lane->cores,
				       .tasks = lane->tasks };
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
		read.policy = request.policy;
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
		.restricted_vnis = 1,
		.restricted_tcs = 1,
		.resource_limits = 1,
		.enable = 1,
		.num_vld_vnis = (uint8_t)lane->vni_count,
		.members = {
			{ .svc_member.uid = lane->uid,
			  .type = CXI_SVC_MEMBER_UID },
			{ .type = CXI_SVC_MEMBER_IGNORE },
		},
		.limits = *limits,
	};

	memcpy(desc.vnis, lane->vnis, sizeof(desc.vnis));
	for (int tc = 0; tc < CXI_TC_MAX; tc++)
		desc.tcs[tc] = lane->policy.tcs & 1u << tc;
	*ret_desc = desc;
}

static bool has_vni(const struct cxi_svc_desc *desc, uint16_t vni)
{
	for (unsigned int i = 0; i < desc->num_vld_vnis && i < CXI_SVC_MAX_VNIS;
	     i++) {
		if (desc->vnis[i] == vni)
			return true;
	}
	return false;
}

uint16_t slingshot_service_shares(const struct cxi_svc_desc *desc,
				  const struct slingshot_lane *lane)
{
	if (!desc->restricted_vnis)
		return 0;
	for (uint32_t i = 0; i < lane->vni_count; i++) {
		if (has_vni(desc, lane->vnis[i]))
			return lane->vnis[i];
	}
	return 0;
}

/* One member is the owner, and the other nobody. */
static bool is_owned(const struct cxi_svc_desc *desc, uint32_t uid)
{
	const struct cxi_svc_member *members = desc->members;

	return desc->restricted_members && slingshot_service_uid(desc) == uid &&
	       (members[0].type == CXI_SVC_MEMBER_IGNORE ||
		members[1].type == CXI_SVC_MEMBER_IGNORE);
}

bool slingshot_service_is_of(const struct cxi_svc_desc *desc,
			     const struct slingshot_lane *lane)
{
	if (desc->is_system_svc || desc->svc_id == CXI_DEFAULT_SVC_ID ||
	    !desc->restricted_vnis || lane->vni_count == 0 ||
	    desc->num_vld_vnis != lane->vni_count || !is_owned(desc, lane->uid))
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
