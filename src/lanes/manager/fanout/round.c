/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The rounds of a fan-out: which of its nodes are asked together, and what the
 * end of a round says of those that did not answer.
 *
 * A node has half of the time that is left to answer in a round, so that a slow
 * node delays the others, whose answers travel with its own, but not for ever.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <utlist.h>

#include "base/memory.h"
#include "base/seam.h"
#include "lanes/manager/fanout/internal.h"

#define FORMERS_MAX 64 /* of one round; each is looked for in each set */

void fanout_round_end(struct fanouts *fanouts, struct fanout_round *round)
{
	struct fanout *fanout = round->fanout;

	for (size_t i = 0; i < fanout->command->node_count; i++)
		if (fanout->targets[i].round == round)
			fanout->targets[i].round = NULL;
	fanout->flat_count -= round->is_separate;
	HASH_DEL(fanouts->rounds, round);
	DL_DELETE(fanout->rounds, round);
	while (round->formers != NULL) {
		struct fanout_former *former = round->formers;

		LL_DELETE(round->formers, former);
		free(former);
	}
	free(round);
}

/* --- nodes that were rebooted --- */

const struct fanout_former *fanout_round_former(
	const struct fanout_round *round, uint32_t index)
{
	const struct fanout_former *former;

	LL_FOREACH (round->formers, former)
		if (former->index == index)
			return former;
	return NULL;
}

void fanout_reboot(struct fanout *fanout, struct fanout_target *target,
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

/* --- the command, signed --- */

void signed_command_destroy(struct signed_command *command)
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

/* NULL: its targets wait for a round to end. */
static struct signed_command *command_get(struct fanouts *fanouts,
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

/* --- rounds --- */

/* Nodes of one kind go into one round together. */
enum fanout_kind {
	KIND_SEPARATE = 1 << 0,
	KIND_NEEDS_NEW_COMMAND = 1 << 1,
	KIND_NONE = 1 << 2, /* not to be asked now */
};

/* A LEASE is answered at once; ask again soon if a node is silent. */
static uint32_t patience_ms(const struct fanout *fanout, uint64_t now_ms)
{
	uint64_t half_ms = fanout->deadline_ms > now_ms
				   ? (fanout->deadline_ms - now_ms) / 2
				   : 0;

	if (fanout->command->op == COMMAND_LEASE || half_ms < FANOUT_REPEAT_MS)
		return FANOUT_REPEAT_MS;
	return (uint32_t)half_ms;
}

/* NULL: not now. */
static struct fanout_round *round_create(struct fanouts *fanouts,
					 struct fanout *fanout,
					 unsigned int kind, uint64_t now_ms)
{
	bool needs_new = (kind & KIND_NEEDS_NEW_COMMAND) != 0;
	struct signed_command *command =
		command_get(fanouts, fanout, needs_new);
	struct fanout_round *round;

	if (command == NULL)
		return NULL;
	round = memory_alloc(sizeof(*round));
	round->id = ++fanouts->id_last;
	round->fanout = fanout;
	round->command = command;
	round->is_separate = (kind & KIND_SEPARATE) != 0;
	round->started_ms = now_ms;
	round->leave_ms = round->is_separate
				  ? DEADLINE_NONE
				  : now_ms + patience_ms(fanout, now_ms) +
					    FANOUT_REPEAT_MS;
	HASH_ADD(hh, fanouts->rounds, id, sizeof(round->id), round);
	memory_have(round->hh.tbl);
	DL_APPEND(fanout->rounds, round);
	fanout->flat_count += round->is_separate;
	return round;
}

static int round_start(struct fanouts *fanouts,
		       const struct fanout_round *round, const uint64_t *nids,
		       size_t count, uint64_t now_ms)
{
	const struct fanout_command *command = round->fanout->command;
	bool is_long =
		command->op == COMMAND_QUERY || command->op == COMMAND_CLEAN;
	const struct round_request request = {
		.id = round->id,
		.group = round->is_separate ? 0 : command->group,
		.nids = nids,
		.count = count,
		.parcel = {
			.is_separate = round->is_separate,
			.patience_ms = patience_ms(round->fanout, now_ms),
			.part_bytes = is_long ? PARCEL_PART_MAX
					      : FANOUT_PART_BYTES,
			.command = round->command->bytes.data,
			.command_size = round->command->bytes.size,
		},
	};

	return fanouts->seam->ops->start(fanouts->seam->ctx, &request);
}

/* Ask these, of one kind. */
static void ask(struct fanouts *fanouts, struct fanout *fanout,
		unsigned int kind, const uint64_t *nids,
		const uint32_t *indices, size_t count, uint64_t now_ms)
{
	struct fanout_round *round =
		round_create(fanouts, fanout, kind, now_ms);

	if (round == NULL)
		return;
	for (size_t i = 0; i < count; i++)
		fanout->targets[indices[i]].due_ms = now_ms + FANOUT_REPEAT_MS;
	if (round_start(fanouts, round, nids, count, now_ms) < 0) {
		fanout_round_end(fanouts, round);
		return;
	}
	fanouts->counters.round_count++;
	for (size_t i = 0; i < count; i++) {
		struct fanout_target *target = &fanout->targets[indices[i]];

		fanouts->counters.repeat_count += target->sequence != 0;
		if (target->sequence == 0)
			memcpy(target->incarnation, target->incarnation_now,
			       INCARNATION_SIZE);
		target->round = round;
		target->failure = 0;
		target->sequence = round->command->header.sequence;
		target->needs_new_command = false;
	}
}

static unsigned int kind_of(const struct fanout_target *target, uint64_t now_ms)
{
	if (target->is_answered || target->round != NULL ||
	    target->gone_ms != 0 || now_ms < target->due_ms)
		return KIND_NONE;
	return (target->is_suspect ? KIND_SEPARATE : 0) |
	       (target->needs_new_command ? KIND_NEEDS_NEW_COMMAND : 0);
}

static void ask_kind(struct fanouts *fanouts, struct fanout *fanout,
		     unsigned int kind, size_t open_count, uint64_t now_ms)
{
	bool is_separate = (kind & KIND_SEPARATE) != 0;
	size_t most = is_separate ? FANOUT_FLAT_MAX : open_count;
	_auto_(freep) uint64_t *nids = memory_array(most, sizeof(*nids));
	_auto_(freep) uint32_t *indices = memory_array(most, sizeof(*indices));
	size_t count = 0;

	for (uint32_t i = 0; i < fanout->command->node_count && open_count > 0;
	     i++) {
		if (is_separate && fanout->flat_count == FANOUT_FLATS_MAX)
			return;
		if (kind_of(&fanout->targets[i], now_ms) != kind)
			continue;
		nids[count] = fanout->targets[i].nid;
		indices[count++] = i;
		open_count--;
		if (count == most || open_count == 0) {
			ask(fanouts, fanout, kind, nids, indices, count,
			    now_ms);
			count = 0;
		}
	}
}

void fanout_ask_all(struct fanouts *fanouts, struct fanout *fanout,
		    uint64_t now_ms)
{
	size_t counts[KIND_NONE + 1] = { 0 };

	for (size_t i = 0; i < fanout->command->node_count; i++)
		counts[kind_of(&fanout->targets[i], now_ms)]++;
	for (unsigned int kind = 0; kind < KIND_NONE; kind++)
		if (counts[kind] > 0)
			ask_kind(fanouts, fanout, kind, counts[kind], now_ms);
}

/* --- the end of a round --- */

static void fail_all(struct fanout_round *round, int result)
{
	struct fanout *fanout = round->fanout;

	for (size_t i = 0; i < fanout->command->node_count; i++)
		if (fanout->targets[i].round == round)
			fanout->targets[i].failure = result;
}

static void fail_some(struct fanout_round *round,
		      const struct round_failure *failures, size_t count)
{
	struct fanout_target *target;

	for (size_t i = 0; i < count; i++) {
		HASH_FIND(hh, round->fanout->by_nid, &failures[i].nid,
			  sizeof(failures[i].nid), target);
		if (target == NULL || target->round != round)
			continue;
		target->failure = failures[i].status;
		target->round = NULL;
	}
}

/* The targets that no failure and no answer names. */
static void suspect_rest(struct fanouts *fanouts, struct fanout_round *round)
{
	struct fanout *fanout = round->fanout;

	for (size_t i = 0; i < fanout->command->node_count; i++) {
		struct fanout_target *target = &fanout->targets[i];

		if (target->round != round)
			continue;
		fanouts->counters.omitted_count += !target->is_suspect;
		if (!target->is_suspect || !round->is_separate)
			target->due_ms = 0;
		target->is_suspect = true;
		target->failure = -ETIMEDOUT;
	}
}

void fanouts_ended(struct fanouts *fanouts, uint64_t id, int result,
		   const struct round_failure *failures, size_t count)
{
	struct fanout_round *round;

	HASH_FIND(hh, fanouts->rounds, &id, sizeof(id), round);
	if (round == NULL)
		return;
	fanout_wake(round->fanout);
	if (result < 0) {
		fail_all(round, result);
	} else {
		fail_some(round, failures, count);
		suspect_rest(fanouts, round);
	}
	fanout_round_end(fanouts, round);
}
