/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Groups: rows, and the outputs that wait for them. Groups stand in a row,
 * submitted ones first; the last one collects. A group is submitted when no
 * other is in flight; when it has enough rows, so that the disk has something
 * to do while the loop serves many clients; or when its batch is full. The
 * store writes together what waits. A group's outputs are done when it
 * is the first one and its rows are on disk; a group without rows needs no
 * disk, but its turn.
 *
 * A commit that fails takes all later groups with it, since their rows build
 * on it: nothing of them became visible. What is in memory is worthless then.
 * The requests are answered, the core goes, and when nothing is in flight any
 * more the journal is read again (engine.c).
 */
#include <assert.h>
#include <errno.h>
#include <string.h>
#include <utlist.h>

#include "base/memory.h"
#include "lanes/manager/clients.h"
#include "lanes/manager/commit.h"
#include "lanes/manager/store/batch.h"

/* Of groups that are submitted while others are in flight. */
#define AHEAD_ROWS  128
#define AHEAD_COUNT 16 /* in flight: then they are as large as they may be */

static struct manager_group *last_group(const struct engine *engine)
{
	return engine->groups == NULL ? NULL : engine->groups->prev;
}

/* The group that collects. */
static struct manager_group *collecting(struct engine *engine)
{
	struct manager_group *group = last_group(engine);

	if (group != NULL && !group->is_submitted)
		return group;
	group = memory_alloc(sizeof(*group));
	group->engine = engine;
	DL_APPEND(engine->groups, group);
	return group;
}

static void group_destroy(struct manager_group *group)
{
	struct output *output;
	struct output *next;

	DL_FOREACH_SAFE (group->outputs, output, next)
		output_destroy(output);
	store_batch_destroy(group->batch);
	free(group);
}

void commit_store(struct engine *engine, const struct store_row *row)
{
	struct manager_group *group = collecting(engine);

	if (group->batch == NULL)
		group->batch = store_batch_create();
	/* Cannot happen: a group is submitted before its batch is full. */
	if (store_batch_add(group->batch, row) < 0)
		abort();
	group->row_count++;
}

void commit_output(struct engine *engine, struct output *output_owned)
{
	DL_APPEND(collecting(engine)->outputs, output_owned);
}

const char *commit_failure_hint(int result)
{
	switch (result) {
	case -ENOSPC:
		return "free space where the manager keeps its state, then "
		       "ask again; nothing was changed";
	default:
		return "fix what the manager's log names, then retry";
	}
}

/* All since the last commit is void: report it and start over. */
static void fail(struct engine *engine, int result)
{
	const char *text = engine->ops->store_error(engine->ops_ctx);
	struct manager_group *group;
	struct manager_group *next;

	if (*text == 0)
		text = strerror(-result);
	error_set(&engine->failure, result,
		  "the journal could not be written: "
		  "%s",
		  text);
	log_error(engine->log, "the journal could not be written error=\"%s\"",
		  text);
	engine->counters.commit_failed_count++;
	core_destroy(take_ptr(engine->core));
	fanouts_clear(engine->fanouts);
	clients_fail_all(engine, result, engine->failure.text,
			 commit_failure_hint(result));
	engine->replay_ms = 0;
	DL_FOREACH_SAFE (engine->groups, group, next) {
		if (group->is_submitted)
			continue;
		DL_DELETE(engine->groups, group);
		group_destroy(group);
	}
}

/* Detached from the engine: outputs may collect in other groups. */
static void run_outputs(struct engine *engine, struct manager_group *group)
{
	struct output *output;

	while ((output = group->outputs) != NULL) {
		DL_DELETE(group->outputs, output);
		output_run(engine, output);
	}
}

static void on_committed(void *arg, int result);

static void submit(struct engine *engine, struct manager_group *group)
{
	group->is_submitted = true;
	engine->submitted_count++;
	group->submitted_ms = engine_now_ms(engine);
	group->byte_count = store_batch_bytes(group->batch);
	engine->store.ops->commit(engine->store.ctx, take_ptr(group->batch),
				  on_committed, group);
}

/* The disk works on the next group while the outputs of this one are done. */
static void submit_next(struct engine *engine)
{
	struct manager_group *group = engine->groups;

	if (group != NULL && !group->is_submitted && group->batch != NULL)
		submit(engine, group);
}

/* is_last: of the groups that were one transaction. */
static void count(struct engine *engine, const struct manager_group *group,
		  bool is_last)
{
	struct counters *counters = &engine->counters;
	static const uint64_t bounds[] = ROW_BUCKETS;

	counters->row_count += group->row_count;
	counters->byte_count += group->byte_count;
	counters->commit_rows += group->row_count;
	if (!is_last)
		return;
	times_add(&counters->commits,
		  engine_now_ms(engine) - group->submitted_ms);
	for (size_t i = 0; i < ROW_BUCKETS_MAX; i++)
		counters->row_buckets[i] += counters->commit_rows <= bounds[i];
	counters->commit_rows = 0;
}

static void on_committed(void *arg, int result)
{
	struct manager_group *group = arg;
	struct engine *engine = group->engine;

	assert(group == engine->groups);
	DL_DELETE(engine->groups, group);
	engine->submitted_count--;
	if (engine->core == NULL) {
		group_destroy(group);
		return;
	}
	if (result < 0) {
		group_destroy(group);
		fail(engine, result);
		return;
	}
	count(engine, group, result == 0);
	engine->is_recovery = false;
	submit_next(engine);
	run_outputs(engine, group);
	group_destroy(group);
	commit_flush(engine);
}

/* True when there may be more to do. */
static bool flush_first(struct engine *engine)
{
	struct manager_group *group = engine->groups;

	if (group == NULL || group->is_submitted)
		return false;
	if (group->batch != NULL) {
		submit(engine, group);
		return false;
	}
	DL_DELETE(engine->groups, group);
	run_outputs(engine, group);
	group_destroy(group);
	return engine->core != NULL;
}

static bool is_enough(const struct engine *engine,
		      const struct manager_group *group)
{
	if (group->batch == NULL)
		return false;
	return (group->row_count >= AHEAD_ROWS &&
		engine->submitted_count < AHEAD_COUNT) ||
	       store_batch_is_full(group->batch);
}

void commit_flush(struct engine *engine)
{
	struct manager_group *group;

	if (engine->is_flushing || engine->core == NULL)
		return;
	engine->is_flushing = true;
	while (flush_first(engine))
		;
	engine->is_flushing = false;
	group = last_group(engine);
	if (group != NULL && !group->is_submitted && is_enough(engine, group))
		submit(engine, group);
}

void commit_fini(struct engine *engine)
{
	struct manager_group *group;
	struct manager_group *next;

	DL_FOREACH_SAFE (engine->groups, group, next) {
		DL_DELETE(engine->groups, group);
		group_destroy(group);
	}
}
