/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The transport seam over libfabric (1.17 or later): one FI_EP_RDM endpoint
 * with FI_MSG, FI_TAGGED and FI_RMA, its own domain, completion queue and
 * address vector. It is for fabrics with RMA (cxi, verbs;ofi_rxm, efa) and
 * tested over tcp;ofi_rxm; doc/rfc/collectives.md says what that lacks.
 *
 * It is also the address book: NIDs mean nothing to libfabric. A peer may be
 * set, changed and forgotten at any time; where the owner says nothing, it is
 * where a message said (address_learn of the seam). Transfers under way to an address
 * that is no more end with an error; what waited for a connection goes to the
 * new one.
 *
 * A peer that cannot be reached: what the provider does not take within
 * TRANSPORT_OFI_CONNECT_NS ends with -EHOSTUNREACH. What it took and does not
 * finish within TRANSPORT_OFI_SEND_NS ends with -ETIMEDOUT, where the provider
 * lets a connection be closed.
 *
 * libfabric's own habits are not ours to change, but for one: its first call
 * reads the environment (FI_*), into which FI_OFI_RXM_CM_PROGRESS_INTERVAL is
 * put before it unless it is there.
 */
#pragma once

#include "scoll/transport/transport.h"

#define TRANSPORT_OFI_CONNECT_NS  UINT64_C(5000000000)
#define TRANSPORT_OFI_SEND_NS     UINT64_C(30000000000)
#define TRANSPORT_OFI_OPS_MAX     65536 /* transfers under way */
#define TRANSPORT_OFI_READS_MAX   1024  /* of them, reads */
#define TRANSPORT_OFI_PENDING_MAX 1024  /* of them, of one peer, not sent yet */
#define TRANSPORT_OFI_PEERS_MAX   SCOLL_NODES_MAX
#define TRANSPORT_OFI_REGIONS_MAX 65536

extern const struct transport_kind transport_ofi_kind;

enum transport_ofi_flag {
	/* As if the provider had no FI_MULTI_RECV. */
	TRANSPORT_OFI_PLAIN_RECEIVES = 1u << 0,
	/* As if it wanted all memory registered (FI_MR_LOCAL). */
	TRANSPORT_OFI_LOCAL_MEMORY = 1u << 1,
};
