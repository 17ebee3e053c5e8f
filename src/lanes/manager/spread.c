/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * An order has targets, letters (its command as it was sealed: one for each
 * version, and a new one for nodes that registered meanwhile, of which no more
 * than SPREAD_LETTERS_MAX are under way) and rounds (the collectives). Each tick starts a round for those of its open
 * targets that are up, due and in no round, and have one letter in common.
 */
#include "lanes/manager/spread_internal.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <utlist.h>

#include "base/seam.h"
#include "lanes/proto/gather.h"
#include "lanes/proto/nid.h"

int spreads_create(const struct spread_ops *ops, void *ctx,
		   const struct collective_seam *seam,
		   struct spreads **ret_spreads)
{
	struct spreads *spreads = calloc(1, sizeof(*spreads));

	if (spreads == NULL)
		return -ENOMEM;
	spreads->ops = ops;
	spreads->ctx = ctx;
	spreads->seam = seam;
	spreads->next_ms = DEADLINE_NONE;
	*ret_spreads = spreads;
	return 0;
}

/* --- the end of things --- */

static void spread_destroy(struct spreads *spreads, struct spread *spread)
{
	struct letter *letter, *next_letter;
	struct round *round, *next_round;
	struct heard *heard, *next_heard;

	DL_FOREACH_SAFE (spread->rounds, round, next_round) {
		spreads->seam->ops->cancel(spreads->seam->ctx, round->id);
		spread_round_end(spreads, round);
	}
	DL_FOREACH_SAFE (spread->letters, letter, next_letter) {
		spread_letter_destroy(letter);
	}
	DL_FOREACH_SAFE (spread->heard, heard, next_heard)
		spread_heard_destroy(heard);
	HASH_CLEAR(hh, spread->by_nid);
	for (size_t i = 0; i < spread->order.node_count; i++)
		free(spread->targets[i].node);
	free(spread->targets);
	free(spread);
}

void spreads_clear(struct spreads *spreads)
{
	while (spreads->list != NULL) {
		struct spread *spread = spreads->list;

		DL_DELETE(spreads->list, spread);
		spread_destroy(spreads, spread);
	}
	spreads->next_ms = DEADLINE_NONE;
}

void spreads_destroy(struct spreads *spreads)
{
	if (spreads == NULL)
		return;
	spreads_clear(spreads);
	free(spreads);
}

/* --- time --- */

void spread_wake(struct spread *spread)
{
	spread->next_ms = 0;
	spread->owner->next_ms = 0;
}

static bool look_up(struct spreads *spreads, const struct spread *spread,
		    struct target *target)
{
	return spreads->ops->member(spreads->ctx, spread->order.arg,
				    target->node, &target->member);
}

/*
 * What the time has decided of a target that is open. Who is in a round is up
 * until somebody is lost.
 */
static void expire(struct spreads *spreads, struct spread *spread,
		   struct target *target, uint64_t now_ms)
{
	bool is_late = now_ms >= spread->deadline_ms;
	bool is_up = true;

	if (spread->is_new || target->round == NULL || target->gone_ms != 0 ||
	    is_late)
		is_up = look_up(spreads, spread, target);
	if (is_up)
		target->gone_ms = 0;
	else if (target->gone_ms == 0)
		target->gone_ms = now_ms;
	/* Somebody above it may be waiting for somebody else. */
	if (target->round != NULL && now_ms >= target->round->leave_ms) {
		target->round = NULL;
		target->is_suspect = true;
	}
	if (!is_up && (is_late || now_ms >= target->gone_ms + SPREAD_GONE_MS)) {
		spread_hear(spread, target, -EHOSTUNREACH, "the node is down");
	} else if (is_late && target->failure != 0 &&
		   target->failure != -ETIMEDOUT) {
		spread_hear(spread, target, -EHOSTUNREACH,
			    "the node cannot be reached");
	} else if (is_late) {
		spreads->counters.timeout_count++;
		spread_hear(spread, target, -ETIMEDOUT,
			    "the node did not answer in time");
	}
}

/* When something is to be done about a target that is open. */
static uint64_t target_deadline_ms(const struct target *target)
{
	if (target->gone_ms != 0)
		return target->gone_ms + SPREAD_GONE_MS;
	return target->round == NULL ? target->due_ms : target->round->leave_ms;
}

static void look(struct spreads *spreads, struct spread *spread,
		 uint64_t now_ms)
{
	spread->is_starved = false;
	for (size_t i = 0; i < spread->order.node_count; i++)
		if (!spread->targets[i].is_answered)
			expire(spreads, spread, &spread->targets[i], now_ms);
	spread->is_new = false;
	if (spread->open_count > 0)
		spread_ask_all(spreads, spread, now_ms);
	spread->next_ms = spread->is_starved ? now_ms + SPREAD_EARLY_MS
					     : spread->deadline_ms;
	for (size_t i = 0; i < spread->order.node_count; i++) {
		const struct target *target = &spread->targets[i];
		uint64_t due_ms = target->is_answered
					  ? DEADLINE_NONE
					  : target_deadline_ms(target);

		/* More flat rounds than may be wait for one to end. */
		if (due_ms > now_ms && due_ms < spread->next_ms)
			spread->next_ms = due_ms;
	}
}

static void tell_one(struct spreads *spreads, const struct spread *spread,
		     const struct heard *heard)
{
	const struct target *target = &spread->targets[heard->place];
	struct spread_answer answer = {
		.is_heard = heard->is_heard,
		.result = heard->result,
		.text = heard->text,
	};

	if (heard->is_late) {
		const struct spread_late late = {
			.op = spread->order.op,
			.node = target->node,
			.grant_id = spread->grant_id,
			.incarnation = target->incarnation,
			.asked_ms = heard->asked_ms,
		};

		spreads->ops->late(spreads->ctx, &late);
		return;
	}
	memcpy(answer.incarnation, target->incarnation,
	       sizeof(answer.incarnation));
	if (heard->has_confirm) {
		answer.confirm = &heard->confirm;
		answer.text = heard->confirm.reason;
		memcpy(answer.incarnation, heard->confirm.incarnation,
		       sizeof(answer.incarnation));
	}
	spreads->ops->answered(spreads->ctx, spread->order.arg, heard->place,
			       &answer);
}

static void tell(struct spreads *spreads, struct spread *spread)
{
	while (spread->heard != NULL) {
		struct heard *heard = spread->heard;

		DL_DELETE(spread->heard, heard);
		tell_one(spreads, spread, heard);
		spread_heard_destroy(heard);
	}
}

/* Is there anybody who may be late, and a collective to bring it? */
static bool may_be_late(const struct spread *spread)
{
	if (!spread_wants_late(spread) || spread->rounds == NULL)
		return false;
	for (size_t i = 0; i < spread->order.node_count; i++)
		if (!spread->targets[i].is_confirmed)
			return true;
	return false;
}

/* All are answered. */
static void finish(struct spreads *spreads, struct spread *spread)
{
	if (!spread->is_over)
		spreads->ops->done(spreads->ctx, spread->order.arg);
	spread->is_over = true;
	spread->next_ms = DEADLINE_NONE;
	if (may_be_late(spread))
		return;
	DL_DELETE(spreads->list, spread);
	spread_destroy(spreads, spread);
}

void spreads_tick(struct spreads *spreads, uint64_t now_ms)
{
	uint64_t next_ms = DEADLINE_NONE;
	struct spread *spread;
	struct spread *next;

	if (now_ms < spreads->next_ms)
		return;
	DL_FOREACH_SAFE (spreads->list, spread, next) {
		if (now_ms >= spread->next_ms && !spread->is_over)
			look(spreads, spread, now_ms);
		tell(spreads, spread);
		if (spread->open_count == 0)
			finish(spreads, spread);
	}
	DL_FOREACH (spreads->list, spread) {
		if (spread->heard != NULL)
			next_ms = 0;
		else if (spread->next_ms < next_ms)
			next_ms = spread->next_ms;
	}
	spreads->next_ms = next_ms;
}

uint64_t spreads_deadline_ms(const struct spreads *spreads)
{
	return spreads->next_ms;
}

const struct spread_counters *spreads_counters(const struct spreads *spreads)
{
	return &spreads->counters;
}

/* --- orders --- */

static int targets_make(struct spread *spread, const struct spread_order *order)
{
	spread->targets = calloc(order->node_count, sizeof(*spread->targets));
	if (spread->targets == NULL)
		return -ENOMEM;
	for (size_t i = 0; i < order->node_count; i++) {
		struct target *target = &spread->targets[i];

		target->node = strdup(order->nodes[i]);
		if (target->node == NULL)
			return -ENOMEM;
		spread->order.node_count = i + 1;
		target->nid = nid_of_node(target->node);
		HASH_ADD(hh, spread->by_nid, nid, sizeof(target->nid), target);
		if (!hash_was_added(target))
			return -ENOMEM;
	}
	return 0;
}

int spread_start(struct spreads *spreads, const struct spread_order *order,
		 uint64_t now_ms)
{
	struct spread *spread;

	if (order->node_count == 0 || order->node_count > GATHER_PLACES_MAX)
		return -EINVAL;
	spread = calloc(1, sizeof(*spread));
	if (spread == NULL)
		return -ENOMEM;
	spread->owner = spreads;
	spread->is_new = true;
	spread->order = *order;
	spread->order.nodes = NULL;
	spread->order.node_count = 0;
	spread->open_count = order->node_count;
	spread->deadline_ms = now_ms + order->timeout_ms;
	if (targets_make(spread, order) < 0) {
		spread_destroy(spreads, spread);
		return -ENOMEM;
	}
	DL_APPEND(spreads->list, spread);
	look(spreads, spread, now_ms);
	if (spread->next_ms < spreads->next_ms)
		spreads->next_ms = spread->next_ms;
	return 0;
}

static void node_up(struct spreads *spreads, struct spread *spread,
		    struct target *target)
{
	const uint8_t *incarnation = target->member.incarnation;

	if (!look_up(spreads, spread, target))
		return;
	spread_wake(spread);
	target->gone_ms = 0;
	target->round = NULL;
	target->due_ms = 0;
	if (spread->order.op != COMMAND_APPLY)
		spread_reboot(spread, target, incarnation);
	else if (target->sequence == 0 ||
		 memcmp(target->incarnation, incarnation, INCARNATION_SIZE) !=
			 0)
		spread_hear(spread, target, -EHOSTUNREACH,
			    "the node was lost and came back meanwhile");
	else
		target->needs_new_letter = true;
}

void spreads_nodes_lost(struct spreads *spreads)
{
	struct spread *spread;

	DL_FOREACH (spreads->list, spread) {
		spread->is_new = true;
		spread_wake(spread);
	}
}

void spreads_node_up(struct spreads *spreads, const char *node)
{
	uint64_t nid = nid_of_node(node);
	struct spread *spread;
	struct target *target;

	DL_FOREACH (spreads->list, spread) {
		HASH_FIND(hh, spread->by_nid, &nid, sizeof(nid), target);
		if (target != NULL && !target->is_answered)
			node_up(spreads, spread, target);
	}
}
