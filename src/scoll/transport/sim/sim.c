/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Ports, their lives and their sides. Ports are found by NID in an open hash
 * table, where they stay: what is on its way points to them.
 */
#include "scoll/transport/sim/sim.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "scoll/transport/sim/internal.h"

#define PORTS_FIRST 64
#define HASH_FACTOR UINT64_C(0x9e3779b97f4a7c15)

const char *transport_sim_fault_text(enum transport_sim_fault fault)
{
	static const char *const texts[] = {
		[TRANSPORT_SIM_LOST] = "lost with an error",
		[TRANSPORT_SIM_DENIED] = "delivered with an error",
		[TRANSPORT_SIM_LATE_END] = "late end",
		[TRANSPORT_SIM_HELD] = "overtaken",
		[TRANSPORT_SIM_FULL] = "full",
		[TRANSPORT_SIM_ALTERED] = "altered",
		[TRANSPORT_SIM_CUT_SHORT] = "cut short",
		[TRANSPORT_SIM_READ_LOST] = "read failed half way",
		[TRANSPORT_SIM_KEPT] = "late cancel",
		[TRANSPORT_SIM_REFUSED] = "unreachable with an error",
		[TRANSPORT_SIM_VANISHED] = "vanished",
		[TRANSPORT_SIM_KEPT_BACK] = "kept back by a partition",
		[TRANSPORT_SIM_NEXT_LIFE] = "arrived after a reboot",
	};

	return texts[fault];
}

struct transport_sim *transport_sim_create(
	const struct transport_sim_options *options)
{
	struct transport_sim *sim = calloc(1, sizeof(*sim));

	if (sim == NULL)
		abort();
	sim->options = *options;
	sim->timeline = options->timeline;
	sim_rng_init(&sim->rng, options->seed);
	return sim;
}

void transport_sim_destroy(struct transport_sim *sim)
{
	if (sim == NULL)
		return;
	for (size_t i = 0; i < sim->port_capacity; i++) {
		if (sim->ports[i] == NULL)
			continue;
		transport_sim_close(sim->ports[i]);
		free(sim->ports[i]);
	}
	free(sim->ports);
	free(sim->by_address);
	free(sim->posts);
	transport_sim_packets_free(sim);
	for (size_t i = 0; i < sim->chunk_count; i++)
		free(sim->chunks[i]);
	free(sim->chunks);
	free(sim);
}

void *transport_sim_chunk(struct transport_sim *sim, size_t size)
{
	void *chunk = calloc(1, size);

	sim->chunks = reallocarray(sim->chunks, sim->chunk_count + 1,
				   sizeof(sim->chunks[0]));
	if (chunk == NULL || sim->chunks == NULL)
		abort();
	sim->chunks[sim->chunk_count++] = chunk;
	return chunk;
}

/* Where the search for it begins. */
static size_t slot_of(const struct transport_sim *sim, scoll_nid_t nid)
{
	return nid * HASH_FACTOR >> 20 & (sim->port_capacity - 1);
}

static void put(struct transport_sim *sim, struct transport_sim_port *port)
{
	size_t slot = slot_of(sim, port->nid);

	while (sim->ports[slot] != NULL)
		slot = (slot + 1) & (sim->port_capacity - 1);
	sim->ports[slot] = port;
}

static void grow(struct transport_sim *sim)
{
	struct transport_sim_port **old = sim->ports;
	size_t old_capacity = sim->port_capacity;

	sim->port_capacity = old_capacity > 0 ? old_capacity * 2 : PORTS_FIRST;
	sim->ports = calloc(sim->port_capacity, sizeof(sim->ports[0]));
	if (sim->ports == NULL)
		abort();
	for (size_t i = 0; i < old_capacity; i++) {
		if (old[i] != NULL)
			put(sim, old[i]);
	}
	free(old);
}

static struct transport_sim_port *port_find(const struct transport_sim *sim,
					    scoll_nid_t nid, bool is_open)
{
	size_t slot;

	if (sim->port_capacity == 0)
		return NULL;
	slot = slot_of(sim, nid);
	while (sim->ports[slot] != NULL &&
	       (sim->ports[slot]->nid != nid ||
		sim->ports[slot]->is_open != is_open))
		slot = (slot + 1) & (sim->port_capacity - 1);
	return sim->ports[slot];
}

struct transport_sim_port *transport_sim_port_find(struct transport_sim *sim,
						   scoll_nid_t nid)
{
	struct transport_sim_port *port = port_find(sim, nid, true);

	return port != NULL ? port : port_find(sim, nid, false);
}

static struct transport_sim_port *port_add(struct transport_sim *sim,
					   scoll_nid_t nid)
{
	struct transport_sim_port *port = calloc(1, sizeof(*port));

	if (port == NULL)
		abort();
	if (sim->port_count * 2 >= sim->port_capacity)
		grow(sim);
	port->sim = sim;
	port->nid = nid;
	port->index = ++sim->port_count;
	port->slow = 1;
	put(sim, port);
	return port;
}

static void move(struct transport_sim_port *port)
{
	struct transport_sim *sim = port->sim;

	sim->by_address = reallocarray(sim->by_address, sim->address_count + 1,
				       sizeof(sim->by_address[0]));
	if (sim->by_address == NULL)
		abort();
	sim->by_address[sim->address_count++] = port;
	port->address = sim->address_count;
}

struct transport_sim_port *transport_sim_open(
	struct transport_sim *sim, scoll_nid_t nid,
	const struct transport_events *events, void *ctx)
{
	struct transport_sim_port *port = port_find(sim, nid, false);

	assert(sim->options.needs_addresses || port != NULL ||
	       transport_sim_port_find(sim, nid) == NULL);
	if (port == NULL)
		port = port_add(sim, nid);
	port->is_open = true;
	port->is_severed = false;
	port->life++;
	move(port);
	port->knows_all = false;
	port->paused_ns = 0;
	port->events = events;
	port->ctx = ctx;
	return port;
}

void transport_sim_close(struct transport_sim_port *port)
{
	struct medium_work *work, *next;

	DL_FOREACH_SAFE (port->works, work, next)
		transport_sim_work_drop(work);
	transport_sim_regions_close(port);
	transport_sim_places_free(port);
	port->is_open = false;
}

void transport_sim_sever(struct transport_sim_port *port)
{
	port->is_severed = true;
	while (port->works != NULL) {
		struct transfer *transfer = port->works->transfer;

		transport_sim_work_drop(port->works);
		port->events->done(
			port->ctx,
			transport_timeline_now_ns(port->sim->timeline),
			transfer, -ECANCELED, 0);
	}
}

static void connect_to(void *ctx, scoll_nid_t to)
{
	struct transport_sim_port *port = ctx;

	port->sim->stats.connects++;
}

struct transport_seam transport_sim_seam(struct transport_sim_port *port)
{
	static const struct transport_ops ops = {
		.send = transport_sim_send,
		.reply_post = transport_sim_reply_post,
		.reply_send = transport_sim_reply_send,
		.cancel = transport_sim_cancel,
		.region_open = transport_sim_region_open,
		.region_close = transport_sim_region_close,
		.disconnect = transport_sim_disconnect,
		.read = transport_sim_read,
		.connect = connect_to,
		.address_get = transport_sim_address_get,
		.address_learn = transport_sim_address_learn,
	};

	return (struct transport_seam){ .ops = &ops, .ctx = port };
}

void transport_sim_pause(struct transport_sim_port *port, uint64_t until_ns)
{
	port->paused_ns = until_ns;
}

uint64_t transport_sim_paused_ns(const struct transport_sim_port *port)
{
	return port->paused_ns;
}

void transport_sim_slow(struct transport_sim_port *port, uint32_t factor)
{
	port->slow = factor > 0 ? factor : 1;
}

unsigned int transport_sim_side(const struct transport_sim_port *port)
{
	return port->side;
}

void transport_sim_side_set(struct transport_sim_port *port, unsigned int side)
{
	assert(side < TRANSPORT_SIM_SIDES);
	port->side = side;
}

void transport_sim_heal(struct transport_sim *sim)
{
	for (size_t i = 0; i < sim->port_capacity; i++) {
		if (sim->ports[i] != NULL)
			sim->ports[i]->side = 0;
	}
	transport_sim_packets_go(sim);
}

void transport_sim_faults_set(struct transport_sim *sim,
			      const uint32_t *faults_ppm)
{
	memcpy(sim->options.faults_ppm, faults_ppm,
	       sizeof(sim->options.faults_ppm));
}

void transport_sim_tap(struct transport_sim *sim,
		       void (*tap)(void *ctx,
				   const struct transport_sim_packet *packet),
		       void *ctx)
{
	sim->tap = tap;
	sim->tap_ctx = ctx;
}

void transport_sim_use(const struct transport_sim_port *port,
		       struct transport_sim_use *ret_use)
{
	*ret_use = port->use;
}

const struct transport_sim_stats *transport_sim_stats(
	const struct transport_sim *sim)
{
	return &sim->stats;
}

uint64_t transport_sim_hash(const struct transport_sim *sim)
{
	return sim->hash;
}

void transport_sim_mix(struct transport_sim *sim, uint64_t value)
{
	uint64_t hash = (sim->hash ^ value) * HASH_FACTOR;

	sim->hash = hash ^ hash >> 29;
}

void transport_sim_mix_bytes(struct transport_sim *sim, const void *bytes,
			     size_t size)
{
	const uint8_t *at = bytes;
	uint64_t word;

	for (; size >= sizeof(word); size -= sizeof(word)) {
		memcpy(&word, at, sizeof(word));
		transport_sim_mix(sim, word);
		at += sizeof(word);
	}
	word = 0;
	memcpy(&word, at, size);
	transport_sim_mix(sim, word);
}
