/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Where members are: a number for each start of one, 8 bytes as an address.
 * Networks need none of this unless a test wants to see who learns what.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "scoll/transport/sim/internal.h"

/* 0: not known. */
static uint64_t address_of(const struct transport_sim_port *port,
			   scoll_nid_t nid)
{
	const struct transport_sim_port *other;
	struct transport_sim_place *place;

	if (port->knows_all) {
		other = transport_sim_port_find(port->sim, nid);
		return other != NULL ? other->address : 0;
	}
	HASH_FIND(hh, port->places, &nid, sizeof(nid), place);
	return place != NULL ? place->address : 0;
}

struct transport_sim_port *transport_sim_peer(
	const struct transport_sim_port *port, scoll_nid_t nid)
{
	struct transport_sim *sim = port->sim;
	struct transport_sim_port *other;
	uint64_t address;

	if (!sim->options.needs_addresses)
		return transport_sim_port_find(sim, nid);
	address = address_of(port, nid);
	if (address == 0 || address > sim->address_count)
		return NULL;
	other = sim->by_address[address - 1];
	return other->address == address ? other : NULL;
}

void transport_sim_know_all(struct transport_sim_port *port)
{
	port->knows_all = true;
}

uint32_t transport_sim_known_count(const struct transport_sim_port *port)
{
	return HASH_COUNT(port->places);
}

static void place_free(struct transport_sim_port *port,
		       struct transport_sim_place *place)
{
	HASH_DEL(port->places, place);
	free(place);
}

void transport_sim_places_free(struct transport_sim_port *port)
{
	while (port->places != NULL)
		place_free(port, port->places);
}

int transport_sim_address_get(void *ctx, scoll_nid_t nid, void *ret_bytes,
			      size_t *size)
{
	const struct transport_sim_port *port = ctx;
	uint64_t address =
		nid == SCOLL_NID_ANY ? port->address : address_of(port, nid);

	if (address == 0)
		return -ENOENT;
	if (*size < sizeof(address))
		return -ENOSPC;
	memcpy(ret_bytes, &address, sizeof(address));
	*size = sizeof(address);
	return 0;
}

int transport_sim_address_learn(void *ctx, scoll_nid_t nid, const void *bytes,
				size_t size)
{
	struct transport_sim_port *port = ctx;
	struct transport_sim_place *place;
	uint64_t address = 0;

	if (size > sizeof(address))
		return -EINVAL;
	if (port->knows_all)
		return 0;
	HASH_FIND(hh, port->places, &nid, sizeof(nid), place);
	if (size == 0 && place == NULL)
		return -ENOENT;
	if (size == 0) {
		place_free(port, place);
		return 0;
	}
	memcpy(&address, bytes, size);
	if (place == NULL) {
		place = calloc(1, sizeof(*place));
		if (place == NULL)
			abort();
		place->nid = nid;
		HASH_ADD(hh, port->places, nid, sizeof(place->nid), place);
		if (!hash_was_added(place))
			abort();
	}
	place->address = address;
	return 0;
}
