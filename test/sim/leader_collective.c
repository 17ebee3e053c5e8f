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
#include "lanes/proto/gather.h"
#include "oracle.h"

/* A collective under way. */
struct collective {
	uint64_t id;
	struct command head;
	struct hostlist *nodes; /* of the command */
	UT_hash_handle hh;
};

static void forget(struct process *process, struct collective *collective)
{
	HASH_DEL(process->collectives, collective);
	hostlist_destroy(collective->nodes);
	free(collective);
}

static struct collective *find(const struct process *process, uint64_t id)
{
	struct collective *collective;

	HASH_FIND(hh, process->collectives, &id, sizeof(id), collective);
	return collective;
}

/* --- from the engine --- */

static void remember(struct process *process,
		     const struct collective_request *request)
{
	struct collective *collective = world_allocate(sizeof(*collective));
	const struct parcel *parcel = &request->parcel;
	struct world *world = process->leader->world;
	_auto_(freep) char *nodes = NULL;

	if (command_header_read(parcel->command, &collective->head) < 0 ||
	    command_nodes_read(parcel->command, parcel->command_size, &nodes) <
		    0 ||
	    hostlist_parse(nodes, &collective->nodes, NULL) < 0)
		world_fail(world, "%s starts a collective without a command",
			   process->machine);
	if (request->count > collective->nodes->count)
		world_fail(world, "%s asks nodes that its command is not for",
			   process->machine);
	collective->id = request->id;
	HASH_ADD(hh, process->collectives, id, sizeof(collective->id),
		 collective);
	oracle_command_sent(world->oracle, parcel->command);
	ether_overhear(world->ether, parcel->command, parcel->command_size);
	if (collective->head.op == COMMAND_APPLY)
		oracle_apply_sent(world->oracle, &collective->head);
	coverage_hit(world->coverage, "collective:%s%s%s",
		     command_op_name(collective->head.op),
		     request->is_flat ? ":flat" : "",
		     parcel->is_separate ? ":separate" : "");
}

static int on_start(void *ctx, const struct collective_request *request)
{
	struct process *process = ctx;
	struct collective_seam seam = endpoint_seam(process->endpoint);
	int result;

	remember(process, request);
	result = seam.ops->start(seam.ctx, request);
	if (result == 0)
		return 0;
	coverage_hit(process->leader->world->coverage, "collective:start:%s",
		     strerrorname_np(-result));
	forget(process, find(process, request->id));
	return result;
}

static void on_cancel(void *ctx, uint64_t id)
{
	struct process *process = ctx;
	struct collective_seam seam = endpoint_seam(process->endpoint);
	struct collective *collective = find(process, id);

	if (collective != NULL)
		forget(process, collective);
	coverage_hit(process->leader->world->coverage, "collective:cancel");
	seam.ops->cancel(seam.ctx, id);
}

static void on_address(void *ctx, uint64_t nid, const void *bytes, size_t size)
{
	struct process *process = ctx;
	struct collective_seam seam = endpoint_seam(process->endpoint);

	coverage_hit(process->leader->world->coverage,
		     size > 0 ? "collective:address" : "collective:lost");
	seam.ops->address(seam.ctx, nid, bytes, size);
}

static void on_group_drop(void *ctx, uint64_t group)
{
	struct process *process = ctx;
	struct collective_seam seam = endpoint_seam(process->endpoint);

	coverage_hit(process->leader->world->coverage, "collective:group-drop");
	seam.ops->group_drop(seam.ctx, group);
}

const struct collective_ops process_collective_ops = {
	.start = on_start,
	.cancel = on_cancel,
	.address = on_address,
	.group_drop = on_group_drop,
};

/* --- to the engine --- */

/* As the nodes are now; who was rebooted meanwhile has no part in it. */
static struct gather_node node_of(void *ctx, uint32_t place)
{
	const struct process *process = ctx;
	const struct hostlist *nodes = process->part_nodes;
	const char *name = nodes->names[place];
	unsigned int index = (unsigned int)atoi(name + 1);

	return (struct gather_node){
		.name = name,
		.incarnation =
			node_incarnation(process->leader->world->nodes[index]),
	};
}

static void hear_carried(struct process *process,
			 const struct collective *collective,
			 const struct gather *gather,
			 const struct node_master *masters, size_t count)
{
	const uint8_t *bytes;
	size_t cursor = 0, size;

	while (gather_carried_next(gather, &cursor, &bytes, &size)) {
		struct confirm confirm;

		if (confirm_open(masters, count, bytes, size, &confirm) < 0)
			continue;
		/* -ENOTCONN: it has to register first, and is asked again. */
		if (confirm.result != -ENOTCONN &&
		    confirm.sequence == collective->head.sequence &&
		    confirm.epoch == collective->head.epoch)
			oracle_apply_heard(
				process->leader->world->oracle,
				&collective->head,
				(unsigned int)atoi(confirm.node + 1));
		confirm_fini(&confirm);
	}
}

static void hear(struct process *process, const struct collective *collective,
		 const void *bytes, size_t size)
{
	struct world *world = process->leader->world;
	struct node_master masters[KEYS_MAX];
	size_t count = manager_keys_masters(&world->keys, masters);
	struct gather gather;

	if (gather_init(&gather, (uint32_t)collective->nodes->count) < 0)
		abort();
	process->part_nodes = collective->nodes;
	if (gather_merge(&gather, bytes, size) == 0) {
		for (size_t i = 0; i < gather.set_count; i++) {
			const struct gather_set *set = &gather.sets[i];

			if (gather_verify(set, &collective->head, masters,
					  count, node_of, process) < 0)
				continue;
			idset_foreach (place, set->places)
				oracle_apply_heard(
					world->oracle, &collective->head,
					(unsigned int)atoi(
						collective->nodes
							->names[place] +
						1));
		}
		hear_carried(process, collective, &gather, masters, count);
	}
	gather_fini(&gather);
}

static void on_part(void *ctx, uint64_t id, const void *bytes, size_t size)
{
	struct process *process = ctx;
	const struct collective *collective = find(process, id);

	if (collective == NULL)
		world_fail(process->leader->world,
			   "a part of collective %llu, which is not under way",
			   (unsigned long long)id);
	if (collective->head.op == COMMAND_APPLY)
		hear(process, collective, bytes, size);
	engine_collective_part(process->engine, id, bytes, size);
}

static void on_ended(void *ctx, uint64_t id, int result,
		     const struct collective_failure *failures, size_t count)
{
	struct process *process = ctx;
	struct world *world = process->leader->world;
	struct collective *collective = find(process, id);

	if (collective == NULL)
		world_fail(world,
			   "collective %llu ends, which is not under way",
			   (unsigned long long)id);
	forget(process, collective);
	if (result < 0)
		coverage_hit(world->coverage, "collective:ended:%s",
			     strerrorname_np(-result));
	for (size_t i = 0; i < count; i++)
		coverage_hit(world->coverage, "collective:failure:%s",
			     strerrorname_np(-failures[i].status));
	engine_collective_ended(process->engine, id, result, failures, count);
}

static const struct broadcast_events events = {
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
	return process == NULL || (process->collectives == NULL &&
				   endpoint_is_idle(process->endpoint));
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
	if (process->collectives != NULL)
		world_fail(process->leader->world,
			   "%s leaves collectives under way when it ends",
			   process->machine);
}
