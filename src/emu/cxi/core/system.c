/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Services that are there from boot. Service 1 belongs to everybody, has the
 * VNIs 1 and 10 and reserves TLEs (and so pool 0) even while it is disabled.
 * "ethernet-svc" is what the network driver makes when the interface comes
 * up: a system service without VNIs that reserves LEs, and so an LE pool.
 * Reservations that a small device does not have are cut to its totals.
 */
#include "emu/cxi/core/model.h"

#define ETHERNET_LES      1024
#define ETHERNET_PTES     8
#define ETHERNET_PTES_MAX 17

static uint16_t at_most(uint16_t value, uint16_t total)
{
	return value < total ? value : total;
}

static int create_default(struct nic *nic)
{
	const struct softnic_config *config = &nic->softnic->config;
	struct cxi_svc_fail_info fail_info = { 0 };
	struct cxi_svc_desc desc = {
		.restricted_vnis = true,
		.resource_limits = true,
		.num_vld_vnis = 2,
		.vnis = { 1, 10 },
		.tcs = {
			[CXI_TC_DEDICATED_ACCESS] = true,
			[CXI_TC_LOW_LATENCY] = true,
			[CXI_TC_BULK_DATA] = true,
			[CXI_TC_BEST_EFFORT] = true,
		},
	};
	struct cxi_limits *tles = &desc.limits.tles;

	for (unsigned int i = 0; i < CXI_RSRC_TYPE_MAX; i++)
		desc.limits.type[i].max = config->totals[i];
	tles->res = at_most(DEFAULT_TLES, config->totals[CXI_RSRC_TYPE_TLE]);
	tles->max = tles->res;
	return service_create(nic, &desc, "default", &fail_info);
}

static int create_ethernet(struct nic *nic)
{
	const struct softnic_config *config = &nic->softnic->config;
	const uint16_t *totals = config->totals;
	struct cxi_svc_fail_info fail_info = { 0 };
	struct cxi_svc_desc desc = {
		.restricted_vnis = true,
		.restricted_members = true,
		.resource_limits = true,
		.is_system_svc = true,
		.members = { {
			.type = CXI_SVC_MEMBER_UID,
			.svc_member.uid = config->ethernet_uid,
		} },
		.limits = {
			.ptes = { .max = ETHERNET_PTES_MAX,
				  .res = ETHERNET_PTES },
			.txqs = { .max = 32, .res = 1 },
			.tgqs = { .max = 18, .res = 1 },
			.eqs = { .max = 49, .res = 1 },
			.les = { .max = totals[CXI_RSRC_TYPE_LE],
				 .res = ETHERNET_LES },
			.acs = { .max = 1, .res = 1 },
		},
	};

	for (unsigned int i = 0; i < CXI_RSRC_TYPE_MAX; i++) {
		struct cxi_limits *limits = &desc.limits.type[i];

		limits->max = at_most(limits->max, totals[i]);
		limits->res = at_most(limits->res, limits->max);
	}
	return service_create(nic, &desc, "ethernet-svc", &fail_info);
}

int system_services_create(struct nic *nic)
{
	int result;

	result = create_default(nic);
	if (result >= 0 && nic->softnic->config.ethernet_service)
		result = create_ethernet(nic);
	return result < 0 ? result : 0;
}
