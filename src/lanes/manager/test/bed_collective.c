/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Collectives of a test bed: they reach each node when it looks, and answers go
 * back alone, gathered as a node without others below it does.
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
#include "lanes/proto/gather.h"
#include "lanes/proto/nid.h"

#define GRACE_MS 1000 /* after the patience */

/* --- the seam --- */

static void command_take(struct bed *bed, struct bed_collective *collective)
{
	struct command_public publics[KEYS_MAX];
	size_t count = manager_keys_publics(&bed->keys, publics);
	const struct parcel *parcel = &collective->parcel;

	assert_int_equal(command_verify(parcel->command, parcel->command_size,
					publics, count, &collective->command),
			 0);
	assert_int_equal(collective->command.epoch, bed->epoch);
	assert_int_equal(command_nodes_read(parcel->command,
					    parcel->command_size,
					    &collective->nodes),
			 0);
}

/* The parcel as it comes out at a node. */
static void parcel_take(struct bed *bed, struct bed_collective *collective,
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
	collective->parcel = decoded;
	command_take(bed, collective);
}

static int on_start(void *ctx, const struct collective_request *request)
{
	struct bed *bed = ctx;
	struct bed_collective *collective;

	assert_true(request->count > 0);
	if (bed->collectives != NULL)
		assert_true(request->id > bed->collectives->prev->id);
	collective = calloc(1, sizeof(*collective));
	collective->id = request->id;
	collective->group = request->group;
	collective->is_flat = request->is_flat;
	collective->count = request->count;
	collective->nids = calloc(request->count, sizeof(*request->nids));
	collective->is_taken = calloc(request->count, sizeof(bool));
	collective->has_answered = calloc(request->count, sizeof(bool));
	memcpy(collective->nids, request->nids,
	       request->count * sizeof(*request->nids));
	parcel_take(bed, collective, &request->parcel);
	collective->end_ms = bed->clock.monotonic_ms +
			     request->parcel.patience_ms + GRACE_MS;
	DL_APPEND(bed->collectives, collective);
	return 0;
}

static struct bed_collective *collective_find(struct bed *bed, uint64_t id)
{
	struct bed_collective *collective;

	DL_SEARCH_SCALAR(bed->collectives, collective, id, id);
	return collective;
}

static void on_cancel(void *ctx, uint64_t id)
{
	struct bed_collective *collective = collective_find(ctx, id);

	assert_non_null(collective);
	assert_false(collective->is_over);
	collective->is_cancelled = true;
	collective->is_over = true;
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

const struct collective_ops bed_collective_ops = {
	.start = on_start,
	.cancel = on_cancel,
	.address = on_address,
	.group_drop = on_group_drop,
};

void bed_collectives_fini(struct bed *bed)
{
	struct bed_collective *collective, *next;
	struct bed_known *known, *next_known;

	DL_FOREACH_SAFE (bed->collectives, collective, next) {
		assert_true(collective->is_over);
		free((uint8_t *)collective->parcel.command);
		free(collective->nodes);
		free(collective->nids);
		free(collective->is_taken);
		free(collective->has_answered);
		free(collective);
	}
	bed->collectives = NULL;
	DL_FOREACH_SAFE (bed->known, known, next_known)
		free(known);
	bed->known = NULL;
}

/* --- ends --- */

void bed_collective_end(struct bed *bed, struct bed_collective *collective,
			int status)
{
	struct collective_failure *failures =
		calloc(collective->count, sizeof(*failures));
	size_t count = 0;

	assert_false(collective->is_over);
	collective->is_over = true;
	for (size_t i = 0; i < collective->count; i++) {
		if (collective->has_answered[i] || status == 0)
			continue;
		failures[count++] = (struct collective_failure){
			.nid = collective->nids[i],
			.status = status,
		};
	}
	engine_collective_ended(bed->engine, collective->id, 0, failures,
				count);
	free(failures);
}

uint64_t bed_collectives_deadline_ms(const struct bed *bed)
{
	const struct bed_collective *collective;
	uint64_t deadline_ms = DEADLINE_NONE;

	DL_FOREACH (bed->collectives, collective) {
		if (!collective->is_over && collective->end_ms < deadline_ms)
			deadline_ms = collective->end_ms;
	}
	return deadline_ms;
}

void bed_collectives_expire(struct bed *bed)
{
	struct bed_collective *collective;

	DL_FOREACH (bed->collectives, collective) {
		if (!collective->is_over &&
		    collective->end_ms <= bed->clock.monotonic_ms)
			bed_collective_end(bed, collective, -ETIMEDOUT);
	}
}

struct bed_collective *bed_collective_last(struct bed *bed, enum command_op op)
{
	struct bed_collective *collective, *found = NULL;

	DL_FOREACH (bed->collectives, collective) {
		if (collective->command.op == op)
			found = collective;
	}
	return found;
}

/* --- nodes --- */

/* The node's index among those that are asked; the count: it is not. */
static size_t place_find(const struct bed_collective *collective,
			 const char *name)
{
	uint64_t nid = nid_of_node(name);
	size_t i = 0;

	while (i < collective->count && collective->nids[i] != nid)
		i++;
	return i;
}

/* It has not reached the node. */
static bool is_new_to(const struct bed_collective *collective, const char *name)
{
	size_t place = place_find(collective, name);

	return !collective->is_over && place < collective->count &&
	       collective->command.op != COMMAND_LEASE &&
	       !collective->is_taken[place];
}

struct bed_collective *bed_node_asked(struct bed_node *node)
{
	struct bed_collective *collective;

	DL_FOREACH (node->bed->collectives, collective) {
		if (!is_new_to(collective, node->name))
			continue;
		collective->is_taken[place_find(collective, node->name)] = true;
		return collective;
	}
	return NULL;
}

size_t bed_node_asked_count(const struct bed_node *node)
{
	const struct bed_collective *collective;
	size_t count = 0;

	DL_FOREACH (node->bed->collectives, collective)
		count += is_new_to(collective, node->name);
	return count;
}

/* Add what a node says to what is gathered. */
static void gather_one(struct gather *gather,
		       const struct bed_collective *collective,
		       const struct node_key *key,
		       const struct confirm *confirm)
{
	int place = hostlist_find(collective->nodes, confirm->node);
	struct writer writer = { 0 };

	assert_true(place >= 0);
	assert_int_equal(confirm_encode(confirm, key, &writer), 0);
	if (collective->parcel.is_separate)
		assert_int_equal(gather_carry(gather, writer.data, writer.size),
				 0);
	else
		assert_int_equal(gather_add(gather, (uint32_t)place,
					    writer.data, writer.size),
				 0);
	writer_fini(&writer);
}

static void gather_begin(struct gather *gather,
			 const struct bed_collective *collective)
{
	assert_int_equal(gather_init(gather, (uint32_t)hostlist_count(
						     collective->nodes)),
			 0);
}

static void gather_send(struct bed *bed, struct gather *gather,
			const struct bed_collective *collective)
{
	struct writer writer = { 0 };

	assert_int_equal(gather_encode(gather, &writer), 0);
	assert_true(writer.size <= collective->parcel.part_bytes);
	engine_collective_part(bed->engine, collective->id, writer.data,
			       writer.size);
	writer_fini(&writer);
	gather_fini(gather);
}

void bed_node_say(struct bed_node *node, struct bed_collective *collective,
		  const struct confirm *confirm)
{
	struct gather gather;

	gather_begin(&gather, collective);
	gather_one(&gather, collective, &node->key, confirm);
	gather_send(node->bed, &gather, collective);
}

void bed_node_answer(struct bed_node *node, struct bed_collective *collective,
		     const struct confirm *confirm)
{
	size_t place = place_find(collective, node->name);

	assert_false(collective->is_over);
	bed_node_say(node, collective, confirm);
	if (place < collective->count && !collective->has_answered[place]) {
		collective->has_answered[place] = true;
		collective->answer_count++;
	}
	if (collective->answer_count == collective->count &&
	    !collective->is_over)
		bed_collective_end(node->bed, collective, 0);
}

void bed_node_obey(struct bed_node *node, enum command_op op, int result)
{
	struct bed_collective *collective = bed_node_asked(node);
	struct confirm confirm;

	assert_non_null(collective);
	assert_int_equal(collective->command.op, op);
	confirm_answer(&collective->command, node->name, node->incarnation,
		       result, &confirm);
	bed_node_answer(node, collective, &confirm);
}

/* --- leases --- */

static struct bed_known *known_find(struct bed *bed, const char *name)
{
	struct bed_known *known;

	DL_FOREACH (bed->known, known) {
		if (strcmp(known->name, name) == 0)
			return known;
	}
	return NULL;
}

void bed_known_set(const struct bed_node *node)
{
	struct bed_known *known = known_find(node->bed, node->name);

	if (known == NULL) {
		known = calloc(1, sizeof(*known));
		strcpy(known->name, node->name);
		DL_APPEND(node->bed->known, known);
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

static void lease(struct bed *bed, struct bed_collective *collective)
{
	struct bed_known *known;
	struct gather gather;

	gather_begin(&gather, collective);
	DL_FOREACH (bed->known, known) {
		size_t place = place_find(collective, known->name);
		struct confirm confirm;

		if (known->is_silent || place == collective->count)
			continue;
		confirm_answer(&collective->command, known->name,
			       known->incarnation, 0, &confirm);
		gather_one(&gather, collective, &known->key, &confirm);
		collective->has_answered[place] = true;
		bed->lease_count++;
	}
	gather_send(bed, &gather, collective);
	if (!collective->is_over)
		bed_collective_end(bed, collective, -EHOSTUNREACH);
}

void bed_collectives_lease(struct bed *bed)
{
	struct bed_collective *collective;

	DL_FOREACH (bed->collectives, collective) {
		if (!collective->is_over &&
		    collective->command.op == COMMAND_LEASE)
			lease(bed, collective);
	}
}
