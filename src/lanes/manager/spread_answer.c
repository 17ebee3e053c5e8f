/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What comes back: gathered answers, of which nothing is believed but the tags
 * of the nodes. A set is true as a whole or not at all; what was asked under
 * another sequence than the last is no answer any more.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <utlist.h>

#include "lanes/manager/spread_internal.h"
#include "lanes/proto/gather.h"
#include "lanes/proto/nid.h"

void spread_heard_destroy(struct heard *heard)
{
	if (heard->has_confirm)
		confirm_fini(&heard->confirm);
	free(heard);
}

struct heard *spread_hear(struct spread *spread, struct target *target,
			  int result, const char *text)
{
	struct heard *heard = calloc(1, sizeof(*heard));

	if (heard == NULL) {
		spread->is_starved = true;
		return NULL;
	}
	heard->place = (size_t)(target - spread->targets);
	heard->result = result;
	heard->text = text;
	DL_APPEND(spread->heard, heard);
	target->is_answered = true;
	target->round = NULL;
	spread->open_count--;
	spread->owner->next_ms = 0;
	return heard;
}

void spread_hear_late(const struct round *round, struct target *target,
		      const uint8_t incarnation[INCARNATION_SIZE])
{
	struct spread *spread = round->spread;
	struct heard *heard = calloc(1, sizeof(*heard));

	/* Without memory it is as if it had come later still. */
	if (heard == NULL)
		return;
	heard->place = (size_t)(target - spread->targets);
	heard->is_late = true;
	heard->asked_ms = round->started_ms;
	memcpy(target->incarnation, incarnation, sizeof(target->incarnation));
	DL_APPEND(spread->heard, heard);
	target->is_confirmed = true;
	spread->owner->next_ms = 0;
}

/* True when the answer is to what the target was asked last. */
static bool is_wanted(const struct target *target, const struct round *round)
{
	return !target->is_answered && !target->needs_new_letter &&
	       target->sequence == round->letter->head.sequence;
}

/* True when the target was given up, and that it has done it is still news. */
static bool is_late(const struct target *target, const struct round *round)
{
	return target->is_answered && !target->is_confirmed &&
	       target->sequence == round->letter->head.sequence &&
	       spread_wants_late(round->spread);
}

static void suspect(struct spreads *spreads, struct target *target)
{
	target->is_suspect = true;
	spreads->counters.false_count++;
}

static struct gather_node node_now(void *ctx, uint32_t place)
{
	const struct round *round = ctx;
	const struct target *target = &round->spread->targets[place];

	return (struct gather_node){ .name = target->node,
				     .incarnation = target->incarnation };
}

/* As it was when the round began. */
static struct gather_node node_then(void *ctx, uint32_t place)
{
	const struct round *round = ctx;
	const struct former *former = round_former(round, place);
	struct gather_node node = node_now(ctx, place);

	if (former != NULL)
		node.incarnation = former->incarnation;
	return node;
}

static void take_set(struct spreads *spreads, struct round *round,
		     const struct gather_set *set)
{
	struct spread *spread = round->spread;
	const struct node_master *masters;
	size_t count = spreads->ops->masters(spreads->ctx, &masters);
	const struct command *head = &round->letter->head;
	bool is_of_then = round->formers != NULL;
	int result = gather_verify(set, head, masters, count, node_then, round);

	if (result < 0 && is_of_then) {
		is_of_then = false;
		result = gather_verify(set, head, masters, count, node_now,
				       round);
	}

	idset_foreach (place, set->places) {
		struct target *target = &spread->targets[place];

		/* It speaks for what the node was, and is asked again. */
		if (is_of_then && round_former(round, place) != NULL)
			continue;
		if (result == 0 && is_late(target, round)) {
			spread_hear_late(round, target, target->incarnation);
			continue;
		}
		if (!is_wanted(target, round))
			continue;
		if (result < 0) {
			suspect(spreads, target);
		} else {
			struct heard *heard =
				spread_hear(spread, target, 0, "");

			if (heard != NULL) {
				heard->is_heard = true;
				target->is_confirmed = true;
			}
		}
	}
}

static bool answers(const struct confirm *confirm, const struct command *head)
{
	return confirm->op == head->op && confirm->grant_id == head->grant_id &&
	       confirm->sequence == head->sequence &&
	       confirm->epoch == head->epoch && confirm->life == head->life;
}

/* NULL: there is no such node in the order. */
static struct target *target_find(const struct spread *spread, const char *node)
{
	uint64_t nid = nid_of_node(node);
	struct target *target;

	HASH_FIND(hh, spread->by_nid, &nid, sizeof(nid), target);
	return target != NULL && strcmp(target->node, node) == 0 ? target
								 : NULL;
}

/* Its registration is not complete: it is asked again. */
static bool is_too_early(const struct confirm *confirm)
{
	return confirm->op == COMMAND_APPLY && confirm->result == -ENOTCONN;
}

/* NULL: it is no answer that ends the waiting, and is the caller's. */
static struct heard *take_confirm(const struct round *round,
				  const struct confirm *confirm)
{
	struct spread *spread = round->spread;
	struct target *target = target_find(spread, confirm->node);
	struct heard *heard;

	if (target == NULL || !answers(confirm, &round->letter->head))
		return NULL;
	if (confirm->result == 0 && is_late(target, round))
		spread_hear_late(round, target, confirm->incarnation);
	if (!is_wanted(target, round))
		return NULL;
	if (is_too_early(confirm)) {
		target->round = NULL;
		target->due_ms = round->started_ms + SPREAD_EARLY_MS;
		spread_wake(spread);
		return NULL;
	}
	heard = spread_hear(spread, target, confirm->result, NULL);
	if (heard != NULL)
		target->is_confirmed = confirm->result == 0;
	return heard;
}

static void take_carried(struct spreads *spreads, const struct round *round,
			 const uint8_t *bytes, size_t size)
{
	const struct node_master *masters;
	size_t count = spreads->ops->masters(spreads->ctx, &masters);
	struct confirm confirm;
	struct heard *heard;

	if (confirm_open(masters, count, bytes, size, &confirm) < 0) {
		spreads->counters.false_count++;
		return;
	}
	heard = take_confirm(round, &confirm);
	if (heard == NULL) {
		confirm_fini(&confirm);
		return;
	}
	heard->is_heard = true;
	heard->has_confirm = true;
	heard->confirm = confirm;
}

void spreads_part(struct spreads *spreads, uint64_t id, const void *bytes,
		  size_t size)
{
	const uint8_t *carried;
	struct gather gather;
	struct round *round;
	size_t cursor = 0, carried_size;

	HASH_FIND(hh, spreads->rounds, &id, sizeof(id), round);
	if (round == NULL || size == 0 ||
	    gather_init(&gather, (uint32_t)round->spread->order.node_count) < 0)
		return;
	/* What cannot be read leaves its nodes out. */
	if (gather_merge(&gather, bytes, size) == 0) {
		for (size_t i = 0; i < gather.set_count; i++)
			take_set(spreads, round, &gather.sets[i]);
		while (gather_carried_next(&gather, &cursor, &carried,
					   &carried_size))
			take_carried(spreads, round, carried, carried_size);
	}
	gather_fini(&gather);
}
