/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The NICs of this node, through the library: which there are, and one of
 * them opened, with the services that are on it.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"
#include "lanes/driver/slingshot/library.h"

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
