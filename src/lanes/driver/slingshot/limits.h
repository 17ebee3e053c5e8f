/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * How much of a NIC a service gets: what was asked for, scaled back to what
 * is free. What is free is computed here from the list of services, since
 * the NIC's driver reports it wrongly when it refuses.
 *
 * Pure.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "lanes/driver/slingshot/libcxi_abi.h"
#include "lanes/driver/slingshot/policy.h"

#define CXI_TLE_POOLS       4   /* per NIC; the default service has one */
#define CXI_LE_POOLS        15  /* per NIC, without the shared pool 0 */
#define CXI_TLE_RES_MIN     8   /* the NIC's driver raises less to this */
#define CXI_RECEIVE_ENTRIES 256 /* per NIC: VNIs of enabled services */
#define CXI_RGIDS           255 /* per NIC: for one LNI each, or for more */
#define CXI_LPR_MAX         8   /* LNIs of a service that share an RGID */

/* What a device has, and what all its services set aside. */
struct slingshot_usage {
	uint32_t total[CXI_RSRC_TYPE_MAX];
	uint32_t reserved[CXI_RSRC_TYPE_MAX];
	uint32_t tle_pools;       /* taken, of CXI_TLE_POOLS */
	uint32_t le_pools;        /* taken, of CXI_LE_POOLS */
	uint32_t receive_entries; /* taken, of CXI_RECEIVE_ENTRIES */
};

/* Less is set aside than was asked for. */
struct slingshot_shortfall {
	enum cxi_rsrc_type type;
	uint32_t wanted;
	uint32_t got;
	char why[64];
};

struct slingshot_limits {
	struct cxi_rsrc_limits limits;
	uint32_t shortfall_count;
	struct slingshot_shortfall shortfalls[CXI_RSRC_TYPE_MAX];
};

/* Add up what the device's services hold. */
void slingshot_usage_count(const struct cxil_devinfo *info,
			   const struct cxi_svc_desc *services, size_t count,
			   struct slingshot_usage *ret_usage);

/* Decide the limits of a service for a job with so many cores on the node. */
void slingshot_limits_plan(const struct slingshot_policy *policy,
			   uint32_t cores, const struct slingshot_usage *usage,
			   struct slingshot_limits *ret_limits);

/*
 * How many LNIs have to share an RGID, for each of the tasks to have one on
 * one of the NICs: 1 when none has to. It can be more than CXI_LPR_MAX.
 */
uint32_t slingshot_lnis_per_rgid(uint32_t tasks, uint32_t nics);

/* "cxi0: wanted 128 TXQs, reserved 100 (100 of 1024 free)". */
void slingshot_shortfall_format(const struct slingshot_shortfall *shortfall,
				const char *device, char *text,
				size_t capacity);
