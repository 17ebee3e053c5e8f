/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * An ordered list of nodes, and each one's index in it. A node is a 64-bit
 * NID. Lists are the same when they have the same NIDs in the same order; the
 * digest says so.
 *
 *	roster_create -> roster_add* -> roster_destroy
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "base/cleanup.h"

#define ROSTER_NODE_MAX    1048576
#define ROSTER_DIGEST_SIZE 16
#define ROSTER_NONE        UINT32_MAX

struct roster;

/* The NIDs are copied. -EEXIST: one is there twice; as roster_add. */
int roster_create(const uint64_t *nids, size_t count,
		  struct roster **ret_roster);
void roster_destroy(struct roster *roster);
DEFINE_AUTO(struct roster, roster_destroy)

/* At the end. -EEXIST; -ENOSPC over ROSTER_NODE_MAX; -ENOMEM. */
int roster_add(struct roster *roster, uint64_t nid, uint32_t *ret_index);

size_t roster_count(const struct roster *roster);
/* index < count. */
uint64_t roster_nid(const struct roster *roster, uint32_t index);
/* ROSTER_NONE when it is not there. */
uint32_t roster_index(const struct roster *roster, uint64_t nid);
/* Of the NIDs in order: BLAKE2b. */
void roster_digest(const struct roster *roster,
		   uint8_t ret_digest[ROSTER_DIGEST_SIZE]);
