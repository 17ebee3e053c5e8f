/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The firewall's part of a lane, as texts for nft: one table, `inet fairlead`,
 * which is written once; a lane only adds elements to its sets. The rules follow
 * from the devices that are there, so the table can be written anew at any time,
 * whole and in one transaction, and is then right.
 *
 * The texts are JSON for `nft -j -f -`. Pure.
 */
#pragma once

#include <stddef.h>

#include "base/bytes.h"
#include "driver/ethernet/device.h"
#include "driver/ethernet/policy.h"

#define RULES_TABLE "fairlead"
/* The upper half of the mark of a packet that may leave as VXLAN. */
#define RULES_MARK 0x464c0000u

struct rules_lane {
	struct lane_device device;
	const struct ip_address *peers; /* underlay addresses */
	size_t peer_count;
	uint32_t classes; /* bits; the others' DSCP is set to the first's */
	enum ethernet_class first_class;
	bool is_netns; /* its packets come from a namespace of the job */
};

/*
 * The whole table with these lanes. dscp: by class. networks: to keep lane
 * addresses from leaving by other ways. writer->result says how it went.
 */
void rules_write_table(const struct ethernet_networks *networks,
		       const uint8_t dscp[ETHERNET_CLASS_COUNT],
		       const struct rules_lane *lanes, size_t count,
		       struct writer *writer);
/* Elements of these lanes, all or none. */
void rules_write_add(const struct rules_lane *lanes, size_t count,
		     struct writer *writer);
void rules_write_remove(const struct rules_lane *lanes, size_t count,
			struct writer *writer);
