/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The firewall's part of a lane: one table, `inet fairlead`, which is written
 * once; a lane only adds elements to its sets. The rules follow from the devices
 * that are there, so the table can be written anew at any time, whole and in one
 * transaction, and is then right.
 *
 * The table is a text for `nft -f -`, in nft's own language: its JSON has no sets
 * of the type of an expression before nft 1.1, and a member is known by the VNI
 * in VXLAN's header, which has no name there. Elements are requests to the
 * kernel (table_change).
 *
 * The UDP ports of a node's rails are ours alone: other VXLAN on them is refused.
 * Root may send whatever it likes; nothing here keeps it out.
 * Pure.
 */
#pragma once

#include <stddef.h>

#include "base/bytes.h"
#include "lanes/driver/ethernet/device.h"
#include "lanes/driver/ethernet/nft.h"
#include "lanes/driver/ethernet/policy.h"
#include "lanes/driver/ethernet/shaper.h"

#define RULES_TABLE "fairlead"
/* A counter of the table that says who wrote it, and in which version. */
#define RULES_VERSION "fairlead_rules_1"
/* The upper half of the mark of a packet that may leave as VXLAN. */
#define RULES_MARK 0x464c0000u

struct rules_lane {
	/*
	 * VXLAN is taken from peers by the NIC below it (underlay_index). With
	 * another class's DSCP than those of its alias, which is the inner packet's,
	 * it gets that of the first; the inner packet keeps its own.
	 */
	struct lane_device device;
	const struct ip_address *peers; /* underlay addresses */
	size_t peer_count;
	bool is_netns; /* its packets come from a namespace of the job */
	uint64_t namespace_id; /* the grant's that it is called by, if so */
};

/*
 * The whole table with these lanes. dscp: by class. networks: to keep lane
 * addresses from leaving by other ways. rail_count: whose ports are VXLAN's, 0 to
 * ETHERNET_RAILS_MAX. refused: from where its counters go on. writer->result says
 * how it went.
 */
void rules_write_table(const struct ethernet_networks *networks,
		       uint8_t rail_count,
		       const uint8_t dscp[ETHERNET_CLASS_COUNT],
		       const struct nft_counters *refused,
		       const struct rules_lane *lanes, size_t count,
		       struct writer *writer);
/*
 * Elements of these lanes, all or none. Adding what is there is no error, but with
 * other data (-EEXIST); removing what is not there is one (-ENOENT), and the table is then to be written anew.
 */
void rules_write_add(const struct rules_lane *lanes, size_t count,
		     struct writer *writer);
void rules_write_remove(const struct rules_lane *lanes, size_t count,
			struct writer *writer);
