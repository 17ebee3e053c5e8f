/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The rounds of an order: which of its nodes are asked together, and what the
 * end of a collective says of those who did not answer.
 *
 * A node has half of the time that is left to answer in a round, so that who
 * is slow delays the others, whose answers go up with his, and not for ever.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <utlist.h>

#include "manager/spread_internal.h"

void spread_round_end(struct spreads *spreads, struct round *round)
{
	struct spread *spread = round->spread;

	for (size_t i = 0; i < spread->order.node_count; i++)
		if (spread->targets[i].round == round)
			spread->targets[i].round = NULL;
	spread->flat_count -= round->is_separate;
	HASH_DEL(spreads->rounds, round);
	DL_DELETE(spread->rounds, round);
	free(round);
}

/* Sealed for nodes of that version; NULL: it cannot be, now. */
static struct letter *letter_make(struct spreads *spreads,
				  struct spread *spread, uint16_t version)
{
	struct letter *letter = calloc(1, sizeof(*letter));

	if (letter == NULL)
		return NULL;
	letter->version = version;
	if (spreads->ops->seal(spreads->ctx, spread->order.arg, version,
			       &letter->head, &letter->bytes) < 0) {
		writer_fini(&letter->bytes);
		free(letter);
		return NULL;
	}
	DL_PREPEND(spread->letters, letter);
	return letter;
}

/* Who goes into one collective together. */
struct kind {
	uint16_t version;
	bool is_separate;
	bool needs_new_letter;
};

static struct letter *letter_get(struct spreads *spreads, struct spread *spread,
				 const struct kind *kind)
{
	struct letter *letter;

	DL_FOREACH (spread->letters, letter)
		if (letter->version == kind->version && !kind->needs_new_letter)
			return letter;
	return letter_make(spreads, spread, kind->version);
}

static uint32_t patience_ms(const struct spread *spread, uint64_t now_ms)
{
	uint64_t half_ms = spread->deadline_ms > now_ms
				   ? (spread->deadline_ms - now_ms) / 2
				   : 0;

	return half_ms > SPREAD_REPEAT_MS ? (uint32_t)half_ms
					  : SPREAD_REPEAT_MS;
}

static struct round *round_create(struct spreads *spreads,
				  struct spread *spread,
				  const struct kind *kind, uint64_t now_ms)
{
	struct letter *letter = letter_get(spreads, spread, kind);
	struct round *round = letter == NULL ? NULL : calloc(1, sizeof(*round));

	if (round == NULL)
		return NULL;
	*round = (struct round){
		.id = ++spreads->id_last,
		.spread = spread,
		.letter = letter,
		.is_separate = kind->is_separate,
		.started_ms = now_ms,
		.leave_ms = kind->is_separate
				    ? DEADLINE_NONE
				    : now_ms + patience_ms(spread, now_ms) +
					      SPREAD_REPEAT_MS,
	};
	HASH_ADD(hh, spreads->rounds, id, sizeof(round->id), round);
	if (!hash_was_added(round)) {
		free(round);
		return NULL;
	}
	DL_APPEND(spread->rounds, round);
	spread->flat_count += round->is_separate;
	return round;
}

static bool has_long_answers(const struct spread *spread)
{
	return spread->order.op == COMMAND_QUERY ||
	       spread->order.op == COMMAND_CLEAN;
}

/* Ask these, of one kind. */
static void ask(struct spreads *spreads, struct spread *spread,
		const struct kind *kind, const uint64_t *nids,
		const uint32_t *places, size_t count, uint64_t now_ms)
{
	struct round *round = round_create(spreads, spread, kind, now_ms);
	struct collective_request request = {
		.group = kind->is_separate ? 0 : spread->order.group,
		.is_flat = kind->is_separate,
		.nids = nids,
		.count = count,
		.parcel = {
			.is_separate = kind->is_separate,
			.patience_ms = patience_ms(spread, now_ms),
			.part_bytes = has_long_answers(spread)
					      ? PARCEL_PART_MAX
					      : SPREAD_PART_BYTES,
		},
	};

	for (size_t i = 0; i < count; i++)
		spread->targets[places[i]].due_ms = now_ms + SPREAD_REPEAT_MS;
	if (round == NULL)
		return;
	request.id = round->id;
	request.parcel.command = round->letter->bytes.data;
	request.parcel.command_size = round->letter->bytes.size;
	if (spreads->seam->ops->start(spreads->seam->ctx, &request) < 0) {
		spread_round_end(spreads, round);
		return;
	}
	spreads->counters.collective_count++;
	for (size_t i = 0; i < count; i++) {
		struct target *target = &spread->targets[places[i]];

		spreads->counters.repeat_count += target->letter != NULL;
		target->round = round;
		target->letter = round->letter;
		target->needs_new_letter = false;
	}
}

/* Up, due, in no round, and of that kind. */
static bool is_askable(const struct spreads *spreads,
		       const struct spread *spread, struct target *target,
		       const struct kind *kind, uint64_t now_ms)
{
	struct spread_member member;

	if (target->is_answered || target->round != NULL ||
	    now_ms < target->due_ms ||
	    target->is_suspect != kind->is_separate ||
	    target->needs_new_letter != kind->needs_new_letter ||
	    !spreads->ops->member(spreads->ctx, spread->order.arg, target->node,
				  &member) ||
	    member.version != kind->version)
		return false;
	if (target->letter == NULL)
		memcpy(target->incarnation, member.incarnation,
		       sizeof(target->incarnation));
	return true;
}

static void ask_kind(struct spreads *spreads, struct spread *spread,
		     const struct kind *kind, uint64_t now_ms)
{
	size_t most =
		kind->is_separate ? SPREAD_FLAT_MAX : spread->order.node_count;
	_auto_(freep) uint64_t *nids = calloc(most, sizeof(*nids));
	_auto_(freep) uint32_t *places = calloc(most, sizeof(*places));
	size_t count = 0;

	if (nids == NULL || places == NULL)
		return;
	for (size_t i = 0; i < spread->order.node_count; i++) {
		if (kind->is_separate && spread->flat_count == SPREAD_FLATS_MAX)
			return;
		if (is_askable(spreads, spread, &spread->targets[i], kind,
			       now_ms)) {
			nids[count] = spread->targets[i].nid;
			places[count++] = (uint32_t)i;
		}
		if (count == most ||
		    (count > 0 && i + 1 == spread->order.node_count)) {
			ask(spreads, spread, kind, nids, places, count, now_ms);
			count = 0;
		}
	}
}

void spread_ask_all(struct spreads *spreads, struct spread *spread,
		    uint64_t now_ms)
{
	struct kind kind;

	for (unsigned int version = WIRE_VERSION_MIN; version <= WIRE_VERSION;
	     version++) {
		for (unsigned int i = 0; i < 4; i++) {
			kind = (struct kind){
				.version = (uint16_t)version,
				.is_separate = (i & 1) != 0,
				.needs_new_letter = (i & 2) != 0,
			};
			ask_kind(spreads, spread, &kind, now_ms);
		}
	}
}

/* Why there is no answer, once its round is over. */
static void fail_all(struct round *round, int result)
{
	struct spread *spread = round->spread;

	for (size_t i = 0; i < spread->order.node_count; i++)
		if (spread->targets[i].round == round)
			spread->targets[i].failure = result;
}

static void fail_some(struct round *round,
		      const struct collective_failure *failures, size_t count)
{
	struct target *target;

	for (size_t i = 0; i < count; i++) {
		HASH_FIND(hh, round->spread->by_nid, &failures[i].nid,
			  sizeof(failures[i].nid), target);
		if (target == NULL || target->round != round)
			continue;
		target->failure = failures[i].status;
		target->round = NULL;
	}
}

/* Who is left was in no failure and in no answer. */
static void suspect_rest(struct spreads *spreads, struct round *round)
{
	struct spread *spread = round->spread;

	for (size_t i = 0; i < spread->order.node_count; i++) {
		struct target *target = &spread->targets[i];

		if (target->round != round)
			continue;
		spreads->counters.omitted_count += !target->is_suspect;
		if (!target->is_suspect || !round->is_separate)
			target->due_ms = 0;
		target->is_suspect = true;
		target->failure = -ETIMEDOUT;
	}
}

void spreads_ended(struct spreads *spreads, uint64_t id, int result,
		   const struct collective_failure *failures, size_t count)
{
	struct round *round;

	HASH_FIND(hh, spreads->rounds, &id, sizeof(id), round);
	if (round == NULL)
		return;
	round->spread->next_ms = 0;
	if (result < 0) {
		fail_all(round, result);
	} else {
		fail_some(round, failures, count);
		suspect_rest(spreads, round);
	}
	spread_round_end(spreads, round);
}
