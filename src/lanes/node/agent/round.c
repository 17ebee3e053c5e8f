/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Commands of the manager: what is for this node alone by the link, the others
 * by rounds of collectives. Authority is in the command: the guard gets it
 * whoever has brought it, and what it was is done when the guard believes it.
 * An answer goes up by the rounds that wait for it. Without one it is lost, as
 * on any way: who still wants it asks again.
 *
 * Our answer in a round goes up together with what the nodes below have
 * combined. What
 * comes from below is not believed: the manager checks it. Somebody below can
 * spoil what he is combined with, which the manager then asks again.
 *
 * What comes from below may come before the command, which may be bulk data,
 * and waits for it: before, nobody knows how many slots there are. An answer
 * of ours that takes longer than the parcel's patience is not waited for.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/hostlist.h"
#include "base/memory.h"
#include "lanes/proto/combined.h"
#include "lanes/proto/collective.h"
#include "lanes/node/agent/internal.h"

/* Sizes of a carried confirmation and of an empty combined answer. */
#define CARRY_SIZE 4
#define HEAD_SIZE  64
#define WARN_MS    60000 /* at most one line in so long about false commands */

struct agent_round {
	uint64_t id;
	bool has_command; /* and combined is ready */
	bool is_separate; /* see struct parcel */
	uint32_t part_bytes;
	uint32_t slot;       /* ours in the command */
	bool is_own_open;    /* our answer is awaited */
	bool is_at_guard;    /* the command is; it has a pointer to us */
	bool is_closed;      /* nothing more comes from below */
	bool is_over;        /* the answer has ended */
	uint64_t sequence;   /* of the command; 0: not known yet */
	uint64_t patient_ms; /* until when our answer is waited for */
	struct combined combined;
	struct writer early; /* blobs that came before the command */
	UT_hash_handle hh;
};

/* --- rounds --- */

static struct agent_round *round_get(struct agent *agent, uint64_t id,
				     bool may_make)
{
	struct agent_round *round;

	HASH_FIND(hh, agent->rounds, &id, sizeof(id), round);
	if (round || !may_make || HASH_COUNT(agent->rounds) >= AGENT_ROUNDS_MAX)
		return round;
	round = memory_alloc(sizeof(*round));
	round->id = id;
	round->early.limit = AGENT_EARLY_MAX;
	HASH_ADD(hh, agent->rounds, id, sizeof(round->id), round);
	memory_have(round->hh.tbl);
	return round;
}

static void round_destroy(struct agent *agent, struct agent_round *round)
{
	HASH_DEL(agent->rounds, round);
	combined_fini(&round->combined);
	writer_fini(&round->early);
	free(round);
}

/* --- what goes up --- */

static void send_part(struct agent *agent, struct agent_round *round,
		      bool is_last)
{
	uint32_t slot_count = round->combined.place_count;
	struct writer part = { 0 };

	if (round->has_command)
		memory_check(combined_encode(&round->combined, &part));
	if (part.size > 0 || is_last)
		agent->options.ops->answer(agent->options.ops_ctx, round->id,
					   part.data, part.size, is_last);
	writer_fini(&part);
	if (is_last)
		return;
	combined_fini(&round->combined);
	(void)combined_init(&round->combined, slot_count);
}

/* Let so many bytes more fit; false: they do not even fit in an empty part. */
static bool part_reserve(struct agent *agent, struct agent_round *round,
			 size_t size)
{
	if (combined_encoded_size(&round->combined) + size >
		    round->part_bytes &&
	    !combined_is_empty(&round->combined))
		send_part(agent, round, false);
	return combined_encoded_size(&round->combined) + size <=
	       round->part_bytes;
}

/* End complete rounds, and free those without further events. */
static void settle(struct agent *agent, struct agent_round *round)
{
	if (round->is_closed && !round->is_own_open && !round->is_over) {
		send_part(agent, round, true);
		round->is_over = true;
	}
	if (round->is_over && !round->is_at_guard)
		round_destroy(agent, round);
}

static void add_own(struct agent *agent, struct agent_round *round,
		    const void *confirm, size_t size)
{
	int result = -EEXIST;

	round->is_own_open = false;
	if (!part_reserve(agent, round, size + CARRY_SIZE + HEAD_SIZE))
		return;
	if (!round->is_separate)
		result = combined_add(&round->combined, round->slot, confirm,
				      size);
	/* A child has already answered for us. */
	if (result == -EEXIST)
		(void)combined_carry(&round->combined, confirm, size);
}

static void add_below(struct agent *agent, struct agent_round *round,
		      const void *bytes, size_t size)
{
	if (size > 0 && part_reserve(agent, round, size))
		(void)combined_merge(&round->combined, bytes, size);
}

/* --- our own answer --- */

/* The guard's result of its command. */
static void round_answered(struct agent *agent, struct agent_round *round,
			   const struct guard_reply *reply)
{
	bool is_awaited = reply->result == 0 && (reply->op == COMMAND_QUERY ||
						 reply->op == COMMAND_CLEAN);

	round->is_at_guard = false;
	round->sequence = reply->sequence;
	if (reply->size > 0 && round->is_own_open)
		add_own(agent, round, reply->bytes, reply->size);
	else if (!is_awaited)
		round->is_own_open = false;
	settle(agent, round);
}

/* A CONFIRM was made later: for those that still wait for it. */
static void rounds_confirm(struct agent *agent, uint64_t sequence,
			   const void *confirm, size_t size)
{
	struct agent_round *round, *next;

	HASH_ITER (hh, agent->rounds, round, next) {
		if (!round->is_own_open || round->sequence != sequence)
			continue;
		add_own(agent, round, confirm, size);
		settle(agent, round);
	}
}

/* --- events --- */

/* Read our index from the command; the guard verifies it. */
static int slot_find(const struct agent *agent, struct agent_round *round,
		     const void *command, size_t size)
{
	_auto_(freep) char *nodes = NULL;
	int result = command_nodes_read(command, size, &nodes);
	int count = result < 0 ? result : hostlist_count(nodes);
	int slot = count < 0 ? count : hostlist_find(nodes, agent->name);

	if (slot < 0)
		return slot;
	round->slot = (uint32_t)slot;
	return combined_init(&round->combined, (uint32_t)count);
}

static void take_early(struct agent *agent, struct agent_round *round)
{
	struct reader reader = reader_of(round->early.data, round->early.size);

	while (reader.left > 0) {
		size_t size;
		const uint8_t *bytes = read_blob(&reader, SIZE_MAX, &size);

		if (!bytes)
			break;
		add_below(agent, round, bytes, size);
	}
	writer_fini(&round->early);
}

void agent_round_command(struct agent *agent, uint64_t id, const void *payload,
			 size_t size, const void *bulk, size_t bulk_size)
{
	struct agent_round *round = round_get(agent, id, true);
	struct parcel parcel;

	if (!round || round->has_command ||
	    parcel_decode(payload, size, &parcel) < 0)
		return;
	if (parcel.is_bulk) {
		parcel.command = bulk;
		parcel.command_size = bulk_size;
	}
	if (slot_find(agent, round, parcel.command, parcel.command_size) < 0)
		return;
	round->has_command = true;
	round->is_separate = parcel.is_separate;
	round->part_bytes = parcel.part_bytes;
	round->patient_ms = agent_now_ms(agent) + parcel.patience_ms;
	round->is_at_guard = commands_take(agent, parcel.command,
					   parcel.command_size, round) == 0;
	round->is_own_open = round->is_at_guard;
	take_early(agent, round);
}

void agent_round_part(struct agent *agent, uint64_t id, const void *bytes,
		      size_t size)
{
	struct agent_round *round = round_get(agent, id, true);

	if (!round || round->is_closed)
		return;
	if (round->has_command)
		add_below(agent, round, bytes, size);
	else
		write_blob(&round->early, bytes, size);
}

void agent_round_closed(struct agent *agent, uint64_t id)
{
	struct agent_round *round = round_get(agent, id, false);

	if (!round) {
		agent->options.ops->answer(agent->options.ops_ctx, id, NULL, 0,
					   true);
		return;
	}
	round->is_closed = true;
	settle(agent, round);
}

uint64_t agent_rounds_deadline_ms(const struct agent *agent)
{
	uint64_t deadline_ms = DEADLINE_NONE;

	for (const struct agent_round *round = agent->rounds; round;
	     round = round->hh.next) {
		if (round->is_own_open)
			deadline_ms =
				deadline_min(deadline_ms, round->patient_ms);
	}
	return deadline_ms;
}

void agent_rounds_tick(struct agent *agent)
{
	uint64_t now_ms = agent_now_ms(agent);
	struct agent_round *round, *next;

	HASH_ITER (hh, agent->rounds, round, next) {
		if (!round->is_own_open || now_ms < round->patient_ms)
			continue;
		round->is_own_open = false;
		settle(agent, round);
	}
}

void agent_rounds_fini(struct agent *agent)
{
	struct agent_round *round, *next;

	HASH_ITER (hh, agent->rounds, round, next)
		round_destroy(agent, round);
}

/* --- commands --- */

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
		rounds_confirm(agent, reply->sequence, reply->bytes,
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
		.is_forced = true,
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
		round_answered(agent, round, reply);
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
