/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The world's queue goes by milliseconds, the network for collectives by
 * nanoseconds: an event of the queue runs all that is due in its millisecond.
 */
#include "endpoint.h"

#include <stdlib.h>
#include <string.h>

#include "endpoint_internal.h"
#include "lanes/proto/collective.h"
#include "lanes/node/agent/agent.h"

#define NS_IN_MS  UINT64_C(1000000)
#define HELD_NS   (3000 * NS_IN_MS)
#define FAULT_PPM 8000 /* of each kind, times the harm */
/* Before every manager, or after. */
#define IMPOSTOR_STARTED 1
#define IMPOSTOR_LATER   1000000

/* --- time --- */

static void arm(struct ether *ether);

static void on_event(void *ctx)
{
	struct ether *ether = ctx;

	ether->event = 0;
	medium_run(ether->medium, (world_now_ms(ether->world) + 1) * NS_IN_MS);
	arm(ether);
}

static void arm(struct ether *ether)
{
	struct world *world = ether->world;
	uint64_t next_ns = medium_next_ns(ether->medium);
	uint64_t next_ms = next_ns / NS_IN_MS;
	uint64_t now_ms = world_now_ms(world);

	if (next_ns == DEADLINE_NONE ||
	    (ether->event != 0 && ether->event_ms <= next_ms))
		return;
	sim_queue_cancel(world->queue, ether->event);
	ether->event_ms = next_ms > now_ms ? next_ms : now_ms;
	ether->event = sim_queue_add(world->queue, ether->event_ms - now_ms,
				     on_event, ether);
}

static void on_wake(void *ctx)
{
	arm(ctx);
}

static uint64_t on_now_ns(void *ctx)
{
	const struct ether *ether = ctx;

	return world_now_ms(ether->world) * NS_IN_MS;
}

/* --- what happens to it --- */

void ether_weather(struct ether *ether, unsigned int harm)
{
	static const enum transport_sim_fault kinds[] = {
		TRANSPORT_SIM_LOST,      TRANSPORT_SIM_DENIED,
		TRANSPORT_SIM_LATE_END,  TRANSPORT_SIM_HELD,
		TRANSPORT_SIM_FULL,      TRANSPORT_SIM_ALTERED,
		TRANSPORT_SIM_CUT_SHORT, TRANSPORT_SIM_KEPT,
	};
	uint32_t ppm[TRANSPORT_SIM_FAULT_COUNT] = {
		[TRANSPORT_SIM_REFUSED] = 500000,
		[TRANSPORT_SIM_KEPT_BACK] = 300000,
		[TRANSPORT_SIM_NEXT_LIFE] = 300000,
	};

	for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++)
		ppm[kinds[i]] = (uint32_t)sim_rng_below(&ether->rng,
							FAULT_PPM * harm + 1);
	ether->doubled_ppm =
		(uint32_t)sim_rng_below(&ether->rng, FAULT_PPM * harm + 1);
	transport_sim_faults_set(medium_network(ether->medium), ppm);
}

static void side_set(const struct endpoint *endpoint)
{
	const struct ether *ether = endpoint->ether;

	transport_sim_side_set(
		medium_port(endpoint->scoll),
		ether->is_cut[endpoint->node] ? 1 + endpoint->node % 7 : 0);
}

void ether_cut(struct ether *ether, unsigned int node, bool is_cut)
{
	ether->is_cut[node] = is_cut;
	if (ether->nodes[node] != NULL)
		side_set(ether->nodes[node]);
}

void ether_lie(struct ether *ether, unsigned int node, bool is_lying)
{
	ether->is_lying[node] = is_lying;
	if (ether->nodes[node] != NULL)
		liar_set(ether->nodes[node]->liar, is_lying);
}

void ether_heal(struct ether *ether)
{
	for (unsigned int i = 0; i < WORLD_NODES_MAX; i++)
		ether_lie(ether, i, false);
	memset(ether->is_cut, 0, sizeof(ether->is_cut));
	ether_weather(ether, 0);
	transport_sim_heal(medium_network(ether->medium));
	on_wake(ether);
}

/* --- endpoints --- */

static struct endpoint *endpoint_open(struct ether *ether, scoll_nid_t nid,
				      void (*settled)(void *ctx), void *ctx)
{
	struct endpoint *endpoint = world_allocate(sizeof(*endpoint));

	endpoint->ether = ether;
	endpoint->settled = settled;
	endpoint->ctx = ctx;
	sim_rng_init(&endpoint->rng, sim_rng_u64(&ether->rng));
	hop_init(&endpoint->hop, nid);
	return endpoint;
}

static void join(struct endpoint *endpoint, uint64_t started_us,
		 void (*settled)(void *ctx), void *ctx, bool share_addresses)
{
	const struct medium_member member = {
		.nid = endpoint->hop.nid,
		.authenticator = &endpoint->hop.authenticator,
		.rng = sim_rng_seam(&endpoint->rng),
		.started_us = started_us,
		.share_addresses = share_addresses,
		.settled = settled,
		.ctx = ctx,
	};

	endpoint->scoll = medium_join(endpoint->ether->medium, &member);
}

static void manager_settled(void *ctx)
{
	struct endpoint *endpoint = ctx;

	rounds_settle(endpoint->rounds);
	endpoint->settled(endpoint->ctx);
}

static struct endpoint *root_open(struct ether *ether, scoll_nid_t nid,
				  uint64_t started_us,
				  const struct round_events *events,
				  void (*settled)(void *ctx), void *ctx)
{
	struct endpoint *endpoint = endpoint_open(ether, nid, settled, ctx);

	join(endpoint, started_us, manager_settled, endpoint, true);
	if (rounds_create(endpoint->scoll, events, ctx, &endpoint->rounds) < 0)
		abort();
	return endpoint;
}

struct endpoint *endpoint_open_manager(struct ether *ether, uint64_t epoch,
				       const struct round_events *events,
				       void (*settled)(void *ctx), void *ctx)
{
	return root_open(ether, NID_MANAGER, IMPOSTOR_STARTED + epoch, events,
			 settled, ctx);
}

struct endpoint *endpoint_open_impostor(struct ether *ether, scoll_nid_t nid,
					const struct round_events *events,
					void (*settled)(void *ctx), void *ctx)
{
	uint64_t started = world_percent(ether->world, 50)
				   ? IMPOSTOR_STARTED
				   : IMPOSTOR_STARTED + IMPOSTOR_LATER;

	return root_open(ether, nid, started, events, settled, ctx);
}

struct round_seam endpoint_seam(struct endpoint *endpoint)
{
	return rounds_seam(endpoint->rounds);
}

struct endpoint *endpoint_open_node(struct ether *ether, unsigned int node,
				    void (*settled)(void *ctx), void *ctx)
{
	struct endpoint *endpoint;
	char name[16];

	snprintf(name, sizeof(name), "n%u", node);
	endpoint = endpoint_open(ether, nid_of_node(name), settled, ctx);
	endpoint->node = node;
	join(endpoint, 1, settled, ctx, false);
	endpoint->node_rounds = node_rounds_create(endpoint->scoll);
	endpoint->liar = liar_create(ether->world, node, endpoint->node_rounds);
	liar_set(endpoint->liar, ether->is_lying[node]);
	ether->nodes[node] = endpoint;
	side_set(endpoint);
	return endpoint;
}

void endpoint_serve(struct endpoint *endpoint, struct agent *agent)
{
	if (liar_serve(endpoint->liar, agent) < 0)
		abort();
}

size_t endpoint_address(struct endpoint *endpoint,
			uint8_t ret_bytes[COLLECTIVE_ADDRESS_MAX])
{
	size_t size = COLLECTIVE_ADDRESS_MAX;

	if (scoll_address(endpoint->scoll, ret_bytes, &size) < 0)
		abort();
	return size;
}

void endpoint_answer(struct endpoint *endpoint, uint64_t collective,
		     const void *bytes, size_t size, bool is_last)
{
	liar_answer(endpoint->liar, collective, bytes, size, is_last);
}

void endpoint_returned(struct endpoint *endpoint)
{
	coverage_hit(endpoint->ether->world->coverage, "round:returned");
	node_rounds_returned(endpoint->node_rounds);
}

void endpoint_hops(struct endpoint *endpoint, const struct hop_keys *keys)
{
	hop_take(&endpoint->hop, keys);
}

uint64_t endpoint_group_count(const struct endpoint *endpoint)
{
	return rounds_counters(endpoint->rounds)->group_count;
}

bool endpoint_is_idle(const struct endpoint *endpoint)
{
	struct transport_sim_use use;

	transport_sim_use(medium_port(endpoint->scoll), &use);
	return medium_is_idle(endpoint->scoll) &&
	       use.sends + use.reads + use.posts + use.regions == 0 &&
	       (endpoint->rounds == NULL ||
		rounds_counters(endpoint->rounds)->round_count == 0) &&
	       (endpoint->node_rounds == NULL ||
		node_rounds_count(endpoint->node_rounds) == 0);
}

bool ether_is_idle(const struct ether *ether)
{
	for (unsigned int i = 0; i < WORLD_NODES_MAX; i++)
		if (ether->nodes[i] != NULL &&
		    !endpoint_is_idle(ether->nodes[i]))
			return false;
	return true;
}

void endpoint_close(struct endpoint *endpoint)
{
	struct ether *ether;

	if (endpoint == NULL)
		return;
	ether = endpoint->ether;
	if (endpoint->node_rounds != NULL)
		ether->nodes[endpoint->node] = NULL;
	liar_destroy(endpoint->liar);
	medium_leave(endpoint->scoll);
	rounds_destroy(endpoint->rounds);
	node_rounds_destroy(endpoint->node_rounds);
	hop_fini(&endpoint->hop);
	free(endpoint);
}

/* --- the whole --- */

struct ether *ether_create(struct world *world)
{
	struct ether *ether = world_allocate(sizeof(*ether));
	struct medium_options options = {
		.network = { .costs = { .latency_ns = 100000,
					.gap_ns = 2000,
					.byte_ps = 1000,
					.jitter_ppm = 500000 },
			     .held_ns = HELD_NS,
			     .needs_addresses = true },
		.now_ns = on_now_ns,
		.wake = on_wake,
		.ctx = ether,
	};

	ether->world = world;
	ether->rng = world_fork_rng(world);
	options.network.seed = sim_rng_u64(&ether->rng);
	ether->medium = medium_create(&options);
	ether_tap(ether);
	ether_weather(ether, 0);
	return ether;
}

static void count(const struct ether *ether)
{
	const struct transport_sim_stats *stats =
		transport_sim_stats(medium_network(ether->medium));
	struct coverage *coverage = ether->world->coverage;

	coverage_add(coverage, "round:message", stats->messages_in);
	coverage_add(coverage, "round:reply", stats->replies_in);
	coverage_add(coverage, "round:read", stats->reads);
	coverage_add(coverage, "fault:collective-doubled",
		     ether->doubled_count);
	for (int i = 0; i < TRANSPORT_SIM_FAULT_COUNT; i++) {
		char name[100];

		snprintf(name, sizeof(name), "fault:collective: %s",
			 transport_sim_fault_text((enum transport_sim_fault)i));
		coverage_add(coverage, name, stats->faults[i]);
	}
}

void ether_destroy(struct ether *ether)
{
	if (ether == NULL)
		return;
	count(ether);
	ether_attack_fini(ether);
	sim_queue_cancel(ether->world->queue, ether->event);
	medium_destroy(ether->medium);
	free(ether);
}
