/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What services use. Without traffic nothing is used unless a test says so
 * (softnic_service_consume), and then the driver's accounting holds. LEs and
 * TLEs of a service without a pool of its own cannot be distinguished from
 * others' and are "not applicable"; of the default service they are always
 * reported.
 */
#include "emu/cxi/core/model.h"

#include <errno.h>

static void fill_in_use(const struct softnic_svc *service,
			struct cxi_rsrc_use *ret_use)
{
	bool is_default = service->desc.svc_id == CXI_DEFAULT_SVC_ID;

	*ret_use = (struct cxi_rsrc_use){ .svc_id = service->desc.svc_id };
	for (unsigned int i = 0; i < CXI_RSRC_TYPE_MAX; i++)
		ret_use->in_use[i] = service->in_use[i];
	if (!is_default && service->le_pool == POOL_NONE)
		ret_use->in_use[CXI_RSRC_TYPE_LE] = CXI_RSRC_USE_NOT_APPLICABLE;
	if (service->tle_pool != POOL_NONE)
		ret_use->tle_pool_id = (uint32_t)service->tle_pool;
	else if (!is_default)
		ret_use->in_use[CXI_RSRC_TYPE_TLE] =
			CXI_RSRC_USE_NOT_APPLICABLE;
}

int softnic_service_use(struct softnic_client *client, uint32_t svc_id,
			struct cxi_rsrc_use *ret_use)
{
	struct softnic_svc *service;
	int result = client_service(client, SOFTNIC_OP_GET_SVC_RSRC_USE, svc_id,
				    &service);

	if (result < 0)
		return result;
	fill_in_use(service, ret_use);
	return 0;
}

int softnic_service_use_list(struct softnic_client *client,
			     struct cxi_rsrc_use *ret_uses, size_t capacity)
{
	const struct nic *nic = client->nic;
	size_t count = 0;
	int result;

	result = client_enter(client, SOFTNIC_OP_GET_SVC_RSRC_LIST);
	if (result < 0)
		return result;
	for (uint32_t id = 1;
	     nic->service_count <= capacity && id <= SOFTNIC_SERVICE_MAX;
	     id++) {
		if (nic->services[id] != NULL)
			fill_in_use(nic->services[id], &ret_uses[count++]);
	}
	return (int)nic->service_count;
}

static int find(struct softnic *softnic, uint32_t nic, uint32_t svc_id,
		struct softnic_svc **ret_service)
{
	struct softnic_svc *service;

	if (!softnic_nic_is_present(softnic, nic))
		return -ENODEV;
	service = svc_find(&softnic->nics[nic], svc_id);
	if (service == NULL)
		return -EINVAL;
	*ret_service = service;
	return 0;
}

int softnic_service_busy(struct softnic *softnic, uint32_t nic, uint32_t svc_id,
			 uint64_t duration_ms)
{
	struct softnic_svc *service;
	int result;

	result = find(softnic, nic, svc_id, &service);
	if (result < 0)
		return result;
	if (duration_ms > SOFTNIC_FOREVER - softnic->now_ms)
		service->busy_until_ms = SOFTNIC_FOREVER;
	else
		service->busy_until_ms = softnic->now_ms + duration_ms;
	return 0;
}

int softnic_service_consume(struct softnic *softnic, uint32_t nic,
			    uint32_t svc_id, enum cxi_rsrc_type type,
			    int32_t count)
{
	struct softnic_svc *service;
	uint16_t before;
	int result;

	result = find(softnic, nic, svc_id, &service);
	if (result < 0)
		return result;
	before = service->in_use[type];
	if (count < 0 && -(int64_t)count > before)
		return -EINVAL;
	if (count > 0 && !service->desc.enable)
		return -EKEYREVOKED;
	if (count < 0)
		service->in_use[type] = (uint16_t)(before + count);
	for (int32_t i = 0; result == 0 && i < count; i++)
		result = limits_consume(&softnic->nics[nic], service, type);
	if (result < 0)
		service->in_use[type] = before;
	return result;
}
