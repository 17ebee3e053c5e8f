/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The binary interface of the vendor's libcxi.so.1, as far as the service
 * model and logical NIs (LNIs) reach. Layouts are x86_64, little endian, and
 * the same in every release from 12.0 on; the assertions hold them fixed.
 *
 * Whoever loads the library at run time takes types and prototypes from here
 * (`typeof(&cxil_alloc_svc)`); the software NIC's library implements them.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define CXI_DEFAULT_SVC_ID      1
#define CXI_SVC_MAX_MEMBERS     2
#define CXI_SVC_MAX_VNIS        4
#define CXI_DEVICE_NAME_MAX     14
#define CXI_DRIVER_NAME_MAX     9
#define CXI_FRU_DESCRIPTION_MAX 16

/* In cxi_rsrc_use: the service has no pool of its own for this type. */
#define CXI_RSRC_USE_NOT_APPLICABLE UINT16_MAX

enum cxi_rsrc_type {
	CXI_RSRC_TYPE_PTE,
	CXI_RSRC_TYPE_TXQ,
	CXI_RSRC_TYPE_TGQ,
	CXI_RSRC_TYPE_EQ,
	CXI_RSRC_TYPE_CT,
	CXI_RSRC_TYPE_LE,
	CXI_RSRC_TYPE_TLE,
	CXI_RSRC_TYPE_AC,
	CXI_RSRC_TYPE_MAX,
};

enum cxi_svc_member_type {
	CXI_SVC_MEMBER_IGNORE,
	CXI_SVC_MEMBER_UID,
	CXI_SVC_MEMBER_GID,
	CXI_SVC_MEMBER_NET_NS,
	CXI_SVC_MEMBER_MAX,
};

/* SLINGSHOT_TCS has the bits 1 << traffic class. */
enum cxi_traffic_class {
	CXI_TC_DEDICATED_ACCESS,
	CXI_TC_LOW_LATENCY,
	CXI_TC_BULK_DATA,
	CXI_TC_BEST_EFFORT,
	CXI_TC_ETH,
	CXI_TC_MAX,
};

enum cassini_version {
	CASSINI_1_0 = 0x11,
	CASSINI_1_1 = 0x12,
	CASSINI_2_0 = 0x21,
};

enum system_type_identifier {
	CASSINI_MIX,
	CASSINI_1_ONLY,
	CASSINI_2_ONLY,
};

struct cxi_limits {
	uint16_t max; /* most that the service can use */
	uint16_t res; /* set aside for it alone */
};

struct cxi_rsrc_limits {
	union {
		struct {
			struct cxi_limits ptes;
			struct cxi_limits txqs;
			struct cxi_limits tgqs;
			struct cxi_limits eqs;
			struct cxi_limits cts;
			struct cxi_limits les;
			struct cxi_limits tles;
			struct cxi_limits acs;
		};
		struct cxi_limits type[CXI_RSRC_TYPE_MAX];
	};
};

struct cxi_svc_member {
	union {
		uint32_t uid;
		uint32_t gid;
	} svc_member;
	enum cxi_svc_member_type type;
};

struct cxi_svc_desc {
	uint8_t restricted_members : 1, restricted_vnis : 1, restricted_tcs : 1,
		resource_limits : 1, enable : 1, is_system_svc : 1,
		cntr_pool_id : 2;
	uint8_t num_vld_vnis;
	uint16_t vnis[CXI_SVC_MAX_VNIS];
	bool tcs[CXI_TC_MAX]; /* by enum cxi_traffic_class */
	struct cxi_svc_member members[CXI_SVC_MAX_MEMBERS];
	struct cxi_rsrc_limits limits;
	uint32_t svc_id;
};

_Static_assert(offsetof(struct cxi_svc_desc, num_vld_vnis) == 1, "abi");
_Static_assert(offsetof(struct cxi_svc_desc, vnis) == 2, "abi");
_Static_assert(offsetof(struct cxi_svc_desc, tcs) == 10, "abi");
_Static_assert(offsetof(struct cxi_svc_desc, members) == 16, "abi");
_Static_assert(sizeof(struct cxi_svc_member) == 8, "abi");
_Static_assert(offsetof(struct cxi_svc_member, type) == 4, "abi");
_Static_assert(offsetof(struct cxi_svc_desc, limits) == 32, "abi");
_Static_assert(offsetof(struct cxi_limits, max) == 0, "abi");
_Static_assert(offsetof(struct cxi_limits, res) == 2, "abi");
_Static_assert(offsetof(struct cxi_rsrc_limits, txqs) == 4, "abi");
_Static_assert(offsetof(struct cxi_rsrc_limits, tgqs) == 8, "abi");
_Static_assert(offsetof(struct cxi_rsrc_limits, eqs) == 12, "abi");
_Static_assert(offsetof(struct cxi_rsrc_limits, cts) == 16, "abi");
_Static_assert(offsetof(struct cxi_rsrc_limits, les) == 20, "abi");
_Static_assert(offsetof(struct cxi_rsrc_limits, tles) == 24, "abi");
_Static_assert(offsetof(struct cxi_rsrc_limits, acs) == 28, "abi");
_Static_assert(sizeof(struct cxi_rsrc_limits) == 32, "abi");
_Static_assert(offsetof(struct cxi_svc_desc, svc_id) == 64, "abi");
_Static_assert(sizeof(struct cxi_svc_desc) == 68, "abi");

/*
 * Why an allocation failed. Not to be trusted: the driver stops at the first
 * type that is lacking, so later types stay 0, and TLEs are never filled in.
 */
struct cxi_svc_fail_info {
	uint16_t rsrc_avail[CXI_RSRC_TYPE_MAX];
	bool no_le_pools;
	bool no_tle_pools;
	bool no_cntr_pools;
};

_Static_assert(offsetof(struct cxi_svc_fail_info, no_le_pools) == 16, "abi");
_Static_assert(offsetof(struct cxi_svc_fail_info, no_tle_pools) == 17, "abi");
_Static_assert(offsetof(struct cxi_svc_fail_info, no_cntr_pools) == 18, "abi");
_Static_assert(sizeof(struct cxi_svc_fail_info) == 20, "abi");

struct cxi_rsrc_use {
	uint32_t svc_id;
	uint32_t tle_pool_id;
	uint16_t in_use[CXI_RSRC_TYPE_MAX];
};

_Static_assert(offsetof(struct cxi_rsrc_use, tle_pool_id) == 4, "abi");
_Static_assert(offsetof(struct cxi_rsrc_use, in_use) == 8, "abi");
_Static_assert(sizeof(struct cxi_rsrc_use) == 24, "abi");

/* Each list is one block from malloc(). */
struct cxil_svc_list {
	uint32_t count;
	struct cxi_svc_desc descs[];
};

struct cxil_svc_rsrc_list {
	uint32_t count;
	struct cxi_rsrc_use rsrcs[];
};

_Static_assert(offsetof(struct cxil_svc_list, descs) == 4, "abi");
_Static_assert(offsetof(struct cxil_svc_rsrc_list, rsrcs) == 4, "abi");

struct cxil_devinfo {
	uint32_t dev_id; /* N of cxiN */
	union {
		uint32_t nid; /* the NIC's 20-bit address in the fabric */
		uint32_t nic_addr;
	};
	uint32_t pid_bits;
	uint32_t pid_count;
	uint32_t pid_granule;
	uint32_t min_free_shift;
	uint32_t rdzv_get_idx;
	char device_name[CXI_DEVICE_NAME_MAX];
	char driver_name[CXI_DRIVER_NAME_MAX];
	uint32_t vendor_id;
	uint32_t device_id;
	uint32_t device_rev;
	uint32_t device_proto;
	uint32_t device_platform;
	uint16_t num_ptes;
	uint16_t num_txqs;
	uint16_t num_tgqs;
	uint16_t num_eqs;
	uint16_t num_cts;
	uint16_t num_acs; /* mind the order: not the enum's */
	uint16_t num_tles;
	uint16_t num_les;
	uint16_t pci_domain;
	uint8_t pci_bus;
	uint8_t pci_device;
	uint8_t pci_function;
	size_t link_mtu;
	size_t link_speed;
	uint8_t link_state;
	int uc_nic;
	uint32_t pct_eq; /* 0: no retry handler is running for the device */
	enum cassini_version cassini_version;
	char fru_description[CXI_FRU_DESCRIPTION_MAX];
	bool is_vf;
	enum system_type_identifier system_type_identifier;
};

_Static_assert(offsetof(struct cxil_devinfo, nid) == 4, "abi");
_Static_assert(offsetof(struct cxil_devinfo, pid_bits) == 8, "abi");
_Static_assert(offsetof(struct cxil_devinfo, pid_count) == 12, "abi");
_Static_assert(offsetof(struct cxil_devinfo, pid_granule) == 16, "abi");
_Static_assert(offsetof(struct cxil_devinfo, min_free_shift) == 20, "abi");
_Static_assert(offsetof(struct cxil_devinfo, rdzv_get_idx) == 24, "abi");
_Static_assert(offsetof(struct cxil_devinfo, device_name) == 28, "abi");
_Static_assert(offsetof(struct cxil_devinfo, driver_name) == 42, "abi");
_Static_assert(offsetof(struct cxil_devinfo, vendor_id) == 52, "abi");
_Static_assert(offsetof(struct cxil_devinfo, device_id) == 56, "abi");
_Static_assert(offsetof(struct cxil_devinfo, device_rev) == 60, "abi");
_Static_assert(offsetof(struct cxil_devinfo, device_proto) == 64, "abi");
_Static_assert(offsetof(struct cxil_devinfo, device_platform) == 68, "abi");
_Static_assert(offsetof(struct cxil_devinfo, num_ptes) == 72, "abi");
_Static_assert(offsetof(struct cxil_devinfo, num_txqs) == 74, "abi");
_Static_assert(offsetof(struct cxil_devinfo, num_tgqs) == 76, "abi");
_Static_assert(offsetof(struct cxil_devinfo, num_eqs) == 78, "abi");
_Static_assert(offsetof(struct cxil_devinfo, num_cts) == 80, "abi");
_Static_assert(offsetof(struct cxil_devinfo, num_acs) == 82, "abi");
_Static_assert(offsetof(struct cxil_devinfo, num_tles) == 84, "abi");
_Static_assert(offsetof(struct cxil_devinfo, num_les) == 86, "abi");
_Static_assert(offsetof(struct cxil_devinfo, pci_domain) == 88, "abi");
_Static_assert(offsetof(struct cxil_devinfo, pci_bus) == 90, "abi");
_Static_assert(offsetof(struct cxil_devinfo, pci_device) == 91, "abi");
_Static_assert(offsetof(struct cxil_devinfo, pci_function) == 92, "abi");
_Static_assert(offsetof(struct cxil_devinfo, link_mtu) == 96, "abi");
_Static_assert(offsetof(struct cxil_devinfo, link_speed) == 104, "abi");
_Static_assert(offsetof(struct cxil_devinfo, link_state) == 112, "abi");
_Static_assert(offsetof(struct cxil_devinfo, uc_nic) == 116, "abi");
_Static_assert(offsetof(struct cxil_devinfo, pct_eq) == 120, "abi");
_Static_assert(offsetof(struct cxil_devinfo, cassini_version) == 124, "abi");
_Static_assert(offsetof(struct cxil_devinfo, fru_description) == 128, "abi");
_Static_assert(offsetof(struct cxil_devinfo, is_vf) == 144, "abi");
_Static_assert(offsetof(struct cxil_devinfo, system_type_identifier) == 148,
	       "abi");
_Static_assert(sizeof(struct cxil_devinfo) == 152, "abi");

struct cxil_device_list {
	uint32_t count;
	struct cxil_devinfo info[];
};

_Static_assert(offsetof(struct cxil_device_list, info) == 8, "abi");

/* An open device; what follows the visible part is the library's own. */
struct cxil_dev {
	struct cxil_devinfo info;
};

/* A logical NI: what a process holds to use a service. */
struct cxil_lni {
	uint32_t id;
};

#pragma GCC visibility push(default)

/*
 * All return 0 or a negative errno unless said otherwise; a NULL where an
 * object is needed gives -EINVAL. -EIO: the device is gone.
 *
 * A device is used by one thread at a time or by several; two devices, also
 * of the same NIC, are independent.
 */

/* No device is no error: the list is empty then. */
int cxil_get_device_list(struct cxil_device_list **ret_list);
void cxil_free_device_list(struct cxil_device_list *list);
/* -ENOENT: no such device. */
int cxil_open_device(uint32_t dev_id, struct cxil_dev **ret_dev);
/* Frees the LNIs that were allocated through it. */
void cxil_close_device(struct cxil_dev *dev);

/*
 * Returns the service's id (> 0). -EPERM: not privileged; -EINVAL: bad
 * descriptor; -EEXIST: a member twice or a VNI in use; -ENOSPC: no resources,
 * with ret_fail_info (may be NULL) filled in, or no receive entry left.
 */
int cxil_alloc_svc(struct cxil_dev *dev, const struct cxi_svc_desc *desc,
		   struct cxi_svc_fail_info *ret_fail_info);
/* -EPERM, -EINVAL (unknown, or the default service), -EBUSY (in use). */
int cxil_destroy_svc(struct cxil_dev *dev, unsigned int svc_id);
/* -EPERM, -EINVAL, -EBUSY. ret_fail_info is not used. */
int cxil_update_svc(struct cxil_dev *dev, const struct cxi_svc_desc *desc,
		    struct cxi_svc_fail_info *ret_fail_info);
int cxil_get_svc(struct cxil_dev *dev, unsigned int svc_id,
		 struct cxi_svc_desc *ret_desc);
int cxil_get_svc_list(struct cxil_dev *dev, struct cxil_svc_list **ret_list);
void cxil_free_svc_list(struct cxil_svc_list *list);
int cxil_get_svc_rsrc_use(struct cxil_dev *dev, unsigned int svc_id,
			  struct cxi_rsrc_use *ret_use);
int cxil_get_svc_rsrc_list(struct cxil_dev *dev,
			   struct cxil_svc_rsrc_list **ret_list);
void cxil_free_svc_rsrc_list(struct cxil_svc_rsrc_list *list);
/* -EPERM, -EINVAL, -EBUSY (in use), -ENOSPC (no receive entry left). */
int cxil_svc_enable(struct cxil_dev *dev, unsigned int svc_id, bool enable);
int cxil_set_svc_lpr(struct cxil_dev *dev, unsigned int svc_id,
		     unsigned int lnis_per_rgid);
/* Returns the LNIs per RGID. */
int cxil_get_svc_lpr(struct cxil_dev *dev, unsigned int svc_id);
int cxil_svc_set_exclusive_cp(struct cxil_dev *dev, unsigned int svc_id,
			      bool exclusive_cp);
int cxil_svc_get_exclusive_cp(struct cxil_dev *dev, unsigned int svc_id,
			      bool *ret_exclusive_cp);
int cxil_svc_set_vni_range(struct cxil_dev *dev, unsigned int svc_id,
			   uint16_t vni_min, uint16_t vni_max);
int cxil_svc_get_vni_range(struct cxil_dev *dev, unsigned int svc_id,
			   uint16_t *ret_vni_min, uint16_t *ret_vni_max);
int cxil_svc_set_netns(struct cxil_dev *dev, unsigned int svc_id,
		       unsigned int netns);
int cxil_svc_get_netns(struct cxil_dev *dev, unsigned int svc_id,
		       unsigned int *ret_netns);

/*
 * -EINVAL: no such service; -EKEYREVOKED: it is disabled; -EPERM: the caller
 * is not a member; -ENOSPC: no RGID left.
 */
int cxil_alloc_lni(struct cxil_dev *dev, struct cxil_lni **ret_lni,
		   unsigned int svc_id);
int cxil_destroy_lni(struct cxil_lni *lni);

/*
 * The software NIC's library exports this besides: its version as text. By it
 * whoever loads a library tells it from the vendor's, since a lane on a NIC
 * that is emulated protects nothing.
 */
#define CXI_SOFTNIC_MARKER "fairlead_softnic_library"
extern const char fairlead_softnic_library[];

#pragma GCC visibility pop
