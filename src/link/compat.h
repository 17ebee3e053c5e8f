/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What differs between versions of libfabric, all in one place. The provider is
 * built for the version whose headers it sees, and serves no other.
 */
#pragma once

#include <stdio.h>

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

#if FI_MAJOR_VERSION > 1 || FI_MINOR_VERSION >= 18
#include <rdma/providers/fi_peer.h>
#else
#include <rdma/fi_ext.h>
#endif

/*
 * Flags of fi_getinfo that no public header has, but each version from 1.17 to
 * 2.7 knows: only core providers are wanted; providers that FI_PROVIDER hides
 * are wanted too.
 */
#define GETINFO_CORE_ONLY (UINT64_C(1) << 59)
#define GETINFO_HIDDEN    (UINT64_C(1) << 60)
