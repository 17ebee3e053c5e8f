/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Making, starting and remaking the core, and the time. After a failed commit
 * the core is gone until nothing is in flight at the store; then the journal
 * is read again under a new epoch and life, so that what the old core had sent
 * is void, and the nodes are challenged to register again.
 */
#include "lanes/manager/engine.h"

#include <errno.h>
#include <inttypes.h>
#include <sodium.h>
#include <string.h>

#include "base/memory.h"
#include "lanes/manager/clients.h"
#include "lanes/manager/commit.h"
#include "lanes/manager/poll.h"
#include "lanes/manager/session.h"
#include "lanes/manager/live.h"

static void derive_keys(struct engine *engine, const struct manager_keys *keys)
{
	engine->keys = *keys;
	manager_keys_command(keys, &engine->command_key);
	engine->public_count = manager_keys_publics(keys, engine->publics);
	engine->master_count = manager_keys_masters(keys, engine->masters);
}

void engine_encrypt(void *ctx, uint64_t grant_id, const void *secret,
		    size_t size, struct writer *writer)
{
	const struct engine *engine = ctx;

	manager_keys_encrypt(&engine->keys, grant_id, secret, size, writer);
}

int engine_decrypt(void *ctx, uint64_t grant_id, const void *bytes, size_t size,
		   struct writer *writer, struct fairlead_error *ret_error)
{
	const struct engine *engine = ctx;

	return manager_keys_decrypt(&engine->keys, grant_id, bytes, size,
				    writer, ret_error);
}

static int make_core(struct engine *engine, struct fairlead_error *ret_error)
{
	int result = core_create(&engine->config->core, &commit_core_ops,
				 engine, &engine->clock, &engine->rng,
				 engine->log, &engine->core, ret_error);

	if (result == 0)
		core_set_probe(engine->core, engine->probe, engine->probe_ctx);
	return result;
}

int engine_create(const struct engine_options *options,
		  struct engine **ret_engine, struct fairlead_error *ret_error)
{
	_auto_(engine_destroyp) struct engine *engine =
		memory_alloc(sizeof(*engine));
	int result;

	engine->config = options->config;
	engine->levels = memory_have(json_object());
	engine_fanouts_create(engine);
	engine->clock = options->clock;
	engine->rng = options->rng;
	engine->nodes_net = options->nodes;
	engine->clients_net = options->clients;
	engine->store = options->store;
	engine->ops = options->ops;
	engine->ops_ctx = options->ops_ctx;
	engine->log = options->log;
	engine->session_scan_ms = DEADLINE_NONE;
	engine->live_scan_ms = DEADLINE_NONE;
	engine->sessions_max = ENGINE_SESSIONS_MAX;
	if (options->sessions_max > 0 &&
	    options->sessions_max < ENGINE_SESSIONS_MAX)
		engine->sessions_max = options->sessions_max;
	engine->started_ms = engine_now_ms(engine);
	keys_lock(engine, sizeof(*engine), engine->log);
	derive_keys(engine, options->keys);
	result = make_core(engine, ret_error);
	if (result < 0)
		return result;
	*ret_engine = take_ptr(engine);
	return 0;
}

void engine_destroy(struct engine *engine)
{
	if (engine == NULL)
		return;
	core_destroy(engine->core);
	fanouts_destroy(engine->fanouts);
	live_clear(engine);
	json_decref(engine->levels);
	commit_fini(engine);
	session_fini(engine);
	engine_clients_fini(engine);
	events_fini(engine);
	keys_unlock(engine, sizeof(*engine));
	free(engine);
}

int engine_load(struct engine *engine, const struct store_row *row,
		struct fairlead_error *ret_error)
{
	if (halt_load(engine, row))
		return 0;
	return core_load(engine->core, row, ret_error);
}

bool engine_is_halted(const struct engine *engine)
{
	return engine->halted_epoch != 0;
}

bool engine_is_recovery(const struct engine *engine)
{
	return engine->is_recovery;
}

static int start_core(struct engine *engine, uint64_t epoch,
		      struct fairlead_error *ret_error)
{
	engine->epoch = epoch;
	engine->life = rng_u64(&engine->rng);
	if (engine->is_recovery)
		halt_clear(engine);
	engine->is_recall_due = true;
	return core_start(engine->core, epoch, engine->is_recovery, ret_error);
}

int engine_start(struct engine *engine, struct round_seam rounds,
		 uint64_t epoch, bool is_recovery,
		 struct fairlead_error *ret_error)
{
	int result;

	engine->rounds = rounds;
	engine->is_recovery = is_recovery;
	result = start_core(engine, epoch, ret_error);
	if (result < 0)
		return result;
	engine->is_started = true;
	commit_flush(engine);
	return 0;
}

/* The journal as it is on disk, in a new core. */
static int replay(struct engine *engine, struct fairlead_error *ret_error)
{
	uint64_t epoch;
	int result = make_core(engine, ret_error);

	if (result == 0)
		result = engine->ops->replay(engine->ops_ctx, engine, &epoch,
					     ret_error);
	if (result == 0)
		result = start_core(engine, epoch, ret_error);
	if (result < 0) {
		core_destroy(take_ptr(engine->core));
		commit_fini(engine);
	}
	return result;
}

static void try_replay(struct engine *engine, uint64_t now_ms)
{
	struct fairlead_error error;

	if (engine->core != NULL || engine->groups != NULL ||
	    now_ms < engine->replay_ms)
		return;
	if (replay(engine, &error) < 0) {
		engine->failure = error;
		engine->replay_ms = now_ms + ENGINE_REPLAY_MS;
		log_error(engine->log,
			  "the journal could not be read error=\"%s\"",
			  error.text);
		return;
	}
	engine->counters.replay_count++;
	engine->failure.code = 0;
	log_info(engine->log, "the journal was read again epoch=%" PRIu64,
		 engine->epoch);
	session_challenge_all(engine);
}

static uint64_t earlier(uint64_t a, uint64_t b)
{
	return a < b ? a : b;
}

uint64_t engine_deadline_ms(const struct engine *engine)
{
	uint64_t deadline_ms =
		earlier(session_deadline_ms(engine), live_deadline_ms(engine));

	if (!engine->is_started)
		return DEADLINE_NONE;
	if (recall_is_due(engine))
		return 0;
	if (engine->core == NULL)
		return engine->groups != NULL
			       ? deadline_ms
			       : earlier(deadline_ms, engine->replay_ms);
	if (engine->halted_epoch == 0)
		deadline_ms =
			earlier(deadline_ms, core_deadline_ms(engine->core));
	return earlier(deadline_ms, fanouts_deadline_ms(engine->fanouts));
}

void engine_tick(struct engine *engine)
{
	uint64_t now_ms = engine_now_ms(engine);

	if (!engine->is_started)
		return;
	try_replay(engine, now_ms);
	session_tick(engine, now_ms);
	recall_tick(engine);
	live_tick(engine, now_ms);
	fanouts_tick(engine->fanouts, now_ms);
	if (engine->core != NULL && engine->halted_epoch == 0 &&
	    now_ms >= core_deadline_ms(engine->core))
		core_tick(engine->core);
	commit_flush(engine);
}

bool engine_is_idle(const struct engine *engine)
{
	return engine->groups == NULL;
}

int engine_configure(struct engine *engine, const struct engine_config *config,
		     char **ret_changes, struct fairlead_error *ret_error)
{
	int result;

	if (engine->core == NULL)
		return error_set(ret_error, -EAGAIN,
				 "the journal is being read again: %s",
				 engine->failure.text);
	result = core_configure(engine->core, &config->core, ret_changes,
				ret_error);
	if (result < 0)
		return result;
	engine->config = config;
	live_check_all(engine);
	commit_flush(engine);
	return 0;
}

int engine_rekey(struct engine *engine, const struct manager_keys *keys,
		 struct fairlead_error *ret_error)
{
	bool is_new;

	if (memcmp(keys->cluster, engine->keys.cluster,
		   sizeof(keys->cluster)) != 0)
		return error_set(ret_error, -EINVAL,
				 "the key file is another cluster's");
	is_new = keys->count != engine->keys.count ||
		 sodium_memcmp(keys->keys, engine->keys.keys,
			       keys->count * sizeof(keys->keys[0])) != 0;
	derive_keys(engine, keys);
	if (!is_new)
		return 0;
	poll_all(engine);
	if (engine->core != NULL) {
		core_rekey(engine->core);
		commit_flush(engine);
	}
	return 1;
}

void engine_waive(struct engine *engine, const char *nodes)
{
	/* Whoever starts the manager with it has no way to say it twice. */
	const struct core_operator by = { .is_forced = true };

	if (engine->core == NULL)
		return;
	core_recover_waive(engine->core, &by, nodes, 0);
	commit_flush(engine);
}

void engine_round_part(struct engine *engine, uint64_t id, const void *bytes,
		       size_t size)
{
	fanouts_part(engine->fanouts, id, bytes, size);
	fanouts_tick(engine->fanouts, engine_now_ms(engine));
	commit_flush(engine);
}

void engine_round_ended(struct engine *engine, uint64_t id, int result,
			const struct round_failure *failures, size_t count)
{
	fanouts_ended(engine->fanouts, id, result, failures, count);
	fanouts_tick(engine->fanouts, engine_now_ms(engine));
	commit_flush(engine);
}

void engine_notified(struct engine *engine, const char *node, uint64_t id,
		     int result)
{
	if (engine->core == NULL)
		return;
	core_notified(engine->core, node, id, result);
	commit_flush(engine);
}

void engine_outside_done(struct engine *engine, uint64_t id,
			 const struct outside_end *end)
{
	if (engine->core == NULL)
		return;
	core_outside_done(engine->core, id, end);
	commit_flush(engine);
}

void engine_set_probe(struct engine *engine,
		      void (*probe)(void *ctx, const char *edge), void *ctx)
{
	engine->probe = probe;
	engine->probe_ctx = ctx;
	if (engine->core != NULL)
		core_set_probe(engine->core, probe, ctx);
}
