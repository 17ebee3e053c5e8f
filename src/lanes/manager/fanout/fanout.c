/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A fan-out has targets (its nodes), its command as it was signed (again for
 * nodes that registered meanwhile) and rounds. Each tick starts a round for
 * those of its open targets that are up, due and in no round.
 *
 * A grant's nodes are one group from its first command on, until one of its
 * REVOKEs is over; when more is to be revoked later, it is made again for that.
 */
#include "lanes/manager/fanout/internal.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <utlist.h>

#include "base/memory.h"
#include "base/seam.h"
#include "lanes/proto/combined.h"
#include "lanes/proto/collective.h"

struct fanout_command *fanout_command_create(enum command_op op,
					     const char *const *nodes,
					     size_t node_count)
{
	struct fanout_command *command = memory_alloc(sizeof(*command));

	command->op = op;
	command->nodes = memory_array(node_count, sizeof(*command->nodes));
	command->node_count = node_count;
	command->body.limit = COMMAND_SIZE_MAX - COMMAND_HEADER_SIZE;
	for (size_t i = 0; i < node_count; i++)
		command->nodes[i] = memory_text(nodes[i]);
	return command;
}

void fanout_command_destroy(struct fanout_command *command)
{
	if (command == NULL)
		return;
	for (size_t i = 0; i < command->node_count; i++)
		free(command->nodes[i]);
	free(command->nodes);
	writer_fini(&command->body);
	free(command);
}

struct fanouts *fanouts_create(const struct fanout_ops *ops, void *ctx,
			       const struct round_seam *seam)
{
	struct fanouts *fanouts = memory_alloc(sizeof(*fanouts));

	fanouts->ops = ops;
	fanouts->ctx = ctx;
	fanouts->seam = seam;
	fanouts->next_ms = DEADLINE_NONE;
	return fanouts;
}

/* --- the command, signed --- */

static void signed_command_destroy(struct signed_command *command)
{
	writer_fini(&command->bytes);
	free(command);
}

static bool is_in_a_round(const struct fanout *fanout,
			  const struct signed_command *command)
{
	const struct fanout_round *round;

	DL_FOREACH (fanout->rounds, round)
		if (round->command == command)
			return true;
	return false;
}

/* Forget those that are in no round, but for the newest; how many are left. */
static size_t prune(struct fanout *fanout)
{
	struct signed_command *command, *next;
	size_t count = 0;

	DL_FOREACH_SAFE (fanout->signed_commands, command, next) {
		if (count == 0 || is_in_a_round(fanout, command)) {
			count++;
			continue;
		}
		DL_DELETE(fanout->signed_commands, command);
		signed_command_destroy(command);
	}
	return count;
}

struct signed_command *fanout_command_get(struct fanouts *fanouts,
					  struct fanout *fanout, bool needs_new)
{
	struct signed_command *command = fanout->signed_commands;

	if (command != NULL && !needs_new)
		return command;
	if (prune(fanout) >= FANOUT_COMMANDS_MAX)
		return NULL;
	command = memory_alloc(sizeof(*command));
	fanouts->ops->sign(fanouts->ctx, fanout->command, &command->header,
			   &command->bytes);
	DL_PREPEND(fanout->signed_commands, command);
	return command;
}

/* --- the end of things --- */

static void answer_fini(struct fanout_answer *answer)
{
	free(answer->reason);
	free((uint8_t *)answer->said);
}

/* No command follows a REVOKE, unless some nodes have to repeat it. */
static void group_drop(struct fanouts *fanouts, const struct fanout *fanout)
{
	const struct fanout_command *command = fanout->command;

	if (command->op == COMMAND_REVOKE && command->group != 0)
		fanouts->seam->ops->group_drop(fanouts->seam->ctx,
					       command->group);
}

static void fanout_destroy(struct fanouts *fanouts, struct fanout *fanout)
{
	struct signed_command *command, *next_command;
	struct fanout_round *round, *next_round;

	DL_FOREACH_SAFE (fanout->rounds, round, next_round) {
		fanouts->seam->ops->cancel(fanouts->seam->ctx, round->id);
		fanout_round_end(fanouts, round);
	}
	DL_FOREACH_SAFE (fanout->signed_commands, command, next_command)
		signed_command_destroy(command);
	HASH_CLEAR(hh, fanout->by_nid);
	for (size_t i = 0; i < fanout->command->node_count; i++)
		answer_fini(&fanout->answers[i]);
	free(fanout->answers);
	free(fanout->targets);
	fanout_command_destroy(fanout->command);
	free(fanout);
}

void fanouts_clear(struct fanouts *fanouts)
{
	while (fanouts->list != NULL) {
		struct fanout *fanout = fanouts->list;

		DL_DELETE(fanouts->list, fanout);
		if (!fanout->is_over)
			group_drop(fanouts, fanout);
		fanout_destroy(fanouts, fanout);
	}
	fanouts->count = 0;
	fanouts->next_ms = DEADLINE_NONE;
}

void fanouts_destroy(struct fanouts *fanouts)
{
	if (fanouts == NULL)
		return;
	fanouts_clear(fanouts);
	free(fanouts);
}

/* --- time --- */

void fanout_answer_set(struct fanout *fanout, struct fanout_target *target,
		       int result, const char *text)
{
	target->answer->result = result;
	target->answer->text = text;
	memcpy(target->answer->incarnation, target->incarnation,
	       INCARNATION_SIZE);
	target->is_answered = true;
	target->is_unnotified = true;
	target->round = NULL;
	DL_APPEND(fanout->pending, target);
	fanout->open_count--;
	fanout->owner->next_ms = 0;
}

void fanout_wake(struct fanout *fanout)
{
	fanout->next_ms = 0;
	fanout->owner->next_ms = 0;
}

static bool look_up(struct fanouts *fanouts, const struct fanout *fanout,
		    struct fanout_target *target)
{
	return fanouts->ops->is_up(fanouts->ctx, fanout->command,
				   target->answer->node,
				   target->incarnation_now);
}

/*
 * Apply timeouts to an open target. A target in a round is up until some node
 * is lost.
 */
static void expire(struct fanouts *fanouts, struct fanout *fanout,
		   struct fanout_target *target, uint64_t now_ms)
{
	bool is_late = now_ms >= fanout->deadline_ms;
	bool is_up = true;

	if (fanout->is_new || target->round == NULL || target->gone_ms != 0 ||
	    is_late)
		is_up = look_up(fanouts, fanout, target);
	if (is_up)
		target->gone_ms = 0;
	else if (target->gone_ms == 0)
		target->gone_ms = now_ms;
	/* A node above it may be waiting for another one. */
	if (target->round != NULL && now_ms >= target->round->leave_ms) {
		target->round = NULL;
		target->is_suspect = true;
	}
	if (!is_up && (is_late || now_ms >= target->gone_ms + FANOUT_GONE_MS)) {
		fanout_answer_set(fanout, target, -EHOSTUNREACH,
				  "the node is down");
	} else if (is_late && target->failure != 0 &&
		   target->failure != -ETIMEDOUT) {
		fanout_answer_set(fanout, target, -EHOSTUNREACH,
				  "the node cannot be reached");
	} else if (is_late) {
		fanouts->counters.timeout_count++;
		fanout_answer_set(fanout, target, -ETIMEDOUT,
				  "the node did not answer in time");
	}
}

/* When something is to be done about a target that is open. */
static uint64_t target_deadline_ms(const struct fanout_target *target)
{
	if (target->gone_ms != 0)
		return target->gone_ms + FANOUT_GONE_MS;
	return target->round == NULL ? target->due_ms : target->round->leave_ms;
}

static void look(struct fanouts *fanouts, struct fanout *fanout,
		 uint64_t now_ms)
{
	size_t count = fanout->command->node_count;

	for (size_t i = 0; i < count; i++)
		if (!fanout->targets[i].is_answered)
			expire(fanouts, fanout, &fanout->targets[i], now_ms);
	fanout->is_new = false;
	if (fanout->open_count > 0)
		fanout_ask_all(fanouts, fanout, now_ms);
	fanout->next_ms = fanout->deadline_ms;
	for (size_t i = 0; i < count; i++) {
		const struct fanout_target *target = &fanout->targets[i];
		uint64_t due_ms = target->is_answered
					  ? DEADLINE_NONE
					  : target_deadline_ms(target);

		/* A target without a free round waits for one to end. */
		if (due_ms > now_ms && due_ms < fanout->next_ms)
			fanout->next_ms = due_ms;
	}
}

static void report(struct fanouts *fanouts, struct fanout *fanout)
{
	struct fanout_target *target;

	while ((target = fanout->pending) != NULL) {
		DL_DELETE(fanout->pending, target);
		if (target->is_unnotified)
			fanouts->ops->answered(fanouts->ctx, fanout->command,
					       target->answer);
		else
			fanouts->ops->late(fanouts->ctx, fanout->command,
					   target->answer, target->asked_ms);
		target->is_unnotified = false;
	}
}

/* Is there a node that may be late, and a round to bring its answer? */
static bool may_be_late(const struct fanout *fanout)
{
	if (!fanout_wants_late(fanout) || fanout->rounds == NULL)
		return false;
	for (size_t i = 0; i < fanout->command->node_count; i++)
		if (!fanout->targets[i].is_confirmed)
			return true;
	return false;
}

/* All are answered. */
static void finish(struct fanouts *fanouts, struct fanout *fanout)
{
	if (!fanout->is_over) {
		fanout->is_over = true;
		fanouts->count--;
		group_drop(fanouts, fanout);
		fanouts->ops->done(fanouts->ctx, fanout->command,
				   fanout->answers);
	}
	fanout->next_ms = DEADLINE_NONE;
	if (may_be_late(fanout))
		return;
	DL_DELETE(fanouts->list, fanout);
	fanout_destroy(fanouts, fanout);
}

void fanouts_tick(struct fanouts *fanouts, uint64_t now_ms)
{
	uint64_t next_ms = DEADLINE_NONE;
	struct fanout *fanout, *next;

	if (now_ms < fanouts->next_ms)
		return;
	DL_FOREACH_SAFE (fanouts->list, fanout, next) {
		if (now_ms >= fanout->next_ms && !fanout->is_over)
			look(fanouts, fanout, now_ms);
		report(fanouts, fanout);
		if (fanout->open_count == 0)
			finish(fanouts, fanout);
	}
	DL_FOREACH (fanouts->list, fanout) {
		if (fanout->pending != NULL)
			next_ms = 0;
		else if (fanout->next_ms < next_ms)
			next_ms = fanout->next_ms;
	}
	fanouts->next_ms = next_ms;
}

uint64_t fanouts_deadline_ms(const struct fanouts *fanouts)
{
	return fanouts->next_ms;
}

size_t fanouts_count(const struct fanouts *fanouts)
{
	return fanouts->count;
}

const struct fanout_counters *fanouts_counters(const struct fanouts *fanouts)
{
	return &fanouts->counters;
}

/* --- nodes that were rebooted --- */

#define FORMERS_MAX 64 /* of one round; each is looked for in each set */

const struct fanout_former *fanout_round_former(
	const struct fanout_round *round, uint32_t index)
{
	const struct fanout_former *former;

	LL_FOREACH (round->formers, former)
		if (former->index == index)
			return former;
	return NULL;
}

static void fanout_reboot(struct fanout *fanout, struct fanout_target *target,
			  const uint8_t incarnation[INCARNATION_SIZE])
{
	uint32_t index = fanout_index(fanout, target);
	struct fanout_round *round;

	if (memcmp(target->incarnation, incarnation, INCARNATION_SIZE) == 0)
		return;
	DL_FOREACH (fanout->rounds, round) {
		struct fanout_former *former;

		if (target->sequence != round->command->header.sequence ||
		    round->former_count == FORMERS_MAX ||
		    fanout_round_former(round, index) != NULL)
			continue;
		/* Without it the set that the node is in is false. */
		former = memory_alloc(sizeof(*former));
		round->former_count++;
		former->index = index;
		memcpy(former->incarnation, target->incarnation,
		       INCARNATION_SIZE);
		LL_PREPEND(round->formers, former);
	}
	memcpy(target->incarnation, incarnation, INCARNATION_SIZE);
}

/* --- the start --- */

struct fanout_target *fanout_target_find(const struct fanout *fanout,
					 uint64_t nid)
{
	struct fanout_target *target;

	HASH_FIND(hh, fanout->by_nid, &nid, sizeof(nid), target);
	return target;
}

static void targets_make(struct fanout *fanout)
{
	const struct fanout_command *command = fanout->command;

	fanout->open_count = command->node_count;
	fanout->answers =
		memory_array(command->node_count, sizeof(*fanout->answers));
	fanout->targets =
		memory_array(command->node_count, sizeof(*fanout->targets));
	for (size_t i = 0; i < command->node_count; i++) {
		struct fanout_target *target = &fanout->targets[i];

		target->answer = &fanout->answers[i];
		target->answer->node = command->nodes[i];
		target->nid = nid_of_node(command->nodes[i]);
		HASH_ADD(hh, fanout->by_nid, nid, sizeof(target->nid), target);
		memory_have(target->hh.tbl);
	}
}

static void answer_all(struct fanout *fanout, int result, const char *text)
{
	for (size_t i = 0; i < fanout->command->node_count; i++)
		fanout_answer_set(fanout, &fanout->targets[i], result, text);
}

void fanouts_start(struct fanouts *fanouts,
		   struct fanout_command *command_owned, uint64_t now_ms)
{
	struct fanout *fanout = memory_alloc(sizeof(*fanout));

	assert(command_owned->node_count <= COMBINED_NODES_MAX);
	fanout->owner = fanouts;
	fanout->command = command_owned;
	fanout->is_new = true;
	fanout->deadline_ms = now_ms + command_owned->timeout_ms;
	targets_make(fanout);
	DL_APPEND(fanouts->list, fanout);
	if (++fanouts->count > FANOUTS_MAX)
		answer_all(fanout, -EAGAIN, "too many commands are under way");
	else if (command_owned->error < 0)
		answer_all(fanout, command_owned->error,
			   "its command is too long");
	if (fanout->open_count > 0)
		look(fanouts, fanout, now_ms);
	if (fanout->next_ms < fanouts->next_ms)
		fanouts->next_ms = fanout->next_ms;
}

static void node_up(struct fanouts *fanouts, struct fanout *fanout,
		    struct fanout_target *target)
{
	const uint8_t *incarnation = target->incarnation_now;

	if (!look_up(fanouts, fanout, target))
		return;
	fanout_wake(fanout);
	target->gone_ms = 0;
	target->round = NULL;
	target->due_ms = 0;
	if (fanout->command->op != COMMAND_APPLY)
		fanout_reboot(fanout, target, incarnation);
	else if (target->sequence == 0 ||
		 memcmp(target->incarnation, incarnation, INCARNATION_SIZE) !=
			 0)
		fanout_answer_set(fanout, target, -EHOSTUNREACH,
				  "the node was lost and came back meanwhile");
	else
		target->needs_new_command = true;
}

void fanouts_nodes_lost(struct fanouts *fanouts)
{
	struct fanout *fanout;

	DL_FOREACH (fanouts->list, fanout) {
		fanout->is_new = true;
		fanout_wake(fanout);
	}
}

void fanouts_node_up(struct fanouts *fanouts, const char *node)
{
	uint64_t nid = nid_of_node(node);
	struct fanout *fanout;

	DL_FOREACH (fanouts->list, fanout) {
		struct fanout_target *target = fanout_target_find(fanout, nid);

		if (target != NULL && !target->is_answered)
			node_up(fanouts, fanout, target);
	}
}
