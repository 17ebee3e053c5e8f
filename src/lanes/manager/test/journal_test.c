/* SPDX-License-Identifier: BSD-3-Clause */
/* An engine over a real journal, on a disk that fails on request. */
#include "lanes/manager/journal.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "lanes/driver/driver.h"
#include "lanes/manager/core/outside.h"
#include "lanes/manager/core/test/fake_driver.h"
#include "lanes/manager/store/row.h"
#include "sim/clock.h"
#include "sim/disk.h"
#include "sim/rng.h"

#define HALTED_EPOCH 9 /* of the manager that a node had met */
#define TOKEN        "a session token of the fabric manager"

struct bench {
	struct sim_rng rng;
	struct sim_clock clock;
	struct sim_disk *disk;
	struct store *store;
	struct engine *engine;
	struct manager_keys keys;
	struct store_batch *batch; /* the commit in flight, or NULL */
	void (*done)(void *arg, int result);
	void *arg;
	unsigned int replay_count;
	int replay_result;
	uint64_t make_id; /* the last request to make a reservation */
	struct fairlead_error error;
};

/* --- what the engine asks for --- */

static int on_send(void *ctx, uint64_t peer, const void *frame, size_t size)
{
	return 0;
}

static void on_close(void *ctx, uint64_t peer)
{
}

static void on_commit(void *ctx, struct store_batch *batch_owned,
		      void (*done)(void *arg, int result), void *arg)
{
	struct bench *bench = ctx;

	assert_null(bench->batch);
	bench->batch = batch_owned;
	bench->done = done;
	bench->arg = arg;
}

/* The commit in flight fails with this, or is written. */
static void commit_end(struct bench *bench, int result)
{
	struct store_batch *batch = bench->batch;

	assert_non_null(batch);
	bench->batch = NULL;
	if (result == 0)
		result = store_write(bench->store, batch, NULL);
	store_batch_destroy(batch);
	bench->done(bench->arg, result);
}

static int on_replay(void *ctx, struct engine *engine, uint64_t *ret_epoch,
		     struct fairlead_error *ret_error)
{
	struct bench *bench = ctx;

	bench->replay_count++;
	bench->replay_result =
		journal_replay(bench->store, engine, ret_epoch, ret_error);
	return bench->replay_result;
}

static const char *on_store_error(void *ctx)
{
	return "the disk says no";
}

static void on_outside(void *ctx, const struct outside_request *request)
{
	struct bench *bench = ctx;

	if (request->verb == OUTSIDE_MAKE)
		bench->make_id = request->id;
}

/* --- managers --- */

static void engine_make(struct bench *bench)
{
	static const struct net_ops nets = { .send = on_send,
					     .close = on_close };
	static const struct store_ops stores = { .commit = on_commit };
	static const struct engine_ops ops = { .replay = on_replay,
					       .store_error = on_store_error,
					       .outside = on_outside };
	static struct core_driver_config drivers[2];
	static const struct engine_config config = {
		.core = { .cluster = "test",
			  .nodes = "n[0-3]",
			  .interconnect = "none",
			  .apply_timeout_ms = 1000,
			  .revoke_timeout_ms = 1000,
			  .events_keep = 10,
			  .drivers = drivers,
			  .driver_count = 2 },
	};
	const struct engine_options options = {
		.config = &config,
		.keys = &bench->keys,
		.clock = sim_clock_seam(&bench->clock),
		.rng = sim_rng_seam(&bench->rng),
		.nodes = { .ops = &nets, .ctx = bench },
		.clients = { .ops = &nets, .ctx = bench },
		.store = { .ops = &stores, .ctx = bench },
		.ops = &ops,
		.ops_ctx = bench,
	};
	struct fairlead_error error = { 0 };

	drivers[0].driver = driver_find("none");
	drivers[1].driver = &fake_driver;
	if (engine_create(&options, &bench->engine, &error) < 0)
		fail_msg("%s", error.text);
}

static void on_group_drop(void *ctx, uint64_t group)
{
}

/* A process begins: 0, or why it does not. */
static int manager_start(struct bench *bench, bool is_recovery)
{
	const struct store_options options = {
		.files = sim_disk_files(bench->disk),
		.vfs_name = sim_disk_vfs(bench->disk),
		.is_recovery = is_recovery,
	};
	static const struct round_ops rounds = { .group_drop = on_group_drop };
	uint64_t epoch;
	int result;

	if (store_open("/journal", &options, &bench->store, &bench->error) < 0)
		fail_msg("%s", bench->error.text);
	engine_make(bench);
	result = journal_begin(bench->store, is_recovery, bench->engine, &epoch,
			       &bench->error);
	if (result == 0)
		result = engine_start(bench->engine,
				      (struct round_seam){ &rounds, bench },
				      epoch, is_recovery, &bench->error);
	return result;
}

static void manager_stop(struct bench *bench)
{
	engine_destroy(bench->engine);
	bench->engine = NULL;
	store_batch_destroy(bench->batch);
	bench->batch = NULL;
	store_close(bench->store);
	bench->store = NULL;
}

static int keep_id(void *arg, const struct store_row *row)
{
	*(uint64_t *)arg = row->id;
	return 0;
}

/* The number under the key, or 0. */
static uint64_t meta_get(struct bench *bench, const char *key)
{
	uint64_t number = 0;

	assert_int_equal(store_read(bench->store, STORE_META, 0, key, keep_id,
				    &number, NULL),
			 0);
	return number;
}

static void meta_put(struct bench *bench, const char *key, uint64_t number)
{
	const struct store_row row = {
		.table = STORE_META,
		.verb = STORE_PUT,
		.key = key,
		.id = number,
	};
	struct store_batch *batch;

	batch = store_batch_create();
	assert_int_equal(store_batch_add(batch, &row), 0);
	assert_int_equal(store_write(bench->store, batch, NULL), 0);
	store_batch_destroy(batch);
}

static int set_up(void **state)
{
	struct bench *bench = calloc(1, sizeof(*bench));
	struct rng_seam rng;

	sim_rng_init(&bench->rng, 1);
	sim_sqlite_seed(1);
	rng = sim_rng_seam(&bench->rng);
	manager_keys_create(&rng, &bench->keys);
	bench->disk = sim_disk_create(rng, sim_clock_seam(&bench->clock));
	*state = bench;
	return 0;
}

static int tear_down(void **state)
{
	struct bench *bench = *state;

	manager_stop(bench);
	sim_disk_destroy(bench->disk);
	manager_keys_fini(&bench->keys);
	free(bench);
	return 0;
}

/* A manager that has met a newer one, and has stopped. */
static void halt(struct bench *bench)
{
	assert_int_equal(manager_start(bench, false), 0);
	meta_put(bench, ENGINE_META_HALTED, HALTED_EPOCH);
	manager_stop(bench);
}

/* --- the tests --- */

static void a_start_after_a_halt_is_refused(void **state)
{
	struct bench *bench = *state;

	halt(bench);
	assert_int_equal(manager_start(bench, false), -ESTALE);
	assert_true(store_epoch(bench->store) < HALTED_EPOCH);
	manager_stop(bench);
}

static void a_recovery_goes_on_when_its_first_commit_fails(void **state)
{
	struct bench *bench = *state;

	halt(bench);
	assert_int_equal(manager_start(bench, true), 0);
	commit_end(bench, -EIO);
	engine_tick(bench->engine);
	assert_int_equal(bench->replay_count, 1);
	assert_int_equal(bench->replay_result, 0);
	assert_false(engine_is_halted(bench->engine));
	assert_true(engine_is_recovery(bench->engine));
	commit_end(bench, 0);
	assert_false(engine_is_recovery(bench->engine));
	assert_int_equal(store_epoch(bench->store), HALTED_EPOCH + 2);
	assert_int_equal(meta_get(bench, STORE_META_RECOVERING),
			 HALTED_EPOCH + 2);
	manager_stop(bench);
	assert_int_equal(manager_start(bench, false), 0);
	manager_stop(bench);
}

static void a_recovery_that_is_over_does_not_begin_again(void **state)
{
	struct bench *bench = *state;
	uint64_t epoch;

	assert_int_equal(manager_start(bench, true), 0);
	commit_end(bench, 0);
	engine_waive(bench->engine, "n[0-3]");
	commit_end(bench, 0);
	assert_int_equal(meta_get(bench, STORE_META_RECOVERING), 0);
	/* As when the journal is read again, much later. */
	assert_int_equal(store_epoch_begin(bench->store, 0, &epoch, NULL), 0);
	assert_int_equal(meta_get(bench, STORE_META_RECOVERING), 0);
	manager_stop(bench);
}

/* --- secrets --- */

static void commit_all(struct bench *bench)
{
	while (bench->batch != NULL)
		commit_end(bench, 0);
}

/* A grant whose external reservation is held. */
static void hold(struct bench *bench)
{
	static const char request[] =
		"{\"v\":1,\"id\":1,\"op\":\"reserve\",\"request\":{\"key\":"
		"\"a/1/0\",\"uid\":1000,\"gid\":1000,\"nodes\":\"n0\","
		"\"interconnect\":\"fake\",\"options\":\"trees=8\"}}";
	const struct outside_end end = {
		.is_reached = true,
		.text = "",
		.secret = (const uint8_t *)TOKEN,
		.secret_size = strlen(TOKEN),
	};

	engine_client_opened(bench->engine, 1, 0, false);
	engine_client_received(bench->engine, 1, request, strlen(request));
	commit_all(bench);
	assert_true(bench->make_id != 0);
	engine_outside_done(bench->engine, bench->make_id, &end);
	commit_all(bench);
}

/* The journal's files have these bytes somewhere. */
static bool is_in_journal(struct bench *bench, const char *text)
{
	static const char *const paths[] = { "/journal/journal.db",
					     "/journal/journal.db-wal" };
	bool is_there = false;

	for (size_t i = 0; i < 2; i++) {
		struct sim_file *file;
		uint8_t *bytes;
		int64_t size;

		if (sim_file_open(bench->disk, paths[i], false, &file) < 0)
			continue;
		size = sim_file_size(file);
		bytes = calloc(1, (size_t)size + 1);
		assert_int_equal(sim_file_read(file, 0, bytes, (size_t)size),
				 size);
		is_there |=
			memmem(bytes, (size_t)size, text, strlen(text)) != NULL;
		free(bytes);
		sim_file_close(file);
	}
	return is_there;
}

static void assert_no_token(struct bench *bench)
{
	assert_true(is_in_journal(bench, "trees=8"));
	assert_false(is_in_journal(bench, "a session"));
	assert_false(is_in_journal(bench, "fabric manager"));
}

static int keep_key_id(void *arg, const struct store_row *row)
{
	/* Of the blob at the end, which begins with it. */
	const uint8_t *bytes = (const uint8_t *)row->body + row->size -
			       strlen(TOKEN) - KEY_SECRET_OVERHEAD;
	struct reader reader = reader_of(bytes, sizeof(uint32_t));

	*(uint32_t *)arg = read_u32(&reader);
	return 0;
}

/* Of the only secret. */
static uint32_t key_id(struct bench *bench)
{
	uint32_t id = 0;

	assert_int_equal(store_scan(bench->store, STORE_OUTSIDE, keep_key_id,
				    &id, NULL),
			 0);
	return id;
}

static void a_session_token_is_not_in_the_journal(void **state)
{
	struct bench *bench = *state;

	assert_int_equal(manager_start(bench, false), 0);
	hold(bench);
	assert_no_token(bench);
	assert_int_equal(key_id(bench), 1);
	manager_stop(bench);
	assert_no_token(bench);
	assert_int_equal(manager_start(bench, false), 0);
}

static void it_moves_to_a_new_key(void **state)
{
	struct bench *bench = *state;
	struct rng_seam rng = sim_rng_seam(&bench->rng);

	assert_int_equal(manager_start(bench, false), 0);
	hold(bench);
	assert_int_equal(manager_keys_rotate(&bench->keys, &rng, NULL), 0);
	assert_int_equal(engine_rekey(bench->engine, &bench->keys, NULL), 1);
	commit_all(bench);
	assert_int_equal(key_id(bench), 1);
	assert_int_equal(manager_keys_activate(&bench->keys, NULL), 0);
	assert_int_equal(engine_rekey(bench->engine, &bench->keys, NULL), 1);
	commit_all(bench);
	assert_int_equal(key_id(bench), 2);
	manager_stop(bench);
	assert_int_equal(manager_keys_retire(&bench->keys, NULL), 0);
	assert_int_equal(manager_start(bench, false), 0);
	commit_all(bench);
	/* A manager that was down meanwhile does the same when it starts. */
	assert_int_equal(manager_keys_rotate(&bench->keys, &rng, NULL), 0);
	assert_int_equal(manager_keys_activate(&bench->keys, NULL), 0);
	manager_stop(bench);
	assert_int_equal(manager_start(bench, false), 0);
	commit_all(bench);
	assert_int_equal(key_id(bench), 3);
	assert_no_token(bench);
}

static void a_key_that_is_not_there_is_named(void **state)
{
	struct bench *bench = *state;
	struct rng_seam rng = sim_rng_seam(&bench->rng);
	struct manager_keys old;

	assert_int_equal(manager_start(bench, false), 0);
	hold(bench);
	manager_stop(bench);
	old = bench->keys;
	bench->keys.keys[0].id = 9;
	assert_int_equal(manager_start(bench, false), -ENOKEY);
	assert_non_null(strstr(bench->error.text, "grant 1"));
	assert_non_null(strstr(bench->error.text, "key 1, which the key file "
						  "lacks: put back"));
	manager_stop(bench);
	manager_keys_create(&rng, &bench->keys);
	assert_int_equal(manager_start(bench, false), -EKEYREJECTED);
	assert_non_null(strstr(bench->error.text, "put back the file"));
	manager_stop(bench);
	bench->keys = old;
	assert_int_equal(manager_start(bench, false), 0);
	manager_keys_fini(&old);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
	const struct CMUnitTest tests[] = {
		TEST(a_start_after_a_halt_is_refused),
		TEST(a_recovery_goes_on_when_its_first_commit_fails),
		TEST(a_recovery_that_is_over_does_not_begin_again),
		TEST(a_session_token_is_not_in_the_journal),
		TEST(it_moves_to_a_new_key),
		TEST(a_key_that_is_not_there_is_named),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
