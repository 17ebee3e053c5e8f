/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * From a packet to the registry and back, without any socket: what the daemon
 * does with a request, and what the fuzzer feeds.
 */
#pragma once

#include "elan/core/registry.h"
#include "elan/wire/wire.h"

/*
 * Do what the packet asks, for who sent it, and write the reply. -EPROTO,
 * -EPROTONOSUPPORT: the packet is no request; the reply says so, and the
 * connection is to be closed after it. What fails in the writer stays there.
 * adapter: where this node's is reached. WIRE_OPEN attaches; the descriptors are
 * the caller's part.
 */
int dispatch(struct registry *registry, const struct caller *caller,
	     const struct route *adapter, const void *packet, size_t size,
	     struct writer *writer);
