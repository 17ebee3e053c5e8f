/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Services: made, changed and destroyed, in the driver's order of steps:
 * validate, take the lowest free id (ids are reused at once), access entries,
 * profiles, resources, enable; each undone when a later one fails.
 *
 * A service with an LNI, also one in cleanup, cannot be destroyed, disabled
 * or changed: -EBUSY. An update replaces members, VNIs and classes in the
 * descriptor only: from generation 13 on the entries and profiles that
 * decide stay as they were made; 12 has none and looks at the descriptor.
 */
#include "emu/cxi/core/model.h"

#include <assert.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/memory.h"

struct softnic_svc *svc_find(struct nic *nic, uint32_t svc_id)
{
	return svc_id <= SOFTNIC_SERVICE_MAX ? nic->services[svc_id] : NULL;
}

static uint32_t lowest_free_id(const struct nic *nic)
{
	for (uint32_t id = 1; id <= SOFTNIC_SERVICE_MAX; id++) {
		if (nic->services[id] == NULL)
			return id;
	}
	return 0;
}

bool service_is_used(const struct nic *nic, const struct softnic_svc *service)
{
	if (service->lni_count > 0 ||
	    service->busy_until_ms > nic->softnic->now_ms)
		return true;
	for (unsigned int i = 0; i < CXI_RSRC_TYPE_MAX; i++) {
		if (service->in_use[i] > 0)
			return true;
	}
	return false;
}

static int service_set_enabled(struct nic *nic, struct softnic_svc *service,
			       bool enable)
{
	int result = 0;

	if (enable)
		result = profile_enable_all(nic, service);
	else
		profile_disable_all(nic, service);
	service->desc.enable = enable && result == 0;
	return result;
}

/* Is a new service enabled at once? The request's own bit has no say. */
static bool starts_enabled(const struct nic *nic,
			   const struct softnic_svc *service)
{
	const struct softnic_config *config = &nic->softnic->config;

	if (service->desc.svc_id == CXI_DEFAULT_SVC_ID)
		return config->default_service;
	return service->desc.restricted_vnis || config->generation < 13;
}

static int add_profiles(struct nic *nic, struct softnic_svc *service)
{
	int result = 0;

	for (unsigned int i = 0; result == 0 && service->desc.restricted_vnis &&
				 i < service->desc.num_vld_vnis;
	     i++)
		result = profile_add(nic, service, service->desc.vnis[i], 0);
	return result;
}

static int build(struct nic *nic, struct softnic_svc *service,
		 struct cxi_svc_fail_info *fail_info)
{
	int result;

	result = access_init(&service->access, &service->desc);
	if (result < 0)
		return result;
	result = add_profiles(nic, service);
	if (result < 0)
		return result;
	result = limits_reserve(nic, service, fail_info);
	if (result < 0)
		return result;
	result =
		service_set_enabled(nic, service, starts_enabled(nic, service));
	if (result < 0)
		limits_release(nic, service);
	return result;
}

int service_create(struct nic *nic, const struct cxi_svc_desc *desc,
		   const char *name, struct cxi_svc_fail_info *fail_info)
{
	_auto_(freep) struct softnic_svc *service = NULL;
	uint32_t id;
	int result;

	id = lowest_free_id(nic);
	if (id == 0)
		return -ENOSPC;
	service = memory_alloc(sizeof(*service));
	snprintf(service->name, sizeof(service->name), "%s", name);
	service->desc = *desc;
	service->desc.svc_id = id;
	service->lnis_per_rgid = 1;
	service->tle_pool = POOL_NONE;
	service->le_pool = POOL_NONE;
	result = build(nic, service, fail_info);
	if (result < 0)
		return result;
	nic->services[id] = take_ptr(service);
	nic->service_count++;
	return (int)id;
}

void service_destroy(struct nic *nic, struct softnic_svc *service)
{
	assert(nic->services[service->desc.svc_id] == service);
	assert(service->lni_count == 0);
	profile_disable_all(nic, service);
	limits_release(nic, service);
	nic->services[service->desc.svc_id] = NULL;
	nic->service_count--;
	free(service);
}

int softnic_service_alloc(struct softnic_client *client,
			  const struct cxi_svc_desc *desc,
			  struct cxi_svc_fail_info *ret_fail_info)
{
	struct cxi_svc_fail_info fail_info = { 0 };
	int result;

	result = client_enter(client, SOFTNIC_OP_ALLOC_SVC);
	if (result == 0)
		result = descriptor_validate(&client->softnic->config, desc);
	if (result == 0)
		result = service_create(client->nic, desc, "", &fail_info);
	if (result < 0)
		*ret_fail_info = fail_info;
	return result;
}

int softnic_service_destroy(struct softnic_client *client, uint32_t svc_id)
{
	struct nic *nic = client->nic;
	struct softnic_svc *service;
	int result;

	result = client_enter(client, SOFTNIC_OP_DESTROY_SVC);
	if (result < 0)
		return result;
	service = svc_find(nic, svc_id);
	if (svc_id == CXI_DEFAULT_SVC_ID || service == NULL)
		return -EINVAL;
	if (service_is_used(nic, service))
		return -EBUSY;
	service_destroy(nic, service);
	return 0;
}

static void replace_descriptor(struct softnic_svc *service,
			       const struct cxi_svc_desc *from)
{
	struct cxi_svc_desc desc = *from;

	desc.limits = service->desc.limits;
	desc.is_system_svc = service->desc.is_system_svc;
	service->desc = desc;
}

int softnic_service_update(struct softnic_client *client,
			   const struct cxi_svc_desc *desc)
{
	const struct softnic_config *config = &client->softnic->config;
	struct nic *nic = client->nic;
	struct softnic_access access;
	struct softnic_svc *service;
	int result;

	result = client_enter(client, SOFTNIC_OP_UPDATE_SVC);
	if (result < 0)
		return result;
	result = descriptor_validate(config, desc);
	if (result < 0)
		return result;
	service = svc_find(nic, desc->svc_id);
	if (service == NULL)
		return -EINVAL;
	if (service_is_used(nic, service))
		return -EBUSY;
	if (service->desc.resource_limits != desc->resource_limits)
		return -EINVAL;
	access = service->access;
	if (config->generation < 13) {
		result = access_init(&access, desc);
		if (result < 0)
			return result;
	}
	result = service_set_enabled(nic, service, desc->enable);
	if (result < 0)
		return result;
	replace_descriptor(service, desc);
	service->access = access;
	return 0;
}

int softnic_service_enable(struct softnic_client *client, uint32_t svc_id,
			   uint32_t enable)
{
	struct nic *nic = client->nic;
	struct softnic_svc *service;
	int result =
		client_service(client, SOFTNIC_OP_SVC_ENABLE, svc_id, &service);

	if (result < 0)
		return result;
	if (service_is_used(nic, service))
		return -EBUSY;
	return service_set_enabled(nic, service, enable != 0);
}

int softnic_service_get(struct softnic_client *client, uint32_t svc_id,
			struct cxi_svc_desc *ret_desc)
{
	struct softnic_svc *service;
	int result =
		client_service(client, SOFTNIC_OP_GET_SVC, svc_id, &service);

	if (result < 0)
		return result;
	*ret_desc = service->desc;
	return 0;
}

int softnic_service_list(struct softnic_client *client,
			 struct cxi_svc_desc *ret_descs, size_t capacity)
{
	const struct nic *nic = client->nic;
	size_t count = 0;
	int result;

	result = client_enter(client, SOFTNIC_OP_GET_SVC_LIST);
	if (result < 0)
		return result;
	for (uint32_t id = 1;
	     nic->service_count <= capacity && id <= SOFTNIC_SERVICE_MAX;
	     id++) {
		if (nic->services[id] != NULL)
			ret_descs[count++] = nic->services[id]->desc;
	}
	return (int)nic->service_count;
}
