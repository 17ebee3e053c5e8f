/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Combined answers, of which only the nodes' tags are trusted. A set is true as
 * a whole or not at all; an answer to another sequence than the last one is
 * dropped.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <utlist.h>

#include "base/memory.h"
#include "lanes/manager/fanout/internal.h"
#include "lanes/proto/combined.h"
#include "lanes/proto/nid.h"

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

/* NULL: there is no such node in the fan-out. */
static struct fanout_target *target_find(const struct fanout *fanout,
					 const char *node)
{
	uint64_t nid = nid_of_node(node);
	struct fanout_target *target;

	HASH_FIND(hh, fanout->by_nid, &nid, sizeof(nid), target);
	return target != NULL && strcmp(target->answer->node, node) == 0
		       ? target
		       : NULL;
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
	struct fanout_target *target = target_find(fanout, confirm->node);
	struct fanout_answer *answer;

	if (target == NULL || !answers(confirm, &round->command->header))
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
	memory_check(combined_init(
		&combined, (uint32_t)round->fanout->command->node_count));
	/* A malformed answer leaves its nodes unanswered. */
	if (combined_merge(&combined, bytes, size) == 0) {
		for (size_t i = 0; i < combined.set_count; i++)
			take_set(fanouts, round, &combined.sets[i]);
		while (combined_carried_next(&combined, &cursor, &carried,
					     &carried_size))
			take_carried(fanouts, round, carried, carried_size);
	}
	combined_fini(&combined);
}
