/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What the core gives out: rows go into the current group, all else becomes
 * an output of it, with copies of what it needs. Once the rows are on disk an
 * output is done: sent, started, or handed to the engine's owner.
 *
 * Commands are signed then and not before, so that the sequence of a HELLO
 * stands between those of the commands before and after the registration.
 *
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
#include "lanes/manager/core/outside.h"
#include "lanes/manager/live.h"
#include "lanes/manager/poll.h"
#include "lanes/manager/session.h"
#include "lanes/manager/store/row.h"
#include "lanes/proto/seal.h"

/* Of groups that are submitted while others are in flight. */
#define AHEAD_ROWS  128
#define AHEAD_COUNT 16 /* in flight: then they are as large as they may be */

/* --- doing it --- */

static void output_destroy(struct output *output)
{
	if (output == NULL)
		return;
	free(output->text);
	free(output->hint);
	free(output->members);
	fanout_command_destroy(output->command);
	free(output->node);
	free(output->grants);
	json_decref(output->view);
	free(output);
}

static void send_ack(struct engine *engine, const struct output *output)
{
	const struct live_node *live = live_find(engine, output->node);
	struct ack_body body = { .sequence = output->sequence };
	struct writer writer = { .limit = FRAME_SIZE_MAX };

	/* A node without a link sends its pending confirmations again. */
	if (live == NULL || live->session == NULL)
		return;
	snprintf(body.node, sizeof(body.node), "%s", output->node);
	memory_check(ack_body_encode(&body, &writer));
	session_command(engine, live, COMMAND_ACK, &writer);
}

/* A manager that has stopped answers, and does nothing else. */
static bool is_allowed(const struct engine *engine, enum output_kind kind)
{
	return engine->halted_epoch == 0 || kind == OUTPUT_REPLY ||
	       kind == OUTPUT_EVENTS;
}

static void outside_run(struct engine *engine, const struct output *output)
{
	const struct outside_request request = {
		.id = output->sequence,
		.driver = output->node,
		.verb = (enum outside_verb)output->result,
		.grant_id = output->token,
		.prefix = output->hint,
		.text = output->text,
	};

	engine->ops->outside(engine->ops_ctx, &request);
}

static void output_run(struct engine *engine, struct output *output_owned)
{
	struct output *output = output_owned;

	if (!is_allowed(engine, output->kind)) {
		output_destroy(output);
		return;
	}
	switch (output->kind) {
	case OUTPUT_REPLY:
		clients_answer(engine, output->token, output->result,
			       output->text, output->hint, output->members);
		break;
	case OUTPUT_FANOUT:
		fanouts_start(engine->fanouts, take_ptr(output->command),
			      engine_now_ms(engine));
		break;
	case OUTPUT_HELLO:
		session_hello(engine, output->peer, output->node,
			      output->nonce);
		break;
	case OUTPUT_ACK:
		send_ack(engine, output);
		break;
	case OUTPUT_DRAIN:
		session_drain(engine, output->node, output->is_drained,
			      output->text);
		break;
	case OUTPUT_NOTIFY:
		engine->ops->notify(engine->ops_ctx, output->sequence,
				    output->node, output->is_drained,
				    output->text);
		break;
	case OUTPUT_OUTSIDE:
		outside_run(engine, output);
		break;
	case OUTPUT_EVENTS:
		events_read(engine, output->token, output->grants,
			    output->grant_count, output->view);
		break;
	}
	output_destroy(output);
}

/* --- groups --- */

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
	histogram_add(&counters->commits,
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

/* --- what the core gives out --- */

static struct output *output_create(enum output_kind kind)
{
	struct output *output = memory_alloc(sizeof(*output));

	output->kind = kind;
	return output;
}

static void on_store(void *ctx, const struct store_row *row)
{
	struct engine *engine = ctx;

	commit_store(engine, row);
	/* Nodes may have given it back without a REVOKE. */
	if (row->table == STORE_JOB && row->verb == STORE_DELETE)
		engine->rounds.ops->group_drop(engine->rounds.ctx, row->id);
}

static void on_reply(void *ctx, uint64_t token, const struct core_reply *reply)
{
	struct output *output = output_create(OUTPUT_REPLY);

	output->token = token;
	output->result = reply->result;
	output->text = memory_text_or_null(reply->text);
	output->hint = memory_text_or_null(reply->hint);
	output->members = memory_text_or_null(reply->members);
	commit_output(ctx, output);
}

static void on_fanout(void *ctx, const struct core_fanout *fanout)
{
	struct output *output = output_create(OUTPUT_FANOUT);

	output->command = engine_command_create(fanout);
	commit_output(ctx, output);
}

/* Sequence 0: a late answer; it needs no ACK. */
static void on_acknowledge(void *ctx, const char *node, uint64_t sequence)
{
	struct output *output;

	if (sequence == 0)
		return;
	output = output_create(OUTPUT_ACK);
	output->node = memory_text_or_null(node);
	output->sequence = sequence;
	commit_output(ctx, output);
}

static void drain_output(struct engine *engine, enum output_kind kind,
			 uint64_t id, const char *node, bool is_drained,
			 const char *reason)
{
	struct output *output = output_create(kind);

	output->sequence = id;
	output->node = memory_text_or_null(node);
	output->text = memory_text_or_null(reason == NULL ? "" : reason);
	output->is_drained = is_drained;
	commit_output(engine, output);
}

static void on_drain(void *ctx, const char *node, bool is_drained,
		     const char *reason)
{
	drain_output(ctx, OUTPUT_DRAIN, 0, node, is_drained, reason);
}

static void on_notify(void *ctx, uint64_t id, const char *node, bool is_drained,
		      const char *reason)
{
	drain_output(ctx, OUTPUT_NOTIFY, id, node, is_drained, reason);
}

static void on_outside(void *ctx, const struct outside_request *request)
{
	struct output *output = output_create(OUTPUT_OUTSIDE);

	output->sequence = request->id;
	output->node = memory_text(request->driver);
	output->result = (int)request->verb;
	output->token = request->grant_id;
	output->hint = memory_text(request->prefix);
	output->text = memory_text(request->text);
	commit_output(ctx, output);
}

/* A question changes nothing, so that it waits for no row. */
static void on_look(void *ctx, const char *node)
{
	poll_now(ctx, node);
}

/* Under the key that every node has: a staged one is not there yet. */
static const struct node_master *master_active(const struct engine *engine)
{
	const struct manager_key *key =
		manager_keys_find(&engine->keys, KEY_ACTIVE);

	for (size_t i = 0; i < engine->master_count; i++)
		if (engine->masters[i].id == key->id)
			return &engine->masters[i];
	return &engine->masters[0];
}

static void on_seal(void *ctx, const struct core_secrets *secrets,
		    struct writer *writer)
{
	const struct engine *engine = ctx;
	struct seal_stream stream;
	struct rng_seam rng;

	seal_stream_init(&stream, secrets->seed, secrets->seed_size,
			 secrets->grant_id, secrets->packed,
			 secrets->packed_size);
	rng = seal_stream_seam(&stream);
	/* Within the maxima nothing but memory can be wanting. */
	if (seal_make(&rng, master_active(engine), secrets->grant_id,
		      secrets->nodes, secrets->node_count, secrets->packed,
		      secrets->packed_size, writer) < 0)
		memory_end();
	seal_stream_fini(&stream);
}

const struct core_ops commit_core_ops = {
	.store = on_store,
	.reply = on_reply,
	.fanout = on_fanout,
	.acknowledge = on_acknowledge,
	.drain = on_drain,
	.notify = on_notify,
	.look = on_look,
	.outside = on_outside,
	.encrypt = engine_encrypt,
	.decrypt = engine_decrypt,
	.seal = on_seal,
};
