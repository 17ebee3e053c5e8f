/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What a node keeps of a lane in its journal: the environment of the job's
 * tasks there (variables.h). What is to be taken back is found by owner and
 * identifiers, and needs no record; keys are not in it. Pure.
 */
#pragma once

#include <stdint.h>

#include "base/error.h"
#include "fairlead/rms.h"
#include "fairlead_driver.h"

struct elan3_share {
	uint32_t nodes;     /* of the job that have processes; 0: no lane */
	uint32_t processes; /* virtual processes of the job */
	uint32_t node;      /* this one, counted from the lowest ElanID */
};

/*
 * What a node of this ElanID has of a capability. -EINVAL: no virtual process
 * of it is there.
 */
int elan3_share_of(const struct elan_capability *cap, uint32_t elan_id,
		   struct elan3_share *ret_share);

extern const char *const elan3_variables[];

void elan3_record_encode(const struct elan3_share *share, uint32_t program,
			 struct fairlead_record *ret_record);
/* A record of size 0 has no nodes. -EBADMSG with a text. */
int elan3_record_decode(const struct fairlead_record *record,
			struct elan3_share *ret_share,
			struct fairlead_error *ret_error);
