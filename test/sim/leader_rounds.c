/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The engine's way to its nodes: its endpoint, and beside it what the oracle
 * sees of it, which opens what comes back on its own.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/hostlist.h"
#include "endpoint.h"
#include "leader_internal.h"
#include "lanes/proto/combined.h"
#include "oracle.h"

/* A round under way. */
struct sent_round {
	uint64_t id;
	struct command head;
	struct hostlist *nodes; /* of the command */
	UT_hash_handle hh;
};

static void forget(struct process *process, struct sent_round *round)
{
	HASH_DEL(process->rounds, round);
	hostlist_destroy(round->nodes);
	free(round);
}

static struct sent_round *find(const struct process *process, uint64_t id)
{
	struct sent_round *round;

	HASH_FIND(hh, process->rounds, &id, sizeof(id), round);
	return round;
}

/* --- from the engine --- */

static void remember(struct process *process,
		     const struct round_request *request)
{
	struct sent_round *round = world_allocate(sizeof(*round));
	const struct parcel *parcel = &request->parcel;
	struct world *world = process->leader->world;
	_auto_(freep) char *nodes = NULL;

	if (command_header_read(parcel->command, &round->head) < 0 ||
	    command_nodes_read(parcel->command, parcel->command_size, &nodes) <
		    0 ||
	    hostlist_parse(nodes, &round->nodes, NULL) < 0)
		world_fail(world, "%s starts a round without a command",
			   process->machine);
	if (request->count > round->nodes->count)
		world_fail(world, "%s asks nodes that its command is not for",
			   process->machine);
	round->id = request->id;
	HASH_ADD(hh, process->rounds, id, sizeof(round->id), round);
	oracle_command_sent(world->oracle, parcel->command);
	ether_overhear(world->ether, parcel->command, parcel->command_size);
	if (round->head.op == COMMAND_APPLY)
		oracle_apply_sent(world->oracle, &round->head);
	coverage_hit(world->coverage, "round:%s%s",
		     command_op_name(round->head.op),
		     parcel->is_separate ? ":separate" : "");
}

static int on_start(void *ctx, const struct round_request *request)
{
	struct process *process = ctx;
	struct round_seam seam = endpoint_seam(process->endpoint);
	int result;

	remember(process, request);
	result = seam.ops->start(seam.ctx, request);
	if (result == 0)
		return 0;
	coverage_hit(process->leader->world->coverage, "round:start:%s",
		     strerrorname_np(-result));
	forget(process, find(process, request->id));
	return result;
}

static void on_cancel(void *ctx, uint64_t id)
{
	struct process *process = ctx;
	struct round_seam seam = endpoint_seam(process->endpoint);
	struct sent_round *round = find(process, id);

	if (round != NULL)
		forget(process, round);
	coverage_hit(process->leader->world->coverage, "round:cancel");
	seam.ops->cancel(seam.ctx, id);
}

static void on_address(void *ctx, uint64_t nid, const void *bytes, size_t size)
{
	struct process *process = ctx;
	struct round_seam seam = endpoint_seam(process->endpoint);

	coverage_hit(process->leader->world->coverage,
		     size > 0 ? "round:address" : "round:lost");
	seam.ops->address(seam.ctx, nid, bytes, size);
}

static void on_group_drop(void *ctx, uint64_t group)
{
	struct process *process = ctx;
	struct round_seam seam = endpoint_seam(process->endpoint);

	coverage_hit(process->leader->world->coverage, "round:group-drop");
	seam.ops->group_drop(seam.ctx, group);
}

static const struct round_counters *on_counters(void *ctx)
{
	const struct process *process = ctx;
	struct round_seam seam = endpoint_seam(process->endpoint);

	return seam.ops->counters(seam.ctx);
}

const struct round_ops process_round_ops = {
	.start = on_start,
	.cancel = on_cancel,
	.address = on_address,
	.group_drop = on_group_drop,
	.counters = on_counters,
};

/* --- to the engine --- */

/* As the nodes are now; who was rebooted meanwhile has no part in it. */
static struct combined_node node_of(void *ctx, uint32_t place)
{
	const struct process *process = ctx;
	const struct hostlist *nodes = process->part_nodes;
	const char *name = nodes->names[place];
	unsigned int index = (unsigned int)atoi(name + 1);

	return (struct combined_node){
		.name = name,
		.incarnation =
			node_incarnation(process->leader->world->nodes[index]),
	};
}

static void hear_carried(struct process *process,
			 const struct sent_round *round,
			 const struct combined *combined,
			 const struct node_master *masters, size_t count)
{
	const uint8_t *bytes;
	size_t cursor = 0, size;

	while (combined_carried_next(combined, &cursor, &bytes, &size)) {
		struct confirm confirm;

		if (confirm_open(masters, count, bytes, size, &confirm) < 0)
			continue;
		/* -ENOTCONN: it has to register first, and is asked again. */
		if (confirm.result != -ENOTCONN &&
		    confirm.sequence == round->head.sequence &&
		    confirm.epoch == round->head.epoch)
			oracle_apply_answered(
				process->leader->world->oracle, &round->head,
				(unsigned int)atoi(confirm.node + 1));
		confirm_fini(&confirm);
	}
}

static void hear(struct process *process, const struct sent_round *round,
		 const void *bytes, size_t size)
{
	struct world *world = process->leader->world;
	struct node_master masters[KEYS_MAX];
	size_t count = manager_keys_masters(&world->keys, masters);
	struct combined combined;

	if (combined_init(&combined, (uint32_t)round->nodes->count) < 0)
		abort();
	process->part_nodes = round->nodes;
	if (combined_merge(&combined, bytes, size) == 0) {
		for (size_t i = 0; i < combined.set_count; i++) {
			const struct combined_set *set = &combined.sets[i];

			if (combined_verify(set, &round->head, masters, count,
					    node_of, process) < 0)
				continue;
			idset_foreach (place, set->places)
				oracle_apply_answered(
					world->oracle, &round->head,
					(unsigned int)atoi(
						round->nodes->names[place] +
						1));
		}
		hear_carried(process, round, &combined, masters, count);
	}
	combined_fini(&combined);
}

static void on_part(void *ctx, uint64_t id, const void *bytes, size_t size)
{
	struct process *process = ctx;
	const struct sent_round *round = find(process, id);

	if (round == NULL)
		world_fail(process->leader->world,
			   "a part of round %llu, which is not under way",
			   (unsigned long long)id);
	if (round->head.op == COMMAND_APPLY)
		hear(process, round, bytes, size);
	engine_round_part(process->engine, id, bytes, size);
}

static void on_ended(void *ctx, uint64_t id, int result,
		     const struct round_failure *failures, size_t count)
{
	struct process *process = ctx;
	struct world *world = process->leader->world;
	struct sent_round *round = find(process, id);

	if (round == NULL)
		world_fail(world, "round %llu ends, which is not under way",
			   (unsigned long long)id);
	forget(process, round);
	if (result < 0)
		coverage_hit(world->coverage, "round:ended:%s",
			     strerrorname_np(-result));
	for (size_t i = 0; i < count; i++)
		coverage_hit(world->coverage, "round:failure:%s",
			     strerrorname_np(-failures[i].status));
	engine_round_ended(process->engine, id, result, failures, count);
}

static const struct round_events events = {
	.part = on_part,
	.ended = on_ended,
};

/* Events of the network may come before the engine is there. */
static void on_settled(void *ctx)
{
	struct process *process = ctx;

	if (process->is_serving)
		process_settle(process);
}

/* --- the endpoint --- */

void process_hops_take(struct process *process)
{
	struct hop_keys hops;

	manager_keys_hops(&process->leader->world->keys, &hops);
	endpoint_hops(process->endpoint, &hops);
}

bool leader_is_idle(const struct leader *leader, uint64_t *ret_groups)
{
	const struct process *process = leader->current;

	*ret_groups =
		process == NULL ? 0 : endpoint_group_count(process->endpoint);
	return process == NULL ||
	       (process->rounds == NULL && endpoint_is_idle(process->endpoint));
}

void process_endpoint_open(struct process *process)
{
	process->endpoint = endpoint_open_manager(process->leader->world->ether,
						  process->epoch, &events,
						  on_settled, process);
	process_hops_take(process);
}

void process_endpoint_close(struct process *process)
{
	endpoint_close(take_ptr(process->endpoint));
	if (process->rounds != NULL)
		world_fail(process->leader->world,
			   "%s leaves rounds under way when it ends",
			   process->machine);
}
