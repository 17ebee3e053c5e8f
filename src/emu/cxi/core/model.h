/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The device model's inside: one node, its NICs, and on each NIC services,
 * pools, profiles, RGIDs and LNIs. Shared by the files of this folder only.
 */
#pragma once

#include "emu/cxi/core/softnic.h"

#define RGID_COUNT          255 /* usable; numbered from 1 */
#define TLE_POOL_COUNT      4
#define LE_POOL_COUNT       16 /* on each of the four PEs, always alike */
#define TLE_POOL_MIN        8  /* TLEs of the smallest pool */
#define DEFAULT_TLES        512
#define RECEIVE_ENTRY_COUNT 256
#define POOL_NONE           (-1)
#define VNI_MIN             1

/* Who may use a service. */
struct softnic_access {
	bool is_open;
	bool has_netns;
	uint32_t netns;
	unsigned int uid_count;
	unsigned int gid_count;
	uint32_t uids[CXI_SVC_MAX_MEMBERS];
	uint32_t gids[CXI_SVC_MAX_MEMBERS];
};

/* VNIs match..match + ignore; ignore is 0 or 2^n - 1, as in the hardware. */
struct profile {
	uint16_t match;
	uint16_t ignore;
	bool is_enabled; /* holds a receive entry */
};

struct softnic_svc {
	char name[SOFTNIC_NAME_MAX]; /* "" for those that users made */
	struct cxi_svc_desc desc;    /* as the driver lists it */
	struct softnic_access access;
	struct profile profiles[CXI_SVC_MAX_VNIS];
	unsigned int profile_count;
	bool exclusive_cp;
	uint32_t lnis_per_rgid;
	int tle_pool; /* or POOL_NONE */
	int le_pool;  /* or POOL_NONE: it shares pool 0 */
	uint16_t reserved[CXI_RSRC_TYPE_MAX];
	uint16_t in_use[CXI_RSRC_TYPE_MAX];
	uint32_t lni_count;     /* with those in cleanup */
	uint64_t busy_until_ms; /* set by a test; 0: not busy */
};

/* Shared by up to lnis_per_rgid LNIs of one service. */
struct rgid {
	uint32_t svc_id;
	uint32_t lni_count; /* 0: free */
};

struct lni {
	struct lni *prev;
	struct lni *next;
	uint32_t id;
	uint32_t rgid;
	uint32_t svc_id;
	struct softnic_caller owner;
	const struct softnic_client *client; /* NULL while in cleanup */
	uint64_t cleanup_end_ms;
};

struct nic {
	struct softnic *softnic;
	uint32_t number;
	bool is_present;
	uint64_t incarnation; /* never repeats; clients of another get -EIO */
	struct softnic_svc
		*services[SOFTNIC_SERVICE_MAX + 1]; /* by id, from 1 */
	unsigned int service_count;
	uint32_t reserved[CXI_RSRC_TYPE_MAX];
	uint32_t tle_pools; /* bitmaps of what is taken */
	uint32_t le_pools;
	unsigned int receive_entry_count;
	struct rgid rgids[RGID_COUNT + 1];
	struct lni *lnis; /* in order of their ids */
	unsigned int cleanup_count;
};

struct op_count {
	uint64_t calls;
	uint64_t faults;
};

struct softnic {
	struct softnic_config config;
	uint64_t now_ms;
	uint64_t incarnation_last;
	struct nic nics[SOFTNIC_NIC_MAX];
	struct softnic_fault faults[SOFTNIC_FAULT_MAX];
	size_t fault_count;
	struct op_count ops[SOFTNIC_OP_COUNT];
};

struct softnic_client {
	struct softnic *softnic;
	struct nic *nic;
	uint64_t incarnation;
	struct softnic_caller caller;
};

/* Count a call. 0, or what a fault says it returns. (fault.c) */
int fault_check(struct softnic *softnic, enum softnic_op op, uint32_t nic);

/*
 * Begin a call through a client: may the caller do it, is the NIC there, is
 * there a fault. (node.c)
 */
int client_enter(struct softnic_client *client, enum softnic_op op);
/* The same for a call about a service. -EINVAL: there is none. */
int client_service(struct softnic_client *client, enum softnic_op op,
		   uint32_t svc_id, struct softnic_svc **ret_service);

/* -EINVAL: this driver would not accept the descriptor. (validate.c) */
int descriptor_validate(const struct softnic_config *config,
			const struct cxi_svc_desc *desc);
bool vni_range_is_valid(uint16_t vni_min, uint16_t vni_max);

/* -EEXIST: a member twice; -EBADR: the invalid uid or gid. (access.c) */
int access_init(struct softnic_access *access, const struct cxi_svc_desc *desc);
bool access_admits(const struct softnic_access *access,
		   const struct softnic_caller *caller);

/*
 * Take what the descriptor's limits reserve, pools included; the limits are
 * adjusted as the driver does. -ENOSPC with fail_info filled in. (limits.c)
 */
int limits_reserve(struct nic *nic, struct softnic_svc *service,
		   struct cxi_svc_fail_info *fail_info);
/* Once; the service is at its end. */
void limits_release(struct nic *nic, const struct softnic_svc *service);
/* One more object in use. -ENOSPC. */
int limits_consume(const struct nic *nic, struct softnic_svc *service,
		   enum cxi_rsrc_type type);
/* Objects in use beyond reservations, over all services. */
uint32_t limits_shared_use(const struct nic *nic, enum cxi_rsrc_type type);

/* -EEXIST: the generation's rule forbids the overlap. (profile.c) */
int profile_add(struct nic *nic, struct softnic_svc *service, uint16_t match,
		uint16_t ignore);
/*
 * Give each profile a receive entry, or none. -ENOSPC: none has one; -EINVAL:
 * VNIs without a profile.
 */
int profile_enable_all(struct nic *nic, struct softnic_svc *service);
void profile_disable_all(struct nic *nic, struct softnic_svc *service);

/* A system service, made at boot. -ENOSPC, -ENOMEM. (service.c) */
int service_create(struct nic *nic, const struct cxi_svc_desc *desc,
		   const char *name, struct cxi_svc_fail_info *fail_info);
struct softnic_svc *svc_find(struct nic *nic, uint32_t svc_id);
void service_destroy(struct nic *nic, struct softnic_svc *service);
bool service_is_used(const struct nic *nic, const struct softnic_svc *service);

/* LNIs of a closing client go into cleanup. (lni.c) */
void lni_abandon(struct nic *nic, const struct softnic_client *client);
/* End the cleanups whose time is over. */
void lni_reap(struct nic *nic);
/* Forget all of them at once, as a reset of the hardware does. */
void lni_drop_all(struct nic *nic);

/* Service 1 and the ethernet service, by the configuration. (system.c) */
int system_services_create(struct nic *nic);

/* What the device says of itself. (devinfo.c) */
void devinfo_fill(const struct nic *nic, struct cxil_devinfo *ret_info);
