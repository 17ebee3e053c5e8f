/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What is done to the collectives. A host on the network plays back messages,
 * altered or to somebody else. A node that was taken over has the hop key: it
 * says to be the manager, as of an earlier start or a later one, or asks as
 * itself, with commands that it has seen or that were signed elsewhere.
 */
#include <stdlib.h>
#include <string.h>

#include "base/hostlist.h"
#include "endpoint_internal.h"
#include "lanes/proto/collective.h"
#include "node.h"
#include "oracle.h"

/* --- what was seen --- */

static void on_packet(void *ctx, const struct transport_sim_packet *packet)
{
	struct ether *ether = ctx;
	struct recorded_message *recorded =
		&ether->messages[ether->message_count % RECORDED_MAX];

	world_mix(ether->world, packet->bytes, packet->size);
	oracle_no_token(ether->world->oracle, "a message", packet->bytes,
			packet->size);
	if (packet->is_injected)
		return;
	/* What was delivered comes once more, at once. */
	if (sim_rng_chance(&ether->rng, ether->doubled_ppm)) {
		ether->doubled_count++;
		transport_sim_inject(medium_network(ether->medium), packet->to,
				     packet->is_reply, packet->tag,
				     packet->bytes, packet->size);
	}
	ether->message_count++;
	free(recorded->bytes);
	*recorded = (struct recorded_message){
		.to = packet->to,
		.tag = packet->tag,
		.is_reply = packet->is_reply,
		.size = packet->size,
		.bytes = world_allocate(packet->size),
	};
	memcpy(recorded->bytes, packet->bytes, packet->size);
}

void ether_tap(struct ether *ether)
{
	transport_sim_tap(medium_network(ether->medium), on_packet, ether);
}

void ether_overhear(struct ether *ether, const void *command, size_t size)
{
	struct recorded_command *recorded =
		&ether->commands[ether->command_count++ % RECORDED_MAX];

	free(recorded->bytes);
	recorded->bytes = world_allocate(size);
	memcpy(recorded->bytes, command, size);
	recorded->size = size;
}

void ether_attack_fini(struct ether *ether)
{
	endpoint_close(take_ptr(ether->impostor));
	for (size_t i = 0; i < RECORDED_MAX; i++) {
		free(ether->messages[i].bytes);
		free(ether->commands[i].bytes);
	}
}

/* --- messages --- */

static scoll_nid_t any_nid(struct ether *ether)
{
	char name[16];

	snprintf(name, sizeof(name), "n%u",
		 (unsigned int)world_below(ether->world,
					   ether->world->node_count));
	return nid_of_node(name);
}

static void play_back(struct ether *ether)
{
	struct world *world = ether->world;
	size_t count = ether->message_count < RECORDED_MAX
			       ? ether->message_count
			       : RECORDED_MAX;
	struct recorded_message *recorded;
	scoll_nid_t to;

	if (count == 0)
		return;
	recorded = &ether->messages[world_below(world, count)];
	to = recorded->to;
	switch (world_below(world, 3)) {
	case 0:
		coverage_hit(world->coverage, "fault:attack-message-replay");
		break;
	case 1:
		coverage_hit(world->coverage, "fault:attack-message-altered");
		if (recorded->size > 0)
			recorded->bytes[world_below(world, recorded->size)] ^=
				(uint8_t)(1u << world_below(world, 8));
		break;
	default:
		coverage_hit(world->coverage,
			     "fault:attack-message-redirected");
		to = any_nid(ether);
		break;
	}
	transport_sim_inject(medium_network(ether->medium), to,
			     recorded->is_reply, recorded->tag, recorded->bytes,
			     recorded->size);
}

/* --- the impostor --- */

static void on_part(void *ctx, uint64_t id, const void *bytes, size_t size)
{
}

static void on_ended(void *ctx, uint64_t id, int result,
		     const struct round_failure *failures, size_t count)
{
}

static void on_settled(void *ctx)
{
}

/* Nodes that are there, some of them; how many. */
static size_t choose(struct ether *ether, struct round_seam seam,
		     uint64_t ret_nids[WORLD_NODES_MAX])
{
	size_t count = 0;

	for (unsigned int i = 0; i < WORLD_NODES_MAX; i++) {
		uint8_t address[COLLECTIVE_ADDRESS_MAX];
		uint64_t nid;

		if (ether->nodes[i] == NULL || world_percent(ether->world, 40))
			continue;
		nid = ether->nodes[i]->hop.nid;
		seam.ops->address(seam.ctx, nid, address,
				  endpoint_address(ether->nodes[i], address));
		ret_nids[count++] = nid;
	}
	return count;
}

static void ask(struct ether *ether, const void *command, size_t size)
{
	struct world *world = ether->world;
	struct round_seam seam = endpoint_seam(ether->impostor);
	uint64_t nids[WORLD_NODES_MAX];
	const struct round_request request = {
		.id = 1,
		.nids = nids,
		.count = choose(ether, seam, nids),
		.parcel = { .is_separate = world_percent(world, 30),
			    .patience_ms = (uint32_t)world_below(world, 5000),
			    .part_bytes = PARCEL_PART_MIN,
			    .command = command,
			    .command_size = size },
	};

	if (request.count > 0)
		(void)seam.ops->start(seam.ctx, &request);
}

static void pretend(struct ether *ether, const void *command, size_t size)
{
	static const struct round_events events = { on_part, on_ended };
	struct world *world = ether->world;
	size_t count = ether->command_count < RECORDED_MAX
			       ? ether->command_count
			       : RECORDED_MAX;
	bool is_manager = world_percent(world, 70);
	struct hop_keys hops;

	endpoint_close(take_ptr(ether->impostor));
	ether->impostor = endpoint_open_impostor(
		ether, is_manager ? NID_MANAGER : any_nid(ether), &events,
		on_settled, ether);
	ether_hops_steal(world, &hops);
	endpoint_hops(ether->impostor, &hops);
	if (count > 0 && world_percent(world, 75)) {
		const struct recorded_command *recorded =
			&ether->commands[world_below(world, count)];

		coverage_hit(world->coverage, "fault:attack-old-command");
		ask(ether, recorded->bytes, recorded->size);
	} else {
		coverage_hit(world->coverage, "fault:attack-new-command");
		ask(ether, command, size);
	}
	if (!is_manager)
		coverage_hit(world->coverage, "fault:attack-node-asks");
}

/*
 * A guard is handed what is for others: its agent does not hand it over, and
 * has to know of all that is for this node.
 */
static void hand(struct ether *ether)
{
	struct world *world = ether->world;
	size_t count = ether->command_count < RECORDED_MAX
			       ? ether->command_count
			       : RECORDED_MAX;
	struct node *node = world->nodes[world_below(world, world->node_count)];
	_auto_(freep) char *nodes = NULL;
	const struct recorded_command *recorded;

	if (count == 0)
		return;
	recorded = &ether->commands[world_below(world, count)];
	if (command_nodes_read(recorded->bytes, recorded->size, &nodes) < 0 ||
	    hostlist_find(nodes, node_name(node)) >= 0)
		return;
	coverage_hit(world->coverage, "fault:attack-agent");
	node_hand(node, recorded->bytes, recorded->size);
}

void ether_attack(struct ether *ether, const void *command, size_t size)
{
	if (world_percent(ether->world, 60))
		play_back(ether);
	else if (world_percent(ether->world, 30))
		hand(ether);
	else if (world_percent(ether->world, 30))
		ether_forge(ether);
	else
		pretend(ether, command, size);
}
