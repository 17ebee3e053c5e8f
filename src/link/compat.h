/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What differs between versions of libfabric, all in one place. The provider is
 * built for the version whose headers it sees, and serves no other.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <rdma/fabric.h>
#include <rdma/fi_atomic.h>
#include <rdma/fi_cm.h>
#include <rdma/fi_domain.h>
#include <rdma/fi_endpoint.h>
#include <rdma/fi_eq.h>
#include <rdma/fi_errno.h>
#include <rdma/fi_rma.h>
#include <rdma/fi_tagged.h>
#include <rdma/providers/fi_log.h>
#include <rdma/providers/fi_prov.h>

#define BUILD_VERSION FI_VERSION(FI_MAJOR_VERSION, FI_MINOR_VERSION)
#define BUILD_IS_AT_LEAST(major, minor) \
	FI_VERSION_GE(BUILD_VERSION, FI_VERSION(major, minor))

#if BUILD_IS_AT_LEAST(1, 18)
#include <rdma/providers/fi_peer.h>
#else
#include <rdma/fi_ext.h>
#endif

/*
 * Modes of memory as one name each, for readers who do not know the single
 * bits.
 */
#define MR_BASIC    (1 << 0)
#define MR_SCALABLE (1 << 1)

/*
 * Since 2.0 a core that may be asked to share a receive context says so among
 * its capabilities, if asked for. Before, shm did it unasked.
 */
#if BUILD_IS_AT_LEAST(2, 0)
#define CORE_CAPS_SHARED FI_PEER
#else
#define CORE_CAPS_SHARED UINT64_C(0)
#endif

/*
 * What shm does with a message that does not fit: until 1.x it stays the first
 * in shm's queue, and shm asks again. Since 2.0 it is lost, unless the peer
 * provider takes it over as unexpected.
 */
#define CORE_ASKS_AGAIN (!BUILD_IS_AT_LEAST(2, 0))

/*
 * Until 1.x shm never forgets the memory of an endpoint of the same process.
 * Since 2.0 it looks into it when it is to forget the peer: it has to be there.
 */
#define CORE_KEEPS_OWN (!BUILD_IS_AT_LEAST(2, 0))

/*
 * Defines get_tag() and get_msg(), which a core calls, by functions that take
 * (srx, address, tag, ret_entry) and (srx, address, size, ret_entry).
 */
#if BUILD_IS_AT_LEAST(2, 0)
#define PEER_DEFINE_GET(function, field, by)                     \
	static int function(struct fid_peer_srx *srx,            \
			    struct fi_peer_match_attr *of,       \
			    struct fi_peer_rx_entry **ret_entry) \
	{                                                        \
		return by(srx, of->addr, of->field, ret_entry);  \
	}
#else
#define PEER_DEFINE_GET(function, field, by)                             \
	static int function(struct fid_peer_srx *srx, fi_addr_t address, \
			    uint64_t field,                              \
			    struct fi_peer_rx_entry **ret_entry)         \
	{                                                                \
		return by(srx, address, field, ret_entry);               \
	}
#endif

/* Senders may become known to a core while we keep messages of theirs. */
#if BUILD_IS_AT_LEAST(1, 19)
#define PEER_RENAMES(function) .foreach_unspec_addr = function,
#else
#define PEER_RENAMES(function)
#endif

/*
 * The size of an entry of a failure: programs that know an older libfabric than
 * this have memory for no more.
 */
#if BUILD_IS_AT_LEAST(1, 20)
#define FAILURE_SIZE offsetof(struct fi_cq_err_entry, src_addr)
#else
#define FAILURE_SIZE sizeof(struct fi_cq_err_entry)
#endif

/*
 * The provider for TCP that has endpoints of the type FI_EP_RDM by itself was
 * called net until 1.17, and is tcp since. Both names are understood.
 */
static inline const char *compat_core_name(const char *name)
{
#if BUILD_IS_AT_LEAST(1, 18)
	return strcmp(name, "net") == 0 ? "tcp" : name;
#else
	return strcmp(name, "tcp") == 0 ? "net" : name;
#endif
}

/*
 * Flags of fi_getinfo that no public header has, but each version from 1.17 to
 * 2.7 knows: only core providers are wanted; providers that FI_PROVIDER hides
 * are wanted too.
 */
#define GETINFO_CORE_ONLY (UINT64_C(1) << 59)
#define GETINFO_HIDDEN    (UINT64_C(1) << 60)
