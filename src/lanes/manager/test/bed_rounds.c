/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Rounds of a test bed: they reach each node when it looks, and answers go
 * back alone, combined as a node without others below it does.
 */
#include "bed_internal.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <utlist.h>

#include "base/hostlist.h"
#include "lanes/proto/combined.h"
#include "lanes/proto/collective.h"

#define GRACE_MS 1000 /* after the patience */

/* --- the seam --- */

static void command_take(struct bed *bed, struct bed_round *round)
{
	struct command_public publics[KEYS_MAX];
	size_t count = manager_keys_publics(&bed->keys, publics);
	const struct parcel *parcel = &round->parcel;

	assert_int_equal(command_verify(parcel->command, parcel->command_size,
					publics, count, &round->command),
			 0);
	assert_int_equal(round->command.epoch, bed->epoch);
	assert_int_equal(command_nodes_read(parcel->command,
					    parcel->command_size,
					    &round->nodes),
			 0);
}

/* The parcel as it comes out at a node. */
static void parcel_take(struct bed *bed, struct bed_round *round,
			const struct parcel *parcel)
{
	struct writer writer = { 0 };
	struct parcel decoded;
	uint8_t *command;

	assert_int_equal(parcel_encode(parcel, &writer), 0);
	assert_int_equal(parcel_decode(writer.data, writer.size, &decoded), 0);
	assert_false(decoded.is_bulk);
	command = malloc(decoded.command_size);
	memcpy(command, decoded.command, decoded.command_size);
	decoded.command = command;
	writer_fini(&writer);
	round->parcel = decoded;
	command_take(bed, round);
}

static int on_start(void *ctx, const struct round_request *request)
{
	struct bed *bed = ctx;
	struct bed_round *round;

	assert_true(request->count > 0);
	if (bed->rounds != NULL)
		assert_true(request->id > bed->rounds->prev->id);
	round = calloc(1, sizeof(*round));
	round->id = request->id;
	round->group = request->group;
	round->count = request->count;
	round->nids = calloc(request->count, sizeof(*request->nids));
	round->is_taken = calloc(request->count, sizeof(bool));
	round->has_answered = calloc(request->count, sizeof(bool));
	memcpy(round->nids, request->nids,
	       request->count * sizeof(*request->nids));
	parcel_take(bed, round, &request->parcel);
	round->end_ms = bed->clock.monotonic_ms + request->parcel.patience_ms +
			GRACE_MS;
	DL_APPEND(bed->rounds, round);
	return 0;
}

static struct bed_round *collective_find(struct bed *bed, uint64_t id)
{
	struct bed_round *round;

	DL_SEARCH_SCALAR(bed->rounds, round, id, id);
	return round;
}

static void on_cancel(void *ctx, uint64_t id)
{
	struct bed_round *round = collective_find(ctx, id);

	assert_non_null(round);
	assert_false(round->is_over);
	round->is_cancelled = true;
	round->is_over = true;
}

static void on_address(void *ctx, uint64_t nid, const void *address,
		       size_t size)
{
	struct bed *bed = ctx;

	assert_int_not_equal(nid, NID_MANAGER);
	assert_true(size <= COLLECTIVE_ADDRESS_MAX);
	bed->address_count += size > 0;
	bed->forget_count += size == 0;
}

static void on_group_drop(void *ctx, uint64_t group)
{
	struct bed *bed = ctx;

	bed->dropped_group = group;
	bed->drop_count++;
}

static const struct round_counters *on_counters(void *ctx)
{
	static const struct round_counters counters = { 0 };

	return &counters;
}

const struct round_ops bed_round_ops = {
	.start = on_start,
	.cancel = on_cancel,
	.address = on_address,
	.group_drop = on_group_drop,
	.counters = on_counters,
};

void bed_rounds_fini(struct bed *bed)
{
	struct bed_round *round, *next;
	struct bed_known *known, *next_known;

	DL_FOREACH_SAFE (bed->rounds, round, next) {
		assert_true(round->is_over);
		free((uint8_t *)round->parcel.command);
		free(round->nodes);
		free(round->nids);
		free(round->is_taken);
		free(round->has_answered);
		free(round);
	}
	bed->rounds = NULL;
	HASH_ITER (hh, bed->known, known, next_known) {
		HASH_DEL(bed->known, known);
		free(known);
	}
}

/* --- ends --- */

void bed_round_end(struct bed *bed, struct bed_round *round, int status)
{
	struct round_failure *failures =
		calloc(round->count, sizeof(*failures));
	size_t count = 0;

	assert_false(round->is_over);
	round->is_over = true;
	for (size_t i = 0; i < round->count; i++) {
		if (round->has_answered[i] || status == 0)
			continue;
		failures[count++] = (struct round_failure){
			.nid = round->nids[i],
			.status = status,
		};
	}
	engine_round_ended(bed->engine, round->id, 0, failures, count);
	free(failures);
}

uint64_t bed_rounds_deadline_ms(const struct bed *bed)
{
	const struct bed_round *round;
	uint64_t deadline_ms = DEADLINE_NONE;

	DL_FOREACH (bed->rounds, round) {
		if (!round->is_over && round->end_ms < deadline_ms)
			deadline_ms = round->end_ms;
	}
	return deadline_ms;
}

void bed_rounds_expire(struct bed *bed)
{
	struct bed_round *round;

	DL_FOREACH (bed->rounds, round) {
		if (!round->is_over && round->end_ms <= bed->clock.monotonic_ms)
			bed_round_end(bed, round, -ETIMEDOUT);
	}
}

struct bed_round *bed_round_last(struct bed *bed, enum command_op op)
{
	struct bed_round *round, *found = NULL;

	DL_FOREACH (bed->rounds, round) {
		if (round->command.op == op)
			found = round;
	}
	return found;
}

/* --- nodes --- */

/* The node's index among those that are asked; the count: it is not. */
static size_t place_find(const struct bed_round *round, const char *name)
{
	uint64_t nid = nid_of_node(name);
	size_t i = 0;

	while (i < round->count && round->nids[i] != nid)
		i++;
	return i;
}

/* It has not reached the node. */
static bool is_new_to(const struct bed_round *round, const char *name)
{
	size_t place = place_find(round, name);

	return !round->is_over && place < round->count &&
	       round->command.op != COMMAND_LEASE && !round->is_taken[place];
}

struct bed_round *bed_node_asked(struct bed_node *node)
{
	struct bed_round *round;

	DL_FOREACH (node->bed->rounds, round) {
		if (!is_new_to(round, node->name))
			continue;
		round->is_taken[place_find(round, node->name)] = true;
		return round;
	}
	return NULL;
}

size_t bed_node_asked_count(const struct bed_node *node)
{
	const struct bed_round *round;
	size_t count = 0;

	DL_FOREACH (node->bed->rounds, round)
		count += is_new_to(round, node->name);
	return count;
}

/* Add what a node says to what is combined. */
static void combined_one(struct combined *combined,
			 const struct bed_round *round,
			 const struct node_key *key,
			 const struct confirm *confirm)
{
	int place = hostlist_find(round->nodes, confirm->node);
	struct writer writer = { 0 };

	assert_true(place >= 0);
	assert_int_equal(confirm_encode(confirm, key, &writer), 0);
	if (round->parcel.is_separate)
		assert_int_equal(
			combined_carry(combined, writer.data, writer.size), 0);
	else
		assert_int_equal(combined_add(combined, (uint32_t)place,
					      writer.data, writer.size),
				 0);
	writer_fini(&writer);
}

static void combined_begin(struct combined *combined,
			   const struct bed_round *round)
{
	assert_int_equal(combined_init(combined,
				       (uint32_t)hostlist_count(round->nodes)),
			 0);
}

static void combined_send(struct bed *bed, struct combined *combined,
			  const struct bed_round *round)
{
	struct writer writer = { 0 };

	assert_int_equal(combined_encode(combined, &writer), 0);
	assert_true(writer.size <= round->parcel.part_bytes);
	engine_round_part(bed->engine, round->id, writer.data, writer.size);
	writer_fini(&writer);
	combined_fini(combined);
}

void bed_node_say(struct bed_node *node, struct bed_round *round,
		  const struct confirm *confirm)
{
	struct combined combined;

	combined_begin(&combined, round);
	combined_one(&combined, round, &node->key, confirm);
	combined_send(node->bed, &combined, round);
}

void bed_node_answer(struct bed_node *node, struct bed_round *round,
		     const struct confirm *confirm)
{
	size_t place = place_find(round, node->name);

	assert_false(round->is_over);
	bed_node_say(node, round, confirm);
	if (place < round->count && !round->has_answered[place]) {
		round->has_answered[place] = true;
		round->answer_count++;
	}
	if (round->answer_count == round->count && !round->is_over)
		bed_round_end(node->bed, round, 0);
}

void bed_node_obey(struct bed_node *node, enum command_op op, int result)
{
	struct bed_round *round = bed_node_asked(node);
	struct confirm confirm;

	assert_non_null(round);
	assert_int_equal(round->command.op, op);
	confirm_answer(&round->command, node->name, node->incarnation, result,
		       &confirm);
	bed_node_answer(node, round, &confirm);
}

/* --- leases --- */

static struct bed_known *known_find(struct bed *bed, const char *name)
{
	struct bed_known *known;

	HASH_FIND_STR(bed->known, name, known);
	return known;
}

void bed_known_set(const struct bed_node *node)
{
	struct bed_known *known = known_find(node->bed, node->name);

	if (known == NULL) {
		known = calloc(1, sizeof(*known));
		strcpy(known->name, node->name);
		HASH_ADD_STR(node->bed->known, name, known);
	}
	memcpy(known->incarnation, node->incarnation, INCARNATION_SIZE);
	known->key = node->key;
}

void bed_node_silence(struct bed_node *node, bool is_silent)
{
	struct bed_known *known = known_find(node->bed, node->name);

	assert_non_null(known);
	known->is_silent = is_silent;
}

static void lease(struct bed *bed, struct bed_round *round)
{
	struct bed_known *known;
	struct combined combined;

	combined_begin(&combined, round);
	for (known = bed->known; known != NULL; known = known->hh.next) {
		size_t place = place_find(round, known->name);
		struct confirm confirm;

		if (known->is_silent || place == round->count)
			continue;
		confirm_answer(&round->command, known->name, known->incarnation,
			       0, &confirm);
		combined_one(&combined, round, &known->key, &confirm);
		round->has_answered[place] = true;
		bed->lease_count++;
	}
	combined_send(bed, &combined, round);
	if (!round->is_over)
		bed_round_end(bed, round, -EHOSTUNREACH);
}

void bed_rounds_lease(struct bed *bed)
{
	struct bed_round *round;

	DL_FOREACH (bed->rounds, round) {
		if (!round->is_over && round->command.op == COMMAND_LEASE)
			lease(bed, round);
	}
}
