/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Is our table still there? Somebody who flushes all rules of the node takes it
 * away. One question to the kernel, for which no nft is started (nft.h).
 */
#pragma once

#include "driver/ethernet/netlink.h"

/*
 * filter: of netlink_open_filter. 1: a table of this version is there (its
 * elements are not looked at); 0: none, or somebody else's; -EPERM and the like
 * with a text.
 */
int table_is_there(struct netlink *filter, struct fairlead_error *ret_error);

/* A number that rises with each change of any rules of the node. */
int table_generation(struct netlink *filter, uint32_t *ret_generation,
		     struct fairlead_error *ret_error);
