/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A connection has two ends; a peer's handle is the connection's number times
 * two, plus the side. What a fault does to a frame is drawn when it is sent.
 */
#include "sim/network_internal.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <utlist.h>

void *network_allocate(size_t size)
{
	void *memory = calloc(1, size);

	if (memory == NULL)
		abort();
	return memory;
}

static void network_added(bool is_added)
{
	if (!is_added)
		abort();
}

static char *copy_text(const char *text)
{
	char *copy = strdup(text);

	if (copy == NULL)
		abort();
	return copy;
}

static struct machine *machine_get(struct sim_network *network,
				   const char *name)
{
	struct machine *machine;

	HASH_FIND_STR(network->machines, name, machine);
	if (machine != NULL)
		return machine;
	machine = network_allocate(sizeof(*machine));
	machine->name = copy_text(name);
	HASH_ADD_KEYPTR(hh, network->machines, machine->name,
			strlen(machine->name), machine);
	network_added(hash_was_added(machine));
	return machine;
}

uint64_t peer_of(const struct sim_connection *connection, unsigned int side)
{
	return connection->number * 2 + side;
}

struct sim_connection *connection_find(const struct sim_network *network,
				       uint64_t number)
{
	struct sim_connection *connection;

	HASH_FIND(hh, network->connections, &number, sizeof(number),
		  connection);
	return connection;
}

void connection_end(struct sim_network *network,
		    struct sim_connection *connection)
{
	for (int side = 0; side < 2; side++) {
		const struct sim_end *end = &connection->ends[side];

		if (end->host != NULL && end->state != END_CLOSED)
			return;
	}
	HASH_DEL(network->connections, connection);
	free(connection);
}

/* --- sending --- */

static bool happens(struct sim_network *network, uint32_t per_million,
		    uint64_t *count)
{
	bool result = sim_rng_chance(&network->rng, per_million);

	*count += result;
	return result;
}

static void send_between(struct sim_network *network, struct machine *from,
			 struct machine *to, uint64_t delay_ms,
			 const void *frame, size_t size)
{
	struct flight *flight =
		flight_between(network, from, to, delay_ms, size);

	memcpy(flight->frame, frame, size);
}

static void send_once(struct sim_network *network,
		      struct sim_connection *connection, unsigned int side,
		      const void *frame, size_t size)
{
	const struct sim_network_faults *faults = &network->faults;
	struct sim_end *to = &connection->ends[side];
	struct flight *flight;
	uint64_t delay_ms;

	if (happens(network, faults->late, &network->stats.late)) {
		send_between(
			network, connection->ends[!side].machine, to->machine,
			sim_rng_below(&network->rng, faults->late_max_ms + 1),
			frame, size);
		return;
	}
	if (happens(network, faults->reordered, &network->stats.reordered))
		delay_ms = flight_delay_ms(network) +
			   sim_rng_below(&network->rng,
					 faults->reorder_max_ms + 1);
	else
		delay_ms = flight_ordered_delay_ms(network, to);
	flight = flight_to(network, FLIGHT_FRAME, connection, side, delay_ms,
			   size);
	memcpy(flight->frame, frame, size);
}

static void break_connection(struct sim_network *network,
			     struct sim_connection *connection)
{
	for (unsigned int side = 0; side < 2; side++) {
		struct sim_end *end = &connection->ends[side];

		if (end->host == NULL || end->state == END_CLOSED)
			continue;
		end->state = END_CLOSING;
		flight_to(network, FLIGHT_OWN, connection, side,
			  flight_delay_ms(network), 0);
	}
}

static int host_send(void *ctx, uint64_t peer, const void *frame, size_t size)
{
	struct sim_host *host = ctx;
	struct sim_network *network = host->network;
	const struct sim_network_faults *faults = &network->faults;
	struct sim_network_stats *stats = &network->stats;
	struct sim_connection *connection = connection_find(network, peer / 2);
	unsigned int side = peer % 2;

	if (connection == NULL || connection->ends[side].host != host ||
	    connection->ends[side].state != END_OPEN)
		return -ENOTCONN;
	if (size == 0)
		return -EMSGSIZE;
	if (happens(network, faults->full, &stats->full))
		return -ENOBUFS;
	stats->sent++;
	if (network->tap != NULL)
		network->tap(network->tap_ctx, host->machine->name,
			     connection->ends[!side].machine->name, peer, frame,
			     size);
	if (happens(network, faults->broken, &stats->broken)) {
		break_connection(network, connection);
		return 0;
	}
	if (happens(network, faults->lost, &stats->lost))
		return 0;
	send_once(network, connection, !side, frame, size);
	if (happens(network, faults->doubled, &stats->doubled))
		send_once(network, connection, !side, frame, size);
	return 0;
}

static void host_close(void *ctx, uint64_t peer)
{
	struct sim_host *host = ctx;
	struct sim_network *network = host->network;
	struct sim_connection *connection = connection_find(network, peer / 2);
	unsigned int side = peer % 2;
	struct sim_end *end;

	if (connection == NULL)
		return;
	end = &connection->ends[side];
	if (end->host != host || end->state >= END_CLOSING)
		return;
	end->state = END_CLOSING;
	flight_to(network, FLIGHT_OWN, connection, side, 0, 0);
	flight_closed(network, connection, !side);
}

struct net_seam sim_host_seam(struct sim_host *host)
{
	static const struct net_ops ops = {
		.send = host_send,
		.close = host_close,
	};

	return (struct net_seam){ .ops = &ops, .ctx = host };
}

void sim_network_inject(struct sim_network *network, const char *from,
			const char *to, const void *frame, size_t size,
			uint64_t delay_ms)
{
	send_between(network, machine_get(network, from),
		     machine_get(network, to), delay_ms, frame, size);
}

/* --- hosts --- */

struct sim_host *sim_host_create(struct sim_network *network,
				 const char *machine,
				 const struct sim_network_events *events,
				 void *ctx)
{
	struct sim_host *host = network_allocate(sizeof(*host));

	host->network = network;
	host->machine = machine_get(network, machine);
	host->events = events;
	host->ctx = ctx;
	DL_APPEND(network->hosts, host);
	return host;
}

static void leave_connection(struct sim_network *network,
			     struct sim_connection *connection,
			     const struct sim_host *host, bool is_silent)
{
	for (unsigned int side = 0; side < 2; side++) {
		if (connection->ends[side].host != host)
			continue;
		connection->ends[side].host = NULL;
		if (!is_silent)
			flight_closed(network, connection, !side);
	}
	connection_end(network, connection);
}

void sim_host_destroy(struct sim_host *host, bool is_silent)
{
	struct sim_connection *connection, *next_connection;
	struct sim_listener *listener, *next_listener;
	struct sim_network *network;

	if (host == NULL)
		return;
	network = host->network;
	HASH_ITER (hh, network->listeners, listener, next_listener) {
		if (listener->host == host)
			listener->host = NULL;
	}
	HASH_ITER (hh, network->connections, connection, next_connection)
		leave_connection(network, connection, host, is_silent);
	DL_DELETE(network->hosts, host);
	free(host);
}

void sim_host_listen(struct sim_host *host, const char *address)
{
	struct sim_network *network = host->network;
	struct sim_listener *listener;

	HASH_FIND_STR(network->listeners, address, listener);
	if (listener == NULL) {
		listener = network_allocate(sizeof(*listener));
		listener->address = copy_text(address);
		HASH_ADD_KEYPTR(hh, network->listeners, listener->address,
				strlen(listener->address), listener);
		network_added(hash_was_added(listener));
	}
	listener->host = host;
}

uint64_t sim_host_dial(struct sim_host *host, const char *address, uid_t uid)
{
	struct sim_network *network = host->network;
	struct sim_connection *connection =
		network_allocate(sizeof(*connection));
	struct flight *flight;

	connection->number = ++network->number_last;
	connection->uid = uid;
	connection->ends[0].host = host;
	connection->ends[0].machine = host->machine;
	connection->ends[1].state = END_CLOSED;
	HASH_ADD(hh, network->connections, number, sizeof(connection->number),
		 connection);
	network_added(hash_was_added(connection));
	flight = flight_to(network, FLIGHT_SYN, connection, 1,
			   flight_delay_ms(network), 0);
	flight->address = copy_text(address);
	return peer_of(connection, 0);
}

/* --- the network --- */

struct sim_network *sim_network_create(struct sim_queue *queue,
				       const struct sim_rng *rng)
{
	struct sim_network *network = network_allocate(sizeof(*network));

	network->queue = queue;
	network->rng = *rng;
	return network;
}

void sim_network_destroy(struct sim_network *network)
{
	struct sim_connection *connection, *next_connection;
	struct sim_listener *listener, *next_listener;
	struct machine *machine, *next_machine;
	struct flight *flight, *next_flight;

	if (network == NULL)
		return;
	while (network->hosts != NULL)
		sim_host_destroy(network->hosts, true);
	HASH_ITER (hh, network->connections, connection, next_connection) {
		HASH_DEL(network->connections, connection);
		free(connection);
	}
	HASH_ITER (hh, network->listeners, listener, next_listener) {
		HASH_DEL(network->listeners, listener);
		free(listener->address);
		free(listener);
	}
	HASH_ITER (hh, network->machines, machine, next_machine) {
		HASH_DEL(network->machines, machine);
		free(machine->name);
		free(machine);
	}
	DL_FOREACH_SAFE (network->flights, flight, next_flight) {
		sim_queue_cancel(network->queue, flight->handle);
		flight_destroy(flight);
	}
	free(network);
}

void sim_network_set_faults(struct sim_network *network,
			    const struct sim_network_faults *faults)
{
	network->faults = *faults;
}

void sim_network_cut(struct sim_network *network, const char *machine,
		     bool is_cut_in, bool is_cut_out)
{
	struct machine *found = machine_get(network, machine);

	found->is_cut_in = is_cut_in;
	found->is_cut_out = is_cut_out;
}

void sim_network_set_tap(struct sim_network *network, sim_tap_fn *tap,
			 void *ctx)
{
	network->tap = tap;
	network->tap_ctx = ctx;
}

const struct sim_network_stats *sim_network_stats(
	const struct sim_network *network)
{
	return &network->stats;
}
