/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Faults on request: calls are counted by operation, and the n-th ones fail
 * with an errno of the test's choice. Every fault counts the calls that it
 * matches; when several are due at one call, the oldest decides.
 */
#include "emu/cxi/core/model.h"

#include <errno.h>
#include <string.h>

#define ERRNO_MAX 4095

static const char *const op_names[SOFTNIC_OP_COUNT] = {
	[SOFTNIC_OP_GET_DEVICE_LIST] = "get_device_list",
	[SOFTNIC_OP_OPEN_DEVICE] = "open_device",
	[SOFTNIC_OP_ALLOC_SVC] = "alloc_svc",
	[SOFTNIC_OP_DESTROY_SVC] = "destroy_svc",
	[SOFTNIC_OP_UPDATE_SVC] = "update_svc",
	[SOFTNIC_OP_GET_SVC] = "get_svc",
	[SOFTNIC_OP_GET_SVC_LIST] = "get_svc_list",
	[SOFTNIC_OP_GET_SVC_RSRC_USE] = "get_svc_rsrc_use",
	[SOFTNIC_OP_GET_SVC_RSRC_LIST] = "get_svc_rsrc_list",
	[SOFTNIC_OP_SVC_ENABLE] = "svc_enable",
	[SOFTNIC_OP_SET_SVC_LPR] = "set_svc_lpr",
	[SOFTNIC_OP_GET_SVC_LPR] = "get_svc_lpr",
	[SOFTNIC_OP_SVC_SET_EXCLUSIVE_CP] = "svc_set_exclusive_cp",
	[SOFTNIC_OP_SVC_GET_EXCLUSIVE_CP] = "svc_get_exclusive_cp",
	[SOFTNIC_OP_SVC_SET_VNI_RANGE] = "svc_set_vni_range",
	[SOFTNIC_OP_SVC_GET_VNI_RANGE] = "svc_get_vni_range",
	[SOFTNIC_OP_SVC_SET_NETNS] = "svc_set_netns",
	[SOFTNIC_OP_SVC_GET_NETNS] = "svc_get_netns",
	[SOFTNIC_OP_ALLOC_LNI] = "alloc_lni",
	[SOFTNIC_OP_DESTROY_LNI] = "destroy_lni",
};

const char *softnic_op_format(enum softnic_op op)
{
	return op_names[op];
}

int softnic_op_parse(const char *text, enum softnic_op *ret_op)
{
	for (unsigned int i = 0; i < SOFTNIC_OP_COUNT; i++) {
		if (strcmp(text, op_names[i]) == 0) {
			*ret_op = i;
			return 0;
		}
	}
	return -EINVAL;
}

static bool is_spent(const struct softnic_fault *fault)
{
	return fault->called >= fault->nth &&
	       fault->called - fault->nth >= fault->count - 1;
}

static void drop_spent(struct softnic *softnic)
{
	size_t kept = 0;

	for (size_t i = 0; i < softnic->fault_count; i++) {
		if (!is_spent(&softnic->faults[i]))
			softnic->faults[kept++] = softnic->faults[i];
	}
	softnic->fault_count = kept;
}

int fault_check(struct softnic *softnic, enum softnic_op op, uint32_t nic)
{
	int result = 0;

	softnic->ops[op].calls++;
	for (size_t i = 0; i < softnic->fault_count; i++) {
		struct softnic_fault *fault = &softnic->faults[i];

		if (fault->op != op ||
		    (fault->nic != SOFTNIC_ANY_NIC && fault->nic != nic))
			continue;
		fault->called++;
		if (fault->called >= fault->nth && result == 0)
			result = -fault->error;
	}
	if (result < 0)
		softnic->ops[op].faults++;
	drop_spent(softnic);
	return result;
}

int softnic_fault_add(struct softnic *softnic,
		      const struct softnic_fault *fault)
{
	if ((unsigned int)fault->op >= SOFTNIC_OP_COUNT || fault->error < 1 ||
	    fault->error > ERRNO_MAX || fault->nth < 1 || fault->count < 1)
		return -EINVAL;
	if (fault->nic != SOFTNIC_ANY_NIC &&
	    fault->nic >= softnic->config.nic_count)
		return -EINVAL;
	if (softnic->fault_count == SOFTNIC_FAULT_MAX)
		return -ENOSPC;
	softnic->faults[softnic->fault_count] = *fault;
	softnic->faults[softnic->fault_count++].called = 0;
	return 0;
}

void softnic_fault_clear(struct softnic *softnic)
{
	softnic->fault_count = 0;
	for (uint32_t i = 0; i < softnic->config.nic_count; i++) {
		struct nic *nic = &softnic->nics[i];

		for (unsigned int id = 1; id <= SOFTNIC_SERVICE_MAX; id++) {
			if (nic->services[id] != NULL)
				nic->services[id]->busy_until_ms = 0;
		}
	}
}

void softnic_op_count(const struct softnic *softnic, enum softnic_op op,
		      uint64_t *ret_calls, uint64_t *ret_faults)
{
	*ret_calls = softnic->ops[op].calls;
	*ret_faults = softnic->ops[op].faults;
}
