/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What is on its way (frames, dials, closes) is a flight, one event of the
 * queue each. Within a connection flights keep their order, but for those that
 * a fault takes out of it.
 *
 * What happens to a machine that is cut off is decided when a flight arrives,
 * not when it starts.
 */
#include "sim/network_internal.h"

#include <assert.h>
#include <stdlib.h>
#include <utlist.h>

static void on_flight(void *ctx);

static struct flight *flight_start(struct sim_network *network,
				   enum flight_kind kind, uint64_t delay_ms,
				   size_t size)
{
	struct flight *flight = network_allocate(sizeof(*flight) + size);

	flight->network = network;
	flight->kind = kind;
	flight->size = size;
	flight->handle =
		sim_queue_add(network->queue, delay_ms, on_flight, flight);
	DL_APPEND(network->flights, flight);
	return flight;
}

void flight_destroy(struct flight *flight)
{
	DL_DELETE(flight->network->flights, flight);
	free(flight->address);
	free(flight);
}

static uint64_t now_ms(const struct sim_network *network)
{
	return sim_queue_now_ms(network->queue);
}

uint64_t flight_delay_ms(struct sim_network *network)
{
	const struct sim_network_faults *faults = &network->faults;

	assert(faults->delay_max_ms >= faults->delay_min_ms);
	return faults->delay_min_ms +
	       sim_rng_below(&network->rng,
			     faults->delay_max_ms - faults->delay_min_ms + 1);
}

/* A delay after which what goes to this end is not before its predecessors. */
uint64_t flight_ordered_delay_ms(struct sim_network *network,
				 struct sim_end *to)
{
	uint64_t at_ms = now_ms(network) + flight_delay_ms(network);

	if (at_ms < to->floor_ms)
		at_ms = to->floor_ms;
	to->floor_ms = at_ms;
	return at_ms - now_ms(network);
}

struct flight *flight_to(struct sim_network *network, enum flight_kind kind,
			 const struct sim_connection *connection,
			 unsigned int side, uint64_t delay_ms, size_t size)
{
	struct flight *flight = flight_start(network, kind, delay_ms, size);

	flight->number = connection->number;
	flight->side = side;
	return flight;
}

struct flight *flight_between(struct sim_network *network, struct machine *from,
			      struct machine *to, uint64_t delay_ms,
			      size_t size)
{
	struct flight *flight =
		flight_start(network, FLIGHT_LATE, delay_ms, size);

	flight->from = from;
	flight->to = to;
	return flight;
}

/* --- the end of connections --- */

/* This side is notified; it may have closed itself. */
static void tell_closed(struct sim_network *network,
			struct sim_connection *connection, unsigned int side)
{
	struct sim_end *end = &connection->ends[side];
	struct sim_host *host = end->host;
	uint64_t peer = peer_of(connection, side);

	if (host == NULL || end->state == END_CLOSED)
		return;
	end->state = END_CLOSED;
	connection_end(network, connection);
	host->events->closed(host->ctx, peer);
}

void flight_closed(struct sim_network *network,
		   struct sim_connection *connection, unsigned int side)
{
	struct sim_end *end = &connection->ends[side];

	if (end->host != NULL && end->state != END_CLOSED)
		flight_to(network, FLIGHT_CLOSED, connection, side,
			  flight_ordered_delay_ms(network, end), 0);
}

/* --- arrivals --- */

static bool is_cut(struct sim_network *network, const struct machine *from,
		   const struct machine *to)
{
	bool is_cut = from->is_cut_out || to->is_cut_in;

	network->stats.cut += is_cut;
	return is_cut;
}

static void give_frame(struct sim_network *network,
		       struct sim_connection *connection, unsigned int side,
		       const struct flight *flight)
{
	struct sim_end *end = &connection->ends[side];

	network->stats.received++;
	end->host->events->received(end->host->ctx, peer_of(connection, side),
				    flight->frame, flight->size);
}

static void arrive_frame(struct sim_network *network,
			 const struct flight *flight)
{
	struct sim_connection *connection =
		connection_find(network, flight->number);
	struct sim_end *to;

	if (connection == NULL)
		return;
	to = &connection->ends[flight->side];
	if (is_cut(network, connection->ends[!flight->side].machine,
		   to->machine))
		return;
	if (to->host != NULL && to->state == END_OPEN) {
		give_frame(network, connection, flight->side, flight);
	} else if (to->host == NULL || to->state == END_CLOSED) {
		network->stats.reset++;
		flight_closed(network, connection, !flight->side);
	}
}

static void arrive_late(struct sim_network *network,
			const struct flight *flight)
{
	struct sim_connection *connection, *next;
	struct sim_connection *youngest = NULL;
	unsigned int side = 0;

	HASH_ITER (hh, network->connections, connection, next) {
		for (unsigned int i = 0; i < 2; i++) {
			const struct sim_end *to = &connection->ends[i];

			if (to->machine == flight->to && to->host != NULL &&
			    to->state == END_OPEN &&
			    connection->ends[!i].machine == flight->from) {
				youngest = connection;
				side = i;
			}
		}
	}
	if (youngest == NULL || is_cut(network, flight->from, flight->to))
		return;
	network->stats.injected++;
	give_frame(network, youngest, side, flight);
}

static void arrive_syn(struct sim_network *network, const struct flight *flight)
{
	struct sim_connection *connection =
		connection_find(network, flight->number);
	struct sim_listener *listener;
	struct sim_end *dialer, *end;

	if (connection == NULL)
		return;
	dialer = &connection->ends[0];
	end = &connection->ends[1];
	if (dialer->state != END_DIALING)
		return;
	HASH_FIND_STR(network->listeners, flight->address, listener);
	if (listener == NULL || listener->host == NULL) {
		network->stats.refused++;
		flight_to(network, FLIGHT_CLOSED, connection, 0,
			  flight_ordered_delay_ms(network, dialer), 0);
		return;
	}
	if (is_cut(network, dialer->machine, listener->host->machine) ||
	    is_cut(network, listener->host->machine, dialer->machine)) {
		network->stats.timeouts++;
		end->machine = listener->host->machine;
		flight_to(network, FLIGHT_OWN, connection, 0,
			  SIM_DIAL_TIMEOUT_MS, 0);
		return;
	}
	end->host = listener->host;
	end->machine = end->host->machine;
	end->state = END_OPEN;
	flight_to(network, FLIGHT_OPENED, connection, 0,
		  flight_ordered_delay_ms(network, dialer), 0);
	end->host->events->opened(end->host->ctx, peer_of(connection, 1),
				  dialer->machine->name, connection->uid);
}

static void arrive_opened(struct sim_network *network,
			  const struct flight *flight)
{
	struct sim_connection *connection =
		connection_find(network, flight->number);
	struct sim_end *end;

	if (connection == NULL)
		return;
	end = &connection->ends[0];
	if (end->host == NULL || end->state != END_DIALING)
		return;
	end->state = END_OPEN;
	end->host->events->opened(end->host->ctx, peer_of(connection, 0),
				  connection->ends[1].machine->name, 0);
}

static void arrive_closed(struct sim_network *network,
			  const struct flight *flight)
{
	struct sim_connection *connection =
		connection_find(network, flight->number);
	const struct machine *from;

	if (connection == NULL)
		return;
	from = connection->ends[!flight->side].machine;
	if (flight->kind == FLIGHT_CLOSED && from != NULL &&
	    is_cut(network, from, connection->ends[flight->side].machine))
		return;
	tell_closed(network, connection, flight->side);
}

static void on_flight(void *ctx)
{
	struct flight *flight = ctx;
	struct sim_network *network = flight->network;

	switch (flight->kind) {
	case FLIGHT_SYN:
		arrive_syn(network, flight);
		break;
	case FLIGHT_OPENED:
		arrive_opened(network, flight);
		break;
	case FLIGHT_FRAME:
		arrive_frame(network, flight);
		break;
	case FLIGHT_LATE:
		arrive_late(network, flight);
		break;
	case FLIGHT_CLOSED:
	case FLIGHT_OWN:
		arrive_closed(network, flight);
		break;
	}
	flight_destroy(flight);
}
