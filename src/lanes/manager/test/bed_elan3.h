/* SPDX-License-Identifier: BSD-3-Clause */
/* Elan as a third interconnect of a bed: n0 to n9 have the ElanIDs 0 to 9. */
#pragma once

#include "bed.h"

#define BED_ELAN3_HOSTS "n[0-9] elanid=%n\n"

/* The manager half of elan3, as a driver. */
extern const struct fairlead_driver bed_elan3;

/* Another start of the bed, with it beside none and slingshot. */
void bed_elan3_start(struct bed *bed);
/* A node whose devices have that ElanID, up. */
void bed_elan3_node_up(struct bed *bed, const char *name, uint32_t id,
		       struct bed_node *ret_node);
/* Reserve on n3 and n4; the members of the answer, a new reference. */
json_t *bed_elan3_reserve(struct bed *bed, uint64_t client, const char *key,
			  const char *interconnect, const char *options);
