/* SPDX-License-Identifier: BSD-3-Clause */
/* Our table in the kernel: what it is, and how it is changed. */
#pragma once

#include "base/bytes.h"
#include "lanes/driver/ethernet/netlink.h"
#include "lanes/driver/ethernet/rules.h"

/* To ask of it. -EOPNOTSUPP with a text: the kernel has no nftables. */
int table_open(struct netlink **ret_filter, struct fairlead_error *ret_error);

enum table_state {
	TABLE_NONE,
	TABLE_OURS,    /* written by us, in this version */
	TABLE_FOREIGN, /* somebody else's, or another version's */
};

/*
 * What `inet fairlead` is now, an enum table_state, and, unless ret_counters is
 * NULL, what it has refused (nothing, where it is not ours). Somebody who
 * flushes all rules of the node takes it away. -EPERM and the like with a text.
 */
int table_read(struct netlink *filter, struct rules_counters *ret_counters,
	       struct fairlead_error *ret_error);
/*
 * A number for all that the table says but counts: another one is that of a
 * table that was changed. -ENOENT: it has not all of our sets.
 */
int table_digest(struct netlink *filter, uint64_t *ret_digest,
		 struct fairlead_error *ret_error);
/* A number that rises with each change of any rules of the node. */
int table_generation(struct netlink *filter, uint32_t *ret_generation,
		     struct fairlead_error *ret_error);

/*
 * Do what rules.h has written: all, or nothing on a failure, which is the
 * kernel's own, with a text. -ENOENT: there is no such table, or element.
 * Nothing written is nothing to do. The batch is freed.
 */
int table_change(struct netlink *filter, struct writer *batch,
		 struct fairlead_error *ret_error);
