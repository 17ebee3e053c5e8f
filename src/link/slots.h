/* SPDX-License-Identifier: BSD-3-Clause */
/* Peers that share memory. The rail is locked. */
#pragma once

#include "link/presence.h"
#include "link/rail.h"

/* A peer that a core of shared memory knows; see slots.c. */
struct slot {
	fi_addr_t core; /* or FI_ADDR_NOTAVAIL */
	struct presence_process process;
};

int slots_open(struct rail *rail);
/*
 * Has the core know an endpoint. Returns 0 and its address there, and whose it
 * is; -ENOENT: it is gone, or not there yet; -ENOSPC: all slots are taken.
 */
int slot_take(struct rail *rail, uint64_t number, fi_addr_t *ret_core,
	      struct presence_process *ret_process);
/* It is not in the vector any more, under any address. */
void slot_leave(struct rail *rail, fi_addr_t core);
/* Forgets peers that are gone and not in the vector, now and then. */
void slots_look(struct rail *rail);
