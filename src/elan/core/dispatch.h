/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * From a packet to the registry and back, without any socket: what the daemon
 * does with a request, and what the fuzzer feeds.
 */
#pragma once

#include "elan/core/registry.h"

/*
 * Do what the packet asks, for its sender, and write the reply. -EPROTO,
 * -EPROTONOSUPPORT: the packet is no request; the reply says so, and the
 * connection is to be closed after it. Errors of the writer stay in it.
 * RMS_OPEN attaches; the descriptors are the caller's part.
 */
int dispatch(struct registry *registry, const struct caller *caller,
	     const void *packet, size_t size, struct writer *writer);
