/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Who is who among the members of a collective (doc/rfc/fan-out.md): a node's
 * NID follows from its name, so that everybody who knows the name knows it.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "base/hostlist.h"

/* The type of network in the upper 16 bits of each NID: "FL". */
#define NID_NET 0x464c

/* The manager's: a name has it once in 2^48. */
#define NID_MANAGER ((uint64_t)NID_NET << 48)

/* A scoll_nid_t. */
uint64_t nid_of_node(const char *name);

/*
 * The lowest index of a name that has the NID of a name at a lower index, which
 * is *ret_other. -ENOENT when all NIDs differ; -ENOMEM.
 */
int nid_duplicate(const struct hostlist *list, size_t *ret_other);
