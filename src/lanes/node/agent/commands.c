/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Commands of the manager: what is for this node alone by the link, the others
 * by collectives. Authority is in the command: the guard gets it whoever has
 * brought it, and what it was is done when the guard believes it. An answer
 * goes up by the collectives that wait for it. Without one it is lost, as on
 * any way: who still wants it asks again.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lanes/node/agent/internal.h"

#define WARN_MS 60000 /* at most one line in so long about false commands */

static void drained(struct agent *agent, const struct guard_reply *reply)
{
	agent->is_drained = reply->is_drained;
	snprintf(agent->drain_reason, sizeof(agent->drain_reason), "%.*s",
		 DRAIN_REASON_MAX, reply->is_drained ? reply->text : "");
	if (reply->is_drained)
		log_warning(agent->options.log, "drained reason=\"%s\"",
			    agent->drain_reason);
	else
		log_info(agent->options.log, "not drained any more");
}

static void answer_done(struct agent *agent, void *arg,
			const struct guard_reply *reply)
{
	if (reply->size > 0)
		agent_rounds_confirm(agent, reply->sequence, reply->bytes,
				     reply->size);
}

void commands_answer(struct agent *agent, const struct guard_request *request)
{
	/* An answer that cannot be made is one that was lost. */
	(void)agent_ask(agent, request, answer_done, NULL);
}

/* Takes the reference; NULL with a result of 0: memory is out. */
static void answer_view(struct agent *agent, uint64_t sequence, int result,
			json_t *view)
{
	struct guard_request request = {
		.type = GUARD_ANSWER,
		.number = sequence,
		.result = result,
	};
	char *text = NULL;

	if (view)
		text = json_dumps(view, JSON_COMPACT);
	json_decref(view);
	if (!text && request.result == 0)
		request.result = -ENOMEM;
	if (text && strlen(text) > CONFIRM_ANSWER_MAX)
		request.result = -EMSGSIZE;
	if (text && request.result == 0) {
		request.bytes = (const uint8_t *)text;
		request.size = strlen(text);
	}
	commands_answer(agent, &request);
	free(text);
}

static void answer_objects(struct agent *agent, void *arg, uint64_t sequence,
			   const struct guard_object *list, size_t count,
			   const struct fairlead_error *error)
{
	json_t *view = list ? view_objects(agent, list, count) : NULL;

	answer_view(agent, sequence, list ? 0 : error->code, view);
}

static void answer_query(struct agent *agent, const struct guard_reply *reply)
{
	struct fairlead_error error;
	json_t *view = NULL;
	int result = 0;

	if (reply->what == QUERY_OBJECTS) {
		result = objects_ask(agent, answer_objects, NULL,
				     reply->sequence);
		if (result == 0)
			return;
	} else if (reply->what == QUERY_GRANTS) {
		view = view_status(agent, 0);
	} else {
		result = view_devices(agent, &view, &error);
	}
	answer_view(agent, reply->sequence, result, view);
}

static void begin_clean(struct agent *agent, const struct guard_reply *reply)
{
	const struct work_order order = {
		.kind = WORK_CLEAN,
		.id = reply->sequence,
		.is_all = reply->is_all,
		.is_dry_run = reply->is_dry_run,
	};
	struct guard_request refusal = {
		.type = GUARD_ANSWER,
		.number = reply->sequence,
	};

	refusal.result = work_begin(agent, &order);
	if (refusal.result < 0)
		commands_answer(agent, &refusal);
}

static void warn_of_command(struct agent *agent,
			    const struct guard_reply *reply)
{
	uint64_t now_ms = agent_now_ms(agent);

	if (agent->warned_ms > 0 && now_ms - agent->warned_ms < WARN_MS)
		return;
	agent->warned_ms = now_ms;
	log_warning(agent->options.log,
		    "a command was not obeyed op=%s error=\"%s\" reason=\"%s\"",
		    reply->op ? command_op_name(reply->op) : "none",
		    strerror(-reply->result), reply->text);
}

/* Verified commands that the agent carries out. */
static void obeyed(struct agent *agent, const struct guard_reply *reply)
{
	switch (reply->op) {
	case COMMAND_HELLO:
		link_greeted(agent);
		break;
	case COMMAND_QUERY:
		/* One that the guard has answered is none of ours. */
		if (reply->size == 0)
			answer_query(agent, reply);
		break;
	case COMMAND_CLEAN:
		begin_clean(agent, reply);
		break;
	case COMMAND_DRAIN:
		drained(agent, reply);
		break;
	case COMMAND_LEASE:
		if (*reply->text)
			log_warning(agent->options.log,
				    "the guard warns warning=\"%s\"",
				    reply->text);
		link_leased(agent, reply->lease_s);
		if (reply->has_moved)
			link_moved(agent);
		break;
	}
}

static void command_done(struct agent *agent, void *arg,
			 const struct guard_reply *reply)
{
	struct agent_round *round = arg;

	agent->command_count--;
	if (round)
		agent_round_answered(agent, round, reply);
	if (reply->size == 0 && reply->result < 0)
		warn_of_command(agent, reply);
	if (reply->result == 0)
		obeyed(agent, reply);
}

int commands_take(struct agent *agent, const void *bytes, size_t size,
		  struct agent_round *round)
{
	struct guard_request request = {
		.type = GUARD_COMMAND,
		.bytes = bytes,
		.size = size,
	};
	int result;

	if (agent->command_count >= AGENT_COMMANDS_MAX)
		return -EAGAIN;
	result = agent_ask(agent, &request, command_done, round);
	if (result == 0)
		agent->command_count++;
	return result;
}
