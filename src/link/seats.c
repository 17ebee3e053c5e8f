/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Where shared memory of peers is, as the core knows it: as long as a peer has a
 * seat. The core takes 256, and asks nobody: a peer that it was told to forget
 * would go on under the number that another one has then. So only who is gone is
 * forgotten, when all that it has sent was taken in.
 */
#include <stdlib.h>
#include <unistd.h>

#include "link/av.h"
#include "link/endpoint.h"
#include "link/presence.h"
#include "link/slots.h"
#include "link/strangers.h"

#define DRAIN_MAX 64 /* reads of the core's queue, at once */

int seats_open(struct rail *rail)
{
	rail->seats = calloc(PRESENCE_SEATS, sizeof(*rail->seats));
	if (rail->seats == NULL)
		return -FI_ENOMEM;
	for (unsigned int i = 0; i < PRESENCE_SEATS; i++)
		rail->seats[i].core = FI_ADDR_NOTAVAIL;
	return 0;
}

static int core_tell(struct rail *rail, struct seat *seat, uint64_t number)
{
	char name[PRESENCE_NAME_MAX];

	presence_name(number, name);
	if (seat->core == FI_ADDR_NOTAVAIL &&
	    fi_av_insert(rail->av, name, 1, &seat->core, 0, NULL) != 1) {
		seat->core = FI_ADDR_NOTAVAIL;
		return -FI_ENOSPC;
	}
	return 0;
}

static void core_forget(struct rail *rail, struct seat *seat)
{
	if (seat->core < rail->source_count)
		rail->sources[seat->core] = FI_ADDR_NOTAVAIL;
	fi_av_remove(rail->av, &seat->core, 1, 0);
	seat->core = FI_ADDR_NOTAVAIL;
}

int seat_take(struct rail *rail, uint64_t number, fi_addr_t *ret_core,
	      struct presence_process *ret_process)
{
	int at = presence_join(rail->ep->presence, number, ret_process);
	struct seat *seat;

	if (at < 0)
		return at;
	seat = &rail->seats[at];
	/* Its name may be that of one which is gone. */
	if (seat->core != FI_ADDR_NOTAVAIL &&
	    (seat->process.number != ret_process->number ||
	     seat->process.started != ret_process->started)) {
		ep_stranger_gone(rail, number); /* what waits for it, too */
		core_forget(rail, seat);
	}
	seat->process = *ret_process;
	if (core_tell(rail, seat, number) != 0)
		return -FI_ENOSPC;
	*ret_core = seat->core;
	return 0;
}

void seat_leave(struct rail *rail, fi_addr_t core)
{
	rail->seats_are_due = true;
	for (unsigned int i = 0; i < PRESENCE_SEATS && !CORE_KEEPS_OWN; i++)
		if (rail->seats[i].core == core &&
		    rail->seats[i].process.number == getpid())
			core_forget(rail, &rail->seats[i]);
}

/* The core may know it though we do not: it was told by the peer. */
static void seat_free(struct rail *rail, unsigned int at, uint64_t number,
		      bool is_own)
{
	struct seat *seat = &rail->seats[at];

	ep_stranger_gone(rail, number);
	if (is_own && !CORE_KEEPS_OWN) {
		if (seat->core != FI_ADDR_NOTAVAIL)
			return;
	} else {
		if (core_tell(rail, seat, number) != 0)
			return;
		core_forget(rail, seat);
	}
	presence_give_back(rail->ep->presence, at);
}

void seats_look(struct rail *rail)
{
	struct link_ep *ep = rail->ep;
	uint64_t gone[PRESENCE_SEATS];
	pid_t processes[PRESENCE_SEATS];
	bool are_any = false;

	if (!presence_has_news(ep->presence) && !rail->seats_are_due)
		return;
	rail->seats_are_due = false;
	for (unsigned int i = 0; i < PRESENCE_SEATS; i++) {
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
			rail->seats_are_due = true;
			return;
		}
	for (unsigned int i = 0; i < PRESENCE_SEATS; i++)
		if (gone[i] != 0)
			seat_free(rail, i, gone[i], processes[i] == getpid());
}
