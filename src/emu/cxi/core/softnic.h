/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A node's Cassini NICs in software: what the kernel driver and the hardware
 * decide about services, pools, VNIs and logical NIs (LNIs), with the
 * driver's checks in the driver's order. No traffic.
 *
 *	softnic_create -> softnic_advance(now) -> softnic_open -> service, LNI
 *	calls through the client -> softnic_close -> ... -> softnic_destroy
 *
 * A client is one open device of one process. LNIs belong to a client and go
 * into (delayed) cleanup when it closes; services outlive everybody.
 *
 * Pure: the time comes with softnic_advance(), who calls comes with the
 * client. One thread. Functions return 0 or a count, or a negative errno; what
 * is written through ret_ pointers is written on success only, unless said.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <jansson.h>

#include "base/cleanup.h"
#include "lanes/driver/slingshot/libcxi_abi.h"

#define SOFTNIC_NIC_MAX     16
#define SOFTNIC_SERVICE_MAX 1024    /* on one NIC; more get -ENOSPC */
#define SOFTNIC_FAULT_MAX   64      /* armed at one time; more get -ENOSPC */
#define SOFTNIC_NID_MAX     0xffff0 /* of NIC 0; addresses have 20 bits */
#define SOFTNIC_LPR_MAX     8
#define SOFTNIC_NAME_MAX    16 /* bytes of a service's name, with its zero */

#define SOFTNIC_ANY_NIC     UINT32_MAX
#define SOFTNIC_FOREVER     UINT64_MAX

/* What can be counted and made to fail; named as the library's functions. */
enum softnic_op {
	SOFTNIC_OP_GET_DEVICE_LIST,
	SOFTNIC_OP_OPEN_DEVICE,
	SOFTNIC_OP_ALLOC_SVC,
	SOFTNIC_OP_DESTROY_SVC,
	SOFTNIC_OP_UPDATE_SVC,
	SOFTNIC_OP_GET_SVC,
	SOFTNIC_OP_GET_SVC_LIST,
	SOFTNIC_OP_GET_SVC_RSRC_USE,
	SOFTNIC_OP_GET_SVC_RSRC_LIST,
	SOFTNIC_OP_SVC_ENABLE,
	SOFTNIC_OP_SET_SVC_LPR,
	SOFTNIC_OP_GET_SVC_LPR,
	SOFTNIC_OP_SVC_SET_EXCLUSIVE_CP,
	SOFTNIC_OP_SVC_GET_EXCLUSIVE_CP,
	SOFTNIC_OP_SVC_SET_VNI_RANGE,
	SOFTNIC_OP_SVC_GET_VNI_RANGE,
	SOFTNIC_OP_SVC_SET_NETNS,
	SOFTNIC_OP_SVC_GET_NETNS,
	SOFTNIC_OP_ALLOC_LNI,
	SOFTNIC_OP_DESTROY_LNI,
	SOFTNIC_OP_COUNT,
};

/* "alloc_svc" and so on. */
const char *softnic_op_format(enum softnic_op op);
int softnic_op_parse(const char *text, enum softnic_op *ret_op);
/*
 * "PTE" and so on, as the vendor's tools write them in the singular. Programs
 * only parse them; tests go through them all.
 */
const char *softnic_type_format(enum cxi_rsrc_type type);
int softnic_type_parse(const char *text, enum cxi_rsrc_type *ret_type);

struct softnic_config {
	unsigned int generation; /* of the driver: 12, 13 or 14 */
	unsigned int nic_count;  /* 1..SOFTNIC_NIC_MAX */
	bool default_service;    /* is service 1 enabled */
	bool ethernet_service;   /* does "ethernet-svc" exist */
	uint32_t ethernet_uid;   /* its only member */
	uint32_t nid;            /* address of NIC 0, the others follow */
	uint64_t cleanup_ms;     /* an LNI's time in cleanup after its free */
	uint16_t totals[CXI_RSRC_TYPE_MAX]; /* what a NIC has; LEs per PE */
};

/* The hardware's totals, generation 14, one NIC, both system services. */
void softnic_config_init(struct softnic_config *ret_config);

/* Who asks, as the kernel knows it. */
struct softnic_caller {
	uint32_t uid;
	uint32_t gid;
	uint32_t netns; /* inode of its network namespace; 0: unknown */
	int32_t pid;
	bool is_privileged; /* stands for CAP_SYS_ADMIN */
};

struct softnic;
struct softnic_client;

/* -EINVAL: the configuration is out of its bounds. */
int softnic_create(const struct softnic_config *config,
		   struct softnic **ret_softnic);
/* Clients must have been closed. */
void softnic_destroy(struct softnic *softnic);
DEFINE_AUTO(struct softnic, softnic_destroy)

/*
 * Say what time it is: LNIs whose cleanup is over and services that were
 * made busy for a time are let go. Time that runs backwards is ignored.
 */
void softnic_advance(struct softnic *softnic, uint64_t now_ms);

/*
 * The node reboots: no service but the system's, no LNI, no fault, every NIC
 * present. Open clients stay valid objects that get -EIO.
 */
int softnic_reboot(struct softnic *softnic);

/*
 * Fill infos with the NICs that are present, lowest first. Returns how many;
 * infos has SOFTNIC_NIC_MAX entries.
 */
int softnic_device_list(struct softnic *softnic, struct cxil_devinfo *infos);

/* -ENOENT: no such NIC, or it has been removed. */
int softnic_open(struct softnic *softnic, const struct softnic_caller *caller,
		 uint32_t nic, struct softnic_client **ret_client);
/* Its LNIs go into cleanup. NULL is allowed. */
void softnic_close(struct softnic_client *client);
/* Works on a removed NIC too. */
void softnic_device_info(const struct softnic_client *client,
			 struct cxil_devinfo *ret_info);

/*
 * All calls through a client may return -EIO (the NIC has been removed, or
 * the node rebooted, since it was opened) and what an armed fault says.
 * -EPERM comes first in those that change a service; a service id that does
 * not exist gives -EINVAL; see doc/rfc/softnic.md for each order of checks.
 */

/* Returns the id. ret_fail_info is written on failure only. */
int softnic_service_alloc(struct softnic_client *client,
			  const struct cxi_svc_desc *desc,
			  struct cxi_svc_fail_info *ret_fail_info);
int softnic_service_destroy(struct softnic_client *client, uint32_t svc_id);
int softnic_service_update(struct softnic_client *client,
			   const struct cxi_svc_desc *desc);
int softnic_service_get(struct softnic_client *client, uint32_t svc_id,
			struct cxi_svc_desc *ret_desc);
/* Returns the count; nothing is written where capacity is less. */
int softnic_service_list(struct softnic_client *client,
			 struct cxi_svc_desc *ret_descs, size_t capacity);
int softnic_service_use(struct softnic_client *client, uint32_t svc_id,
			struct cxi_rsrc_use *ret_use);
/* Returns the count; nothing is written where capacity is less. */
int softnic_service_use_list(struct softnic_client *client,
			     struct cxi_rsrc_use *ret_uses, size_t capacity);
/* `enable`, `exclusive_cp`: no if 0. */
int softnic_service_enable(struct softnic_client *client, uint32_t svc_id,
			   uint32_t enable);
int softnic_service_set_lpr(struct softnic_client *client, uint32_t svc_id,
			    uint32_t lnis_per_rgid);
int softnic_service_get_lpr(struct softnic_client *client, uint32_t svc_id);
int softnic_service_set_exclusive_cp(struct softnic_client *client,
				     uint32_t svc_id, uint32_t exclusive_cp);
int softnic_service_get_exclusive_cp(struct softnic_client *client,
				     uint32_t svc_id, bool *ret_exclusive_cp);
int softnic_service_set_vni_range(struct softnic_client *client,
				  uint32_t svc_id, uint16_t vni_min,
				  uint16_t vni_max);
int softnic_service_get_vni_range(struct softnic_client *client,
				  uint32_t svc_id, uint16_t *ret_vni_min,
				  uint16_t *ret_vni_max);
int softnic_service_set_netns(struct softnic_client *client, uint32_t svc_id,
			      uint32_t netns);
int softnic_service_get_netns(struct softnic_client *client, uint32_t svc_id,
			      uint32_t *ret_netns);

int softnic_lni_alloc(struct softnic_client *client, uint32_t svc_id,
		      uint32_t *ret_lni_id);
/* -EINVAL: not an LNI of this client. */
int softnic_lni_free(struct softnic_client *client, uint32_t lni_id);

/*
 * Tests drive the rest. A fault makes calls number nth to nth + count - 1 of
 * an operation, counted from when it was added, fail before they do anything.
 * A call that is refused with -EPERM or -EIO is not counted.
 */
struct softnic_fault {
	enum softnic_op op;
	uint32_t nic;    /* or SOFTNIC_ANY_NIC */
	int error;       /* positive errno */
	uint64_t nth;    /* 1.. */
	uint64_t count;  /* 1.. */
	uint64_t called; /* calls seen so far; set by softnic_fault_add */
};

/* -EINVAL: out of bounds, no such NIC; -ENOSPC: SOFTNIC_FAULT_MAX. */
int softnic_fault_add(struct softnic *softnic,
		      const struct softnic_fault *fault);
/* Forget all faults, and let go every service that was made busy. */
void softnic_fault_clear(struct softnic *softnic);
/* Calls of an operation that were counted, and those that a fault ended. */
void softnic_op_count(const struct softnic *softnic, enum softnic_op op,
		      uint64_t *ret_calls, uint64_t *ret_faults);

/*
 * Keep a service busy (-EBUSY to destroy and change) for duration_ms from
 * now, or SOFTNIC_FOREVER; 0 lets it go. -ENODEV, -EINVAL: no such service.
 */
int softnic_service_busy(struct softnic *softnic, uint32_t nic, uint32_t svc_id,
			 uint64_t duration_ms);
/*
 * Use (count > 0) or give back (count < 0) objects of a type, as a process
 * with queues would. All or nothing. -ENODEV; -EINVAL: no such service, or
 * less in use than is given back; -EKEYREVOKED: disabled; -ENOSPC.
 */
int softnic_service_consume(struct softnic *softnic, uint32_t nic,
			    uint32_t svc_id, enum cxi_rsrc_type type,
			    int32_t count);
/* A NIC disappears with all that was on it. -ENODEV: it is not there. */
int softnic_nic_remove(struct softnic *softnic, uint32_t nic);
/* It comes back as after a boot. -EEXIST: it is there; -ENODEV. */
int softnic_nic_restore(struct softnic *softnic, uint32_t nic);
bool softnic_nic_is_present(const struct softnic *softnic, uint32_t nic);

/* Everything, as JSON; the caller decrefs. NULL: out of memory. */
json_t *softnic_dump(const struct softnic *softnic);
