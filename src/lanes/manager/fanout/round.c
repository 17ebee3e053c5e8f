/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The rounds of a fan-out: which of its nodes are asked together, what they
 * answer, and what the end of a round says of those that did not.
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
#include "lanes/proto/combined.h"
#include "lanes/proto/collective.h"

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
		fanout_command_get(fanouts, fanout, needs_new);
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
	for (size_t i = 0; i < count; i++) {
		struct fanout_target *target =
			fanout_target_find(round->fanout, failures[i].nid);

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

/*
 * --- answers ---
 *
 * Combined answers, of which only the nodes' tags are trusted. A set is true as
 * a whole or not at all; an answer to another sequence than the last one is
 * dropped.
 */

/* The node itself says so. */
static void answer_take(const struct fanout_round *round,
			struct fanout_target *target, int result,
			const char *text)
{
	fanout_answer_set(round->fanout, target, result, text);
	target->answer->is_own = true;
	target->answer->key_id = round->command->header.key_id;
	target->is_confirmed = result == 0;
}

/* The target has done it, and was given up. */
static void answer_take_late(const struct fanout_round *round,
			     struct fanout_target *target,
			     const uint8_t incarnation[INCARNATION_SIZE])
{
	memcpy(target->answer->incarnation, incarnation, INCARNATION_SIZE);
	target->asked_ms = round->started_ms;
	target->is_confirmed = true;
	DL_APPEND(round->fanout->pending, target);
	round->fanout->owner->next_ms = 0;
}

/* True when it answers the target's last request. */
static bool is_wanted(const struct fanout_target *target,
		      const struct fanout_round *round)
{
	return !target->is_answered && !target->needs_new_command &&
	       target->sequence == round->command->header.sequence;
}

/* True when the target was given up, and its success is still unreported. */
static bool is_late(const struct fanout_target *target,
		    const struct fanout_round *round)
{
	return target->is_answered && !target->is_unnotified &&
	       !target->is_confirmed &&
	       target->sequence == round->command->header.sequence &&
	       fanout_wants_late(round->fanout);
}

static struct combined_node node_now(void *ctx, uint32_t index)
{
	const struct fanout_round *round = ctx;
	const struct fanout_target *target = &round->fanout->targets[index];

	return (struct combined_node){ .name = target->answer->node,
				       .incarnation = target->incarnation };
}

/* As it was when the round began. */
static struct combined_node node_then(void *ctx, uint32_t index)
{
	const struct fanout_former *former = fanout_round_former(ctx, index);
	struct combined_node node = node_now(ctx, index);

	if (former != NULL)
		node.incarnation = former->incarnation;
	return node;
}

static void take_set(struct fanouts *fanouts, struct fanout_round *round,
		     const struct combined_set *set)
{
	struct fanout *fanout = round->fanout;
	const struct node_master *masters;
	size_t count = fanouts->ops->masters(fanouts->ctx, &masters);
	const struct command *header = &round->command->header;
	bool is_of_then = round->formers != NULL;
	int result =
		combined_verify(set, header, masters, count, node_then, round);

	if (result < 0 && is_of_then) {
		is_of_then = false;
		result = combined_verify(set, header, masters, count, node_now,
					 round);
	}

	idset_foreach (index, set->places) {
		struct fanout_target *target = &fanout->targets[index];

		/* It is from an earlier incarnation: ask again. */
		if (is_of_then && fanout_round_former(round, index) != NULL)
			continue;
		if (result == 0 && is_late(target, round)) {
			answer_take_late(round, target, target->incarnation);
			continue;
		}
		if (!is_wanted(target, round))
			continue;
		if (result == 0) {
			answer_take(round, target, 0, "");
		} else {
			target->is_suspect = true;
			fanouts->counters.false_count++;
		}
	}
}

static bool answers(const struct confirm *confirm, const struct command *header)
{
	return confirm->op == header->op &&
	       confirm->grant_id == header->grant_id &&
	       confirm->sequence == header->sequence &&
	       confirm->epoch == header->epoch && confirm->life == header->life;
}

/* Its registration is not complete: it is asked again. */
static bool is_too_early(const struct confirm *confirm)
{
	return confirm->op == COMMAND_APPLY && confirm->result == -ENOTCONN;
}

/* Takes what the confirmation owns when it answers the target. */
static void take_confirm(const struct fanout_round *round,
			 struct confirm *confirm)
{
	struct fanout *fanout = round->fanout;
	struct fanout_target *target =
		fanout_target_find(fanout, nid_of_node(confirm->node));
	struct fanout_answer *answer;

	if (target == NULL ||
	    strcmp(target->answer->node, confirm->node) != 0 ||
	    !answers(confirm, &round->command->header))
		return;
	if (confirm->result == 0 && is_late(target, round))
		answer_take_late(round, target, confirm->incarnation);
	if (!is_wanted(target, round))
		return;
	if (is_too_early(confirm)) {
		target->round = NULL;
		target->due_ms = round->started_ms + FANOUT_EARLY_MS;
		fanout_wake(fanout);
		return;
	}
	answer = target->answer;
	answer->reason = memory_text(confirm->reason);
	answer->said = take_ptr(confirm->answer);
	answer->said_size = confirm->answer_size;
	answer_take(round, target, confirm->result, answer->reason);
	answer->has_shown = confirm->key_id == answer->key_id;
	memcpy(answer->incarnation, confirm->incarnation, INCARNATION_SIZE);
}

static void take_carried(struct fanouts *fanouts,
			 const struct fanout_round *round, const uint8_t *bytes,
			 size_t size)
{
	const struct node_master *masters;
	size_t count = fanouts->ops->masters(fanouts->ctx, &masters);
	struct confirm confirm;

	if (memory_check(confirm_open(masters, count, bytes, size, &confirm)) <
	    0) {
		fanouts->counters.false_count++;
		return;
	}
	take_confirm(round, &confirm);
	confirm_fini(&confirm);
}

void fanouts_part(struct fanouts *fanouts, uint64_t id, const void *bytes,
		  size_t size)
{
	const uint8_t *carried;
	struct combined combined;
	struct fanout_round *round;
	size_t cursor = 0, carried_size;

	HASH_FIND(hh, fanouts->rounds, &id, sizeof(id), round);
	if (round == NULL || size == 0)
		return;
	/* A malformed answer leaves its nodes unanswered. */
	if (combined_decode(bytes, size,
			    (uint32_t)round->fanout->command->node_count,
			    &combined) == 0) {
		for (size_t i = 0; i < combined.set_count; i++)
			take_set(fanouts, round, &combined.sets[i]);
		while (combined_carried_next(&combined, &cursor, &carried,
					     &carried_size))
			take_carried(fanouts, round, carried, carried_size);
	}
	combined_fini(&combined);
}
