/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Wiring: the nets and the endpoint (role_nets.c), the store's
 * worker, one timer for the engine's deadline and the site's commands.
 * Decisions are the engine's.
 *
 * The engine's deadline is looked at before the loop waits, since any event
 * may have moved it.
 */
#include "lanes/manager/role.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/memory.h"
#include "lanes/manager/journal.h"
#include "sys/clock.h"
#include "sys/files.h"
#include "sys/rng.h"

/*
 * --- reload: all or nothing, except that valid keys stay taken when the
 * engine then refuses the configuration ---
 */

/* One more text to those that are there, a line of its own. */
static void text_add(char **texts, const char *text)
{
	char *joined;

	if (*text == 0)
		return;
	joined =
		memory_format("%s%s%s", *texts, **texts == 0 ? "" : "\n", text);
	free(*texts);
	*texts = joined;
}

/* For people. Settings that wait for a restart are reported each time. */
static char *report(const struct manager *manager, const struct config *config,
		    bool has_new_keys, const char *core_changes)
{
	const struct config *started =
		manager->started == NULL ? manager->config : manager->started;
	_auto_(freep) char *restart =
		config_restart_needed(started, config, CONFIG_ROLE_MANAGER);
	char *all = config_changes(manager->config, config);

	if (has_new_keys)
		text_add(&all, "keys: those of the file are taken");
	text_add(&all, core_changes);
	text_add(&all, restart);
	return all;
}

static int take_config(struct manager *manager, struct config *config,
		       char **ret_text)
{
	_auto_(freep) char *changes = NULL;
	struct manager_keys keys = { 0 };
	struct role_config *filled = memory_alloc(sizeof(*filled));
	struct fairlead_error error;
	bool has_new_keys = false;
	struct role_outside outside = { 0 };
	int result = role_keys_load(config->manager.key, &keys, &error);

	if (result == 0)
		result = role_outside_open(manager, config, &outside, &error);
	if (result == 0)
		result = engine_rekey(manager->engine, &keys, &error);
	if (result >= 0) {
		has_new_keys = result > 0;
		manager_keys_hops(&keys, &manager->hop.keys);
		role_config_fill(config, filled);
		result = engine_configure(manager->engine, &filled->engine,
					  &changes, &error);
	}
	manager_keys_fini(&keys);
	if (result < 0) {
		role_outside_fini(&outside);
		free(filled);
		*ret_text = memory_text(error.text);
		return result;
	}
	role_outside_take(manager, &outside);
	free(manager->filled);
	manager->filled = filled;
	manager->log->level = config->log_level;
	*ret_text = report(manager, config, has_new_keys, changes);
	return 0;
}

static int reconfigure(struct manager *manager, char **ret_text)
{
	_auto_(config_destroyp) struct config *config = NULL;
	int result = config_load(manager->config_path, manager->roles,
				 manager->drivers, manager->driver_count,
				 &config, ret_text);

	if (result == 0)
		result = config_check_files(config, CONFIG_ROLE_MANAGER,
					    ret_text);
	if (result == 0)
		result = take_config(manager, config, ret_text);
	if (result < 0)
		return result;
	if (manager->started == NULL)
		manager->started = manager->config;
	else
		config_destroy(manager->config);
	manager->config = take_ptr(config);
	return 0;
}

void manager_reload(struct manager *manager)
{
	_auto_(freep) char *text = NULL;
	int result = reconfigure(manager, &text);

	if (result < 0)
		log_error(manager->log,
			  "reload refused, the old configuration stays "
			  "error=\"%s\"",
			  text);
	else
		log_info(manager->log, "reloaded changes=\"%s\"",
			 *text == 0 ? "nothing has changed" : text);
}

/* --- what the engine wants done --- */

static int on_reconfigure(void *ctx, struct engine *engine, char **ret_text)
{
	return reconfigure(ctx, ret_text);
}

static int on_replay(void *ctx, struct engine *engine, uint64_t *ret_epoch,
		     struct fairlead_error *ret_error)
{
	struct manager *manager = ctx;

	return journal_replay(manager->store, engine, ret_epoch, ret_error);
}

static const char *on_store_error(void *ctx)
{
	struct manager *manager = ctx;

	return manager->worker == NULL ? ""
				       : store_worker_error(manager->worker);
}

/* The engine hears of it in the next turn. */
static void end_later(struct manager *manager, const char *node, uint64_t id,
		      int result)
{
	struct ended_command *command = memory_alloc(sizeof(*command));

	snprintf(command->node, sizeof(command->node), "%s", node);
	command->id = id;
	command->result = result;
	command->next = manager->ended_commands;
	manager->ended_commands = command;
}

static void on_command_done(void *ctx, const char *node, uint64_t id,
			    int result)
{
	end_later(ctx, node, id, result);
}

static void on_notify(void *ctx, uint64_t id, const char *node, bool is_drained,
		      const char *reason)
{
	struct manager *manager = ctx;
	const struct config_manager *config = &manager->config->manager;
	const char *path =
		is_drained ? config->drain_command : config->undrain_command;

	log_warning(manager->log, "node %s node=%s reason=%s",
		    is_drained ? "drained" : "undrained", node, reason);
	if (*path == 0)
		end_later(manager, node, id, 0);
	else
		commands_run(manager->commands, path, node, reason, id);
}

static void on_outside(void *ctx, const struct outside_request *request)
{
	role_outside_send(ctx, request);
}

static const struct engine_ops engine_ops = {
	.replay = on_replay,
	.reconfigure = on_reconfigure,
	.store_error = on_store_error,
	.notify = on_notify,
	.outside = on_outside,
};

/* --- the end --- */

static void free_manager(struct manager *manager)
{
	void (*stopped)(void *ctx) = manager->stopped;
	void *ctx = manager->stopped_ctx;

	config_destroy(manager->started);
	config_destroy(manager->config);
	free(manager->filled);
	free(manager->config_path);
	hop_fini(&manager->hop);
	free(manager);
	if (stopped != NULL)
		stopped(ctx);
}

static void on_handle_closed(uv_handle_t *handle)
{
	struct manager *manager = handle->data;

	if (--manager->open_count == 0)
		free_manager(manager);
}

/* Nothing is on its way to the disk. */
static void close_all(struct manager *manager)
{
	net_destroy(take_ptr(manager->nodes_net));
	tcp_clients_destroy(take_ptr(manager->tcp_clients));
	net_destroy(take_ptr(manager->clients_net));
	http_stop(take_ptr(manager->http));
	turns_destroy(take_ptr(manager->turns));
	commands_destroy(take_ptr(manager->commands));
	role_outside_fini(&manager->outside);
	engine_destroy(take_ptr(manager->engine));
	role_endpoint_close(manager);
	store_close(take_ptr(manager->store));
	while (manager->ended_commands != NULL) {
		struct ended_command *command = manager->ended_commands;

		manager->ended_commands = command->next;
		free(command);
	}
	uv_close((uv_handle_t *)&manager->prepare, on_handle_closed);
	uv_close((uv_handle_t *)&manager->timer, on_handle_closed);
}

static void on_worker_stopped(void *arg)
{
	close_all(arg);
}

static void stop_worker(struct manager *manager)
{
	manager->is_over = true;
	if (manager->worker == NULL)
		close_all(manager);
	else
		store_worker_stop(take_ptr(manager->worker), on_worker_stopped,
				  manager);
}

void manager_stop(struct manager *manager, void (*stopped)(void *ctx),
		  void *ctx)
{
	manager->stopped = stopped;
	manager->stopped_ctx = ctx;
	manager->is_over = true;
	net_listen_stop(manager->nodes_net);
	net_listen_stop(manager->clients_net);
	if (manager->tcp_clients != NULL)
		tcp_clients_listen_stop(manager->tcp_clients);
}

/* --- time --- */

static void on_timer(uv_timer_t *timer)
{
	struct manager *manager = timer->data;

	if (!manager->is_over)
		engine_tick(manager->engine);
}

static void end_commands(struct manager *manager)
{
	struct ended_command *command;

	while ((command = manager->ended_commands) != NULL) {
		manager->ended_commands = command->next;
		engine_notified(manager->engine, command->node, command->id,
				command->result);
		free(command);
	}
}

static void on_prepare(uv_prepare_t *prepare)
{
	struct manager *manager = prepare->data;
	uint64_t deadline_ms;
	uint64_t now_ms;

	if (manager->is_over) {
		if (manager->worker != NULL && engine_is_idle(manager->engine))
			stop_worker(manager);
		return;
	}
	end_commands(manager);
	deadline_ms = engine_deadline_ms(manager->engine);
	now_ms = clock_monotonic_ms(&manager->clock);
	if (deadline_ms == DEADLINE_NONE) {
		uv_timer_stop(&manager->timer);
		return;
	}
	uv_update_time(manager->loop);
	uv_timer_start(&manager->timer, on_timer,
		       deadline_ms > now_ms ? deadline_ms - now_ms : 0, 0);
}

/* --- the start --- */

static int open_journal(struct manager *manager,
			const struct manager_options *options,
			struct fairlead_error *ret_error)
{
	const struct store_options store_options = {
		.files = sys_files(),
		.is_recovery = options->is_recovery,
	};
	const char *notice;
	int result = store_open(manager->config->manager.state, &store_options,
				&manager->store, ret_error);

	if (result < 0)
		return result;
	notice = store_notice(manager->store);
	if (notice != NULL)
		log_warning(manager->log, "%s", notice);
	result = store_worker_start(manager->loop, manager->store,
				    &manager->worker);
	if (result < 0)
		return error_set(ret_error, result, "the journal's thread: %s",
				 strerror(-result));
	return 0;
}

static int make_engine(struct manager *manager,
		       struct fairlead_error *ret_error)
{
	struct manager_keys keys;
	struct engine_options options = {
		.config = &manager->filled->engine,
		.keys = &keys,
		.sessions_max = manager->sessions_max,
		.clock = sys_clock(),
		.rng = sys_rng(),
		.nodes = net_seam(manager->nodes_net),
		.clients = manager->tcp_clients == NULL
				   ? net_seam(manager->clients_net)
				   : tcp_clients_seam(manager->tcp_clients),
		.store = store_worker_seam(manager->worker),
		.ops = &engine_ops,
		.ops_ctx = manager,
		.log = manager->log,
	};
	int result =
		role_keys_load(manager->config->manager.key, &keys, ret_error);

	if (result < 0)
		return result;
	manager_keys_hops(&keys, &manager->hop.keys);
	result = engine_create(&options, &manager->engine, ret_error);
	manager_keys_fini(&keys);
	return result;
}

static int start(struct manager *manager, const struct manager_options *options,
		 struct fairlead_error *ret_error)
{
	uint64_t epoch;
	int result = open_journal(manager, options, ret_error);

	if (result == 0)
		result = role_nets_create(manager, options->shares, ret_error);
	if (result == 0)
		result = role_outside_open(manager, manager->config,
					   &manager->outside, ret_error);
	if (result == 0)
		result = make_engine(manager, ret_error);
	if (result == 0)
		result = journal_begin(manager->store, options->is_recovery,
				       manager->engine, &epoch, ret_error);
	if (result == 0)
		result = role_endpoint_open(manager, epoch, ret_error);
	if (result == 0)
		result = engine_start(manager->engine,
				      rounds_seam(manager->rounds), epoch,
				      options->is_recovery, ret_error);
	if (result == 0 && options->waive != NULL)
		engine_waive(manager->engine, options->waive);
	if (result == 0)
		result = role_nets_listen(manager, ret_error);
	return result;
}

int manager_start(const struct manager_options *options,
		  struct config *config_owned, struct manager **ret_manager,
		  struct fairlead_error *ret_error)
{
	struct manager *manager = memory_alloc(sizeof(*manager));
	int result;

	manager->loop = options->loop;
	manager->config_path = memory_text(options->config_path);
	manager->roles = options->roles;
	manager->drivers = options->drivers;
	manager->driver_count = options->driver_count;
	manager->log = options->log;
	manager->clock = sys_clock();
	manager->config = config_owned;
	manager->filled = memory_alloc(sizeof(*manager->filled));
	role_config_fill(config_owned, manager->filled);
	manager->commands =
		commands_create(manager->loop, manager->log, COMMAND_TIMEOUT_MS,
				on_command_done, manager);
	uv_prepare_init(manager->loop, &manager->prepare);
	uv_timer_init(manager->loop, &manager->timer);
	manager->prepare.data = manager;
	manager->timer.data = manager;
	manager->open_count = 2;
	hop_init(&manager->hop, NID_MANAGER);
	keys_lock(&manager->hop.keys, sizeof(manager->hop.keys), manager->log);
	result = start(manager, options, ret_error);
	if (result < 0) {
		stop_worker(manager);
		return result;
	}
	uv_prepare_start(&manager->prepare, on_prepare);
	*ret_manager = manager;
	return 0;
}
