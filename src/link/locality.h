/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Which processes share memory with this one. Both sides decide alike, from
 * their addresses: see doc/rfc/link.md.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

/*
 * A digest of what has to be equal: boot, host name, namespaces, /dev/shm, ids,
 * capabilities, and FI_FAIRLEAD_NODE.
 */
uint64_t locality_node(void);

/* LINK_READS and LINK_READABLE, as far as they hold for this process. */
unsigned int locality_flags(void);
/* Whether /dev/shm has space for the shared memory of an endpoint. */
bool locality_has_memory(void);
/* Whether a node's name, or address, is one of this node; NULL is. */
bool locality_is_here(const char *node);
