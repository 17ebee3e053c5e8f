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

#include "base/runs.h"
#include "lanes/manager/fanout.h"
#include "lanes/manager/member.h"
#include "lanes/proto/seal.h"

void output_destroy(struct output *output)
{
	if (output == NULL)
		return;
	free(output->text);
	free(output->hint);
	free(output->members);
	fanout_plan_destroy(output->plan);
	free(output->node);
	free(output->driver);
	free(output->effect_kind);
	free(output->grants);
	json_decref(output->view);
	free(output);
}

/* NULL when memory is out, which the group then knows. */
static struct output *output_create(struct engine *engine,
				    enum output_kind kind)
{
	struct output *output = calloc(1, sizeof(*output));

	if (output == NULL)
		commit_spoil(engine, -ENOMEM);
	else
		output->kind = kind;
	return output;
}

/* A copy of a text; NULL stays NULL. is_ok becomes false without memory. */
static char *copy_text(const char *text, bool *is_ok)
{
	char *copy = text == NULL ? NULL : strdup(text);

	if (text != NULL && copy == NULL)
		*is_ok = false;
	return copy;
}

static void output_finish(struct engine *engine, struct output *output,
			  bool is_ok)
{
	if (is_ok) {
		commit_output(engine, output);
		return;
	}
	output_destroy(output);
	commit_spoil(engine, -ENOMEM);
}

static void on_store(void *ctx, const struct store_row *row)
{
	struct engine *engine = ctx;

	commit_store(engine, row);
	/* Nodes may have given it back without a REVOKE. */
	if (row->table == STORE_JOB && row->verb == STORE_DELETE)
		fanouts_grant_over(engine->fanouts, row->id);
}

static void on_reply(void *ctx, uint64_t token, const struct core_reply *reply)
{
	struct output *output = output_create(ctx, OUTPUT_REPLY);
	bool is_ok = true;

	if (output == NULL)
		return;
	output->token = token;
	output->result = reply->result;
	output->text = copy_text(reply->text, &is_ok);
	output->hint = copy_text(reply->hint, &is_ok);
	output->members = copy_text(reply->members, &is_ok);
	output_finish(ctx, output, is_ok);
}

static int encode_apply(const struct core_fanout *fanout, const char *nodes,
			uint16_t version, struct writer *writer)
{
	_auto_(freep) char *cores =
		runs_format(fanout->cores, fanout->node_count);
	_auto_(freep) char *tasks =
		runs_format(fanout->tasks, fanout->node_count);
	const struct fairlead_lane *lane = fanout->lane;
	struct apply_body body = {
		.uid = lane->uid,
		.gid = lane->gid,
		.nodes = nodes,
		.cores = cores,
		.tasks = tasks,
		.id_count = (uint8_t)lane->id_count,
		.members = fanout->members,
		.members_size = fanout->members_size,
		.sealed = fanout->sealed,
		.sealed_size = fanout->sealed_size,
	};

	if (cores == NULL || tasks == NULL)
		return -ENOMEM;
	snprintf(body.key, sizeof(body.key), "%s", fanout->key);
	snprintf(body.driver, sizeof(body.driver), "%s", fanout->driver);
	snprintf(body.options, sizeof(body.options), "%s", lane->options);
	memcpy(body.ids, lane->ids, sizeof(body.ids));
	return apply_body_encode(&body, version, writer);
}

static int encode_revoke(const struct core_fanout *fanout, const char *nodes,
			 uint16_t version, struct writer *writer)
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
	return revoke_body_encode(&body, version, writer);
}

/* What a command says, but for its version. */
struct body {
	const struct core_fanout *fanout;
	const char *nodes;
};

static int encode_body(const void *arg, uint16_t version, struct writer *writer)
{
	const struct body *body = arg;

	return body->fanout->op == CORE_FANOUT_APPLY
		       ? encode_apply(body->fanout, body->nodes, version,
				      writer)
		       : encode_revoke(body->fanout, body->nodes, version,
				       writer);
}

static int encode_bodies(const struct core_fanout *fanout,
			 struct fanout_plan *plan)
{
	_auto_(freep) char *nodes =
		hostlist_format(fanout->nodes, fanout->node_count);
	const struct body body = { .fanout = fanout, .nodes = nodes };

	if (nodes == NULL)
		return -ENOMEM;
	return fanout_plan_encode(plan, encode_body, &body);
}

static void on_fanout(void *ctx, const struct core_fanout *fanout)
{
	struct output *output = output_create(ctx, OUTPUT_FANOUT);
	enum command_op op = fanout->op == CORE_FANOUT_APPLY ? COMMAND_APPLY
							     : COMMAND_REVOKE;
	int result;

	if (output == NULL)
		return;
	result = fanout_plan_create(op, fanout->nodes, fanout->node_count,
				    &output->plan);
	if (result == 0) {
		output->plan->grant_id = fanout->lane->grant_id;
		output->plan->apply_floor = fanout->apply_floor;
		output->plan->timeout_ms = fanout->timeout_ms;
		output->plan->group = fanout->lane->grant_id;
		output->plan->owner = FANOUT_OF_CORE;
		output->plan->id = fanout->id;
		result = encode_bodies(fanout, output->plan);
		/* A subset's host list can be longer than a command. */
		if (result == -EMSGSIZE)
			output->plan->error = -EMSGSIZE;
	}
	output_finish(ctx, output, result == 0 || result == -EMSGSIZE);
}

/* Sequence 0 stands for a late answer, which waits for no ACK. */
static void on_acknowledge(void *ctx, const char *node, uint64_t sequence)
{
	struct output *output;
	bool is_ok = true;

	if (sequence == 0)
		return;
	output = output_create(ctx, OUTPUT_ACK);
	if (output == NULL)
		return;
	output->node = copy_text(node, &is_ok);
	output->sequence = sequence;
	output_finish(ctx, output, is_ok);
}

static void drain_output(struct engine *engine, enum output_kind kind,
			 uint64_t id, const char *node, bool is_drained,
			 const char *reason)
{
	struct output *output = output_create(engine, kind);
	bool is_ok = true;

	if (output == NULL)
		return;
	output->sequence = id;
	output->node = copy_text(node, &is_ok);
	output->text = copy_text(reason == NULL ? "" : reason, &is_ok);
	output->is_drained = is_drained;
	output_finish(engine, output, is_ok);
}

static void on_drain(void *ctx, const char *node, bool is_drained,
		     const char *reason)
{
	drain_output(ctx, OUTPUT_DRAIN, 0, node, is_drained, reason);
}

static void on_tell(void *ctx, uint64_t id, const char *node, bool is_drained,
		    const char *reason)
{
	drain_output(ctx, OUTPUT_TELL, id, node, is_drained, reason);
}

static void on_effect(void *ctx, uint64_t grant_id, const char *driver,
		      const struct fairlead_effect *effect)
{
	struct output *output = output_create(ctx, OUTPUT_EFFECT);
	bool is_ok = true;

	if (output == NULL)
		return;
	output->grant_id = grant_id;
	output->driver = copy_text(driver, &is_ok);
	output->effect_kind = copy_text(effect->kind, &is_ok);
	output->text = copy_text(effect->body, &is_ok);
	output->effect_id = effect->id;
	output->deadline_ms = effect->deadline_ms;
	output_finish(ctx, output, is_ok);
}

/* A question changes nothing, so that it waits for no row. */
static void on_look(void *ctx, const char *node)
{
	look_now(ctx, node);
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

static int on_seal(void *ctx, const struct core_secrets *secrets,
		   struct writer *writer)
{
	const struct engine *engine = ctx;
	struct seal_stream stream;
	struct rng_seam rng;
	int result;

	seal_stream_init(&stream, secrets->seed, secrets->seed_size,
			 secrets->grant_id, secrets->packed,
			 secrets->packed_size);
	rng = seal_stream_seam(&stream);
	result = seal_make(&rng, master_active(engine), secrets->grant_id,
			   secrets->nodes, secrets->node_count, secrets->packed,
			   secrets->packed_size, writer);
	seal_stream_fini(&stream);
	return result;
}

const struct core_ops outputs_core_ops = {
	.store = on_store,
	.reply = on_reply,
	.fanout = on_fanout,
	.acknowledge = on_acknowledge,
	.drain = on_drain,
	.tell = on_tell,
	.effect = on_effect,
	.look = on_look,
	.seal = on_seal,
};

static void send_ack(struct engine *engine, const struct output *output)
{
	const struct member *member = member_find(engine, output->node);
	struct command command = { .op = COMMAND_ACK };
	struct ack_body body = { .sequence = output->sequence };
	struct writer writer = { .limit = FRAME_SIZE_MAX };

	/* A node without a link comes back with what it owes. */
	if (member == NULL || member->session == NULL)
		return;
	snprintf(body.node, sizeof(body.node), "%s", output->node);
	if (ack_body_encode(&body, member->version, &writer) == 0) {
		command.body = writer.data;
		command.body_size = writer.size;
		session_command(engine, member, &command);
	}
	writer_fini(&writer);
}

static void run_effect(struct engine *engine, const struct output *output)
{
	struct fairlead_effect effect = {
		.id = output->effect_id,
		.kind = output->effect_kind,
		.body = output->text,
		.deadline_ms = output->deadline_ms,
	};

	engine->ops->effect(engine->ops_ctx, output->grant_id, output->driver,
			    &effect);
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
		if (fanouts_start(engine->fanouts, take_ptr(output->plan)) < 0)
			commit_spoil(engine, -ENOMEM);
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
	case OUTPUT_TELL:
		engine->ops->tell(engine->ops_ctx, output->sequence,
				  output->node, output->is_drained,
				  output->text);
		break;
	case OUTPUT_EFFECT:
		run_effect(engine, output);
		break;
	case OUTPUT_EVENTS:
		events_read(engine, output->token, output->grants,
			    output->grant_count, output->view);
		break;
	}
	output_destroy(output);
}
