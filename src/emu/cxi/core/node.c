/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The node: its NICs from boot to boot, the clients that have them open, and
 * how each call begins. The driver's order there: does this generation know
 * the operation (-EINVAL), may the caller (-EPERM), is the device there
 * (-EIO); then the operation itself.
 */
#include "emu/cxi/core/model.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>

#include "base/memory.h"

#define GENERATION_MIN 12
#define GENERATION_MAX 14

void softnic_config_init(struct softnic_config *ret_config)
{
	*ret_config = (struct softnic_config){
		.generation = GENERATION_MAX,
		.nic_count = 1,
		.ethernet_service = true,
		.nid = 0x10,
		.totals = {
			[CXI_RSRC_TYPE_PTE] = 2048,
			[CXI_RSRC_TYPE_TXQ] = 1024,
			[CXI_RSRC_TYPE_TGQ] = 512,
			[CXI_RSRC_TYPE_EQ] = 2047,
			[CXI_RSRC_TYPE_CT] = 2047,
			[CXI_RSRC_TYPE_LE] = 16384,
			[CXI_RSRC_TYPE_TLE] = 2048,
			[CXI_RSRC_TYPE_AC] = 1022,
		},
	};
}

static bool config_is_valid(const struct softnic_config *config)
{
	return config->generation >= GENERATION_MIN &&
	       config->generation <= GENERATION_MAX && config->nic_count >= 1 &&
	       config->nic_count <= SOFTNIC_NIC_MAX &&
	       config->nid <= SOFTNIC_NID_MAX;
}

static void nic_clear(struct nic *nic)
{
	lni_drop_all(nic);
	for (unsigned int id = 1; id <= SOFTNIC_SERVICE_MAX; id++) {
		if (nic->services[id] != NULL)
			service_destroy(nic, nic->services[id]);
	}
	assert(nic->service_count == 0 && nic->receive_entry_count == 0 &&
	       nic->tle_pools == 0);
	nic->is_present = false;
}

static int nic_boot(struct nic *nic)
{
	int result;

	nic_clear(nic);
	/* LE pool 0 is the shared one. */
	nic->le_pools = 1;
	nic->incarnation = ++nic->softnic->incarnation_last;
	result = system_services_create(nic);
	if (result < 0)
		nic_clear(nic);
	else
		nic->is_present = true;
	return result;
}

int softnic_create(const struct softnic_config *config,
		   struct softnic **ret_softnic)
{
	_auto_(softnic_destroyp) struct softnic *softnic = NULL;
	int result;

	if (!config_is_valid(config))
		return -EINVAL;
	softnic = memory_alloc(sizeof(*softnic));
	softnic->config = *config;
	for (uint32_t i = 0; i < SOFTNIC_NIC_MAX; i++) {
		softnic->nics[i].softnic = softnic;
		softnic->nics[i].number = i;
	}
	result = softnic_reboot(softnic);
	if (result < 0)
		return result;
	*ret_softnic = take_ptr(softnic);
	return 0;
}

void softnic_destroy(struct softnic *softnic)
{
	if (softnic == NULL)
		return;
	for (uint32_t i = 0; i < SOFTNIC_NIC_MAX; i++)
		nic_clear(&softnic->nics[i]);
	free(softnic);
}

void softnic_advance(struct softnic *softnic, uint64_t now_ms)
{
	if (now_ms <= softnic->now_ms)
		return;
	softnic->now_ms = now_ms;
	for (uint32_t i = 0; i < softnic->config.nic_count; i++)
		lni_reap(&softnic->nics[i]);
}

int softnic_reboot(struct softnic *softnic)
{
	softnic->fault_count = 0;
	for (uint32_t i = 0; i < softnic->config.nic_count; i++) {
		int result = nic_boot(&softnic->nics[i]);

		if (result < 0)
			return result;
	}
	return 0;
}

static struct nic *nic_find(struct softnic *softnic, uint32_t nic)
{
	return nic < softnic->config.nic_count ? &softnic->nics[nic] : NULL;
}

bool softnic_nic_is_present(const struct softnic *softnic, uint32_t nic)
{
	return nic < softnic->config.nic_count && softnic->nics[nic].is_present;
}

int softnic_nic_remove(struct softnic *softnic, uint32_t nic)
{
	if (!softnic_nic_is_present(softnic, nic))
		return -ENODEV;
	nic_clear(&softnic->nics[nic]);
	return 0;
}

int softnic_nic_restore(struct softnic *softnic, uint32_t nic)
{
	struct nic *found = nic_find(softnic, nic);

	if (found == NULL)
		return -ENODEV;
	if (found->is_present)
		return -EEXIST;
	return nic_boot(found);
}

int softnic_device_list(struct softnic *softnic, struct cxil_devinfo *infos)
{
	int count = 0;
	int result;

	result = fault_check(softnic, SOFTNIC_OP_GET_DEVICE_LIST,
			     SOFTNIC_ANY_NIC);
	if (result < 0)
		return result;
	for (uint32_t i = 0; i < softnic->config.nic_count; i++) {
		if (softnic->nics[i].is_present)
			devinfo_fill(&softnic->nics[i], &infos[count++]);
	}
	return count;
}

int softnic_open(struct softnic *softnic, const struct softnic_caller *caller,
		 uint32_t nic, struct softnic_client **ret_client)
{
	struct softnic_client *client;
	int result;

	if (!softnic_nic_is_present(softnic, nic))
		return -ENOENT;
	result = fault_check(softnic, SOFTNIC_OP_OPEN_DEVICE, nic);
	if (result < 0)
		return result;
	client = memory_alloc(sizeof(*client));
	client->softnic = softnic;
	client->nic = &softnic->nics[nic];
	client->incarnation = client->nic->incarnation;
	client->caller = *caller;
	*ret_client = client;
	return 0;
}

void softnic_close(struct softnic_client *client)
{
	if (client == NULL)
		return;
	lni_abandon(client->nic, client);
	free(client);
}

void softnic_device_info(const struct softnic_client *client,
			 struct cxil_devinfo *ret_info)
{
	devinfo_fill(client->nic, ret_info);
}

static bool op_exists(unsigned int generation, enum softnic_op op)
{
	switch (op) {
	case SOFTNIC_OP_SVC_SET_VNI_RANGE:
	case SOFTNIC_OP_SVC_GET_VNI_RANGE:
	case SOFTNIC_OP_SVC_SET_EXCLUSIVE_CP:
	case SOFTNIC_OP_SVC_GET_EXCLUSIVE_CP:
		return generation >= 13;
	case SOFTNIC_OP_SVC_SET_NETNS:
	case SOFTNIC_OP_SVC_GET_NETNS:
		return generation >= 14;
	default:
		return true;
	}
}

static bool op_is_privileged(enum softnic_op op)
{
	switch (op) {
	case SOFTNIC_OP_ALLOC_SVC:
	case SOFTNIC_OP_DESTROY_SVC:
	case SOFTNIC_OP_UPDATE_SVC:
	case SOFTNIC_OP_SVC_ENABLE:
	case SOFTNIC_OP_SET_SVC_LPR:
	case SOFTNIC_OP_SVC_SET_EXCLUSIVE_CP:
	case SOFTNIC_OP_SVC_SET_VNI_RANGE:
	case SOFTNIC_OP_SVC_SET_NETNS:
		return true;
	default:
		return false;
	}
}

int client_enter(struct softnic_client *client, enum softnic_op op)
{
	if (!op_exists(client->softnic->config.generation, op))
		return -EINVAL;
	if (op_is_privileged(op) && !client->caller.is_privileged)
		return -EPERM;
	if (!client->nic->is_present ||
	    client->incarnation != client->nic->incarnation)
		return -EIO;
	return fault_check(client->softnic, op, client->nic->number);
}

int client_service(struct softnic_client *client, enum softnic_op op,
		   uint32_t svc_id, struct softnic_svc **ret_service)
{
	int result = client_enter(client, op);

	if (result < 0)
		return result;
	*ret_service = svc_find(client->nic, svc_id);
	return *ret_service == NULL ? -EINVAL : 0;
}
