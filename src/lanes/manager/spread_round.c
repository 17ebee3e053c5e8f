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

#include "lanes/manager/spread_internal.h"

#define FORMERS_MAX 64 /* of one round; each is looked for in each set */

void spread_round_end(struct spreads *spreads, struct round *round)
{
	struct spread *spread = round->spread;

	for (size_t i = 0; i < spread->order.node_count; i++)
		if (spread->targets[i].round == round)
			spread->targets[i].round = NULL;
	spread->flat_count -= round->is_separate;
	HASH_DEL(spreads->rounds, round);
	DL_DELETE(spread->rounds, round);
	while (round->formers != NULL) {
		struct former *former = round->formers;

		LL_DELETE(round->formers, former);
		free(former);
	}
	free(round);
}

/* --- who was rebooted --- */

const struct former *round_former(const struct round *round, uint32_t place)
{
	const struct former *former;

	LL_FOREACH (round->formers, former)
		if (former->place == place)
			return former;
	return NULL;
}

void spread_reboot(struct spread *spread, struct target *target,
		   const uint8_t incarnation[INCARNATION_SIZE])
{
	uint32_t place = (uint32_t)(target - spread->targets);
	struct round *round;

	if (memcmp(target->incarnation, incarnation, INCARNATION_SIZE) == 0)
		return;
	DL_FOREACH (spread->rounds, round) {
		struct former *former;

		if (target->sequence != round->letter->head.sequence ||
		    round->former_count == FORMERS_MAX ||
		    round_former(round, place) != NULL)
			continue;
		/* Without it the set that the node is in is false. */
		former = calloc(1, sizeof(*former));
		if (former == NULL)
			continue;
		round->former_count++;
		former->place = place;
		memcpy(former->incarnation, target->incarnation,
		       INCARNATION_SIZE);
		LL_PREPEND(round->formers, former);
	}
	memcpy(target->incarnation, incarnation, INCARNATION_SIZE);
}

/* --- letters --- */

void spread_letter_destroy(struct letter *letter)
{
	writer_fini(&letter->bytes);
	free(letter);
}

static bool letter_is_out(const struct spread *spread,
			  const struct letter *letter)
{
	const struct round *round;

	DL_FOREACH (spread->rounds, round)
		if (round->letter == letter)
			return true;
	return false;
}

/*
 * Forget those of that version that are in no round, but for the first one; how
 * many are left.
 */
static size_t letters_prune(struct spread *spread, uint16_t version)
{
	struct letter *letter, *next;
	size_t count = 0;

	DL_FOREACH_SAFE (spread->letters, letter, next) {
		if (letter->version != version)
			continue;
		if (count == 0 || letter_is_out(spread, letter)) {
			count++;
			continue;
		}
		DL_DELETE(spread->letters, letter);
		spread_letter_destroy(letter);
	}
	return count;
}

/*
 * Sealed for nodes of that version, and the first of them from now on; NULL: it
 * cannot be, now.
 */
static struct letter *letter_make(struct spreads *spreads,
				  struct spread *spread, uint16_t version)
{
	struct letter *letter;

	/* Those who need a new one wait for a round to end. */
	if (letters_prune(spread, version) >= SPREAD_LETTERS_MAX)
		return NULL;
	letter = calloc(1, sizeof(*letter));
	if (letter == NULL) {
		spread->is_starved = true;
		return NULL;
	}
	letter->version = version;
	if (spreads->ops->seal(spreads->ctx, spread->order.arg, version,
			       &letter->head, &letter->bytes) < 0) {
		spread_letter_destroy(letter);
		spread->is_starved = true;
		return NULL;
	}
	spread->grant_id = letter->head.grant_id;
	DL_PREPEND(spread->letters, letter);
	return letter;
}

/* --- rounds --- */

/* Who goes into one collective together. */
struct kind {
	uint16_t version;
	bool is_separate;
	bool needs_new_letter;
};

#define KIND_COUNT (4 * (WIRE_VERSION - WIRE_VERSION_MIN + 1))
#define KIND_NONE  KIND_COUNT

static struct kind kind_of(unsigned int number)
{
	return (struct kind){
		.version = (uint16_t)(WIRE_VERSION_MIN + number / 4),
		.is_separate = (number & 1) != 0,
		.needs_new_letter = (number & 2) != 0,
	};
}

static struct letter *letter_get(struct spreads *spreads, struct spread *spread,
				 const struct kind *kind)
{
	struct letter *letter;

	DL_FOREACH (spread->letters, letter)
		if (letter->version == kind->version && !kind->needs_new_letter)
			return letter;
	return letter_make(spreads, spread, kind->version);
}

/* A LEASE takes a node no time: who is silent has his neighbours asked soon. */
static uint32_t patience_ms(const struct spread *spread, uint64_t now_ms)
{
	uint64_t half_ms = spread->deadline_ms > now_ms
				   ? (spread->deadline_ms - now_ms) / 2
				   : 0;

	if (spread->order.op == COMMAND_LEASE || half_ms < SPREAD_REPEAT_MS)
		return SPREAD_REPEAT_MS;
	return (uint32_t)half_ms;
}

static struct round *round_create(struct spreads *spreads,
				  struct spread *spread,
				  const struct kind *kind, uint64_t now_ms)
{
	struct letter *letter = letter_get(spreads, spread, kind);
	struct round *round;

	if (letter == NULL)
		return NULL;
	round = calloc(1, sizeof(*round));
	if (round == NULL) {
		spread->is_starved = true;
		return NULL;
	}
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
		spread->is_starved = true;
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

	if (round == NULL)
		return;
	for (size_t i = 0; i < count; i++)
		spread->targets[places[i]].due_ms = now_ms + SPREAD_REPEAT_MS;
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

		spreads->counters.repeat_count += target->sequence != 0;
		if (target->sequence == 0)
			memcpy(target->incarnation, target->member.incarnation,
			       INCARNATION_SIZE);
		target->round = round;
		target->failure = 0;
		target->sequence = round->letter->head.sequence;
		target->needs_new_letter = false;
	}
}

/* KIND_NONE: it is not to be asked now. */
static unsigned int target_kind(const struct target *target, uint64_t now_ms)
{
	if (target->is_answered || target->round != NULL ||
	    target->gone_ms != 0 || now_ms < target->due_ms ||
	    target->member.version < WIRE_VERSION_MIN ||
	    target->member.version > WIRE_VERSION)
		return KIND_NONE;
	return (target->member.version - WIRE_VERSION_MIN) * 4u +
	       (target->needs_new_letter ? 2 : 0) + target->is_suspect;
}

static void ask_kind(struct spreads *spreads, struct spread *spread,
		     unsigned int number, size_t open_count, uint64_t now_ms)
{
	const struct kind kind = kind_of(number);
	size_t most = kind.is_separate ? SPREAD_FLAT_MAX : open_count;
	_auto_(freep) uint64_t *nids = calloc(most, sizeof(*nids));
	_auto_(freep) uint32_t *places = calloc(most, sizeof(*places));
	size_t count = 0;

	if (nids == NULL || places == NULL) {
		spread->is_starved = true;
		return;
	}
	for (size_t i = 0; i < spread->order.node_count && open_count > 0;
	     i++) {
		if (kind.is_separate && spread->flat_count == SPREAD_FLATS_MAX)
			return;
		if (target_kind(&spread->targets[i], now_ms) != number)
			continue;
		nids[count] = spread->targets[i].nid;
		places[count++] = (uint32_t)i;
		open_count--;
		if (count == most || open_count == 0) {
			ask(spreads, spread, &kind, nids, places, count,
			    now_ms);
			count = 0;
		}
	}
}

void spread_ask_all(struct spreads *spreads, struct spread *spread,
		    uint64_t now_ms)
{
	size_t counts[KIND_COUNT + 1] = { 0 };

	for (size_t i = 0; i < spread->order.node_count; i++)
		counts[target_kind(&spread->targets[i], now_ms)]++;
	for (unsigned int i = 0; i < KIND_COUNT; i++)
		if (counts[i] > 0)
			ask_kind(spreads, spread, i, counts[i], now_ms);
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
	spread_wake(round->spread);
	if (result < 0) {
		fail_all(round, result);
	} else {
		fail_some(round, failures, count);
		suspect_rest(spreads, round);
	}
	spread_round_end(spreads, round);
}
