/* SPDX-License-Identifier: BSD-3-Clause */
#include "lanes/manager/core/test/world_internal.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

/* --- messages --- */

static void message_send(struct world *world, const struct message *message)
{
	/* A network that is full loses: everything is repeated anyway. */
	if (world->message_count == WORLD_MESSAGES_MAX) {
		world->lost++;
		return;
	}
	world->messages[world->message_count++] = *message;
	if (world->is_calm || message->kind == MESSAGE_REGISTER)
		return;
	/* A relay, or an attacker, may say it again much later. */
	if (core_world_chance(world, 10) &&
	    world->message_count < WORLD_MESSAGES_MAX) {
		struct message *again =
			&world->messages[world->message_count++];

		*again = *message;
		again->not_before = world->step + core_world_below(world, 600);
		world->doubled++;
	}
}

void world_messages_drop(struct world *world, size_t node,
			 enum message_kind kind)
{
	size_t kept = 0;

	for (size_t i = 0; i < world->message_count; i++)
		if (world->messages[i].node != node ||
		    world->messages[i].kind != kind)
			world->messages[kept++] = world->messages[i];
	world->message_count = kept;
}

/* --- a node --- */

static struct world_lane *lane_find(struct world_node *node, uint64_t grant_id)
{
	for (size_t i = 0; i < node->lane_count; i++)
		if (node->lanes[i].grant_id == grant_id)
			return &node->lanes[i];
	return NULL;
}

static struct world_lane *lane_add(struct world_node *node,
				   const struct world_lane *lane)
{
	/* The oldest tombstone goes; in this world the floor allows it. */
	if (node->lane_count == WORLD_LANES_MAX) {
		size_t i = 0;

		while (!node->lanes[i].is_tombstone)
			i++;
		memmove(&node->lanes[i], &node->lanes[i + 1],
			(WORLD_LANES_MAX - i - 1) * sizeof(node->lanes[0]));
		node->lane_count--;
	}
	node->lanes[node->lane_count] = *lane;
	return &node->lanes[node->lane_count++];
}

static int node_apply(struct world *world, struct world_node *node,
		      const struct message *message)
{
	struct world_lane *lane = lane_find(node, message->lane.grant_id);

	if (node->hello == 0 || message->sequence <= node->hello) {
		world->refused++;
		return -ESTALE;
	}
	if (lane != NULL)
		return lane->is_tombstone ? -ESTALE : 0;
	lane = lane_add(node, &message->lane);
	if (!world->is_calm && core_world_chance(world, 3)) {
		lane->is_tombstone = true; /* failed, and undone */
		return -EIO;
	}
	world->applied++;
	return 0;
}

static int node_revoke(struct world *world, struct world_node *node,
		       const struct message *message)
{
	struct world_lane *lane = lane_find(node, message->lane.grant_id);

	if (lane == NULL)
		lane = lane_add(node, &message->lane);
	else if (!lane->is_tombstone && !world->is_calm &&
		 core_world_chance(world, 30)) {
		world->busy++;
		return -EBUSY;
	}
	lane->is_tombstone = true;
	return 0;
}

static void node_confirm(struct world *world, size_t n, uint64_t grant_id,
			 int result)
{
	struct world_node *node = &world->nodes[n];
	struct message message = { .kind = MESSAGE_CONFIRM, .node = n };

	message.lane.grant_id = grant_id;
	message.result = result;
	message.sequence = ++node->confirm_sequence;
	node_incarnation(world->fixture, node->name, message.incarnation);
	message_send(world, &message);
}

/* One that it holds, or NULL. */
struct world_lane *world_lane_held(struct world *world, size_t n)
{
	struct world_node *node = &world->nodes[n];
	size_t first = core_world_below(world, WORLD_LANES_MAX);

	for (size_t i = 0; i < node->lane_count; i++) {
		struct world_lane *lane =
			&node->lanes[(first + i) % node->lane_count];

		if (!lane->is_tombstone)
			return lane;
	}
	return NULL;
}

/* It takes back what it holds, or tries to, of its own accord. */
void world_node_epilog(struct world *world, size_t n)
{
	struct world_lane *lane = world_lane_held(world, n);

	if (lane == NULL)
		return;
	if (!world->is_calm && core_world_chance(world, 30)) {
		node_confirm(world, n, lane->grant_id, -EBUSY);
		return;
	}
	lane->is_tombstone = true;
	node_confirm(world, n, lane->grant_id, 0);
}

void world_node_off(struct world *world, size_t n)
{
	struct world_node *node = &world->nodes[n];

	node->is_on = false;
	node->lane_count = 0;
	node->hello = 0;
	node->epoch_seen = 0;
	node->has_foreign = false;
	node_boot(world->fixture, node->name);
}

void world_node_lost(struct world *world, size_t n)
{
	struct world_node *node = &world->nodes[n];

	if (!node->is_connected)
		return;
	node->is_connected = false;
	world_messages_drop(world, n, MESSAGE_REGISTER);
	core_node_lost(world->fixture->core, node->name);
}

void world_node_connect(struct world *world, size_t n)
{
	struct world_node *node = &world->nodes[n];
	struct message message = { .kind = MESSAGE_REGISTER, .node = n };

	if (!node->is_on)
		return;
	/* The manager may learn of the new connection first. */
	if (core_world_chance(world, 50))
		world_node_lost(world, n);
	world_messages_drop(world, n, MESSAGE_REGISTER);
	world_messages_drop(world, n, MESSAGE_HELLO);
	node->hello = 0;
	node_incarnation(world->fixture, node->name, message.incarnation);
	for (size_t i = 0; i < node->lane_count; i++)
		if (!node->lanes[i].is_tombstone)
			message.inventory[message.inventory_count++] =
				node->lanes[i];
	message.has_foreign = node->has_foreign;
	message_send(world, &message);
}

/* --- what arrives --- */

static void command_arrives(struct world *world, const struct message *message)
{
	struct world_node *node = &world->nodes[message->node];
	struct message answer = *message;

	if (!node->is_on || message->epoch < node->epoch_seen)
		return;
	node->epoch_seen = message->epoch;
	answer.kind = MESSAGE_ANSWER;
	answer.result = message->op == CORE_FANOUT_APPLY
				? node_apply(world, node, message)
				: node_revoke(world, node, message);
	node_incarnation(world->fixture, node->name, answer.incarnation);
	message_send(world, &answer);
}

static void answer_arrives(struct world *world, const struct message *message)
{
	for (size_t i = 0; i < world->fanout_count; i++) {
		struct world_fanout *fanout = &world->fanouts[i];

		if (fanout->id != message->fanout_id)
			continue;
		for (size_t n = 0; n < fanout->count; n++) {
			if (fanout->nodes[n] != message->node)
				continue;
			fanout->has_answer[n] = true;
			fanout->answers[n].result = message->result;
			fanout->answers[n].text =
				message->result < 0 ? "no" : "";
			memcpy(fanout->answers[n].incarnation,
			       message->incarnation, 16);
		}
	}
}

static void confirm_arrives(struct world *world, const struct message *message)
{
	struct core_confirmation confirmation = {
		.node = world->nodes[message->node].name,
		.grant_id = message->lane.grant_id,
		.sequence = message->sequence,
		.result = message->result,
		.text = "in use",
	};

	memcpy(confirmation.incarnation, message->incarnation, 16);
	core_confirm(world->fixture->core, &confirmation);
}

static void register_arrives(struct world *world, const struct message *message)
{
	struct world_node *node = &world->nodes[message->node];
	struct core_inventory_grant grants[WORLD_LANES_MAX];
	static const uint32_t foreign[] = { 1025 };
	struct core_inventory_object object = { .driver = "fake",
						.device = "cxi0",
						.object_id = 9,
						.uid = 77,
						.id_count = 1,
						.ids = foreign };
	struct core_registration registration = {
		.node = node->name,
		.version = "1.0",
		.grants = grants,
		.grant_count = message->inventory_count,
		.objects = &object,
		.object_count = message->has_foreign,
	};
	struct message hello = { .kind = MESSAGE_HELLO, .node = message->node };
	struct fairlead_error error = { 0 };

	for (size_t i = 0; i < message->inventory_count; i++)
		grants[i] = (struct core_inventory_grant){
			.grant_id = message->inventory[i].grant_id,
			.state = 2,
			.driver = message->inventory[i].is_lined ? "lined"
								 : "fake",
			.id_count = message->inventory[i].id_count,
			.ids = message->inventory[i].ids,
		};
	memcpy(registration.incarnation, message->incarnation, 16);
	/* The barrier: its number is before that of any later command. */
	hello.sequence = ++world->sequence;
	hello.epoch = world->fixture->epoch;
	if (core_register(world->fixture->core, &registration, &error) < 0) {
		/* It has left meanwhile. */
		assert_int_equal(error.code, -ENOENT);
		return;
	}
	node->is_connected = true;
	node->reported_foreign = message->has_foreign;
	message_send(world, &hello);
}

static void hello_arrives(struct world *world, const struct message *message)
{
	struct world_node *node = &world->nodes[message->node];

	if (!node->is_on || message->epoch < node->epoch_seen)
		return;
	node->epoch_seen = message->epoch;
	node->hello = message->sequence;
}

void world_deliver(struct world *world)
{
	static void (*const arrive[])(struct world * world,
				      const struct message *message) = {
		[MESSAGE_COMMAND] = command_arrives,
		[MESSAGE_ANSWER] = answer_arrives,
		[MESSAGE_CONFIRM] = confirm_arrives,
		[MESSAGE_REGISTER] = register_arrives,
		[MESSAGE_HELLO] = hello_arrives,
	};
	struct message message;
	size_t i;

	if (world->message_count == 0)
		return;
	i = core_world_below(world, world->message_count);
	message = world->messages[i];
	if (message.not_before > world->step && !world->is_calm)
		return;
	/* What a node says of its own accord may take its time. */
	if ((message.kind == MESSAGE_CONFIRM ||
	     message.kind == MESSAGE_REGISTER) &&
	    !world->is_calm && core_world_chance(world, 60))
		return;
	/* A confirmation stays until it is acknowledged. */
	if (message.kind != MESSAGE_CONFIRM)
		world->messages[i] = world->messages[--world->message_count];
	if (!world->is_calm && message.kind != MESSAGE_REGISTER &&
	    message.kind != MESSAGE_CONFIRM && core_world_chance(world, 2)) {
		world->lost++;
		return;
	}
	arrive[message.kind](world, &message);
}

/* --- what the core has given out --- */

static size_t node_place(const struct world *world, const char *name)
{
	size_t n = 0;

	while (strcmp(world->nodes[n].name, name) != 0)
		assert_true(++n < WORLD_NODES);
	return n;
}

static void fanout_begin(struct world *world, const struct given_fanout *given)
{
	struct world_fanout *fanout = &world->fanouts[world->fanout_count++];

	assert_true(world->fanout_count < 64);
	*fanout = (struct world_fanout){ .id = given->id,
					 .op = given->op,
					 .count = given->node_count };
	for (size_t i = 0; i < given->node_count; i++) {
		struct message message = { .kind = MESSAGE_COMMAND,
					   .op = given->op,
					   .fanout_id = given->id };

		message.node = node_place(world, given->names[i]);
		message.epoch = world->fixture->epoch;
		message.sequence = ++world->sequence;
		message.lane.grant_id = given->lane.grant_id;
		message.lane.is_lined = strcmp(given->driver, "lined") == 0;
		message.lane.id_count = given->lane.id_count;
		memcpy(message.lane.ids, given->lane.ids,
		       sizeof(message.lane.ids));
		fanout->nodes[i] = message.node;
		fanout->answers[i].node = world->nodes[message.node].name;
		message_send(world, &message);
	}
}

void world_fanout_end(struct world *world, size_t i)
{
	struct world_fanout fanout = world->fanouts[i];

	world->fanouts[i] = world->fanouts[--world->fanout_count];
	for (size_t n = 0; n < fanout.count; n++) {
		if (fanout.has_answer[n])
			continue;
		fanout.answers[n].text = "";
		fanout.answers[n].result =
			world->nodes[fanout.nodes[n]].is_connected
				? -ETIMEDOUT
				: -EHOSTUNREACH;
	}
	core_fanout_done(world->fixture->core, fanout.id, fanout.answers,
			 fanout.count);
}

/* Commands of the site end well, or not, or nobody hears how. */
static void site_answers(struct world *world)
{
	struct fixture *f = world->fixture;

	while (world->notices_seen < f->notice_count) {
		const struct given_notice *tell =
			&f->notices[world->notices_seen++];
		const char *node = tell->node;
		uint64_t id = tell->id;

		if (core_world_chance(world, 70))
			core_notified(f->core, node, id,
				      core_world_chance(world, 20) ? -EIO : 0);
	}
}

void world_outputs_take(struct world *world)
{
	struct fixture *f = world->fixture;

	site_answers(world);
	while (world->fanouts_seen < f->fanout_count)
		fanout_begin(world, &f->fanouts[world->fanouts_seen++]);
	while (world->acks_seen < f->ack_count) {
		const struct given_ack *ack = &f->acks[world->acks_seen++];
		size_t kept = 0;

		for (size_t i = 0; i < world->message_count; i++) {
			const struct message *message = &world->messages[i];
			const char *name = world->nodes[message->node].name;

			if (message->kind != MESSAGE_CONFIRM ||
			    message->sequence != ack->sequence ||
			    strcmp(name, ack->node) != 0)
				world->messages[kept++] = *message;
		}
		world->message_count = kept;
	}
}

bool world_is_known(const struct world *world, size_t n)
{
	return nodes_find(&world->fixture->core->nodes, world->nodes[n].name) !=
	       NULL;
}

/* --- the truth --- */

static void id_verify(const struct world *world, const struct world_node *node,
		      uint64_t grant_id, uint32_t id)
{
	struct core *core = world->fixture->core;
	const struct job *job = jobs_find(&core->jobs, grant_id);
	const struct pool *pool = &core->interconnects.list[0].pools[0];
	bool is_own = false;

	if (idset_has(pool->free, id))
		fail_msg("%s holds %u of grant %llu, which is free", node->name,
			 id, (unsigned long long)grant_id);
	for (uint32_t i = 0; job != NULL && i < job->id_counts[0]; i++)
		is_own = is_own || job->ids[i] == id;
	if (!is_own && idset_has(pool->held, id))
		fail_msg("%s holds %u of grant %llu, which is another's",
			 node->name, id, (unsigned long long)grant_id);
}

/* A context that a node holds, which is at the position of its number. */
static void context_verify(const struct world *world, size_t n,
			   uint64_t grant_id, uint32_t id)
{
	struct core *core = world->fixture->core;
	const struct interconnect *ic = &core->interconnects.list[3];
	const struct pool *pool = &ic->pools[1];
	const struct run_area point = { (uint32_t)n, (uint32_t)n, id, id };
	const struct job *job = core->jobs.by_id;

	if (run_set_is_free(&pool->runs->taken, &point) &&
	    idset_has(pool->universe, id) && !idset_has(pool->withheld, id))
		fail_msg("n%zu holds context %u of grant %llu, which is free",
			 n, id, (unsigned long long)grant_id);
	for (; job != NULL; job = job->hh.next) {
		if (job->driver != 3 || job->runs == NULL ||
		    job->grant_id == grant_id || (job->waived & 2) ||
		    job->ids[1] > id || job->ids[2] < id ||
		    job->runs[1].low > n || job->runs[1].high < n)
			continue;
		fail_msg("n%zu holds context %u of grant %llu, which is grant "
			 "%llu's",
			 n, id, (unsigned long long)grant_id,
			 (unsigned long long)job->grant_id);
	}
}

static void lined_verify(struct world *world, size_t n,
			 const struct world_lane *lane)
{
	world->lined++;
	for (uint32_t id = lane->ids[1]; id <= lane->ids[2]; id++)
		context_verify(world, n, lane->grant_id, id);
}

void world_verify(struct world *world)
{
	for (size_t n = 0; n < WORLD_NODES; n++) {
		const struct world_node *node = &world->nodes[n];

		for (size_t i = 0; i < node->lane_count; i++) {
			const struct world_lane *lane = &node->lanes[i];

			if (lane->is_tombstone)
				continue;
			if (lane->is_lined)
				lined_verify(world, n, lane);
			for (uint32_t k = 0; k < lane->id_count; k++)
				if (lane->ids[k] >= 1024)
					id_verify(world, node, lane->grant_id,
						  lane->ids[k]);
		}
	}
}

void world_heal(struct world *world)
{
	struct fixture *f = world->fixture;

	world->is_calm = true;
	f->is_failing = false;
	for (int round = 0; round < 20; round++) {
		for (size_t n = 0; n < WORLD_NODES; n++) {
			struct world_node *node = &world->nodes[n];
			node->is_on = true;
			node->has_foreign = false;
			/* A connected node need not report anything again. */
			if (world_is_known(world, n) &&
			    (!node->is_connected || node->hello == 0 ||
			     node->reported_foreign))
				world_node_connect(world, n);
		}
		for (uint64_t id = 1; id < f->core->next_grant_id; id++)
			if (jobs_find(&f->core->jobs, id) != NULL)
				release_id(f, id);
		for (int i = 0; i < 2000; i++) {
			world_outputs_take(world);
			if (world->message_count > 0)
				world_deliver(world);
			else if (world->fanout_count > 0)
				world_fanout_end(world, 0);
			else
				break;
			world_verify(world);
		}
		fixture_advance(f, 700000);
		world_outputs_take(world);
		fixture_forget(f);
		world->fanouts_seen = 0;
		world->acks_seen = 0;
		world->notices_seen = 0;
	}
}

void world_init(struct world *world, uint64_t seed)
{
	struct fairlead_error error;

	memset(world, 0, sizeof(*world));
	sim_rng_init(&world->rng, seed);
	world->fixture = fixture_create();
	world->fixture->config.nodes = "n[0-5]";
	world->fixture->config.events_keep = 100;
	world->fixture->config.driver_count = 4;
	fixture_setting(world->fixture, "vni", "1024-1039");
	if (fixture_start(world->fixture, false, &error) < 0)
		fail_msg("%s", error.text);
	for (size_t n = 0; n < WORLD_NODES; n++) {
		snprintf(world->nodes[n].name, sizeof(world->nodes[n].name),
			 "n%zu", n);
		world->nodes[n].is_on = true;
	}
}

void world_fini(struct world *world)
{
	fixture_destroy(world->fixture);
}
