/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Fan-outs under way, their commands (one, and one more for each node that got
 * it again under a new sequence) by sequence, and their targets by name.
 */
#include "manager/fanout.h"

#include <assert.h>
#include <errno.h>
#include <string.h>
#include <utlist.h>

struct fanout_command {
	struct fanout *fanout;
	uint64_t sequence;
	struct writer frames[VERSION_COUNT]; /* empty: not spoken by anybody */
	struct fanout_command *prev, *next;  /* of the fan-out */
	UT_hash_handle hh;                   /* by sequence */
};

struct fanout {
	struct fanout_plan *plan;
	uint64_t deadline_ms;
	uint64_t next_ms; /* when to look at it */
	uint64_t repeat_ms;
	struct fanout_target *targets;
	struct fanout_target *by_node;
	size_t open_count;
	struct fanout_command *commands; /* the first one is for all */
	struct fanout *prev, *next;
};

struct fanouts {
	struct engine *engine;
	struct fanout *list;     /* with open targets */
	struct fanout *finished; /* every target is answered */
	size_t count;
	struct fanout_command *by_sequence;
	uint64_t deadline_ms; /* nothing is due before */
};

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

int fanouts_create(struct engine *engine, struct fanouts **ret_fanouts)
{
	struct fanouts *fanouts = calloc(1, sizeof(*fanouts));

	if (fanouts == NULL)
		return -ENOMEM;
	fanouts->engine = engine;
	fanouts->deadline_ms = DEADLINE_NONE;
	*ret_fanouts = fanouts;
	return 0;
}

static void fanout_destroy(struct fanouts *fanouts, struct fanout *fanout)
{
	struct fanout_command *command;
	struct fanout_command *next;

	DL_FOREACH_SAFE (fanout->commands, command, next) {
		HASH_DEL(fanouts->by_sequence, command);
		for (size_t i = 0; i < VERSION_COUNT; i++)
			writer_fini(&command->frames[i]);
		free(command);
	}
	HASH_CLEAR(hh, fanout->by_node);
	for (size_t i = 0; i < fanout->plan->node_count; i++) {
		free(fanout->targets[i].text);
		free(fanout->targets[i].answer);
	}
	free(fanout->targets);
	fanout_plan_destroy(fanout->plan);
	free(fanout);
}

void fanouts_clear(struct fanouts *fanouts)
{
	struct fanout *fanout;
	struct fanout *next;

	DL_CONCAT(fanouts->list, fanouts->finished);
	fanouts->finished = NULL;
	DL_FOREACH_SAFE (fanouts->list, fanout, next) {
		DL_DELETE(fanouts->list, fanout);
		fanout_destroy(fanouts, fanout);
	}
	fanouts->count = 0;
	fanouts->deadline_ms = DEADLINE_NONE;
}

void fanouts_destroy(struct fanouts *fanouts)
{
	if (fanouts == NULL)
		return;
	fanouts_clear(fanouts);
	free(fanouts);
}

static void look_at(struct fanouts *fanouts, struct fanout *fanout,
		    uint64_t when_ms)
{
	if (when_ms < fanout->next_ms)
		fanout->next_ms = when_ms;
	if (when_ms < fanouts->deadline_ms)
		fanouts->deadline_ms = when_ms;
}

/* Signed in every version that is spoken; NULL when memory is out. */
static struct fanout_command *command_create(struct fanouts *fanouts,
					     struct fanout *fanout)
{
	const struct fanout_plan *plan = fanout->plan;
	struct fanout_command *entry = calloc(1, sizeof(*entry));
	struct engine *engine = fanouts->engine;

	if (entry == NULL)
		return NULL;
	entry->fanout = fanout;
	entry->sequence = ++engine->sequence;
	for (uint16_t i = 0; i < VERSION_COUNT; i++) {
		struct command command = {
			.op = (uint8_t)plan->op,
			.sequence = entry->sequence,
			.grant_id = plan->grant_id,
			.apply_floor = plan->apply_floor,
			.body = plan->bodies[i].bytes,
			.body_size = plan->bodies[i].size,
		};

		if (session_seal(engine, (uint16_t)(WIRE_VERSION_MIN + i),
				 &command, &entry->frames[i]) < 0)
			writer_fini(&entry->frames[i]);
	}
	DL_APPEND(fanout->commands, entry);
	HASH_ADD(hh, fanouts->by_sequence, sequence, sizeof(entry->sequence),
		 entry);
	return entry;
}

static void answer(struct fanouts *fanouts, struct fanout *fanout,
		   struct fanout_target *target, int result, const char *text)
{
	target->is_answered = true;
	target->result = result;
	target->text = strdup(text);
	fanout->open_count--;
	if (fanout->open_count == 0) {
		DL_DELETE(fanouts->list, fanout);
		DL_APPEND(fanouts->finished, fanout);
	}
}

static void send_to(struct fanouts *fanouts, struct fanout_target *target,
		    struct session *session)
{
	const struct writer *frame =
		&target->command->frames[session->version - WIRE_VERSION_MIN];

	target->gone_ms = 0;
	if (!target->was_asked)
		memcpy(target->incarnation, session->incarnation,
		       sizeof(target->incarnation));
	else
		fanouts->engine->counters.repeat_count++;
	target->was_asked = true;
	fanouts->engine->counters.command_count++;
	if (frame->size > 0)
		session_send(fanouts->engine, session, frame->data,
			     frame->size);
}

/* To all that have not answered and have a session. */
static void send_to_open(struct fanouts *fanouts, struct fanout *fanout,
			 uint64_t now_ms)
{
	for (size_t i = 0; i < fanout->plan->node_count; i++) {
		struct fanout_target *target = &fanout->targets[i];
		struct session *session;

		if (target->is_answered)
			continue;
		session = session_of(fanouts->engine, target->node);
		/* One that was not greeted gets it with its HELLO. */
		if (session != NULL && session->is_greeted)
			send_to(fanouts, target, session);
		else if (session == NULL && target->gone_ms == 0)
			target->gone_ms = now_ms;
	}
	fanout->repeat_ms = now_ms + ENGINE_REPEAT_MS;
	look_at(fanouts, fanout, fanout->repeat_ms);
}

static struct fanout *fanout_create(struct fanouts *fanouts,
				    struct fanout_plan *plan)
{
	struct fanout *fanout = calloc(1, sizeof(*fanout));

	if (fanout == NULL)
		return NULL;
	fanout->targets =
		calloc(plan->node_count + 1, sizeof(*fanout->targets));
	if (fanout->targets == NULL) {
		free(fanout);
		return NULL;
	}
	fanout->plan = plan;
	fanout->open_count = plan->node_count;
	fanout->next_ms = DEADLINE_NONE;
	for (size_t i = 0; i < plan->node_count; i++) {
		struct fanout_target *target = &fanout->targets[i];

		target->node = plan->nodes[i];
		HASH_ADD_KEYPTR(hh, fanout->by_node, target->node,
				strlen(target->node), target);
	}
	if (plan->node_count > 0)
		DL_APPEND(fanouts->list, fanout);
	else
		DL_APPEND(fanouts->finished, fanout);
	fanouts->count++;
	return fanout;
}

static void answer_all(struct fanouts *fanouts, struct fanout *fanout,
		       int result, const char *text)
{
	for (size_t i = 0; i < fanout->plan->node_count; i++)
		answer(fanouts, fanout, &fanout->targets[i], result, text);
}

void fanouts_start(struct fanouts *fanouts, struct fanout_plan *plan_owned)
{
	uint64_t now_ms = engine_now_ms(fanouts->engine);
	bool is_full = fanouts->count >= FANOUTS_MAX;
	struct fanout *fanout = fanout_create(fanouts, plan_owned);
	struct fanout_command *command;

	if (fanout == NULL) {
		fanout_plan_destroy(plan_owned);
		commit_spoil(fanouts->engine, -ENOMEM);
		return;
	}
	fanout->deadline_ms = now_ms + plan_owned->timeout_ms;
	look_at(fanouts, fanout, fanout->deadline_ms);
	if (plan_owned->error < 0 || is_full) {
		answer_all(fanouts, fanout,
			   is_full ? -EAGAIN : plan_owned->error,
			   is_full ? "too many commands are under way"
				   : "its command is too long");
		return;
	}
	command = command_create(fanouts, fanout);
	if (command == NULL) {
		answer_all(fanouts, fanout, -ENOMEM, "out of memory");
		return;
	}
	for (size_t i = 0; i < plan_owned->node_count; i++)
		fanout->targets[i].command = command;
	send_to_open(fanouts, fanout, now_ms);
	look_at(fanouts, fanout, now_ms + ENGINE_GONE_MS);
}

enum fanout_match fanouts_answer(struct fanouts *fanouts,
				 const struct confirm *confirm)
{
	const struct engine *engine = fanouts->engine;
	struct fanout_command *command;
	struct fanout_target *target;

	if (confirm->epoch != engine->epoch || confirm->life != engine->life ||
	    confirm->sequence > engine->sequence)
		return FANOUT_FOREIGN;
	HASH_FIND(hh, fanouts->by_sequence, &confirm->sequence,
		  sizeof(confirm->sequence), command);
	if (command == NULL)
		return FANOUT_OVER;
	HASH_FIND_STR(command->fanout->by_node, confirm->node, target);
	if (command->fanout->plan->op != (enum command_op)confirm->op ||
	    command->fanout->plan->grant_id != confirm->grant_id ||
	    target == NULL)
		return FANOUT_FOREIGN;
	if (target->is_answered && !target->is_heard)
		return FANOUT_OVER;
	if (target->is_heard)
		return FANOUT_TAKEN;
	target->is_heard = true;
	fanouts->engine->counters.answer_count++;
	memcpy(target->incarnation, confirm->incarnation,
	       sizeof(target->incarnation));
	if (confirm->answer_size > 0)
		target->answer = strdup((const char *)confirm->answer);
	answer(fanouts, command->fanout, target, confirm->result,
	       confirm->reason);
	return FANOUT_TAKEN;
}

/* The node's connection was another one when it was asked. */
static void ask_again(struct fanouts *fanouts, struct fanout *fanout,
		      struct fanout_target *target, struct session *session)
{
	struct fanout_command *command = target->command;

	if (fanout->plan->op == COMMAND_APPLY) {
		if (!target->was_asked ||
		    memcmp(target->incarnation, session->incarnation,
			   sizeof(target->incarnation)) != 0) {
			answer(fanouts, fanout, target, -EHOSTUNREACH,
			       "the node was lost and came back meanwhile");
			return;
		}
		command = command_create(fanouts, fanout);
		if (command == NULL)
			return;
	}
	target->command = command;
	send_to(fanouts, target, session);
}

void fanouts_node_up(struct fanouts *fanouts, const struct session *session)
{
	struct fanout *fanout;
	struct fanout *next;
	struct fanout_target *target;

	DL_FOREACH_SAFE (fanouts->list, fanout, next) {
		HASH_FIND_STR(fanout->by_node, session->node, target);
		if (target != NULL && !target->is_answered &&
		    target->command != NULL)
			ask_again(fanouts, fanout, target,
				  session_of(fanouts->engine, session->node));
	}
}

/* What the time has decided; sets when to look again. */
static void expire(struct fanouts *fanouts, struct fanout *fanout,
		   uint64_t now_ms)
{
	bool is_late = now_ms >= fanout->deadline_ms;
	uint64_t next_ms = fanout->deadline_ms;

	for (size_t i = 0; i < fanout->plan->node_count; i++) {
		struct fanout_target *target = &fanout->targets[i];
		bool is_gone =
			session_of(fanouts->engine, target->node) == NULL;

		if (target->is_answered)
			continue;
		if (!is_gone)
			target->gone_ms = 0;
		else if (target->gone_ms == 0)
			target->gone_ms = now_ms;
		if (is_gone &&
		    (is_late || now_ms >= target->gone_ms + ENGINE_GONE_MS)) {
			answer(fanouts, fanout, target, -EHOSTUNREACH,
			       "the node is not connected");
		} else if (is_late) {
			fanouts->engine->counters.timeout_count++;
			answer(fanouts, fanout, target, -ETIMEDOUT,
			       "the node did not answer in time");
		} else if (is_gone &&
			   target->gone_ms + ENGINE_GONE_MS < next_ms) {
			next_ms = target->gone_ms + ENGINE_GONE_MS;
		}
	}
	fanout->next_ms = next_ms;
}

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
	core_fanout_done(engine->core, fanout->plan->core_id, answers, count);
	free(answers);
}

static void finish(struct fanouts *fanouts, struct fanout *fanout)
{
	struct engine *engine = fanouts->engine;

	DL_DELETE(fanouts->finished, fanout);
	fanouts->count--;
	if (fanout->plan->op == COMMAND_QUERY)
		query_done(engine, fanout->plan->token, fanout->targets,
			   fanout->plan->node_count);
	else if (engine->core != NULL)
		finish_core(engine, fanout);
	fanout_destroy(fanouts, fanout);
}

/* Those whose time has come; sets when to look again. */
static void look(struct fanouts *fanouts, uint64_t now_ms)
{
	struct fanout *fanout;
	struct fanout *next;

	fanouts->deadline_ms = DEADLINE_NONE;
	DL_FOREACH_SAFE (fanouts->list, fanout, next) {
		if (now_ms >= fanout->next_ms) {
			expire(fanouts, fanout, now_ms);
			if (fanout->open_count == 0)
				continue;
			if (now_ms >= fanout->repeat_ms)
				send_to_open(fanouts, fanout, now_ms);
			look_at(fanouts, fanout, fanout->repeat_ms);
		}
		look_at(fanouts, fanout, fanout->next_ms);
	}
}

void fanouts_tick(struct fanouts *fanouts, uint64_t now_ms)
{
	if (now_ms >= fanouts->deadline_ms)
		look(fanouts, now_ms);
	while (fanouts->finished != NULL)
		finish(fanouts, fanouts->finished);
}

uint64_t fanouts_deadline_ms(const struct fanouts *fanouts)
{
	return fanouts->finished != NULL ? 0 : fanouts->deadline_ms;
}

size_t fanouts_count(const struct fanouts *fanouts)
{
	return fanouts->count;
}
