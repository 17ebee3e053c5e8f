/* SPDX-License-Identifier: BSD-3-Clause */
/* The engine of a test bed, and its owner. */
#include "bed_internal.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <sodium.h>
#include <string.h>
#include <utlist.h>

#include "lanes/driver/driver.h"
#include "lanes/manager/core/outside.h"
#include "lanes/manager/store/row.h"

static int load_journal(struct bed *bed, struct engine *engine,
			struct fairlead_error *ret_error)
{
	struct bed_row *entry;

	for (size_t i = 0; i < CORE_LOAD_COUNT; i++) {
		DL_FOREACH (bed->journal, entry) {
			int result = 0;

			if (entry->row.table == core_load_order[i])
				result = engine_load(engine, &entry->row,
						     ret_error);
			if (result < 0)
				return result;
		}
	}
	return 0;
}

static int on_replay(void *ctx, struct engine *engine, uint64_t *ret_epoch,
		     struct fairlead_error *ret_error)
{
	struct bed *bed = ctx;

	assert_int_equal(bed->commit_count, 0);
	bed->replay_count++;
	if (bed->replay_result < 0)
		return error_set(ret_error, bed->replay_result, "no replay");
	*ret_epoch = ++bed->epoch;
	return load_journal(bed, engine, ret_error);
}

static int on_reconfigure(void *ctx, struct engine *engine, char **ret_text)
{
	struct bed *bed = ctx;
	size_t next = 1 - bed->taken_index;
	struct engine_config *config = &bed->taken[next];
	struct fairlead_error error;
	int result;

	if (bed->reconfigure_result < 0) {
		*ret_text = strdup("f:1: wrong\nf:2: wrong too");
		return bed->reconfigure_result;
	}
	*config = bed->config;
	config->core.nodes = bed->reconfigure_nodes;
	result = engine_configure(engine, config, ret_text, &error);
	if (result < 0)
		*ret_text = strdup(error.text);
	else
		bed->taken_index = next;
	return result;
}

static const char *on_store_error(void *ctx)
{
	return "the disk says no";
}

static void on_notify(void *ctx, uint64_t id, const char *node, bool is_drained,
		      const char *reason)
{
	struct bed *bed = ctx;

	bed->drain_count++;
	bed->drain_id = id;
	bed->drain_value = is_drained;
	strcpy(bed->drain_node, node);
}

static void on_outside(void *ctx, const struct outside_request *request)
{
	struct bed *bed = ctx;

	bed->outside_id = request->id;
	bed->outside_verb = request->verb;
}

static const struct engine_ops engine_ops = {
	.replay = on_replay,
	.reconfigure = on_reconfigure,
	.store_error = on_store_error,
	.notify = on_notify,
	.outside = on_outside,
};

static void on_line(void *sink_data, enum log_level level, const char *line)
{
	struct bed *bed = sink_data;

	bed->warning_count += level == LOG_LEVEL_WARNING;
	snprintf(bed->last_line, sizeof(bed->last_line), "%s", line);
}

void bed_start(struct bed *bed, uint64_t epoch, bool is_recovery)
{
	const struct engine_options options = {
		.config = &bed->config,
		.keys = &bed->keys,
		.sessions_max = bed->sessions_max,
		.clock = sim_clock_seam(&bed->clock),
		.rng = sim_rng_seam(&bed->rng),
		.nodes = { .ops = &bed_net_ops, .ctx = &bed->nodes },
		.clients = { .ops = &bed_net_ops, .ctx = &bed->clients },
		.store = { .ops = &bed_store_ops, .ctx = bed },
		.ops = &engine_ops,
		.ops_ctx = bed,
		.log = &bed->log,
	};
	const struct round_seam rounds = { &bed_round_ops, bed };
	struct fairlead_error error = { 0 };

	bed->log = (struct log){ .level = LOG_LEVEL_INFO,
				 .sink = on_line,
				 .sink_data = bed };
	bed->epoch = epoch;
	if (engine_create(&options, &bed->engine, &error) < 0 ||
	    load_journal(bed, bed->engine, &error) < 0 ||
	    engine_start(bed->engine, rounds, epoch, is_recovery, &error) < 0)
		fail_msg("%s", error.text);
	bed_commit(bed);
}

void bed_crash(struct bed *bed)
{
	while (bed->commit_count > 0)
		store_batch_destroy(bed->commits[--bed->commit_count].batch);
	engine_destroy(bed->engine);
	bed->engine = NULL;
	bed_net_fini(&bed->nodes);
	bed_net_fini(&bed->clients);
	bed_rounds_fini(bed);
}

struct bed *bed_create(void)
{
	static const struct fairlead_setting settings[] = {
		{ "vni_pool", "1024-1033", 1 },
	};
	static const struct engine_submitter submitters[] = {
		{ "slurm", BED_SUBMITTER },
		{ "flux", BED_OTHER },
	};
	static struct core_driver_config configs[2];
	struct bed *bed = calloc(1, sizeof(*bed));
	struct rng_seam rng;

	assert_true(sodium_init() >= 0);
	configs[0].driver = driver_find("none");
	configs[1].driver = driver_find("slingshot");
	configs[1].settings = settings;
	configs[1].setting_count = 1;
	bed->clock.monotonic_ms = 1000000;
	bed->clock.wall_us = 1700000000000000;
	sim_rng_init(&bed->rng, 1);
	rng = sim_rng_seam(&bed->rng);
	manager_keys_create(&rng, &bed->keys);
	bed->config = (struct engine_config){
		.core = {
			.cluster = "test",
			.nodes = "n[0-9]",
			.interconnect = "slingshot",
			.apply_timeout_ms = 30000,
			.revoke_timeout_ms = 10000,
			.events_keep = 1000,
			.drivers = configs,
			.driver_count = 2,
		},
		.submitters = submitters,
		.submitter_count = 2,
	};
	bed->reconfigure_nodes = "n[0-9]";
	bed_start(bed, BED_EPOCH, false);
	return bed;
}

void bed_destroy(struct bed *bed)
{
	bed_crash(bed);
	bed_store_fini(bed);
	manager_keys_fini(&bed->keys);
	free(bed);
}

int bed_set_up(void **state)
{
	*state = bed_create();
	return 0;
}

int bed_tear_down(void **state)
{
	bed_destroy(*state);
	return 0;
}

static uint64_t next_ms(const struct bed *bed)
{
	uint64_t own_ms = bed_rounds_deadline_ms(bed);
	uint64_t engine_ms = engine_deadline_ms(bed->engine);

	return own_ms < engine_ms ? own_ms : engine_ms;
}

void bed_advance(struct bed *bed, uint64_t duration_ms)
{
	uint64_t end_ms = bed->clock.monotonic_ms + duration_ms;

	while (next_ms(bed) <= end_ms) {
		uint64_t deadline_ms = next_ms(bed);

		if (deadline_ms > bed->clock.monotonic_ms)
			sim_clock_advance(&bed->clock,
					  deadline_ms -
						  bed->clock.monotonic_ms);
		bed_rounds_expire(bed);
		engine_tick(bed->engine);
		bed_rounds_lease(bed);
		/* What is due and waits for the disk comes no nearer. */
		if (next_ms(bed) <= deadline_ms && bed->commit_count > 0)
			break;
	}
	if (bed->clock.monotonic_ms < end_ms)
		sim_clock_advance(&bed->clock,
				  end_ms - bed->clock.monotonic_ms);
}
