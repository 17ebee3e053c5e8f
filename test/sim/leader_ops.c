/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What the engine wants of its owner (the journal again, the configuration
 * again, commands of the site), and the clients' side, where each request and
 * each answer passes the oracle.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <utlist.h>

#include "lanes/driver/none/none.h"
#include "lanes/driver/slingshot/slingshot.h"
#include "fabric.h"
#include "fmsim.h"
#include "leader_internal.h"
#include "lanes/manager/journal.h"
#include "oracle.h"

/* --- configuration --- */

static void format_nodes(uint32_t nodes, char *text, size_t capacity)
{
	size_t used = 0;

	text[0] = 0;
	for (unsigned int i = 0; i < WORLD_NODES_MAX; i++) {
		if (nodes & 1u << i)
			used += (size_t)snprintf(text + used, capacity - used,
						 "%sn%u", used > 0 ? "," : "",
						 i);
	}
}

void leader_make_config(const struct leader *leader,
			struct engine_config_storage *storage)
{
	const struct leader_config *config = &leader->config;

	*storage = (struct engine_config_storage){ 0 };
	format_nodes(config->nodes, storage->nodes, sizeof(storage->nodes));
	storage->slingshot[0] = (struct fairlead_setting){
		"vni_pool", config->is_broken ? "0-3,x" : config->vni_pool, 1
	};
	storage->slingshot[1] = (struct fairlead_setting){
		"reserve_fatal", config->is_reserve_fatal ? "true" : "false", 2
	};
	storage->fabric[0] =
		(struct fairlead_setting){ "pool", config->fabric_pool, 3 };
	storage->fabric[1] = (struct fairlead_setting){
		"trees", leader->world->node_count % 2 ? "fatal" : "warning", 4
	};
	storage->drivers[0] = (struct core_driver_config){
		.driver = &slingshot_driver,
		.settings = storage->slingshot,
		.setting_count = 2,
	};
	storage->drivers[1] = (struct core_driver_config){
		.driver = &fabric_driver,
		.settings = storage->fabric,
		.setting_count = fmsim_is_there(leader->world) ? 2 : 1,
	};
	storage->drivers[2] =
		(struct core_driver_config){ .driver = &none_driver };
	elan_settings(storage->elan);
	storage->drivers[3] = (struct core_driver_config){
		.driver = &elan_driver,
		.settings = storage->elan,
		.setting_count = ELAN_SETTINGS,
	};
	storage->submitters[0] = (struct engine_submitter){ "slurm", 450 };
	storage->submitters[1] = (struct engine_submitter){ "flux", 451 };
	storage->config = (struct engine_config){
		.core = {
			.cluster = WORLD_CLUSTER,
			.nodes = storage->nodes,
			.interconnect = "slingshot",
			.apply_timeout_ms = LEADER_APPLY_MS,
			.revoke_timeout_ms = LEADER_REVOKE_MS,
			.events_keep = config->events_keep,
			.drivers = storage->drivers,
			.driver_count =
				elan_is_there(leader->world) ? 4 : 3,
		},
		.submitters = storage->submitters,
		.submitter_count = 2,
	};
}

static int on_reconfigure(void *ctx, struct engine *engine, char **ret_text)
{
	struct process *process = ctx;
	struct engine_config_storage *storage =
		world_allocate(sizeof(*storage));
	struct fairlead_error error = { 0 };
	int result;

	leader_make_config(process->leader, storage);
	result = engine_configure(engine, &storage->config, ret_text, &error);
	if (result < 0) {
		*ret_text = world_text("%s", error.text);
		free(storage);
		return result;
	}
	free(process->config);
	process->config = storage;
	return result;
}

/* --- the journal --- */

static int on_replay(void *ctx, struct engine *engine, uint64_t *ret_epoch,
		     struct fairlead_error *ret_error)
{
	struct process *process = ctx;
	struct world *world = process->leader->world;
	int result =
		journal_replay(process->store, engine, ret_epoch, ret_error);

	coverage_hit(world->coverage,
		     result < 0 ? "manager:replay-failed" : "manager:replay");
	process->is_unwell = result < 0;
	oracle_manager_started(world->oracle, false);
	if (result == 0) {
		process->epoch = *ret_epoch;
		world_trace(world, "%s reads its journal again epoch=%llu",
			    process->machine, (unsigned long long)*ret_epoch);
	}
	return result;
}

static const char *on_store_error(void *ctx)
{
	const struct process *process = ctx;

	return process->store_error;
}

/* A drain or undrain command that runs. */
struct notify_run {
	struct process *process;
	uint64_t id;
	int result;
	char node[32];
	uint64_t handle;
	struct notify_run *prev, *next;
};

static void on_command_done(void *ctx)
{
	struct notify_run *run = ctx;
	struct process *process = run->process;

	DL_DELETE(process->notices, run);
	engine_notified(process->engine, run->node, run->id, run->result);
	free(run);
	process_settle(process);
}

static void command_start(struct process *process, const char *node,
			  uint64_t id)
{
	struct world *world = process->leader->world;
	struct notify_run *run = world_allocate(sizeof(*run));

	run->process = process;
	run->id = id;
	snprintf(run->node, sizeof(run->node), "%s", node);
	if (!world->is_calm && sim_rng_below(&process->leader->rng, 100) < 25) {
		coverage_hit(world->coverage, "fault:command-fails");
		run->result = -EIO;
	}
	run->handle =
		sim_queue_add(world->queue,
			      5 + sim_rng_below(&process->leader->rng, 3000),
			      on_command_done, run);
	DL_APPEND(process->notices, run);
}

static void on_notify(void *ctx, uint64_t id, const char *node, bool is_drained,
		      const char *reason)
{
	struct process *process = ctx;
	struct world *world = process->leader->world;
	const struct notify_run *other;

	DL_FOREACH (process->notices, other)
		if (strcmp(other->node, node) == 0 &&
		    other->id >> 32 == id >> 32)
			world_fail(world, "two commands for %s at a time",
				   node);
	command_start(process, node, id);

	coverage_hit(world->coverage, is_drained ? "manager:drain-command"
						 : "manager:undrain-command");
	world_trace(world, "%s %s %s: %s", process->machine,
		    is_drained ? "drains" : "undrains", node, reason);
}

void process_commands_fini(struct process *process)
{
	struct notify_run *run, *next;

	DL_FOREACH_SAFE (process->notices, run, next) {
		DL_DELETE(process->notices, run);
		sim_queue_cancel(process->leader->world->queue, run->handle);
		free(run);
	}
}

/* --- the fabric manager --- */

static void on_outside_done(void *ctx, uint64_t id,
			    const struct outside_end *end)
{
	struct process *process = ctx;

	oracle_outside_ended(process->leader->world->oracle, id);
	engine_outside_done(process->engine, id, end);
	process_settle(process);
}

static void on_outside(void *ctx, const struct outside_request *request)
{
	struct process *process = ctx;
	struct world *world = process->leader->world;

	if (world->fmsim == NULL)
		world_fail(world, "a fabric manager is asked, and there is "
				  "none");
	oracle_outside_sent(world->oracle, process, process->epoch, request);
	fmsim_ask(world->fmsim, request, on_outside_done, process);
}

const struct engine_ops process_engine_ops = {
	.replay = on_replay,
	.reconfigure = on_reconfigure,
	.store_error = on_store_error,
	.notify = on_notify,
	.outside = on_outside,
};

/* --- clients --- */

static void call_remove(struct process *process, struct open_call *call)
{
	HASH_DEL(process->calls, call);
	json_decref(call->request);
	free(call);
}

void process_calls_fini(struct process *process)
{
	struct caller *caller, *next_caller;
	struct open_call *call, *next;

	HASH_ITER (hh, process->calls, call, next)
		call_remove(process, call);
	HASH_ITER (hh, process->callers, caller, next_caller) {
		HASH_DEL(process->callers, caller);
		free(caller);
	}
}

static void on_opened(void *ctx, uint64_t peer, const char *machine, uid_t uid)
{
	struct process *process = ctx;
	struct caller *caller = world_allocate(sizeof(*caller));

	caller->peer = peer;
	caller->uid = uid;
	HASH_ADD(hh, process->callers, peer, sizeof(caller->peer), caller);
	engine_client_opened(process->engine, peer, uid, false);
	process_settle(process);
}

/* Remember what will have to be answered. */
static void call_add(struct process *process, uint64_t peer, const void *frame,
		     size_t size)
{
	json_t *request = json_loadb(frame, size, 0, NULL);
	json_int_t id = json_integer_value(json_object_get(request, "id"));
	struct open_call *call;

	if (id <= 0) {
		json_decref(request);
		return;
	}
	call = world_allocate(sizeof(*call));
	call->name.peer = peer;
	call->name.id = (uint64_t)id;
	call->request = request;
	HASH_ADD(hh, process->calls, name, sizeof(call->name), call);
	oracle_received(process->leader->world->oracle, request);
	if (!process->is_fenced)
		oracle_apply_waits(process->leader->world->oracle, request);
}

static void on_received(void *ctx, uint64_t peer, const void *frame,
			size_t size)
{
	struct process *process = ctx;

	call_add(process, peer, frame, size);
	engine_client_received(process->engine, peer, frame, size);
	process_settle(process);
}

static void on_closed(void *ctx, uint64_t peer)
{
	struct process *process = ctx;
	struct open_call *call, *next;
	struct caller *caller;

	HASH_ITER (hh, process->calls, call, next) {
		if (call->name.peer == peer)
			call_remove(process, call);
	}
	HASH_FIND(hh, process->callers, &peer, sizeof(peer), caller);
	if (caller != NULL) {
		HASH_DEL(process->callers, caller);
		free(caller);
	}
	engine_client_closed(process->engine, peer);
	process_settle(process);
}

const struct sim_network_events process_client_events = {
	.opened = on_opened,
	.received = on_received,
	.closed = on_closed,
};

/* One answer a request: it leaves the manager, so it counts. */
static void answer_observe(struct process *process, uint64_t peer,
			   const json_t *answer)
{
	struct world *world = process->leader->world;
	json_int_t id = json_integer_value(json_object_get(answer, "id"));
	struct open_call *call;
	struct caller *caller;
	struct {
		uint64_t peer, id;
	} name = { .peer = peer, .id = (uint64_t)id };

	if (id == 0) {
		coverage_hit(world->coverage, "manager:answer-to-no-request");
		return;
	}
	HASH_FIND(hh, process->calls, &name, sizeof(name), call);
	if (call == NULL)
		world_fail(world, "an answer to a request that is not open: %s",
			   json_dumps(answer, JSON_COMPACT));
	HASH_FIND(hh, process->callers, &peer, sizeof(peer), caller);
	if (process->is_fenced)
		oracle_old_answered(world->oracle, call->request, answer,
				    process->fenced_ms);
	else
		oracle_answered(world->oracle, call->request, answer,
				caller == NULL ? (uid_t)-1 : caller->uid);
	call_remove(process, call);
}

static int client_send(void *ctx, uint64_t peer, const void *frame, size_t size)
{
	struct process *process = ctx;
	struct net_seam net = sim_host_seam(process->clients);
	json_t *answer = json_loadb(frame, size, 0, NULL);
	int result = net.ops->send(net.ctx, peer, frame, size);

	if (answer == NULL)
		world_fail(process->leader->world,
			   "%s answers with what is not JSON: %.*s",
			   process->machine, (int)size, (const char *)frame);
	oracle_no_token(process->leader->world->oracle, "an answer", frame,
			size);
	if (result == 0)
		answer_observe(process, peer, answer);
	json_decref(answer);
	return result;
}

static void client_close(void *ctx, uint64_t peer)
{
	struct process *process = ctx;
	struct net_seam net = sim_host_seam(process->clients);

	net.ops->close(net.ctx, peer);
}

const struct net_ops process_client_ops = {
	.send = client_send,
	.close = client_close,
};
