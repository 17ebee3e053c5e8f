/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What is asked of the kernel itself about our table, without a program that is
 * started (nft.h).
 */
#pragma once

#include "base/bytes.h"
#include "lanes/driver/ethernet/netlink.h"

/* To ask of it. -EOPNOTSUPP with a text: the kernel has no nftables. */
int table_open(struct netlink **ret_filter, struct fairlead_error *ret_error);

/*
 * Is it still there? Somebody who flushes all rules of the node takes it away.
 * filter: of table_open. 1: a table of this version is there (its
 * elements are not looked at); 0: none, or somebody else's; -EPERM and the like
 * with a text.
 */
int table_is_there(struct netlink *filter, struct fairlead_error *ret_error);

/* A number that rises with each change of any rules of the node. */
int table_generation(struct netlink *filter, uint32_t *ret_generation,
		     struct fairlead_error *ret_error);

/*
 * Do what rules_write_add or rules_write_remove has written: all, or nothing on a
 * failure, which is the kernel's own, with a text. -ENOENT: there is no such table,
 * or element. Nothing written is nothing to do.
 */
int table_change(struct netlink *filter, const struct writer *requests,
		 struct fairlead_error *ret_error);
