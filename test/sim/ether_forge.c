/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A node that was taken over makes other messages of those that it was sent: as
 * the manager would send them, of its present start with the highest number, or
 * of a later start. It has the hop keys, and signs with a key that it has made
 * up, or not at all.
 */
#include "scoll/wire/wire.h" /* has a WIRE_VERSION, too, which is no macro */

#include <string.h>

#include "endpoint_internal.h"

void ether_hops_steal(const struct world *world, struct hop_keys *ret_hops)
{
	static const uint8_t seed[KEY_SIZE] = "made up";

	manager_keys_hops(&world->keys, ret_hops);
	command_key_derive(ret_hops->command.id, seed, &ret_hops->command);
}

static struct endpoint *node_at(const struct ether *ether, scoll_nid_t nid)
{
	for (unsigned int i = 0; i < WORLD_NODES_MAX; i++)
		if (ether->nodes[i] != NULL && ether->nodes[i]->hop.nid == nid)
			return ether->nodes[i];
	return NULL;
}

/* As if the root had sent it, with its highest number or as of a later start. */
static void forge(struct ether *ether, const struct recorded_message *recorded,
		  struct wire_bcast *bcast)
{
	size_t body_size =
		bcast->params_size + bcast->choice_size + bcast->payload_size;
	const struct scoll_authenticator *auth;
	uint8_t bytes[SCOLL_BCAST_MAX], head[WIRE_BCAST_HEAD_MAX];
	const struct wire_child child = {
		.nid = recorded->to,
		.tag = bcast->tag,
		.part_size = bcast->part_size,
		.part_count = bcast->part_count,
		.start = bcast->start,
		.bulk_there = bcast->bulk_there,
	};
	struct hop_keys hops;
	struct hop hop;
	int size;

	hop_init(&hop, bcast->sender);
	ether_hops_steal(ether->world, &hops);
	hop_take(&hop, &hops);
	auth = &hop.authenticator;
	if (world_percent(ether->world, 50))
		bcast->number = UINT64_MAX - 1;
	else
		bcast->root_nonce += UINT64_C(1) << 60;
	if (world_percent(ether->world, 50))
		(void)wire_bcast_sign(bcast, auth);
	size = wire_bcast_encode(bcast, auth, head);
	if (size > 0 &&
	    wire_bcast_seal(head, (size_t)size, auth, &child, bytes) == 0) {
		memcpy(bytes + size,
		       recorded->bytes + recorded->size - body_size, body_size);
		transport_sim_inject(medium_network(ether->medium),
				     recorded->to, false, 0, bytes,
				     (size_t)size + body_size);
		coverage_hit(ether->world->coverage, "fault:attack-root");
	}
	hop_fini(&hop);
}

/* A node has what it was sent, and can seal another one to any other node. */
void ether_forge(struct ether *ether)
{
	size_t count = ether->message_count < RECORDED_MAX
			       ? ether->message_count
			       : RECORDED_MAX;
	size_t first = count > 0 ? world_below(ether->world, count) : 0;

	for (size_t i = 0; i < count; i++) {
		const struct recorded_message *recorded =
			&ether->messages[(first + i) % count];
		const struct endpoint *node = node_at(ether, recorded->to);
		struct wire_message message;

		if (recorded->is_reply || node == NULL ||
		    wire_message_open(recorded->bytes, recorded->size,
				      &node->hop.authenticator,
				      &message) != WIRE_OK ||
		    message.kind != WIRE_BCAST)
			continue;
		forge(ether, recorded, &message.bcast);
		return;
	}
}
