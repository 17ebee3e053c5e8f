/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What can be set on a service after it was made: LNIs per RGID, the VNI
 * range of a service that has no list of VNIs, exclusive communication
 * profiles on that range, and the network namespace of a NET_NS member.
 */
#include "emu/cxi/core/model.h"

#include <errno.h>

int softnic_service_set_lpr(struct softnic_client *client, uint32_t svc_id,
			    uint32_t lnis_per_rgid)
{
	struct softnic_svc *service;
	int result;

	result = client_service(client, SOFTNIC_OP_SET_SVC_LPR, svc_id,
				&service);
	if (result < 0)
		return result;
	if (lnis_per_rgid > SOFTNIC_LPR_MAX)
		return -EINVAL;
	if (service_is_used(client->nic, service))
		return -EBUSY;
	service->lnis_per_rgid = lnis_per_rgid;
	return 0;
}

int softnic_service_get_lpr(struct softnic_client *client, uint32_t svc_id)
{
	struct softnic_svc *service;
	int result = client_service(client, SOFTNIC_OP_GET_SVC_LPR, svc_id,
				    &service);

	return result < 0 ? result : (int)service->lnis_per_rgid;
}

int softnic_service_set_exclusive_cp(struct softnic_client *client,
				     uint32_t svc_id, uint32_t exclusive_cp)
{
	struct softnic_svc *service;
	int result;

	result = client_service(client, SOFTNIC_OP_SVC_SET_EXCLUSIVE_CP, svc_id,
				&service);
	if (result < 0)
		return result;
	if (service->desc.restricted_vnis || service->profile_count == 0)
		return -EINVAL;
	if (service->profiles[0].is_enabled)
		return -EBUSY;
	service->exclusive_cp = exclusive_cp != 0;
	return 0;
}

int softnic_service_get_exclusive_cp(struct softnic_client *client,
				     uint32_t svc_id, bool *ret_exclusive_cp)
{
	struct softnic_svc *service;
	int result = client_service(client, SOFTNIC_OP_SVC_GET_EXCLUSIVE_CP,
				    svc_id, &service);

	if (result < 0)
		return result;
	if (service->profile_count == 0)
		return -ENOENT;
	*ret_exclusive_cp = service->exclusive_cp;
	return 0;
}

int softnic_service_set_vni_range(struct softnic_client *client,
				  uint32_t svc_id, uint16_t vni_min,
				  uint16_t vni_max)
{
	struct softnic_svc *service;
	int result = client_service(client, SOFTNIC_OP_SVC_SET_VNI_RANGE,
				    svc_id, &service);

	if (result < 0)
		return result;
	if (service->desc.restricted_vnis)
		return -EINVAL;
	if (!vni_range_is_valid(vni_min, vni_max))
		return -EINVAL;
	/* One range a service: a second one has nowhere to go. */
	if (service->profile_count > 0)
		return -EEXIST;
	/* The driver counts the range also when there is no profile for it. */
	service->desc.num_vld_vnis = 1;
	return profile_add(client->nic, service, vni_min,
			   (uint16_t)(vni_max - vni_min));
}

int softnic_service_get_vni_range(struct softnic_client *client,
				  uint32_t svc_id, uint16_t *ret_vni_min,
				  uint16_t *ret_vni_max)
{
	struct softnic_svc *service;
	int result;

	result = client_service(client, SOFTNIC_OP_SVC_GET_VNI_RANGE, svc_id,
				&service);
	if (result < 0)
		return result;
	if (service->desc.restricted_vnis || service->desc.num_vld_vnis == 0)
		return -EINVAL;
	if (service->profile_count == 0)
		return -ENOENT;
	*ret_vni_min = service->profiles[0].match;
	*ret_vni_max = (uint16_t)(service->profiles[0].match +
				  service->profiles[0].ignore);
	return 0;
}

int softnic_service_set_netns(struct softnic_client *client, uint32_t svc_id,
			      uint32_t netns)
{
	struct softnic_svc *service;
	struct softnic_access *access;
	int result = client_service(client, SOFTNIC_OP_SVC_SET_NETNS, svc_id,
				    &service);

	if (result < 0)
		return result;
	access = &service->access;
	if (access->is_open || access->uid_count > 0 || access->gid_count > 0)
		return -EEXIST;
	access->has_netns = true;
	access->netns = netns;
	return 0;
}

int softnic_service_get_netns(struct softnic_client *client, uint32_t svc_id,
			      uint32_t *ret_netns)
{
	struct softnic_svc *service;
	int result = client_service(client, SOFTNIC_OP_SVC_GET_NETNS, svc_id,
				    &service);

	if (result < 0)
		return result;
	if (!service->access.has_netns)
		return -ENODATA;
	*ret_netns = service->access.netns;
	return 0;
}
