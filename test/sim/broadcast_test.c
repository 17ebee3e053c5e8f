/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The two halves between the seam of collectives and libscoll, manager/broadcast
 * and node/collectives, over shipped cores in virtual time. Each node answers
 * with its number and what its children have said.
 */
#include "manager/broadcast.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <errno.h>
#include <sodium.h>
#include <stdio.h>
#include <string.h>

#include "manager/wire/hop.h"
#include "manager/wire/nid.h"
#include "medium.h"
#include "node/collectives.h"
#include "sim/rng.h"

#define NODES_MAX  600
#define MS         UINT64_C(1000000)
#define PATIENCE   3000
#define CALLS_MAX  8
#define VISITS_MAX 8

struct member {
	struct bed *bed;
	uint32_t number;
	uint64_t nid;
	struct hop hop;
	struct sim_rng rng;
	scoll_t *scoll;
	struct collectives *collectives;
	bool is_silent; /* its own answer never comes */
	struct {
		uint64_t id; /* 0: free */
		bool is_received;
		size_t command_size;
		uint32_t numbers[NODES_MAX];
		size_t count;
	} visits[VISITS_MAX];
	unsigned int received_count;
};

struct bed {
	struct medium *medium;
	struct hop_key key;
	struct hop hop;
	struct sim_rng rng;
	scoll_t *scoll;
	struct broadcasts *broadcasts;
	struct collective_seam seam;
	struct member *members;
	size_t count;
	struct {
		unsigned int heard[NODES_MAX];
		size_t heard_count;
		bool is_ended;
		int result;
		struct collective_failure failures[NODES_MAX];
		size_t failure_count;
	} calls[CALLS_MAX];
	uint8_t command[65536];
};

/* --- nodes --- */

static void *visit_of(struct member *member, uint64_t id)
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

#define VISIT(ctx, collective)                                       \
	((__typeof__(&((struct member *)0)->visits[0]))visit_of(ctx, \
								collective))

static void node_received(void *ctx, uint64_t collective, const void *payload,
			  size_t size, const void *bulk, size_t bulk_size)
{
	struct member *member = ctx;
	struct parcel parcel;

	assert_int_equal(parcel_decode(payload, size, &parcel), 0);
	assert_int_equal(parcel.is_bulk, bulk != NULL);
	if (bulk != NULL) {
		parcel.command = bulk;
		parcel.command_size = bulk_size;
	}
	assert_memory_equal(parcel.command, member->bed->command,
			    parcel.command_size);
	assert_false(VISIT(member, collective)->is_received);
	VISIT(member, collective)->is_received = true;
	VISIT(member, collective)->command_size = parcel.command_size;
	member->received_count++;
}

static void node_gathered(void *ctx, uint64_t collective, const void *bytes,
			  size_t size)
{
	struct member *member = ctx;

	assert_int_equal(size % sizeof(uint32_t), 0);
	memcpy(VISIT(member, collective)->numbers +
		       VISIT(member, collective)->count,
	       bytes, size);
	VISIT(member, collective)->count += size / sizeof(uint32_t);
}

static void node_closed(void *ctx, uint64_t collective)
{
	struct member *member = ctx;
	__typeof__(&member->visits[0]) visit = VISIT(member, collective);

	assert_true(visit->is_received);
	if (!member->is_silent)
		visit->numbers[visit->count++] = member->number;
	collectives_gathered(member->collectives, collective, visit->numbers,
			     visit->count * sizeof(uint32_t), true);
	visit->id = 0;
}

static const struct collectives_events node_events = {
	.received = node_received,
	.gathered = node_gathered,
	.closed = node_closed,
};

static void nothing(void *ctx)
{
}

static void member_start(struct member *member)
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
	assert_int_equal(
		collectives_create(member->scoll, &member->collectives), 0);
	assert_int_equal(collectives_serve(member->collectives, &node_events,
					   member),
			 0);
	assert_int_equal(scoll_address(member->scoll, address, &size), 0);
	bed->seam.ops->address(bed->seam.ctx, member->nid, address, size);
}

static void member_stop(struct member *member)
{
	medium_leave(member->scoll);
	member->scoll = NULL;
	collectives_destroy(take_ptr(member->collectives));
}

/* --- the manager --- */

static void part(void *ctx, uint64_t id, const void *bytes, size_t size)
{
	struct bed *bed = ctx;
	const uint8_t *at = bytes;

	assert_false(bed->calls[id].is_ended);
	for (size_t i = 0; i < size; i += sizeof(uint32_t)) {
		uint32_t number;

		memcpy(&number, at + i, sizeof(number));
		bed->calls[id].heard[number]++;
		bed->calls[id].heard_count++;
	}
}

static void ended(void *ctx, uint64_t id, int result,
		  const struct collective_failure *failures, size_t count)
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

static const struct broadcast_events events = { .part = part, .ended = ended };

static void settled(void *ctx)
{
	struct bed *bed = ctx;

	broadcasts_settle(bed->broadcasts);
}

static void manager_start(struct bed *bed, uint64_t started_us)
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
	assert_int_equal(broadcasts_create(bed->scoll, &events, bed,
					   &bed->broadcasts),
			 0);
	bed->seam = broadcasts_seam(bed->broadcasts);
}

static void manager_stop(struct bed *bed)
{
	medium_leave(take_ptr(bed->scoll));
	broadcasts_destroy(take_ptr(bed->broadcasts));
}

static struct bed *bed_create(size_t count)
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

	assert_non_null(bed);
	bed->medium = medium_create(&options);
	memset(&bed->key, 7, sizeof(bed->key));
	hop_init(&bed->hop, NID_MANAGER);
	hop_take(&bed->hop, &bed->key, 1);
	sim_rng_init(&bed->rng, 1);
	manager_start(bed, 1);
	for (size_t i = 0; i < sizeof(bed->command); i++)
		bed->command[i] = (uint8_t)(i * 7 + i / 256);
	bed->members = calloc(count, sizeof(*bed->members));
	assert_non_null(bed->members);
	bed->count = count;
	for (uint32_t i = 0; i < count; i++) {
		struct member *member = &bed->members[i];
		char name[16];

		member->bed = bed;
		member->number = i;
		snprintf(name, sizeof(name), "n%u", i);
		member->nid = nid_of_node(name);
		hop_init(&member->hop, member->nid);
		hop_take(&member->hop, &bed->key, 1);
		sim_rng_init(&member->rng, i + 2);
		member_start(member);
	}
	return bed;
}

/* Longer than anything takes, and shorter than groups live. */
static void run(struct bed *bed)
{
	medium_run(bed->medium, medium_now_ns(bed->medium) + 60000 * MS);
}

static void bed_destroy(struct bed *bed)
{
	struct transport_sim_use use;

	run(bed);
	assert_int_equal(broadcasts_counters(bed->broadcasts)->call_count, 0);
	assert_true(medium_is_idle(bed->scoll));
	transport_sim_use(medium_port(bed->scoll), &use);
	assert_int_equal(use.posts + use.sends + use.regions, 0);
	for (size_t i = 0; i < bed->count; i++) {
		struct member *member = &bed->members[i];

		if (member->scoll == NULL)
			continue;
		assert_int_equal(collectives_count(member->collectives), 0);
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

static int begin(struct bed *bed, uint64_t id, uint64_t group, size_t count,
		 size_t size, bool is_flat)
{
	uint64_t nids[NODES_MAX];
	const struct collective_request request = {
		.id = id,
		.group = group,
		.is_flat = is_flat,
		.nids = nids,
		.count = count,
		.parcel = { .is_separate = is_flat,
			    .patience_ms = PATIENCE,
			    .part_bytes = 65536,
			    .command = bed->command,
			    .command_size = size },
	};

	for (size_t i = 0; i < count; i++)
		nids[i] = bed->members[i].nid;
	memset(&bed->calls[id], 0, sizeof(bed->calls[id]));
	return bed->seam.ops->start(bed->seam.ctx, &request);
}

static void ask(struct bed *bed, uint64_t id, uint64_t group, size_t count,
		size_t size)
{
	assert_int_equal(begin(bed, id, group, count, size, false), 0);
	run(bed);
	assert_true(bed->calls[id].is_ended);
	assert_int_equal(bed->calls[id].result, 0);
}

static void expect_all(const struct bed *bed, uint64_t id, size_t count)
{
	assert_int_equal(bed->calls[id].failure_count, 0);
	assert_int_equal(bed->calls[id].heard_count, count);
	for (size_t i = 0; i < count; i++)
		assert_int_equal(bed->calls[id].heard[i], 1);
}

/* --- tests --- */

static void each_node_gets_it_once_and_is_heard(void **state)
{
	static const size_t counts[] = { 1, 2, 5, 40, 600 };

	for (size_t i = 0; i < sizeof(counts) / sizeof(counts[0]); i++) {
		struct bed *bed = bed_create(counts[i]);

		ask(bed, 1, 10, counts[i], 300);
		expect_all(bed, 1, counts[i]);
		ask(bed, 2, 0, counts[i], 300);
		expect_all(bed, 2, counts[i]);
		for (size_t j = 0; j < counts[i]; j++)
			assert_int_equal(bed->members[j].received_count, 2);
		bed_destroy(bed);
	}
}

static void a_group_is_made_once_and_used_by_some(void **state)
{
	struct bed *bed = bed_create(40);

	ask(bed, 1, 10, 40, 300);
	ask(bed, 2, 10, 40, 300);
	ask(bed, 3, 10, 7, 300);
	expect_all(bed, 2, 40);
	expect_all(bed, 3, 7);
	assert_int_equal(broadcasts_counters(bed->broadcasts)->made_count, 1);
	bed->seam.ops->group_drop(bed->seam.ctx, 10);
	assert_int_equal(broadcasts_counters(bed->broadcasts)->group_count, 0);
	bed_destroy(bed);
}

/* The most nodes whose list goes beside a command, and one more. */
static void a_list_that_does_not_fit_is_populated_first(void **state)
{
	size_t most = 1;

	for (size_t count = 100; count < 200 && most == 1; count++) {
		struct bed *bed = bed_create(count + 1);

		ask(bed, 1, 10, count, 300);
		expect_all(bed, 1, count);
		assert_int_equal(
			broadcasts_counters(bed->broadcasts)->populate_count,
			0);
		ask(bed, 2, 11, count + 1, 300);
		expect_all(bed, 2, count + 1);
		if (broadcasts_counters(bed->broadcasts)->populate_count > 0)
			most = count;
		bed_destroy(bed);
	}
	assert_in_range(most, 100, 199);
	print_message("%zu nodes beside a command of 300 bytes\n", most);
}

static void a_command_that_does_not_fit_is_bulk_data(void **state)
{
	struct bed *bed = bed_create(200);

	ask(bed, 1, 10, 200, 50000);
	expect_all(bed, 1, 200);
	assert_int_equal(broadcasts_counters(bed->broadcasts)->bulk_count, 1);
	ask(bed, 2, 0, 200, 50000);
	expect_all(bed, 2, 200);
	ask(bed, 3, 12, 3, 50000);
	expect_all(bed, 3, 3);
	assert_int_equal(bed->members[0].visits[0].command_size, 50000);
	bed_destroy(bed);
}

static void who_moved_is_reached_by_a_new_group(void **state)
{
	struct bed *bed = bed_create(20);

	ask(bed, 1, 10, 20, 300);
	member_stop(&bed->members[5]);
	member_start(&bed->members[5]);
	/* Who is above it learns of its start, and sends nothing twice. */
	ask(bed, 2, 10, 20, 300);
	assert_int_equal(bed->calls[2].heard[5], 0);
	ask(bed, 3, 10, 20, 300);
	expect_all(bed, 3, 20);
	assert_int_equal(broadcasts_counters(bed->broadcasts)->made_count, 2);
	bed_destroy(bed);
}

static void who_is_new_is_taken_into_the_group(void **state)
{
	struct bed *bed = bed_create(20);

	ask(bed, 1, 10, 15, 300);
	ask(bed, 2, 10, 20, 300);
	ask(bed, 3, 10, 15, 300);
	expect_all(bed, 3, 15);
	assert_int_equal(broadcasts_counters(bed->broadcasts)->made_count, 2);
	bed_destroy(bed);
}

static void expect_lost(const struct bed *bed, uint64_t id, size_t count,
			uint32_t lost)
{
	assert_int_equal(bed->calls[id].failure_count, 1);
	assert_int_equal(bed->calls[id].failures[0].nid,
			 bed->members[lost].nid);
	assert_true(bed->calls[id].failures[0].status < 0);
	assert_int_equal(bed->calls[id].heard_count, count - 1);
	assert_int_equal(bed->calls[id].heard[lost], 0);
}

/* The last one is a leaf of every tree. */
static void who_is_dead_is_named_and_nobody_else(void **state)
{
	struct bed *bed = bed_create(30);

	ask(bed, 1, 10, 30, 300);
	member_stop(&bed->members[29]);
	ask(bed, 2, 10, 30, 300);
	expect_lost(bed, 2, 30, 29);
	ask(bed, 3, 0, 30, 300);
	expect_lost(bed, 3, 30, 29);
	bed_destroy(bed);
}

static void who_is_below_the_dead_is_named_with_him(void **state)
{
	struct bed *bed = bed_create(600);
	size_t lost;

	ask(bed, 1, 10, 600, 300);
	member_stop(&bed->members[300]);
	ask(bed, 2, 10, 600, 300);
	lost = bed->calls[2].failure_count;
	assert_in_range(lost, 1, 300);
	assert_int_equal(bed->calls[2].heard_count, 600 - lost);
	for (size_t i = 0; i < lost; i++)
		for (uint32_t j = 0; j < 600; j++)
			assert_false(bed->calls[2].failures[i].nid ==
					     bed->members[j].nid &&
				     bed->calls[2].heard[j] > 0);
	bed_destroy(bed);
}

static void one_dead_node_does_not_keep_a_large_group_from_the_others(
	void **state)
{
	struct bed *bed = bed_create(600);

	member_stop(&bed->members[1]);
	ask(bed, 1, 10, 600, 300);
	assert_int_equal(broadcasts_counters(bed->broadcasts)->failed_count, 1);
	assert_int_equal(
		bed->calls[1].heard_count + bed->calls[1].failure_count, 600);
	assert_in_range(bed->calls[1].failure_count, 1, 60);
	bed_destroy(bed);
}

static void no_node_is_between_in_a_flat_one(void **state)
{
	struct bed *bed = bed_create(128);

	member_stop(&bed->members[0]);
	assert_int_equal(begin(bed, 1, 10, 128, 300, true), 0);
	run(bed);
	assert_true(bed->calls[1].is_ended);
	expect_lost(bed, 1, 128, 0);
	bed_destroy(bed);
}

static void what_is_cancelled_has_no_events(void **state)
{
	struct bed *bed = bed_create(600);
	size_t heard;

	assert_int_equal(begin(bed, 1, 10, 600, 300, false), 0);
	bed->seam.ops->cancel(bed->seam.ctx, 1); /* its group is being made */
	run(bed);
	ask(bed, 2, 10, 600, 300);
	assert_int_equal(begin(bed, 3, 10, 600, 300, false), 0);
	medium_run(bed->medium, medium_now_ns(bed->medium) + MS / 2);
	heard = bed->calls[3].heard_count;
	assert_in_range(heard, 0, 599);
	bed->seam.ops->cancel(bed->seam.ctx, 3);
	run(bed);
	assert_false(bed->calls[1].is_ended);
	assert_false(bed->calls[3].is_ended);
	assert_int_equal(bed->calls[1].heard_count, 0);
	assert_int_equal(bed->calls[3].heard_count, heard);
	bed_destroy(bed);
}

static void a_group_that_is_dropped_while_it_is_made_serves_those_who_wait(
	void **state)
{
	struct bed *bed = bed_create(200);

	assert_int_equal(begin(bed, 1, 10, 200, 300, false), 0);
	assert_int_equal(begin(bed, 2, 10, 100, 300, false), 0);
	bed->seam.ops->group_drop(bed->seam.ctx, 10);
	run(bed);
	expect_all(bed, 1, 200);
	expect_all(bed, 2, 100);
	assert_int_equal(broadcasts_counters(bed->broadcasts)->group_count, 0);
	bed_destroy(bed);
}

static void a_new_manager_reaches_nodes_that_have_groups_of_the_old_one(
	void **state)
{
	struct bed *bed = bed_create(200);

	ask(bed, 1, 10, 200, 300);
	assert_int_equal(begin(bed, 2, 10, 200, 300, false), 0);
	medium_run(bed->medium, medium_now_ns(bed->medium) + MS / 4);
	manager_stop(bed);
	manager_start(bed, 2);
	for (size_t i = 0; i < bed->count; i++) {
		uint8_t address[64];
		size_t size = sizeof(address);

		scoll_address(bed->members[i].scoll, address, &size);
		bed->seam.ops->address(bed->seam.ctx, bed->members[i].nid,
				       address, size);
	}
	ask(bed, 3, 10, 200, 300);
	expect_all(bed, 3, 200);
	bed_destroy(bed);
}

static void groups_that_are_not_used_make_room(void **state)
{
	struct bed *bed = bed_create(3);

	for (uint64_t group = 1; group <= BROADCAST_GROUPS_MAX + 20; group++)
		ask(bed, 1, group, 3, 300);
	assert_int_equal(broadcasts_counters(bed->broadcasts)->group_count,
			 BROADCAST_GROUPS_MAX);
	ask(bed, 1, 1, 3, 300);
	expect_all(bed, 1, 3);
	bed_destroy(bed);
}

/* A node that has the hop key tells the manager to be a member. */
static void the_manager_takes_no_requests(void **state)
{
	struct bed *bed = bed_create(2);
	struct broadcasts *evil;
	struct collective_seam seam;
	const struct collective_request request = {
		.id = 5,
		.nids = (const uint64_t[]){ NID_MANAGER, bed->members[1].nid },
		.count = 2,
		.parcel = { .patience_ms = PATIENCE,
			    .part_bytes = 65536,
			    .command = bed->command,
			    .command_size = 300 },
	};
	uint8_t address[64];
	size_t size = sizeof(address);

	collectives_destroy(bed->members[0].collectives);
	medium_leave(bed->members[0].scoll);
	bed->members[0].scoll = medium_join(
		bed->medium,
		&(struct medium_member){
			.nid = bed->members[0].nid,
			.authenticator = &bed->members[0].hop.authenticator,
			.rng = sim_rng_seam(&bed->members[0].rng),
			.started_us = 1,
			.share_addresses = true,
			.settled = nothing,
		});
	assert_int_equal(broadcasts_create(bed->members[0].scoll, &events, bed,
					   &evil),
			 0);
	seam = broadcasts_seam(evil);
	scoll_address(bed->scoll, address, &size);
	seam.ops->address(seam.ctx, NID_MANAGER, address, size);
	size = sizeof(address);
	scoll_address(bed->members[1].scoll, address, &size);
	seam.ops->address(seam.ctx, bed->members[1].nid, address, size);
	assert_int_equal(seam.ops->start(seam.ctx, &request), 0);
	run(bed);
	broadcasts_settle(evil);
	assert_true(bed->calls[5].is_ended);
	assert_int_equal(bed->calls[5].failure_count, 2);
	assert_int_equal(bed->calls[5].failures[0].status, -EPERM);
	assert_int_equal(bed->calls[5].failures[1].status, -EPERM);
	assert_int_equal(bed->members[1].received_count, 0);
	medium_leave(take_ptr(bed->members[0].scoll));
	broadcasts_destroy(evil);
	bed_destroy(bed);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(each_node_gets_it_once_and_is_heard),
		cmocka_unit_test(a_group_is_made_once_and_used_by_some),
		cmocka_unit_test(a_list_that_does_not_fit_is_populated_first),
		cmocka_unit_test(a_command_that_does_not_fit_is_bulk_data),
		cmocka_unit_test(who_moved_is_reached_by_a_new_group),
		cmocka_unit_test(who_is_new_is_taken_into_the_group),
		cmocka_unit_test(who_is_dead_is_named_and_nobody_else),
		cmocka_unit_test(who_is_below_the_dead_is_named_with_him),
		cmocka_unit_test(
			one_dead_node_does_not_keep_a_large_group_from_the_others),
		cmocka_unit_test(no_node_is_between_in_a_flat_one),
		cmocka_unit_test(what_is_cancelled_has_no_events),
		cmocka_unit_test(
			a_group_that_is_dropped_while_it_is_made_serves_those_who_wait),
		cmocka_unit_test(
			a_new_manager_reaches_nodes_that_have_groups_of_the_old_one),
		cmocka_unit_test(groups_that_are_not_used_make_room),
		cmocka_unit_test(the_manager_takes_no_requests),
	};

	if (sodium_init() < 0)
		return 1;
	return cmocka_run_group_tests(tests, NULL, NULL);
}
