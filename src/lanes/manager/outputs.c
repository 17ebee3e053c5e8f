/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What the core gives out: rows go into the current group, all else becomes
 * an output of it, with copies of what it needs. Once the rows are on disk an
 * output is done: sent, started, or handed to the engine's owner.
 *
 * Commands are signed here and not before, so that the sequence of a HELLO
 * stands between those of the commands before and after the registration.
 */
#include <errno.h>
#include <string.h>

#include "base/memory.h"
#include "lanes/manager/clients.h"
#include "lanes/manager/commit.h"
#include "lanes/manager/poll.h"
#include "lanes/manager/session.h"
#include "lanes/manager/member.h"
#include "lanes/proto/seal.h"

void output_destroy(struct output *output)
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

static struct output *output_create(enum output_kind kind)
{
	struct output *output = memory_alloc(sizeof(*output));

	output->kind = kind;
	return output;
}

/* A copy of a text; NULL stays NULL. */
static char *copy_text(const char *text)
{
	return text == NULL ? NULL : memory_text(text);
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
	output->text = copy_text(reply->text);
	output->hint = copy_text(reply->hint);
	output->members = copy_text(reply->members);
	commit_output(ctx, output);
}

static int encode_apply(const struct core_fanout *fanout, const char *nodes,
			struct writer *writer)
{
	const struct fairlead_lane *lane = fanout->lane;
	struct apply_body body = {
		.uid = lane->uid,
		.gid = lane->gid,
		.nodes = nodes,
		.cores = fanout->cores,
		.tasks = fanout->tasks,
		.id_count = (uint8_t)lane->id_count,
		.members = fanout->members,
		.members_size = fanout->members_size,
		.sealed = fanout->sealed,
		.sealed_size = fanout->sealed_size,
	};

	snprintf(body.key, sizeof(body.key), "%s", fanout->key);
	snprintf(body.driver, sizeof(body.driver), "%s", fanout->driver);
	snprintf(body.options, sizeof(body.options), "%s", lane->options);
	memcpy(body.ids, lane->ids, sizeof(body.ids));
	return apply_body_encode(&body, writer);
}

static int encode_revoke(const struct core_fanout *fanout, const char *nodes,
			 struct writer *writer)
{
	const struct fairlead_lane *lane = fanout->lane;
	struct revoke_body body = {
		.nodes = nodes,
		.uid = lane->uid,
		.gid = lane->gid,
		.id_count = (uint8_t)lane->id_count,
	};

	snprintf(body.key, sizeof(body.key), "%s", fanout->key);
	snprintf(body.driver, sizeof(body.driver), "%s", fanout->driver);
	memcpy(body.ids, lane->ids, sizeof(body.ids));
	return revoke_body_encode(&body, writer);
}

static void on_fanout(void *ctx, const struct core_fanout *fanout)
{
	bool is_apply = fanout->op == CORE_FANOUT_APPLY;
	struct output *output = output_create(OUTPUT_FANOUT);
	_auto_(freep) char *nodes =
		memory_have(hostlist_format(fanout->nodes, fanout->node_count));
	struct fanout_command *command =
		fanout_command_create(is_apply ? COMMAND_APPLY : COMMAND_REVOKE,
				      fanout->nodes, fanout->node_count);

	command->grant_id = fanout->lane->grant_id;
	command->apply_floor = fanout->apply_floor;
	command->timeout_ms = fanout->timeout_ms;
	command->group = fanout->lane->grant_id;
	command->owner = COMMAND_OF_CORE;
	command->id = fanout->id;
	/* A subset's host list can be longer than a command. */
	command->error = memory_check(
		is_apply ? encode_apply(fanout, nodes, &command->body)
			 : encode_revoke(fanout, nodes, &command->body));
	output->command = command;
	commit_output(ctx, output);
}

/* Sequence 0: a late answer; it needs no ACK. */
static void on_acknowledge(void *ctx, const char *node, uint64_t sequence)
{
	struct output *output;

	if (sequence == 0)
		return;
	output = output_create(OUTPUT_ACK);
	output->node = copy_text(node);
	output->sequence = sequence;
	commit_output(ctx, output);
}

static void drain_output(struct engine *engine, enum output_kind kind,
			 uint64_t id, const char *node, bool is_drained,
			 const char *reason)
{
	struct output *output = output_create(kind);

	output->sequence = id;
	output->node = copy_text(node);
	output->text = copy_text(reason == NULL ? "" : reason);
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

const struct core_ops outputs_core_ops = {
	.store = on_store,
	.reply = on_reply,
	.fanout = on_fanout,
	.acknowledge = on_acknowledge,
	.drain = on_drain,
	.notify = on_notify,
	.look = on_look,
	.seal = on_seal,
};

static void send_ack(struct engine *engine, const struct output *output)
{
	const struct member *member = member_find(engine, output->node);
	struct ack_body body = { .sequence = output->sequence };
	struct writer writer = { .limit = FRAME_SIZE_MAX };

	/* A node without a link sends its pending confirmations again. */
	if (member == NULL || member->session == NULL)
		return;
	snprintf(body.node, sizeof(body.node), "%s", output->node);
	memory_check(ack_body_encode(&body, &writer));
	session_command(engine, member, COMMAND_ACK, &writer);
}

/* A manager that has stopped answers, and does nothing else. */
static bool is_allowed(const struct engine *engine, enum output_kind kind)
{
	return engine->halted_epoch == 0 || kind == OUTPUT_REPLY ||
	       kind == OUTPUT_EVENTS;
}

void output_run(struct engine *engine, struct output *output_owned)
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
	case OUTPUT_EVENTS:
		events_read(engine, output->token, output->grants,
			    output->grant_count, output->view);
		break;
	}
	output_destroy(output);
}
