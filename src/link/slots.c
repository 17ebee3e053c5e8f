/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Addresses of peers that share memory, as the core knows them: one slot each,
 * 256 in all. A peer is removed only when it is dead and all that it sent was
 * received: the core reuses a slot's number, and a live peer would go on under
 * the number of another one.
 */
#include <stdlib.h>
#include <unistd.h>

#include "link/slots.h"
#include "link/av.h"
#include "link/endpoint.h"
#include "link/presence.h"
#include "link/unlisted.h"

#define DRAIN_MAX 64 /* reads of the core's queue, at once */

int slots_open(struct rail *rail)
{
	rail->slots = calloc(PRESENCE_SLOTS, sizeof(*rail->slots));
	if (rail->slots == NULL)
		return -FI_ENOMEM;
	for (unsigned int i = 0; i < PRESENCE_SLOTS; i++)
		rail->slots[i].core = FI_ADDR_NOTAVAIL;
	return 0;
}

static int core_insert(struct rail *rail, struct slot *slot, uint64_t number)
{
	char name[PRESENCE_NAME_MAX];

	presence_name(number, name);
	if (slot->core == FI_ADDR_NOTAVAIL &&
	    fi_av_insert(rail->av, name, 1, &slot->core, 0, NULL) != 1) {
		slot->core = FI_ADDR_NOTAVAIL;
		return -FI_ENOSPC;
	}
	return 0;
}

static void core_forget(struct rail *rail, struct slot *slot)
{
	if (slot->core < rail->source_count)
		rail->sources[slot->core] = FI_ADDR_NOTAVAIL;
	fi_av_remove(rail->av, &slot->core, 1, 0);
	slot->core = FI_ADDR_NOTAVAIL;
}

int slot_take(struct rail *rail, uint64_t number, fi_addr_t *ret_core,
	      struct presence_process *ret_process)
{
	int at = presence_join(rail->ep->presence, number, ret_process);
	struct slot *slot;

	if (at < 0)
		return at;
	slot = &rail->slots[at];
	/* Its name may be that of one which is gone. */
	if (slot->core != FI_ADDR_NOTAVAIL &&
	    (slot->process.number != ret_process->number ||
	     slot->process.started != ret_process->started)) {
		unlisted_gone(rail, number); /* what waits for it, too */
		core_forget(rail, slot);
	}
	slot->process = *ret_process;
	if (core_insert(rail, slot, number) != 0)
		return -FI_ENOSPC;
	*ret_core = slot->core;
	return 0;
}

void slot_leave(struct rail *rail, fi_addr_t core)
{
	rail->slots_are_due = true;
	for (unsigned int i = 0; i < PRESENCE_SLOTS && !CORE_KEEPS_OWN; i++)
		if (rail->slots[i].core == core &&
		    rail->slots[i].process.number == getpid())
			core_forget(rail, &rail->slots[i]);
}

/* The core may know it though we do not: from the peer. */
static void slot_free(struct rail *rail, unsigned int at, uint64_t number,
		      bool is_own)
{
	struct slot *slot = &rail->slots[at];

	unlisted_gone(rail, number);
	if (is_own && !CORE_KEEPS_OWN) {
		if (slot->core != FI_ADDR_NOTAVAIL)
			return;
	} else {
		if (core_insert(rail, slot, number) != 0)
			return;
		core_forget(rail, slot);
	}
	presence_give_back(rail->ep->presence, at);
}

void slots_look(struct rail *rail)
{
	struct link_ep *ep = rail->ep;
	uint64_t gone[PRESENCE_SLOTS];
	pid_t processes[PRESENCE_SLOTS];
	bool are_any = false;

	if (!presence_has_news(ep->presence) && !rail->slots_are_due)
		return;
	rail->slots_are_due = false;
	for (unsigned int i = 0; i < PRESENCE_SLOTS; i++) {
		gone[i] = presence_gone(ep->presence, i, &processes[i]);
		if (gone[i] != 0 &&
		    av_find(ep->av, gone[i]) != FI_ADDR_NOTAVAIL)
			gone[i] = 0; /* until it is removed */
		are_any |= gone[i] != 0;
	}
	if (!are_any)
		return;
	for (unsigned int i = 0; !rail_drain(rail); i++)
		if (i == DRAIN_MAX) {
			rail->slots_are_due = true;
			return;
		}
	for (unsigned int i = 0; i < PRESENCE_SLOTS; i++)
		if (gone[i] != 0)
			slot_free(rail, i, gone[i], processes[i] == getpid());
}
