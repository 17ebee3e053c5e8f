/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What a node's agent and the manager's core do of it is a few lines here:
 * the bytes of an answer are the numbers of those who are in it.
 */
#include "rounds_bed.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lanes/proto/collective.h"

/* --- nodes --- */

static struct visit *visit_of(struct member *member, uint64_t id)
{
	for (size_t i = 0; i < VISITS_MAX; i++)
		if (member->visits[i].id == id)
			return &member->visits[i];
	for (size_t i = 0; i < VISITS_MAX; i++) {
		if (member->visits[i].id != 0)
			continue;
		memset(&member->visits[i], 0, sizeof(member->visits[i]));
		member->visits[i].id = id;
		return &member->visits[i];
	}
	fail_msg("too many visits");
	return NULL;
}

static void node_received(void *ctx, uint64_t collective, const void *payload,
			  size_t size, const void *bulk, size_t bulk_size)
{
	struct member *member = ctx;
	struct visit *visit = visit_of(member, collective);
	struct parcel parcel;

	assert_int_equal(parcel_decode(payload, size, &parcel), 0);
	assert_int_equal(parcel.is_bulk, bulk != NULL);
	if (bulk != NULL) {
		parcel.command = bulk;
		parcel.command_size = bulk_size;
	}
	assert_memory_equal(parcel.command, member->bed->command,
			    parcel.command_size);
	assert_false(visit->is_received);
	visit->is_received = true;
	visit->command_size = parcel.command_size;
	member->received_count++;
}

/* What is full leaves at once. */
static void answer_add(struct member *member, struct visit *visit,
		       const void *bytes, size_t size)
{
	struct writer *answer = &visit->answer;

	write_bytes(answer, bytes, size);
	assert_int_equal(answer->result, 0);
	while (answer->size > PART_BYTES) {
		node_rounds_answer(member->node_rounds, visit->id, answer->data,
				   PART_BYTES, false);
		visit->part_count++;
		answer->size -= PART_BYTES;
		memmove(answer->data, answer->data + PART_BYTES, answer->size);
	}
}

static void node_part(void *ctx, uint64_t collective, const void *bytes,
		      size_t size)
{
	struct member *member = ctx;

	answer_add(member, visit_of(member, collective), bytes, size);
}

static void node_closed(void *ctx, uint64_t collective)
{
	struct member *member = ctx;
	struct visit *visit = visit_of(member, collective);

	assert_true(visit->is_received);
	for (size_t i = 0; i < member->bed->say_count; i++)
		answer_add(member, visit, &member->number,
			   sizeof(member->number));
	node_rounds_answer(member->node_rounds, collective, visit->answer.data,
			   visit->answer.size, true);
	member->part_count = visit->part_count + 1;
	writer_fini(&visit->answer);
	visit->id = 0;
}

static const struct node_round_events node_events = {
	.command = node_received,
	.part = node_part,
	.closed = node_closed,
};

static void nothing(void *ctx)
{
}

void member_start(struct member *member)
{
	struct bed *bed = member->bed;
	struct medium_member options = {
		.nid = member->nid,
		.authenticator = &member->hop.authenticator,
		.rng = sim_rng_seam(&member->rng),
		.started_us = 1,
		.settled = nothing,
		.ctx = member,
	};
	uint8_t address[64];
	size_t size = sizeof(address);

	memset(member->visits, 0, sizeof(member->visits));
	member->scoll = medium_join(bed->medium, &options);
	member->node_rounds = node_rounds_create(member->scoll);
	assert_int_equal(node_rounds_serve(member->node_rounds, &node_events,
					   member),
			 0);
	assert_int_equal(scoll_address(member->scoll, address, &size), 0);
	bed->seam.ops->address(bed->seam.ctx, member->nid, address, size);
}

void member_stop(struct member *member)
{
	medium_leave(member->scoll);
	member->scoll = NULL;
	node_rounds_destroy(take_ptr(member->node_rounds));
	for (size_t i = 0; i < VISITS_MAX; i++)
		writer_fini(&member->visits[i].answer);
}

/* --- the manager --- */

static void part(void *ctx, uint64_t id, const void *bytes, size_t size)
{
	struct bed *bed = ctx;
	const uint8_t *at = bytes;

	assert_false(bed->calls[id].is_ended);
	bed->calls[id].part_count++;
	for (size_t i = 0; i < size; i += sizeof(uint32_t)) {
		uint32_t number;

		memcpy(&number, at + i, sizeof(number));
		bed->calls[id].answers[number]++;
		bed->calls[id].answer_count++;
	}
}

static void ended(void *ctx, uint64_t id, int result,
		  const struct round_failure *failures, size_t count)
{
	struct bed *bed = ctx;

	assert_false(bed->calls[id].is_ended);
	bed->calls[id].is_ended = true;
	bed->calls[id].result = result;
	bed->calls[id].failure_count = count;
	if (count > 0)
		memcpy(bed->calls[id].failures, failures,
		       count * sizeof(*failures));
}

const struct round_events bed_events = { .part = part, .ended = ended };

static void settled(void *ctx)
{
	struct bed *bed = ctx;

	rounds_settle(bed->rounds);
}

void manager_start(struct bed *bed, uint64_t started_us)
{
	const struct medium_member options = {
		.nid = NID_MANAGER,
		.authenticator = &bed->hop.authenticator,
		.rng = sim_rng_seam(&bed->rng),
		.started_us = started_us,
		.share_addresses = true,
		.settled = settled,
		.ctx = bed,
	};

	bed->scoll = medium_join(bed->medium, &options);
	assert_int_equal(
		rounds_create(bed->scoll, &bed_events, bed, &bed->rounds), 0);
	bed->seam = rounds_seam(bed->rounds);
}

void manager_stop(struct bed *bed)
{
	medium_leave(take_ptr(bed->scoll));
	rounds_destroy(take_ptr(bed->rounds));
}

struct bed *bed_create(size_t count)
{
	const struct medium_options options = {
		.network = { .seed = 1,
			     .costs = { .latency_ns = 50000,
					.gap_ns = 1000,
					.byte_ps = 1000 },
			     .held_ns = MS,
			     .needs_addresses = true },
	};
	struct bed *bed = calloc(1, sizeof(*bed));
	struct hop_keys hops;
	struct rng_seam seam;

	assert_non_null(bed);
	bed->medium = medium_create(&options);
	bed->say_count = 1;
	sim_rng_init(&bed->rng, 1);
	seam = sim_rng_seam(&bed->rng);
	manager_keys_create(&seam, &bed->keys);
	manager_keys_hops(&bed->keys, &hops);
	hop_init(&bed->hop, NID_MANAGER);
	hop_take(&bed->hop, &hops);
	manager_start(bed, 1);
	for (size_t i = 0; i < sizeof(bed->command); i++)
		bed->command[i] = (uint8_t)(i * 7 + i / 256);
	bed->members = calloc(count, sizeof(*bed->members));
	assert_non_null(bed->members);
	bed->count = count;
	for (uint32_t i = 0; i < count; i++) {
		struct member *member = &bed->members[i];
		struct node_keys keys;
		char name[16];

		member->bed = bed;
		member->number = i;
		snprintf(name, sizeof(name), "n%u", i);
		member->nid = nid_of_node(name);
		hop_init(&member->hop, member->nid);
		assert_int_equal(node_keys_make(&bed->keys, name, &keys, NULL),
				 0);
		node_keys_hops(&keys, &hops);
		hop_take(&member->hop, &hops);
		sim_rng_init(&member->rng, i + 2);
		member_start(member);
	}
	return bed;
}

void bed_run(struct bed *bed)
{
	medium_run(bed->medium, medium_now_ns(bed->medium) + 60000 * MS);
}

void bed_destroy(struct bed *bed)
{
	struct transport_sim_use use;

	bed_run(bed);
	assert_int_equal(rounds_counters(bed->rounds)->round_count, 0);
	assert_true(medium_is_idle(bed->scoll));
	transport_sim_use(medium_port(bed->scoll), &use);
	assert_int_equal(use.posts + use.sends + use.regions, 0);
	for (size_t i = 0; i < bed->count; i++) {
		struct member *member = &bed->members[i];

		if (member->scoll == NULL)
			continue;
		assert_int_equal(node_rounds_count(member->node_rounds), 0);
		assert_true(medium_is_idle(member->scoll));
		member_stop(member);
		hop_fini(&member->hop);
	}
	manager_stop(bed);
	medium_destroy(bed->medium);
	hop_fini(&bed->hop);
	free(bed->members);
	free(bed);
}

int bed_begin(struct bed *bed, uint64_t id, uint64_t group, size_t count,
	      size_t size, bool is_separate)
{
	uint64_t nids[NODES_MAX];
	const struct round_request request = {
		.id = id,
		.group = group,
		.nids = nids,
		.count = count,
		.parcel = { .is_separate = is_separate,
			    .patience_ms = PATIENCE,
			    .part_bytes = PART_BYTES,
			    .command = bed->command,
			    .command_size = size },
	};

	for (size_t i = 0; i < count; i++)
		nids[i] = bed->members[i].nid;
	memset(&bed->calls[id], 0, sizeof(bed->calls[id]));
	return bed->seam.ops->start(bed->seam.ctx, &request);
}

void bed_ask(struct bed *bed, uint64_t id, uint64_t group, size_t count,
	     size_t size)
{
	assert_int_equal(bed_begin(bed, id, group, count, size, false), 0);
	bed_run(bed);
	assert_true(bed->calls[id].is_ended);
	assert_int_equal(bed->calls[id].result, 0);
}

void bed_expect_all(const struct bed *bed, uint64_t id, size_t count)
{
	assert_int_equal(bed->calls[id].failure_count, 0);
	assert_int_equal(bed->calls[id].answer_count, count * bed->say_count);
	for (size_t i = 0; i < count; i++)
		assert_int_equal(bed->calls[id].answers[i], bed->say_count);
}
