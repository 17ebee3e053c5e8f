/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Processes begin and end here. A process that dies takes with it what it had
 * in memory, and with the power also what was not synced. The operator's
 * decisions are few: start again; recover when the journal is refused as old,
 * or when the manager has stopped because of a higher epoch. Either may only
 * happen after an old backup was put back.
 */
#include "leader.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <utlist.h>

#include "fmsim.h"
#include "leader_internal.h"
#include "lanes/manager/journal.h"
#include "oracle.h"

#define RETRY_MS   2000
#define RECOVER_MS 8000 /* until the operator has looked */

static void on_start(void *ctx);

static void start_later(struct leader *leader, uint64_t delay_ms)
{
	sim_queue_cancel(leader->world->queue, leader->start_event);
	leader->start_event =
		sim_queue_add(leader->world->queue, delay_ms, on_start, leader);
}

/* --- the end of a process --- */

static void process_end(struct process *process, bool is_power)
{
	struct leader *leader = process->leader;
	struct sim_queue *queue = leader->world->queue;

	sim_queue_cancel(queue, process->tick_event);
	sim_queue_cancel(queue, process->end_event);
	process_store_fini(process);
	process_commands_fini(process);
	fmsim_hang_up(leader->world->fmsim, process);
	oracle_outside_left(leader->world->oracle, process);
	engine_destroy(process->engine);
	process_endpoint_close(process);
	if (!process->is_fenced && is_power)
		sim_disk_crash(leader->disk);
	else if (!process->is_fenced)
		sim_disk_kill(leader->disk);
	store_close_abrupt(process->store);
	process_calls_fini(process);
	sim_host_destroy(process->nodes, is_power);
	sim_host_destroy(process->clients, false);
	DL_DELETE(leader->processes, process);
	if (leader->current == process)
		leader->current = NULL;
	free(process->config);
	free(process);
}

static void disarm(struct leader *leader)
{
	sim_disk_fail_at(leader->disk, SIM_DISK_STOP, 0);
	leader->stops_seen =
		sim_disk_stats(leader->disk)->faults[SIM_DISK_STOP];
	leader->dies_committed = false;
}

void leader_crash(struct leader *leader, bool is_power, uint64_t restart_ms)
{
	struct process *process = leader->current;

	if (process == NULL)
		return;
	world_trace(leader->world, "%s dies%s", process->machine,
		    is_power ? " with its machine" : "");
	process_end(process, is_power);
	disarm(leader);
	start_later(leader, restart_ms);
}

bool process_died(struct process *process)
{
	const struct leader *leader = process->leader;

	return !process->is_fenced &&
	       sim_disk_stats(leader->disk)->faults[SIM_DISK_STOP] >
		       leader->stops_seen;
}

/* --- time, and what an operator would notice --- */

static void recover(struct leader *leader, uint64_t delay_ms)
{
	leader->wants_recovery = true;
	start_later(leader, delay_ms);
}

static void on_tick(void *ctx)
{
	struct process *process = ctx;

	process->tick_event = 0;
	engine_tick(process->engine);
	process_settle(process);
}

static void schedule_tick(struct process *process)
{
	struct world *world = process->leader->world;
	uint64_t deadline_ms = engine_deadline_ms(process->engine);
	uint64_t now_ms = world_now_ms(world);

	if (process->tick_event != 0 && process->tick_ms == deadline_ms)
		return;
	sim_queue_cancel(world->queue, process->tick_event);
	process->tick_event = 0;
	if (deadline_ms == DEADLINE_NONE)
		return;
	process->tick_ms = deadline_ms;
	process->tick_event =
		sim_queue_add(world->queue,
			      deadline_ms > now_ms ? deadline_ms - now_ms : 0,
			      on_tick, process);
}

static void check_halted(struct process *process)
{
	struct leader *leader = process->leader;

	if (!engine_is_halted(process->engine))
		return;
	if (process->is_noticed)
		return;
	process->is_noticed = true;
	if (process->is_fenced) {
		coverage_hit(leader->world->coverage, "manager:old-one-halted");
		return;
	}
	coverage_hit(leader->world->coverage, "manager:halted");
	if (!leader->restored)
		world_fail(leader->world,
			   "%s has stopped because of a higher epoch, and "
			   "there was none",
			   process->machine);
	recover(leader, RECOVER_MS);
}

void process_settle(struct process *process)
{
	struct leader *leader = process->leader;

	if (process_died(process)) {
		coverage_hit(leader->world->coverage,
			     leader->dies_of_power
				     ? "fault:manager-power-at-disk"
				     : "fault:manager-dies-at-disk");
		leader_crash(leader, leader->dies_of_power,
			     500 + sim_rng_below(&leader->rng, 5000));
		return;
	}
	if (process->is_stopping && engine_is_idle(process->engine)) {
		coverage_hit(leader->world->coverage, "fault:manager-stopped");
		world_trace(leader->world, "%s stops", process->machine);
		store_close(take_ptr(process->store));
		if (process_died(process)) {
			leader_crash(leader, leader->dies_of_power, 1000);
			return;
		}
		process_end(process, false);
		disarm(leader);
		start_later(leader, 500);
		return;
	}
	schedule_tick(process);
	check_halted(process);
}

/* --- nodes --- */

static void on_node_opened(void *ctx, uint64_t peer, const char *machine,
			   uid_t uid)
{
	struct process *process = ctx;

	engine_node_opened(process->engine, peer, machine);
	process_settle(process);
}

static void on_node_received(void *ctx, uint64_t peer, const void *frame,
			     size_t size)
{
	struct process *process = ctx;

	engine_node_received(process->engine, peer, frame, size);
	process_settle(process);
}

static void on_node_closed(void *ctx, uint64_t peer)
{
	struct process *process = ctx;

	engine_node_closed(process->engine, peer);
	process_settle(process);
}

static const struct sim_network_events node_events = {
	.opened = on_node_opened,
	.received = on_node_received,
	.closed = on_node_closed,
};

/* --- the start --- */

static void on_log(void *sink_data, enum log_level level, const char *line)
{
	struct process *process = sink_data;

	oracle_no_token(process->leader->world->oracle, "the log", line,
			strlen(line));
	world_trace(process->leader->world, "%s %s: %s", process->machine,
		    log_level_format(level), line);
}

static void on_edge(void *ctx, const char *edge)
{
	struct process *process = ctx;
	struct world *world = process->leader->world;

	coverage_add(world->coverage, edge, 1);
}

static int open_store(struct process *process, struct fairlead_error *ret_error)
{
	struct leader *leader = process->leader;
	const struct store_options options = {
		.files = process_files(process),
		.vfs_name = sim_disk_vfs(leader->disk),
		/* Small, so that the log goes into the tables often. */
		.checkpoint_pages = 16,
		.is_recovery = leader->wants_recovery,
	};

	return store_open(LEADER_STATE, &options, &process->store, ret_error);
}

static int make_engine(struct process *process,
		       struct fairlead_error *ret_error)
{
	struct leader *leader = process->leader;
	struct world *world = leader->world;
	struct engine_config_storage *storage =
		world_allocate(sizeof(*storage));
	struct engine_options options = {
		.config = &storage->config,
		.keys = &world->keys,
		.clock = sim_clock_seam(&world->clock),
		.rng = sim_rng_seam(&leader->rng),
		.nodes = sim_host_seam(process->nodes),
		.clients = { .ops = &process_client_ops, .ctx = process },
		.store = { .ops = &process_store_ops, .ctx = process },
		.ops = &process_engine_ops,
		.ops_ctx = process,
		.log = &process->log,
	};
	int result;

	process->config = storage;
	leader_make_config(leader, storage);
	if (leader->config.is_broken)
		storage->slingshot[0].value = leader->config.vni_pool;
	result = engine_create(&options, &process->engine, ret_error);
	if (result == 0)
		engine_set_probe(process->engine, on_edge, process);
	return result;
}

static int start_process(struct process *process,
			 struct fairlead_error *ret_error)
{
	struct leader *leader = process->leader;
	int result = open_store(process, ret_error);

	if (result == 0)
		result = make_engine(process, ret_error);
	if (result == 0)
		result = journal_begin(process->store, leader->wants_recovery,
				       process->engine, &process->epoch,
				       ret_error);
	if (result < 0)
		return result;
	process_endpoint_open(process);
	return engine_start(process->engine,
			    (struct round_seam){ &process_round_ops, process },
			    process->epoch, leader->wants_recovery, ret_error);
}

static struct process *process_create(struct leader *leader)
{
	struct process *process = world_allocate(sizeof(*process));
	struct world *world = leader->world;

	process->leader = leader;
	process->number = ++leader->number_last;
	snprintf(process->machine, sizeof(process->machine), "m%u",
		 process->number);
	process->log = (struct log){
		.level = LOG_LEVEL_INFO,
		.sink = on_log,
		.sink_data = process,
	};
	process->nodes = sim_host_create(world->node_network, process->machine,
					 &node_events, process);
	process->clients =
		sim_host_create(world->client_network, process->machine,
				&process_client_events, process);
	DL_APPEND(leader->processes, process);
	return process;
}

/* What the operator makes of a start that was refused. */
static void start_failed(struct leader *leader, int result,
			 const struct fairlead_error *error)
{
	struct world *world = leader->world;

	world_trace(world, "the manager does not start: %s", error->text);
	coverage_hit(world->coverage, "manager:start:%s",
		     strerrorname_np(-result));
	switch (result) {
	case -ESTALE:
		if (!leader->restored)
			world_fail(world, "the journal is said to be old: %s",
				   error->text);
		recover(leader, RECOVER_MS);
		break;
	case -EIO:
	case -ENOSPC:
	case -EACCES: /* SQLite's word for a file that cannot be made */
		if (world->is_calm)
			world_fail(world, "the manager does not start: %s",
				   error->text);
		start_later(leader, RETRY_MS);
		break;
	default:
		world_fail(world, "the manager does not start: %s",
			   error->text);
	}
}

static void on_start(void *ctx)
{
	struct leader *leader = ctx;
	struct world *world = leader->world;
	struct fairlead_error error = { 0 };
	struct process *process;
	bool is_recovery = leader->wants_recovery;
	int result;

	leader->start_event = 0;
	/* An operator who recovers has made sure that no other one is alive. */
	while (is_recovery && leader->processes != NULL)
		process_end(leader->processes, false);
	if (leader->current != NULL)
		process_end(leader->current, false);
	if (leader->restores)
		leader_put_back(leader);
	/* A recovery knows of no node that the configuration leaves out. */
	if (is_recovery)
		leader->config.nodes = (1u << world->node_count) - 1;
	process = process_create(leader);
	result = start_process(process, &error);
	if (process_died(process)) {
		coverage_hit(world->coverage, "fault:manager-dies-starting");
		world_trace(world, "%s dies as it starts", process->machine);
		process_end(process, leader->dies_of_power);
		disarm(leader);
		start_later(leader, RETRY_MS);
		return;
	}
	if (result < 0) {
		process_end(process, false);
		start_failed(leader, result, &error);
		return;
	}
	leader->wants_recovery = false;
	leader->current = process;
	if (is_recovery)
		world->is_paused = false;
	world_trace(world, "%s starts epoch=%llu%s", process->machine,
		    (unsigned long long)process->epoch,
		    is_recovery ? " in recovery" : "");
	coverage_hit(world->coverage,
		     is_recovery ? "manager:recovery" : "manager:start");
	oracle_manager_started(world->oracle, is_recovery);
	/* Nobody is left who could tell: the operator knows what he did. */
	if (world->is_paused)
		recover(leader, 4 * RECOVER_MS);
	process->is_serving = true;
	sim_host_listen(process->nodes, WORLD_MANAGER);
	sim_host_listen(process->nodes, process->machine);
	sim_host_listen(process->clients, WORLD_SOCKET);
	process_settle(process);
}

void leader_start(struct leader *leader, uint64_t delay_ms)
{
	start_later(leader, delay_ms);
}

bool leader_is_up(const struct leader *leader)
{
	return leader->current != NULL;
}

const char *leader_address(struct leader *leader)
{
	struct process *process;

	DL_FOREACH (leader->processes, process) {
		if (process->is_fenced && !leader->world->is_calm &&
		    sim_rng_chance(&leader->rng, 300000))
			return process->machine;
	}
	return WORLD_MANAGER;
}

uint64_t leader_epoch(const struct leader *leader)
{
	return leader->current == NULL ? 0 : leader->current->epoch;
}

struct leader_config *leader_config(struct leader *leader)
{
	return &leader->config;
}

/* --- what happens to it --- */

void leader_crash_at(struct leader *leader, uint64_t n, bool is_power)
{
	leader->dies_of_power = is_power;
	sim_disk_fail_at(leader->disk, SIM_DISK_STOP, n);
}

void leader_crash_committed(struct leader *leader)
{
	leader->dies_committed = true;
}

void leader_stop(struct leader *leader)
{
	if (leader->current == NULL)
		return;
	leader->current->is_stopping = true;
	process_settle(leader->current);
}

static void on_end(void *ctx)
{
	struct process *process = ctx;

	process->end_event = 0;
	world_trace(process->leader->world, "%s, the old one, is ended",
		    process->machine);
	process_end(process, false);
}

void leader_take_over(struct leader *leader, uint64_t alive_ms)
{
	struct process *process = leader->current;

	if (process == NULL)
		return;
	process->is_fenced = true;
	process->fenced_ms = world_now_ms(leader->world);
	process->is_hung = sim_rng_chance(&leader->rng, 500000);
	leader->current = NULL;
	disarm(leader);
	sim_disk_kill(leader->disk);
	world_trace(leader->world, "%s loses its disk to another one%s",
		    process->machine, process->is_hung ? " and hangs" : "");
	coverage_hit(leader->world->coverage, process->is_hung
						      ? "fault:takeover-hung"
						      : "fault:takeover");
	process->end_event =
		sim_queue_add(leader->world->queue, alive_ms, on_end, process);
	start_later(leader, 100 + sim_rng_below(&leader->rng, 3000));
}

void leader_start_second(struct leader *leader)
{
	const struct store_options options = {
		.files = sim_disk_files(leader->disk),
		.vfs_name = sim_disk_vfs(leader->disk),
	};
	struct fairlead_error error = { 0 };
	struct store *store;
	int result;

	if (leader->current == NULL)
		return;
	result = store_open(LEADER_STATE, &options, &store, &error);
	if (process_died(leader->current)) {
		process_settle(leader->current);
		return;
	}
	if (result != -EBUSY)
		world_fail(leader->world,
			   "a second manager on the same state is not refused "
			   "(%d %s)",
			   result, error.text);
	coverage_hit(leader->world->coverage, "fault:second-manager");
}

void leader_fill_disk(struct leader *leader, bool is_full)
{
	sim_disk_set_capacity(leader->disk, is_full);
}

void leader_fail_disk(struct leader *leader, unsigned int fault, uint64_t n)
{
	sim_disk_fail_at(leader->disk, fault, n);
}

void leader_slow_disk(struct leader *leader, uint64_t delay_max_ms)
{
	leader->delay_max_ms = delay_max_ms;
}

void leader_restore(struct leader *leader, bool is_whole)
{
	leader->restores = true;
	leader->restores_whole = is_whole;
	/* Nobody can tell a copy of the very epoch: then it is for recovery. */
	leader->wants_recovery |= leader->backup_epoch >= leader_epoch(leader);
}

void leader_heal(struct leader *leader)
{
	for (int i = 0; i < SIM_DISK_FAULT_COUNT; i++)
		sim_disk_fail_at(leader->disk, (enum sim_disk_fault)i, 0);
	sim_disk_set_capacity(leader->disk, 0);
	leader->delay_max_ms = 4;
	leader->dies_committed = false;
	leader->config.is_broken = false;
	if (leader->current == NULL && leader->start_event == 0)
		start_later(leader, 1000);
}

void leader_rekey(struct leader *leader)
{
	struct fairlead_error error;

	if (leader->current != NULL)
		process_hops_take(leader->current);
	if (leader->current != NULL &&
	    engine_rekey(leader->current->engine, &leader->world->keys,
			 &error) < 0)
		world_fail(leader->world, "the manager refuses its keys: %s",
			   error.text);
}

/* --- the whole --- */

static void count_disk_faults(const struct leader *leader)
{
	static const char *const names[SIM_DISK_FAULT_COUNT] = {
		[SIM_DISK_STOP] = "fault:disk-stop",
		[SIM_DISK_READ_ERROR] = "fault:disk-read",
		[SIM_DISK_WRITE_ERROR] = "fault:disk-write",
		[SIM_DISK_SYNC_ERROR] = "fault:disk-sync",
		[SIM_DISK_NAME_ERROR] = "fault:disk-name",
		[SIM_DISK_FULL] = "fault:disk-full-once",
	};
	const struct sim_disk_stats *stats = sim_disk_stats(leader->disk);
	struct coverage *coverage = leader->world->coverage;

	for (int i = 0; i < SIM_DISK_FAULT_COUNT; i++)
		coverage_add(coverage, names[i], stats->faults[i]);
	coverage_add(coverage, "fault:disk-full", stats->full_count);
	coverage_add(coverage, "fault:disk-killed", stats->kill_count);
	coverage_add(coverage, "fault:disk-crashed", stats->crash_count);
	coverage_add(coverage, "fault:sector-kept", stats->sector_kept_count);
	coverage_add(coverage, "fault:sector-lost", stats->sector_lost_count);
	coverage_add(coverage, "fault:sector-torn", stats->sector_torn_count);
	coverage_add(coverage, "fault:name-lost", stats->name_lost_count);
	coverage_add(coverage, "fault:sector-dropped",
		     stats->sector_dropped_count);
}

struct leader *leader_create(struct world *world)
{
	struct leader *leader = world_allocate(sizeof(*leader));

	leader->world = world;
	leader->rng = world_fork_rng(world);
	leader->disk = sim_disk_create(sim_rng_seam(&leader->rng),
				       sim_clock_seam(&world->clock));
	leader->delay_max_ms = 4;
	leader->config = (struct leader_config){
		.nodes = (1u << world->node_count) - 1,
		.is_reserve_fatal = true,
		.events_keep = (uint32_t)world_between(world, 5, 40),
	};
	snprintf(leader->config.vni_pool, sizeof(leader->config.vni_pool),
		 "%u-%u", WORLD_VNI_FIRST,
		 WORLD_VNI_FIRST + world->vni_count - 1);
	strcpy(leader->config.fabric_pool, "1-6");
	return leader;
}

void leader_destroy(struct leader *leader)
{
	if (leader == NULL)
		return;
	sim_queue_cancel(leader->world->queue, leader->start_event);
	while (leader->processes != NULL)
		process_end(leader->processes, false);
	count_disk_faults(leader);
	leader_backup_fini(leader);
	sim_disk_destroy(leader->disk);
	free(leader);
}
