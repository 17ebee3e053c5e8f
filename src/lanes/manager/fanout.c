/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A plan becomes an order of spread.h, and its answers what the owner wants.
 * The core and clients get all answers together, once each node has one.
 *
 * A grant's nodes are one group of collectives from its first command on. When
 * a REVOKE is over, and nothing of the grant is under way, the group is over
 * too; when more is to be revoked later, it is made again for that.
 */
#include "lanes/manager/fanout.h"

#include <errno.h>
#include <string.h>
#include <utlist.h>

#include "lanes/manager/member.h"
#include "lanes/manager/recall.h"
#include "lanes/proto/gather.h"

/* A grant of which commands are under way. */
struct fanout_group {
	uint64_t id;
	size_t count;      /* of fan-outs */
	bool is_over;      /* it was revoked */
	UT_hash_handle hh; /* by id */
};

struct fanout {
	struct fanouts *fanouts;
	struct fanout_plan *plan;
	struct fanout_target *targets; /* NULL: they are told one by one */
	uint32_t key_id;               /* that has signed it last */
	struct fanout *prev, *next;
};

struct fanouts {
	struct engine *engine;
	struct spreads *spreads;
	struct fanout *list;
	struct fanout *finished; /* each target is answered */
	struct fanout_group *groups;
	size_t count;
};

/* --- plans --- */

int fanout_plan_create(enum command_op op, const char *const *nodes,
		       size_t node_count, struct fanout_plan **ret_plan)
{
	_auto_(fanout_plan_destroyp) struct fanout_plan *plan =
		calloc(1, sizeof(*plan));

	if (plan == NULL)
		return -ENOMEM;
	plan->op = op;
	plan->nodes = calloc(node_count + 1, sizeof(*plan->nodes));
	if (plan->nodes == NULL)
		return -ENOMEM;
	for (; plan->node_count < node_count; plan->node_count++) {
		char *copy = strdup(nodes[plan->node_count]);

		if (copy == NULL)
			return -ENOMEM;
		plan->nodes[plan->node_count] = copy;
	}
	*ret_plan = take_ptr(plan);
	return 0;
}

int fanout_plan_encode(struct fanout_plan *plan,
		       int (*encode)(const void *arg, uint16_t version,
				     struct writer *writer),
		       const void *arg)
{
	int result = 0;

	for (uint16_t i = 0; i < VERSION_COUNT && result == 0; i++) {
		struct writer writer = { .limit = FRAME_SIZE_MAX };

		result = encode(arg, (uint16_t)(WIRE_VERSION_MIN + i), &writer);
		plan->bodies[i].bytes =
			writer_take(&writer, &plan->bodies[i].size);
		writer_fini(&writer);
	}
	return result;
}

void fanout_plan_destroy(struct fanout_plan *plan)
{
	if (plan == NULL)
		return;
	for (size_t i = 0; i < plan->node_count; i++)
		free(plan->nodes[i]);
	free(plan->nodes);
	for (size_t i = 0; i < VERSION_COUNT; i++)
		free(plan->bodies[i].bytes);
	free(plan);
}

/* --- groups --- */

static struct fanout_group *group_find(const struct fanouts *fanouts,
				       uint64_t id)
{
	struct fanout_group *group;

	HASH_FIND(hh, fanouts->groups, &id, sizeof(id), group);
	return group;
}

static int group_enter(struct fanouts *fanouts, const struct fanout_plan *plan)
{
	struct fanout_group *group = group_find(fanouts, plan->grant_id);

	if (plan->grant_id == 0)
		return 0;
	if (group == NULL) {
		group = calloc(1, sizeof(*group));
		if (group == NULL)
			return -ENOMEM;
		group->id = plan->grant_id;
		HASH_ADD(hh, fanouts->groups, id, sizeof(group->id), group);
		if (!hash_was_added(group)) {
			free(group);
			return -ENOMEM;
		}
	}
	group->count++;
	return 0;
}

static void group_drop(struct fanouts *fanouts, struct fanout_group *group)
{
	const struct collective_seam *seam = &fanouts->engine->collective;

	if (group->is_over)
		seam->ops->group_drop(seam->ctx, group->id);
	HASH_DEL(fanouts->groups, group);
	free(group);
}

static void group_leave(struct fanouts *fanouts, const struct fanout_plan *plan)
{
	struct fanout_group *group = group_find(fanouts, plan->grant_id);

	if (plan->grant_id == 0)
		return;
	group->is_over |= plan->op == COMMAND_REVOKE;
	if (--group->count == 0)
		group_drop(fanouts, group);
}

void fanouts_grant_over(struct fanouts *fanouts, uint64_t grant_id)
{
	const struct collective_seam *seam = &fanouts->engine->collective;
	struct fanout_group *group = group_find(fanouts, grant_id);

	if (group != NULL)
		group->is_over = true;
	else
		seam->ops->group_drop(seam->ctx, grant_id);
}

/* --- fan-outs --- */

static void fanout_destroy(struct fanout *fanout)
{
	for (size_t i = 0;
	     fanout->targets != NULL && i < fanout->plan->node_count; i++) {
		free(fanout->targets[i].text);
		free(fanout->targets[i].answer);
	}
	free(fanout->targets);
	fanout_plan_destroy(fanout->plan);
	free(fanout);
}

/* The plan is its caller's when this fails. */
static int fanout_create(struct fanouts *fanouts, struct fanout_plan *plan,
			 struct fanout **ret_fanout)
{
	struct fanout *fanout = calloc(1, sizeof(*fanout));

	if (fanout == NULL)
		return -ENOMEM;
	if (plan->owner == FANOUT_OF_CORE || plan->owner == FANOUT_OF_CLIENT) {
		fanout->targets =
			calloc(plan->node_count + 1, sizeof(*fanout->targets));
		if (fanout->targets == NULL) {
			free(fanout);
			return -ENOMEM;
		}
		for (size_t i = 0; i < plan->node_count; i++)
			fanout->targets[i].node = plan->nodes[i];
	}
	if (group_enter(fanouts, plan) < 0) {
		free(fanout->targets);
		free(fanout);
		return -ENOMEM;
	}
	fanout->fanouts = fanouts;
	fanout->plan = plan;
	fanouts->count++;
	*ret_fanout = fanout;
	return 0;
}

/* --- its way to the nodes: what spread.h asks for --- */

static bool on_member(void *ctx, const void *arg, const char *node,
		      struct spread_member *ret_member)
{
	const struct member *member = member_find(ctx, node);
	const struct fanout *fanout = arg;

	if (member == NULL && fanout->plan->owner == FANOUT_OF_RECALL)
		return recall_member(ctx, node, ret_member);
	if (member == NULL || !member->is_greeted)
		return false;
	ret_member->version = member->version;
	memcpy(ret_member->incarnation, member->incarnation,
	       sizeof(ret_member->incarnation));
	return true;
}

static int on_seal(void *ctx, void *arg, uint16_t version,
		   struct command *ret_command, struct writer *writer)
{
	struct engine *engine = ctx;
	struct fanout *fanout = arg;
	const struct fanout_plan *plan = fanout->plan;
	const struct fanout_body *body =
		&plan->bodies[version - WIRE_VERSION_MIN];
	struct command command = {
		.op = (uint8_t)plan->op,
		.grant_id = plan->grant_id,
		.apply_floor = plan->apply_floor,
		.body = body->bytes,
		.body_size = body->size,
	};
	int result = session_seal(engine, version, &command, writer);

	if (result < 0)
		return result;
	command.body = NULL;
	command.body_size = 0;
	fanout->key_id = engine->command_key.id;
	*ret_command = command;
	return 0;
}

static size_t on_masters(void *ctx, const struct node_master **ret_masters)
{
	const struct engine *engine = ctx;

	*ret_masters = engine->masters;
	return engine->master_count;
}

static void keep(struct fanout_target *target,
		 const struct spread_answer *answer)
{
	target->result = answer->result;
	target->text = strdup(answer->text);
	memcpy(target->incarnation, answer->incarnation,
	       sizeof(target->incarnation));
	if (answer->confirm != NULL && answer->confirm->answer_size > 0)
		target->answer = strdup((const char *)answer->confirm->answer);
}

/* What an answer says of more than this fan-out. */
static void learn(struct engine *engine, const struct fanout_plan *plan,
		  const char *node, const struct spread_answer *answer)
{
	if (!answer->is_heard)
		return;
	engine->counters.answer_count++;
	member_heard(engine, node);
	if (plan->op == COMMAND_APPLY && answer->result == -EEXIST)
		look_now(engine, node);
	if (plan->op == COMMAND_REVOKE && answer->result == 0)
		look_gone(engine, node, plan->grant_id);
	if (plan->op == COMMAND_LEASE && answer->result == 0)
		member_leased(engine, node);
}

static void on_answered(void *ctx, void *arg, size_t place,
			const struct spread_answer *answer)
{
	struct engine *engine = ctx;
	struct fanout *fanout = arg;
	const struct fanout_plan *plan = fanout->plan;

	learn(engine, plan, plan->nodes[place], answer);
	if (fanout->targets != NULL)
		keep(&fanout->targets[place], answer);
	else if (plan->owner == FANOUT_OF_LOOK)
		look_answer(engine, plan->nodes[place], plan->id,
			    fanout->key_id, answer);
}

static void on_done(void *ctx, void *arg)
{
	struct fanout *fanout = arg;

	DL_DELETE(fanout->fanouts->list, fanout);
	DL_APPEND(fanout->fanouts->finished, fanout);
}

/* It was given up, and that it lives, or a lane is gone, is news all the same. */
static void on_late(void *ctx, const struct spread_late *late)
{
	struct engine *engine = ctx;
	struct core_confirmation told = {
		.node = late->node,
		.grant_id = late->grant_id,
		.text = "",
	};

	member_heard(engine, late->node);
	if (late->op == COMMAND_LEASE) {
		member_leased_late(engine, late->node, late->incarnation,
				   late->asked_ms);
		return;
	}
	memcpy(told.incarnation, late->incarnation, sizeof(told.incarnation));
	look_gone(engine, late->node, late->grant_id);
	if (engine->core != NULL)
		core_confirm(engine->core, &told);
}

static const struct spread_ops spread_ops = {
	.member = on_member,
	.seal = on_seal,
	.masters = on_masters,
	.answered = on_answered,
	.done = on_done,
	.late = on_late,
};

/* --- all of them --- */

int fanouts_create(struct engine *engine, struct fanouts **ret_fanouts)
{
	_auto_(freep) struct fanouts *fanouts = calloc(1, sizeof(*fanouts));
	int result;

	if (fanouts == NULL)
		return -ENOMEM;
	fanouts->engine = engine;
	result = spreads_create(&spread_ops, engine, &engine->collective,
				&fanouts->spreads);
	if (result < 0)
		return result;
	*ret_fanouts = take_ptr(fanouts);
	return 0;
}

void fanouts_clear(struct fanouts *fanouts)
{
	struct fanout_group *group, *next_group;
	struct fanout *fanout, *next;

	spreads_clear(fanouts->spreads);
	DL_CONCAT(fanouts->list, fanouts->finished);
	fanouts->finished = NULL;
	DL_FOREACH_SAFE (fanouts->list, fanout, next) {
		DL_DELETE(fanouts->list, fanout);
		fanout_destroy(fanout);
	}
	HASH_ITER (hh, fanouts->groups, group, next_group) {
		group->is_over = true;
		group_drop(fanouts, group);
	}
	fanouts->count = 0;
}

void fanouts_destroy(struct fanouts *fanouts)
{
	if (fanouts == NULL)
		return;
	fanouts_clear(fanouts);
	spreads_destroy(fanouts->spreads);
	free(fanouts);
}

static void answer_all(struct fanouts *fanouts, struct fanout *fanout,
		       int result, const char *text)
{
	const struct spread_answer answer = { .result = result, .text = text };

	for (size_t i = 0; i < fanout->plan->node_count; i++)
		on_answered(fanouts->engine, fanout, i, &answer);
	DL_APPEND(fanouts->finished, fanout);
}

static void begin(struct fanouts *fanouts, struct fanout *fanout)
{
	const struct fanout_plan *plan = fanout->plan;
	const struct spread_order order = {
		.op = plan->op,
		.group = plan->group,
		.timeout_ms = plan->timeout_ms,
		.nodes = (const char *const *)plan->nodes,
		.node_count = plan->node_count,
		.arg = fanout,
	};
	int result = plan->error;

	static_assert(CORE_NODES_MAX <= GATHER_PLACES_MAX, "any order fits");
	if (plan->node_count == 0)
		answer_all(fanouts, fanout, 0, "");
	else if (fanouts->count > FANOUTS_MAX)
		answer_all(fanouts, fanout, -EAGAIN,
			   "too many commands are under way");
	else if (result < 0)
		answer_all(fanouts, fanout, result, "its command is too long");
	else if (spread_start(fanouts->spreads, &order,
			      engine_now_ms(fanouts->engine)) < 0)
		answer_all(fanouts, fanout, -ENOMEM, "out of memory");
	else
		DL_APPEND(fanouts->list, fanout);
}

int fanouts_start(struct fanouts *fanouts, struct fanout_plan *plan_owned)
{
	struct fanout *fanout;
	int result = fanout_create(fanouts, plan_owned, &fanout);

	if (result == 0)
		begin(fanouts, fanout);
	else
		fanout_plan_destroy(plan_owned);
	return result;
}

void fanouts_node_up(struct fanouts *fanouts, const char *node)
{
	spreads_node_up(fanouts->spreads, node);
}

void fanouts_nodes_lost(struct fanouts *fanouts)
{
	spreads_nodes_lost(fanouts->spreads);
}

void fanouts_part(struct fanouts *fanouts, uint64_t id, const void *bytes,
		  size_t size)
{
	spreads_part(fanouts->spreads, id, bytes, size);
}

void fanouts_ended(struct fanouts *fanouts, uint64_t id, int result,
		   const struct collective_failure *failures, size_t count)
{
	spreads_ended(fanouts->spreads, id, result, failures, count);
}

/* --- the end --- */

static void finish_core(struct engine *engine, const struct fanout *fanout)
{
	size_t count = fanout->plan->node_count;
	struct core_answer *answers = calloc(count + 1, sizeof(*answers));

	if (answers == NULL) {
		commit_spoil(engine, -ENOMEM);
		return;
	}
	for (size_t i = 0; i < count; i++) {
		const struct fanout_target *target = &fanout->targets[i];

		answers[i].node = target->node;
		answers[i].result = target->result;
		answers[i].text = target->text == NULL ? "" : target->text;
		memcpy(answers[i].incarnation, target->incarnation,
		       sizeof(answers[i].incarnation));
	}
	core_fanout_done(engine->core, fanout->plan->id, answers, count);
	free(answers);
}

static void finish(struct fanouts *fanouts, struct fanout *fanout)
{
	struct engine *engine = fanouts->engine;
	const struct fanout_plan *plan = fanout->plan;

	DL_DELETE(fanouts->finished, fanout);
	fanouts->count--;
	group_leave(fanouts, plan);
	if (plan->owner == FANOUT_OF_CLIENT)
		query_done(engine, plan->id, fanout->targets, plan->node_count);
	else if (plan->owner == FANOUT_OF_CORE && engine->core != NULL)
		finish_core(engine, fanout);
	fanout_destroy(fanout);
}

void fanouts_tick(struct fanouts *fanouts, uint64_t now_ms)
{
	spreads_tick(fanouts->spreads, now_ms);
	while (fanouts->finished != NULL)
		finish(fanouts, fanouts->finished);
}

uint64_t fanouts_deadline_ms(const struct fanouts *fanouts)
{
	return fanouts->finished != NULL
		       ? 0
		       : spreads_deadline_ms(fanouts->spreads);
}

size_t fanouts_count(const struct fanouts *fanouts)
{
	return fanouts->count;
}

const struct spread_counters *fanouts_counters(const struct fanouts *fanouts)
{
	return spreads_counters(fanouts->spreads);
}
