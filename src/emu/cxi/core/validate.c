/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What the driver accepts as a service descriptor, before it looks at what
 * is there. VNI 0 is invalid, no VNI at all is fine; a maximum above what
 * the device has is refused, not clamped.
 */
#include "emu/cxi/core/model.h"

#include <errno.h>

static bool vnis_are_valid(const struct cxi_svc_desc *desc)
{
	if (!desc->restricted_vnis)
		return true;
	if (desc->num_vld_vnis > CXI_SVC_MAX_VNIS)
		return false;
	for (unsigned int i = 0; i < desc->num_vld_vnis; i++) {
		if (desc->vnis[i] < VNI_MIN)
			return false;
	}
	return true;
}

static bool members_are_valid(const struct cxi_svc_desc *desc)
{
	if (!desc->restricted_members)
		return true;
	for (unsigned int i = 0; i < CXI_SVC_MAX_MEMBERS; i++) {
		if ((uint32_t)desc->members[i].type >= CXI_SVC_MEMBER_MAX)
			return false;
	}
	return true;
}

static bool limits_are_valid(const struct softnic_config *config,
			     const struct cxi_svc_desc *desc)
{
	if (!desc->resource_limits)
		return true;
	for (unsigned int i = 0; i < CXI_RSRC_TYPE_MAX; i++) {
		const struct cxi_limits *limits = &desc->limits.type[i];

		if (limits->max < limits->res ||
		    limits->max > config->totals[i])
			return false;
	}
	return true;
}

int descriptor_validate(const struct softnic_config *config,
			const struct cxi_svc_desc *desc)
{
	if (!vnis_are_valid(desc) || !members_are_valid(desc) ||
	    !limits_are_valid(config, desc))
		return -EINVAL;
	return 0;
}

bool vni_range_is_valid(uint16_t vni_min, uint16_t vni_max)
{
	uint32_t size;

	if (vni_min < VNI_MIN || vni_max < vni_min)
		return false;
	size = (uint32_t)vni_max - vni_min + 1;
	return (size & (size - 1)) == 0 && vni_min % size == 0;
}
