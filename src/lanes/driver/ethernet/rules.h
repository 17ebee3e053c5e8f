/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The firewall's part of a lane: one table, `inet fairlead`, which is written
 * once; a lane only adds elements to its sets. The rules follow from the
 * devices that are there, so the table can be rewritten at any time, whole and
 * in one transaction, and is then right.
 *
 * It is written as requests of nf_tables (nftables.h), for table_change. nft
 * lists it as it would what it had written itself.
 *
 * The UDP ports of all rails are ours alone: other VXLAN on them is refused.
 * Root may send whatever it likes; nothing here keeps it out.
 * Pure.
 */
#pragma once

#include <stddef.h>

#include "base/bytes.h"
#include "lanes/driver/ethernet/device.h"
#include "lanes/driver/ethernet/policy.h"
#include "lanes/driver/ethernet/shaper.h"

#define RULES_TABLE "fairlead"
/* A counter of the table that says who wrote it, and in which version. */
#define RULES_VERSION "fairlead_rules_1"
/* The upper half of the mark of a packet that may leave as VXLAN. */
#define RULES_MARK 0x464c0000u

/* What was refused, in packets. */
struct rules_counters {
	uint64_t refused_send; /* packets of other users into a lane */
	uint64_t refused_raw;  /* VXLAN made by hand */
	uint64_t refused_host; /* VXLAN from no member */
	/*
	 * Lane addresses on another device, forwarding, source routes, first
	 * fragments that hide what they are of.
	 */
	uint64_t refused_way;
};

struct rules_lane {
	/*
	 * VXLAN is taken from peers by the NIC below it (underlay_index). With
	 * another class's DSCP than those of its alias, which is the inner
	 * packet's, it gets that of the first; the inner packet keeps its own.
	 */
	struct lane_device device;
	const struct ip_address *peers; /* underlay addresses */
	size_t peer_count;
	bool is_netns; /* its packets come from a namespace of the job */
	uint64_t namespace_id; /* the grant's that it is called by, if so */
};

/*
 * The whole table with these lanes. dscp: by class. networks: to keep lane
 * addresses from leaving by other ways. refused: from where its counters go on.
 */
void rules_write_table(const struct ethernet_networks *networks,
		       const uint8_t dscp[ETHERNET_CLASS_COUNT],
		       const struct rules_counters *refused,
		       const struct rules_lane *lanes, size_t count,
		       struct writer *batch);
/* The table goes, whoever wrote it. None is no error. */
void rules_write_removal(struct writer *batch);
/*
 * Elements of these lanes, all or none. Adding what is there is no error, but
 * with other data (-EEXIST); none are taken away but with the table.
 */
void rules_write_add(const struct rules_lane *lanes, size_t count,
		     struct writer *batch);

/* Of the i-th set; NULL: there are no more. */
const char *rules_set_name(size_t i);
