/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What was made for a lane on a node: the services, as the node's journal
 * keeps them. Integers are little-endian:
 *
 *	u8 version (1), u8 count, count times {u32 device, u32 service, u8 tcs}
 *
 * Pure. A record that cannot be read is refused whole.
 */
#pragma once

#include <stdint.h>

#include "base/error.h"
#include "fairlead_driver.h"

#define SLINGSHOT_DEVICES_MAX 64 /* NICs of a node */

struct slingshot_service {
	uint32_t device; /* N of cxiN */
	uint32_t id;     /* of the service on this device; not 0 */
	uint32_t tcs;    /* bits 1 << enum cxi_traffic_class */
};

struct slingshot_services {
	uint32_t count;
	struct slingshot_service list[SLINGSHOT_DEVICES_MAX];
};

void slingshot_record_encode(const struct slingshot_services *services,
			     struct fairlead_record *ret_record);
/* A record of size 0 has no services. -EBADMSG with a text. */
int slingshot_record_decode(const struct fairlead_record *record,
			    struct slingshot_services *ret_services,
			    struct fairlead_error *ret_error);
