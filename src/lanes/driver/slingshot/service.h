/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Services and lanes: the descriptor of a lane's service, whether a service
 * that is there is the lane's, how both read in a message, and how much of a
 * NIC a service gets: what was asked for, scaled back to what is free. Pure.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "fairlead_driver.h"
#include "lanes/driver/slingshot/libcxi_abi.h"
#include "lanes/driver/slingshot/policy.h"

/* A lane as a NIC needs it. */
struct slingshot_lane {
	uint32_t uid;
	uint32_t cores;
	uint32_t tasks;
	bool is_in_netns; /* for who is in the namespace, not for the owner */
	uint32_t netns;   /* its inode; the caller's */
	bool has_exclusive_cp;  /* see slingshot_service_fill */
	uint32_t lnis_per_rgid; /* the caller's; 0 and 1: none are shared */
	uint32_t vni_count;
	uint16_t vnis[CXI_SVC_MAX_VNIS];
	struct slingshot_policy policy;
};

/*
 * Read a lane's identifiers, and its options when `cores` are to matter.
 * -EINVAL with a text: more than four VNIs, one twice or one that no job can
 * have, options that cannot be read, no cores.
 */
int slingshot_lane_read(const struct fairlead_lane *lane, bool with_options,
			struct slingshot_lane *ret_lane,
			struct fairlead_error *ret_error);

/*
 * What to ask the NIC for; the limits are the caller's. A NIC's driver gives
 * communication profiles of its own only to a service with a range of VNIs,
 * which is set after the service is made: until then nobody can use it.
 */
void slingshot_service_fill(const struct slingshot_lane *lane,
			    const struct cxi_rsrc_limits *limits,
			    struct cxi_svc_desc *ret_desc);

/*
 * Is this service the lane's: neither the system's nor the default one, of
 * the lane's owner alone, or of a network namespace alone where the lane is in
 * one, and for exactly the lane's VNIs?
 */
bool slingshot_service_is_of(const struct cxi_svc_desc *desc,
			     const struct slingshot_lane *lane);
/*
 * How many of desc->vnis the service has. One without a list has the range that
 * was set for it, or will be: where we made it, its descriptor names the VNI.
 */
uint32_t slingshot_service_vni_count(const struct cxi_svc_desc *desc);
/* The first of the lane's VNIs that the service also has, or 0. */
uint16_t slingshot_service_shares(const struct cxi_svc_desc *desc,
				  const struct slingshot_lane *lane);
/* May a process of uid use the service, as far as uids show? */
bool slingshot_service_admits(const struct cxi_svc_desc *desc, uint32_t uid);
/* The first member that is a uid, or UINT32_MAX. */
uint32_t slingshot_service_uid(const struct cxi_svc_desc *desc);
/* May whoever is in a network namespace use it, and nobody else? */
bool slingshot_service_is_in_netns(const struct cxi_svc_desc *desc);
/* Bits 1 << enum cxi_traffic_class of the classes that it allows. */
uint32_t slingshot_service_tcs(const struct cxi_svc_desc *desc);

#define SLINGSHOT_VNIS_TEXT_MAX   (CXI_SVC_MAX_VNIS * 6) /* with the zero */
#define SLINGSHOT_LIMITS_TEXT_MAX 160                    /* with the zero */

/* "1024,1025" */
void slingshot_vnis_format(const uint16_t *vnis, uint32_t count,
			   char text[SLINGSHOT_VNIS_TEXT_MAX]);
/* "PTEs=60/2048 TXQs=20/1024 ...": reserved and most. */
void slingshot_limits_format(const struct cxi_rsrc_limits *limits,
			     char text[SLINGSHOT_LIMITS_TEXT_MAX]);

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
	uint32_t minimum; /* that the policy wants; 0: got is not below it */
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

/*
 * Decide the limits of a service for a job with so many cores on the node.
 * What it gets may be below the policy's minimum.
 */
void slingshot_limits_plan(const struct slingshot_policy *policy,
			   uint32_t cores, const struct slingshot_usage *usage,
			   struct slingshot_limits *ret_limits);

/*
 * How many LNIs have to share an RGID, for each of the tasks to have one on
 * one of the NICs: 1 when none has to. It can be more than CXI_LPR_MAX.
 */
uint32_t slingshot_lnis_per_rgid(uint32_t tasks, uint32_t nics);

/* The first shortfall for which the policy refuses the service, or NULL. */
const struct slingshot_shortfall *slingshot_limits_refused(
	const struct slingshot_policy *policy,
	const struct slingshot_limits *limits);

/*
 * "cxi0: wanted 128 TXQs, reserved 100 (100 of 1024 free)", and after a comma
 * the minimum, where that is less.
 */
void slingshot_shortfall_format(const struct slingshot_shortfall *shortfall,
				const char *device, char *text,
				size_t capacity);
