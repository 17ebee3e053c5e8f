/* SPDX-License-Identifier: BSD-3-Clause */
/* Messages and an authenticator for the tests of the wire format. */
#pragma once

#include "scoll/wire/wire.h"

#define SAMPLE_PARENT    UINT64_C(0x000200000a000001)
#define SAMPLE_CHILD     UINT64_C(0x000200000a000002)
#define SAMPLE_ROOT      UINT64_C(0x000200000a000003)
#define SAMPLE_CREATOR   UINT64_C(0x000200000a000004)
#define SAMPLE_TAG       UINT64_C(0x0123456789abc000)

#define SAMPLE_SIGNATURE 64

/* An authenticator of one key for all, at one node. */
struct sample_node {
	struct scoll_authenticator auth;
	scoll_nid_t nid;
	size_t verify_count, check_count;
};

/* Seals of seal_size bytes, 16 to 64. node->auth is ready. */
void sample_node_init(struct sample_node *node, scoll_nid_t nid,
		      size_t seal_size);

/* Broadcasts have signatures of SAMPLE_SIGNATURE bytes. */
void sample_node_sign(struct sample_node *node);

/* The smallest broadcast, and one that has everything. */
struct wire_bcast sample_plain(void);
struct wire_bcast sample_full(void);
/* One that makes a group and says where its members are. */
struct wire_bcast sample_addresses(void);
/* The same, as the root's child passes it on; not signed yet. */
struct wire_bcast sample_signed(void);
struct wire_child sample_child(void);

/*
 * Head for SAMPLE_CHILD and body; computes the digest of the body. Returns
 * bytes.
 */
size_t sample_bcast_encode(struct wire_bcast *bcast,
			   const struct scoll_authenticator *auth,
			   uint8_t ret_bytes[SCOLL_BCAST_MAX]);
