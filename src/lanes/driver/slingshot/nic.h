/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The vendor's libcxi, loaded at run time, so that one build of Fairlead runs
 * with and without the hardware. Its functions run with our privileges: the
 * file that is loaded is checked first.
 *
 * And the NICs of this node, through the library: which there are, and one of
 * them opened, with the services that are on it.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/cleanup.h"
#include "base/error.h"
#include "lanes/driver/slingshot/libcxi_abi.h"

/*
 * The functions that are used, by name. The X(name) of the first list must be
 * there, those of the second are NULL in libraries that are too old.
 */
#define CXI_LIBRARY_REQUIRED(X) \
	X(get_device_list)      \
	X(free_device_list)     \
	X(open_device)          \
	X(close_device)         \
	X(get_svc_list)         \
	X(free_svc_list)        \
	X(alloc_svc)            \
	X(destroy_svc)
#define CXI_LIBRARY_OPTIONAL(X) \
	X(get_svc_rsrc_use)     \
	X(set_svc_lpr)          \
	X(get_svc_lpr)          \
	X(svc_enable)           \
	X(svc_set_netns)        \
	X(svc_set_vni_range)    \
	X(svc_set_exclusive_cp) \
	X(svc_get_exclusive_cp) \
	X(svc_get_vni_range)

struct cxi_library {
	void *handle;
	bool is_emulated; /* it is the software NIC's */
#define CXI_LIBRARY_MEMBER(name) __typeof__(&cxil_##name) name;
	CXI_LIBRARY_REQUIRED(CXI_LIBRARY_MEMBER)
	CXI_LIBRARY_OPTIONAL(CXI_LIBRARY_MEMBER)
#undef CXI_LIBRARY_MEMBER
};

/*
 * Load the library. The path is absolute, and nobody but root can replace the
 * file: it and every folder above it are root's and writable by nobody else.
 * With may_be_emulated that is relaxed for a build tree: any owner, and not
 * writable by everybody.
 *
 * -ENOENT: no such file; -EPERM: the path is not safe, or the library is the
 * software NIC's and may not be; -ELIBBAD: it cannot be loaded or lacks
 * functions, which the text names.
 */
int cxi_library_open(const char *path, bool may_be_emulated,
		     struct cxi_library **ret_library,
		     struct fairlead_error *ret_error);
void cxi_library_close(struct cxi_library *library); /* NULL allowed */
DEFINE_AUTO(struct cxi_library, cxi_library_close)

#define SLINGSHOT_DEVICES_MAX 64 /* NICs of a node */
#define NIC_NAME_MAX          16 /* bytes of "cxi0", with the zero */

struct slingshot_service {
	uint32_t device; /* N of cxiN */
	uint32_t id;     /* of the service on this device; not 0 */
	uint32_t tcs;    /* bits 1 << enum cxi_traffic_class */
};

struct slingshot_services {
	uint32_t count;
	struct slingshot_service list[SLINGSHOT_DEVICES_MAX];
};

/* State of the node half. */
struct slingshot_node {
	struct cxi_library *library;
	const char *device_path; /* where cxi0, cxi1, ... are */
	const char *job_netns;   /* as the setting; NULL: none */
	bool requires_devices;   /* a node without a NIC cannot have a lane */
};

struct nic_list {
	uint32_t count;
	struct cxil_devinfo infos[SLINGSHOT_DEVICES_MAX]; /* by dev_id */
};

struct cxi_nic {
	const struct cxi_library *library;
	char name[NIC_NAME_MAX];
	struct cxil_devinfo info;
	struct cxil_dev *dev;
	struct cxil_svc_list *services; /* never NULL once opened */
};

/*
 * NICs that can have services made: virtual functions are left out. -EIO
 * and the like with a text; -E2BIG: more than SLINGSHOT_DEVICES_MAX.
 */
int nic_list_read(const struct slingshot_node *node, struct nic_list *ret_list,
		  struct fairlead_error *ret_error);
/* The NIC in the list, or NULL. */
const struct cxil_devinfo *nic_list_find(const struct nic_list *list,
					 uint32_t dev_id);

void nic_name_format(uint32_t dev_id, char name[NIC_NAME_MAX]);
/* -EINVAL: not the name of a NIC. */
int nic_name_parse(const char *name, uint32_t *ret_dev_id);

/*
 * Open a NIC and read its services. *nic is to be finished in any case. An
 * error of the library is returned as it is, with a text that names the NIC.
 */
int nic_init(struct cxi_nic *nic, const struct slingshot_node *node,
	     const struct cxil_devinfo *info, struct fairlead_error *ret_error);
/* Read the services again. The old list stays when it fails. */
int nic_refresh(struct cxi_nic *nic, struct fairlead_error *ret_error);
void nic_fini(struct cxi_nic *nic);

/* The service with that id, or NULL. */
const struct cxi_svc_desc *nic_service(const struct cxi_nic *nic,
				       uint32_t svc_id);

/*
 * True when the service has something allocated. False is not the opposite: not
 * every library can tell, and none counts a process that has only begun.
 */
bool nic_is_used(const struct cxi_nic *nic, uint32_t svc_id);

/*
 * True when a NIC answered with `result` since it is not there any more: it
 * has left the list of devices. What was on it is gone with it.
 */
bool nic_is_gone(const struct slingshot_node *node, uint32_t dev_id,
		 int result);
