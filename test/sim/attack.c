/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A host on the network: it has written down what went by, and plays it back
 * late, altered, to somebody else, or as messages of its own that it signs
 * with keys of its own, or with the key of a node that it has taken over.
 */
#include <stdlib.h>
#include <string.h>

#include "endpoint.h"
#include "faults.h"
#include "lanes/proto/message.h"
#include "node.h"

#define TAPE_MAX 256

struct taped {
	char from[16], to[16];
	uint8_t *frame;
	size_t size;
};

struct attack {
	struct world *world;
	struct manager_keys keys; /* of another cluster */
	struct taped tape[TAPE_MAX];
	size_t count; /* ever; the oldest ones are written over */
};

void attack_overhear(struct attack *attack, const char *from, const char *to,
		     const void *frame, size_t size)
{
	struct taped *taped = &attack->tape[attack->count++ % TAPE_MAX];

	free(taped->frame);
	snprintf(taped->from, sizeof(taped->from), "%s", from);
	snprintf(taped->to, sizeof(taped->to), "%s", to);
	taped->frame = world_allocate(size);
	memcpy(taped->frame, frame, size);
	taped->size = size;
}

static struct taped *draw(struct attack *attack)
{
	size_t count = attack->count < TAPE_MAX ? attack->count : TAPE_MAX;

	return count == 0 ? NULL
			  : &attack->tape[world_below(attack->world, count)];
}

static void inject(struct attack *attack, const char *from, const char *to,
		   const void *frame, size_t size)
{
	struct world *world = attack->world;

	sim_network_inject(world->node_network, from, to, frame, size,
			   world_below(world, 5000));
}

static void play_back(struct attack *attack)
{
	const struct taped *taped = draw(attack);

	if (taped == NULL)
		return;
	coverage_hit(attack->world->coverage, "fault:attack-replay");
	inject(attack, taped->from, taped->to, taped->frame, taped->size);
}

static void alter(struct attack *attack)
{
	struct world *world = attack->world;
	const struct taped *taped = draw(attack);
	uint8_t *frame;

	if (taped == NULL)
		return;
	coverage_hit(world->coverage, "fault:attack-altered");
	frame = world_allocate(taped->size);
	memcpy(frame, taped->frame, taped->size);
	frame[world_below(world, taped->size)] ^=
		(uint8_t)(1u << world_below(world, 8));
	inject(attack, taped->from, taped->to, frame, taped->size);
	free(frame);
}

/* What was meant for one node goes to another. */
static void redirect(struct attack *attack)
{
	struct world *world = attack->world;
	const struct taped *taped = draw(attack);
	char node[16];

	if (taped == NULL)
		return;
	coverage_hit(world->coverage, "fault:attack-redirected");
	snprintf(node, sizeof(node), "n%llu",
		 (unsigned long long)world_below(world, world->node_count));
	if (taped->from[0] == 'm')
		inject(attack, taped->from, node, taped->frame, taped->size);
	else
		inject(attack, node, taped->to, taped->frame, taped->size);
}

/* The command of another cluster, in the epoch after the last one. */
static void command_make(struct attack *attack, struct writer *writer)
{
	struct world *world = attack->world;
	struct writer body = { 0 };
	struct command_key key;
	struct command command = {
		.version = WIRE_VERSION,
		.op = COMMAND_APPLY,
		.epoch = world_percent(world, 50) ? UINT64_MAX : 3,
		.life = 1,
		.sequence = world_below(world, 1000000),
		.grant_id = 1 + world_below(world, 200),
		.apply_floor = UINT64_MAX,
	};
	struct apply_body apply = {
		.key = "slurm/evil/0",
		.driver = "slingshot",
		.uid = 1000,
		.gid = 1000,
		.nodes = "n[0-7]",
		.cores = "1",
		.tasks = "1",
		.id_count = 1,
		.ids = { WORLD_VNI_FIRST },
		.options = "vnis=1,tcs=BEST_EFFORT",
	};

	manager_keys_command(&attack->keys, &key);
	/* The id is one that nodes know; the key is not. */
	key.id = world->keys.keys[0].id;
	if (apply_body_encode(&apply, &body) < 0)
		abort();
	command.body = body.data;
	command.body_size = body.size;
	if (command_seal(&key, &command, writer) < 0)
		abort();
	command_key_fini(&key);
	writer_fini(&body);
}

static void command(struct attack *attack)
{
	struct world *world = attack->world;
	const struct taped *taped = draw(attack);
	struct writer frame = { 0 };
	char node[16];

	if (taped == NULL)
		return;
	coverage_hit(world->coverage, "fault:attack-command");
	frame_begin(&frame, FRAME_COMMAND);
	command_make(attack, &frame);
	snprintf(node, sizeof(node), "n%llu",
		 (unsigned long long)world_below(world, world->node_count));
	inject(attack, taped->from[0] == 'm' ? taped->from : taped->to, node,
	       frame.data, frame.size);
	writer_fini(&frame);
}

/* The same, and worse, by a collective. */
static void collective(struct attack *attack)
{
	struct writer command = { 0 };

	command_make(attack, &command);
	ether_attack(attack->world->ether, command.data, command.size);
	writer_fini(&command);
}

/* A node's key, given to another node's words: it has been taken over. */
static void node_key_of(struct attack *attack, unsigned int index,
			struct node_key *ret_key)
{
	struct node_keys keys;
	char name[16];

	snprintf(name, sizeof(name), "n%u", index);
	if (node_keys_make(&attack->world->keys, name, &keys, NULL) < 0)
		abort();
	*ret_key = keys.confirms[0];
	node_keys_fini(&keys);
}

static void confirm(struct attack *attack)
{
	struct world *world = attack->world;
	unsigned int victim =
		(unsigned int)world_below(world, world->node_count);
	unsigned int thief = (victim + 1) % WORLD_NODES_MAX;
	const struct taped *taped = draw(attack);
	struct writer frame = { 0 };
	struct node_key key;
	char from[16];
	struct confirm confirm = {
		.version = WIRE_VERSION,
		.grant_id = 1 + world_below(world, 200),
		.sequence = 1 + world_below(world, 100000),
		.op = world_percent(world, 50) ? 0 : COMMAND_REVOKE,
		.reason = "",
	};

	if (taped == NULL)
		return;
	coverage_hit(world->coverage, "fault:attack-confirm");
	snprintf(confirm.node, sizeof(confirm.node), "n%u", victim);
	snprintf(from, sizeof(from), "n%u", victim);
	memcpy(confirm.incarnation, node_incarnation(world->nodes[victim]),
	       INCARNATION_SIZE);
	node_key_of(attack, thief, &key);
	frame_begin(&frame, FRAME_CONFIRM);
	if (confirm_encode(&confirm, &key, &frame) < 0)
		abort();
	inject(attack, from, taped->from[0] == 'm' ? taped->from : taped->to,
	       frame.data, frame.size);
	writer_fini(&frame);
}

/* With a claim of an enormous epoch that no manager has signed. */
static void registration(struct attack *attack)
{
	struct world *world = attack->world;
	unsigned int victim =
		(unsigned int)world_below(world, world->node_count);
	const struct taped *taped = draw(attack);
	uint8_t proof[COMMAND_HEADER_SIZE];
	struct writer frame = { 0 };
	struct node_key key;
	struct registration registration = {
		.version = WIRE_VERSION,
		.software = "evil",
		.address = (const uint8_t[8]){ 0x66 },
		.address_size = 8,
		.proof = proof,
		.proof_size = sizeof(proof),
	};

	if (taped == NULL)
		return;
	coverage_hit(world->coverage, "fault:attack-register");
	memset(proof, 0xff, sizeof(proof));
	snprintf(registration.node, sizeof(registration.node), "n%u", victim);
	memset(registration.incarnation, 0x66,
	       sizeof(registration.incarnation));
	node_key_of(attack, (victim + 1) % WORLD_NODES_MAX, &key);
	frame_begin(&frame, FRAME_REGISTER);
	if (registration_encode(&registration, &key, &frame) < 0)
		abort();
	inject(attack, registration.node,
	       taped->from[0] == 'm' ? taped->from : taped->to, frame.data,
	       frame.size);
	writer_fini(&frame);
}

static void garbage(struct attack *attack)
{
	struct world *world = attack->world;
	const struct taped *taped = draw(attack);
	struct rng_seam rng = sim_rng_seam(&world->rng);
	uint8_t frame[200];
	size_t size = 1 + world_below(world, sizeof(frame));

	if (taped == NULL)
		return;
	coverage_hit(world->coverage, "fault:attack-garbage");
	rng_fill(&rng, frame, size);
	if (world_percent(world, 80))
		frame[0] = (uint8_t)(1 + frame[0] % 7);
	inject(attack, taped->from, taped->to, frame, size);
}

/* A node's agent has its guard obey once more what it has obeyed. */
static void repeat(struct attack *attack)
{
	struct world *world = attack->world;
	struct node *node = world->nodes[world_below(world, world->node_count)];

	if (node_hand_obeyed(node))
		coverage_hit(world->coverage, "fault:attack-repeated");
}

void attack(struct attack *attack)
{
	static void (*const kinds[])(struct attack * attack) = {
		play_back,  play_back,    alter,   redirect,   command,
		confirm,    registration, garbage, collective, collective,
		collective, collective,   repeat,  repeat,     repeat,
	};

	kinds[world_below(attack->world, sizeof(kinds) / sizeof(kinds[0]))](
		attack);
}

struct attack *attack_create(struct world *world)
{
	struct attack *attack = world_allocate(sizeof(*attack));
	struct sim_rng rng = world_fork_rng(world);
	struct rng_seam seam = sim_rng_seam(&rng);

	attack->world = world;
	manager_keys_create(&seam, &attack->keys);
	return attack;
}

void attack_destroy(struct attack *attack)
{
	if (attack == NULL)
		return;
	for (size_t i = 0; i < TAPE_MAX; i++)
		free(attack->tape[i].frame);
	manager_keys_fini(&attack->keys);
	free(attack);
}
