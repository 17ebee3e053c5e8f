/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The engine's side of the fan-out: which nodes are up, the signature, and what
 * the answers are for. The core and clients get all answers together.
 */
#include <assert.h>
#include <errno.h>
#include <string.h>

#include "base/hostlist.h"
#include "base/memory.h"
#include "lanes/manager/clients.h"
#include "lanes/manager/poll.h"
#include "lanes/manager/session.h"
#include "lanes/manager/live.h"
#include "lanes/proto/combined.h"

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

struct fanout_command *engine_command_create(const struct core_fanout *fanout)
{
	bool is_apply = fanout->op == CORE_FANOUT_APPLY;
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
	return command;
}

static bool on_is_up(void *ctx, const struct fanout_command *command,
		     const char *node,
		     uint8_t ret_incarnation[INCARNATION_SIZE])
{
	const struct live_node *live = live_find(ctx, node);

	if (live == NULL && command->owner == COMMAND_OF_RECALL)
		return recall_incarnation(ctx, node, ret_incarnation);
	if (live == NULL || !live->is_greeted)
		return false;
	memcpy(ret_incarnation, live->incarnation, INCARNATION_SIZE);
	return true;
}

static void on_sign(void *ctx, const struct fanout_command *command,
		    struct command *ret_header, struct writer *writer)
{
	struct engine *engine = ctx;

	*ret_header = (struct command){
		.op = (uint8_t)command->op,
		.grant_id = command->grant_id,
		.apply_floor = command->apply_floor,
		.body = command->body.data,
		.body_size = command->body.size,
	};
	session_seal(engine, ret_header, writer);
	ret_header->key_id = engine->command_key.id;
	ret_header->body = NULL;
	ret_header->body_size = 0;
}

static size_t on_masters(void *ctx, const struct node_master **ret_masters)
{
	const struct engine *engine = ctx;

	*ret_masters = engine->masters;
	return engine->master_count;
}

static void on_answered(void *ctx, const struct fanout_command *command,
			const struct fanout_answer *answer)
{
	struct engine *engine = ctx;

	if (answer->is_own) {
		engine->counters.answer_count++;
		live_contacted(engine, answer->node);
		if (command->op == COMMAND_APPLY && answer->result == -EEXIST)
			poll_now(engine, answer->node);
		if (command->op == COMMAND_REVOKE && answer->result == 0)
			poll_gone(engine, answer->node, command->grant_id);
		if (command->op == COMMAND_LEASE && answer->result == 0)
			live_leased(engine, answer->node);
	}
	if (command->owner == COMMAND_OF_POLL)
		poll_answer(engine, command->id, answer);
}

static void done_core(struct engine *engine,
		      const struct fanout_command *command,
		      const struct fanout_answer *answers)
{
	_auto_(freep) struct core_answer *core_answers =
		memory_array(command->node_count, sizeof(*core_answers));

	for (size_t i = 0; i < command->node_count; i++) {
		core_answers[i].node = answers[i].node;
		core_answers[i].result = answers[i].result;
		core_answers[i].text = answers[i].text;
		memcpy(core_answers[i].incarnation, answers[i].incarnation,
		       INCARNATION_SIZE);
	}
	core_fanout_done(engine->core, command->id, core_answers,
			 command->node_count);
}

static void on_done(void *ctx, const struct fanout_command *command,
		    const struct fanout_answer *answers)
{
	struct engine *engine = ctx;

	if (command->owner == COMMAND_OF_CLIENT)
		query_done(engine, command->id, answers, command->node_count);
	else if (command->owner == COMMAND_OF_CORE && engine->core != NULL)
		done_core(engine, command, answers);
}

/* The node was given up, but lives, or its lane is gone: report that. */
static void on_late(void *ctx, const struct fanout_command *command,
		    const struct fanout_answer *answer, uint64_t asked_ms)
{
	struct engine *engine = ctx;
	struct core_confirmation confirmation = {
		.node = answer->node,
		.grant_id = command->grant_id,
		.text = "",
	};

	live_contacted(engine, answer->node);
	if (command->op == COMMAND_LEASE) {
		live_leased_late(engine, answer->node, answer->incarnation,
				 asked_ms);
		return;
	}
	memcpy(confirmation.incarnation, answer->incarnation,
	       sizeof(confirmation.incarnation));
	poll_gone(engine, answer->node, command->grant_id);
	if (engine->core != NULL)
		core_confirm(engine->core, &confirmation);
}

static const struct fanout_ops fanout_ops = {
	.is_up = on_is_up,
	.sign = on_sign,
	.masters = on_masters,
	.answered = on_answered,
	.done = on_done,
	.late = on_late,
};

void engine_fanouts_create(struct engine *engine)
{
	static_assert(CORE_NODES_MAX <= COMBINED_NODES_MAX, "any command fits");
	engine->fanouts = fanouts_create(&fanout_ops, engine, &engine->rounds);
}
