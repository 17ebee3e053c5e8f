/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What was made for a lane on a node, as the node's journal keeps it: what the
 * environment names. What is there is always asked of the kernel (device.h);
 * the record is never trusted with it.
 *
 *	u8 version (1), u8 isolation, u8 devices, of each {text name, ip IPv4,
 *	ip IPv6}; ip: u8 family (0: none), u8[4 or 16]
 *
 * Pure.
 */
#pragma once

#include "base/error.h"
#include "lanes/driver/ethernet/naming.h"
#include "lanes/driver/ethernet/policy.h"
#include "fairlead_driver.h"

struct ethernet_made {
	enum ethernet_isolation isolation;
	uint32_t count;
	struct {
		char name[IFNAMSIZ];
		struct ip_address ipv4;
		struct ip_address ipv6;
	} devices[ETHERNET_DEVICES_MAX];
};

void ethernet_record_encode(const struct ethernet_made *made,
			    struct fairlead_record *ret_record);
/* A record of size 0 has no devices. -EBADMSG with a text. */
int ethernet_record_decode(const struct fairlead_record *record,
			   struct ethernet_made *ret_made,
			   struct fairlead_error *ret_error);
