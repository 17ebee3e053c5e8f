/* SPDX-License-Identifier: BSD-3-Clause */
/* Two members' tables of groups, for the tests of groups. */
#pragma once

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/seam.h"
#include "scoll/core/group.h"
#include "scoll/member/given.h"
#include "scoll/tree/tree.h"

#define COUNT    40 /* nodes of the list */
#define LIFETIME UINT64_C(1000)
#define NONCE    77
#define OSS      5 /* services */
#define MDS      6

struct group_bed {
	struct memberships *memberships;
	struct given *given;
	struct group_table *ours;   /* of node 0, the creator */
	struct group_table *theirs; /* of node 17, another member */
	scoll_target_t targets[COUNT];
	struct tree_types tree_types;
};

/* What a broadcast over a group says. */
struct group_message {
	struct wire_bcast bcast;
	uint8_t params[4096];
};

extern const scoll_tag_t group_bed_tags[2];
extern const struct group_oob group_no_oob;

void group_bed_init(struct group_bed *bed);
/* Whatever a test did: nothing is left. */
void group_bed_fini(struct group_bed *bed);
/* Another table; count_max 0: as many groups as may be. */
struct group_table *group_bed_table(struct group_bed *bed, scoll_nid_t nid,
				    uint32_t count_max);
/* A handle at the creator. */
struct scoll_group *group_bed_made(struct group_bed *bed,
				   scoll_service_id_t service);
/* With the parameters in the body, or (WIRE_MEMBERS_BULK) beside it. */
const struct wire_bcast *group_message_of(struct group_message *message,
					  const struct scoll_group *group,
					  uint16_t flags);
/* What group_resolve returns, without an out-of-band service. */
int group_resolved(struct group_table *table, const struct wire_bcast *bcast,
		   uint64_t now_ns);
