/* SPDX-License-Identifier: BSD-3-Clause */
/* Reads, writes and atomic operations of the program. */
#pragma once

#include "link/loss.h"

extern struct fi_ops_rma link_rma_ops;
struct link_access;
/* The core is done with a read or write. The rail is locked. */
void access_ended(struct link_access *access, int error);
/* Goes on with those of which the keys had changed. The rail is locked. */
void accesses_again(struct rail *rail);
/* As send_each_old(); ends those for the program that the core does not end. */
void accesses_each_old(struct rail *rail, loss_report *report, void *arg);
void accesses_leave_of(struct rail *rail, uint64_t number, int error);
void accesses_give_back(struct rail *rail);
void accesses_drop(struct rail *rail);
/*
 * The end of what was done to a peer's memory, by whatever way. Flags: FI_RMA
 * or FI_ATOMIC, FI_READ or FI_WRITE, FI_COMPLETION. Error: 0, or positive.
 */
void access_completed(struct link_ep *ep, void *context, uint64_t flags,
		      int error);
/*
 * Tells a peer that counts it what was done to its memory. -FI_ENOMEM: not now.
 * The rail is locked.
 */
int access_notify(struct rail *rail, fi_addr_t to, uint64_t key,
		  uint64_t flags);

extern struct fi_ops_atomic link_atomic_ops;
int link_query_atomic(struct fid_domain *domain, enum fi_datatype type,
		      enum fi_op op, struct fi_atomic_attr *attr,
		      uint64_t flags);
