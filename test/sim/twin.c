/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A second machine under a node's name, with the node's own key: a disk image
 * that was started twice, or a snapshot. It registers with the boot that the
 * node has left, and has to be refused: believed, it would fence the node.
 */
#include <stdlib.h>
#include <string.h>

#include "faults.h"
#include "lanes/proto/message.h"
#include "node.h"
#include "oracle.h"

struct twin {
	struct world *world;
	struct sim_host *host; /* NULL: it is not there */
	unsigned int index;    /* of the node that it says it is */
	uint8_t incarnation[INCARNATION_SIZE];
};

static void on_opened(void *ctx, uint64_t peer, const char *machine, uid_t uid)
{
}

static void send_register(struct twin *twin, uint64_t peer,
			  const struct frame *challenged)
{
	struct net_seam net = sim_host_seam(twin->host);
	struct registration registration = {
		.version = WIRE_VERSION,
		.software = "twin",
		.address = (const uint8_t[8]){ 0x77 },
		.address_size = 8,
	};
	struct challenge challenge;
	struct writer frame = { 0 };
	struct node_keys keys;

	if (challenge_decode(challenged->payload, challenged->size,
			     &challenge) < 0)
		return;
	snprintf(registration.node, sizeof(registration.node), "n%u",
		 twin->index);
	memcpy(registration.incarnation, twin->incarnation, INCARNATION_SIZE);
	memcpy(registration.manager_nonce, challenge.nonce, NONCE_SIZE);
	if (node_keys_make(&twin->world->keys, registration.node, &keys, NULL) <
	    0)
		abort();
	frame_begin(&frame, FRAME_REGISTER);
	if (registration_encode(&registration, &keys.confirms[0], &frame) < 0)
		abort();
	net.ops->send(net.ctx, peer, frame.data, frame.size);
	node_keys_fini(&keys);
	writer_fini(&frame);
}

/* It may have been forgotten since, by an operator's word. */
static bool is_past(const struct twin *twin)
{
	const uint8_t *boot = oracle_past_boot(twin->world->oracle,
					       twin->world->nodes[twin->index]);

	return boot != NULL &&
	       memcmp(boot, twin->incarnation, INCARNATION_SIZE) == 0;
}

/*
 * Who is believed gets commands. An altered REFUSE may look like one: what
 * counts is that a manager has sent it.
 */
static void on_received(void *ctx, uint64_t peer, const void *bytes,
			size_t size)
{
	struct twin *twin = ctx;
	struct frame frame;

	if (frame_parse(bytes, size, &frame) < 0)
		return;
	if (frame.type == FRAME_CHALLENGE)
		send_register(twin, peer, &frame);
	else if (oracle_is_managers(twin->world->oracle, bytes, size) &&
		 is_past(twin))
		world_fail(twin->world,
			   "n%u: a boot that it has left is "
			   "believed",
			   twin->index);
}

static void on_closed(void *ctx, uint64_t peer)
{
}

void twin_appear(struct twin *twin)
{
	static const struct sim_network_events events = {
		.opened = on_opened,
		.received = on_received,
		.closed = on_closed,
	};
	struct world *world = twin->world;
	unsigned int index =
		(unsigned int)world_below(world, world->node_count);
	const uint8_t *boot =
		oracle_past_boot(world->oracle, world->nodes[index]);

	sim_host_destroy(twin->host, false);
	twin->host = NULL;
	if (boot == NULL)
		return;
	coverage_hit(world->coverage, "fault:twin");
	twin->index = index;
	memcpy(twin->incarnation, boot, INCARNATION_SIZE);
	twin->host =
		sim_host_create(world->node_network, "twin", &events, twin);
	sim_host_dial(twin->host, WORLD_MANAGER, 0);
}

struct twin *twin_create(struct world *world)
{
	struct twin *twin = world_allocate(sizeof(*twin));

	twin->world = world;
	return twin;
}

void twin_destroy(struct twin *twin)
{
	if (twin == NULL)
		return;
	sim_host_destroy(twin->host, false);
	free(twin);
}
