/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Collectives that go through a node. It is n1 of n[0-9], and what comes from
 * below is made here with the keys of the nodes that are there.
 */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "lanes/proto/combined.h"
#include "lanes/proto/collective.h"
#include "lanes/node/agent/test/bench.h"

#define NODES       "n[0-9]"
#define PLACES      10
#define OWN         1
#define PATIENCE_MS 3000

static int setup(void **state)
{
	static struct bench bench;

	bench_init(&bench);
	*state = &bench;
	return 0;
}

static int teardown(void **state)
{
	bench_fini(*state);
	return 0;
}

/* --- the manager above, and the nodes below --- */

/* A command as a parcel. The caller finishes both. */
struct sent {
	struct writer command, payload;
	struct command head;
};

static struct sent sent_make(struct bench *bench, enum command_op op,
			     uint64_t grant_id, struct writer *body,
			     const struct parcel *how)
{
	struct parcel parcel = *how;
	struct sent sent = { 0 };

	world_seal(&bench->world, op, grant_id, body, &sent.command);
	assert_int_equal(command_header_read(sent.command.data, &sent.head), 0);
	parcel.command = sent.command.data;
	parcel.command_size = sent.command.size;
	assert_int_equal(parcel_encode(&parcel, &sent.payload), 0);
	writer_fini(body);
	return sent;
}

static void sent_fini(struct sent *sent)
{
	writer_fini(&sent->command);
	writer_fini(&sent->payload);
}

static const struct parcel together = {
	.patience_ms = PATIENCE_MS,
	.part_bytes = PARCEL_PART_MIN,
};

static struct sent lease(struct bench *bench, const struct parcel *how)
{
	struct lease_body body = { .nodes = NODES, .lease_s = 30 };
	struct writer writer = { 0 };

	assert_int_equal(lease_body_encode(&body, &writer), 0);
	return sent_make(bench, COMMAND_LEASE, 0, &writer, how);
}

static struct sent query(struct bench *bench, uint8_t what,
			 const struct parcel *how)
{
	struct query_body body = { .nodes = NODES, .what = what };
	struct writer writer = { 0 };

	assert_int_equal(query_body_encode(&body, &writer), 0);
	return sent_make(bench, COMMAND_QUERY, 0, &writer, how);
}

static void receive(struct bench *bench, uint64_t id, const struct sent *sent)
{
	agent_round_command(bench->agent, id, sent->payload.data,
			    sent->payload.size, NULL, 0);
}

static struct combined_node node_of(void *ctx, uint32_t place)
{
	struct bench *bench = ctx;
	static char name[16];

	snprintf(name, sizeof(name), "n%u", place);
	return (struct combined_node){ .name = name,
				       .incarnation =
					       bench->world.incarnation };
}

/* What node n<place> answers to the command. */
static struct writer confirm_make(struct bench *bench, const struct sent *sent,
				  uint32_t place, const char *reason)
{
	struct writer writer = { 0 };
	struct confirm confirm;
	struct node_key key;
	const char *name = node_of(bench, place).name;

	confirm_answer(&sent->head, name, bench->world.incarnation, 0,
		       &confirm);
	snprintf(confirm.reason, sizeof(confirm.reason), "%s", reason);
	node_key_derive(&bench->world.master, name, &key);
	assert_int_equal(confirm_encode(&confirm, &key, &writer), 0);
	return writer;
}

/* What a node below has combined, of the places from first to last. */
static struct writer below_make(struct bench *bench, const struct sent *sent,
				uint32_t first, uint32_t last,
				const char *reason)
{
	struct writer writer = { 0 };
	struct combined combined;

	assert_int_equal(combined_init(&combined, PLACES), 0);
	for (uint32_t place = first; place <= last; place++) {
		struct writer confirm =
			confirm_make(bench, sent, place, reason);

		assert_int_equal(combined_add(&combined, place, confirm.data,
					      confirm.size),
				 0);
		writer_fini(&confirm);
	}
	assert_int_equal(combined_encode(&combined, &writer), 0);
	combined_fini(&combined);
	return writer;
}

static void part_from_below(struct bench *bench, uint64_t id,
			    const struct sent *sent, uint32_t first,
			    uint32_t last, const char *reason)
{
	struct writer writer = below_make(bench, sent, first, last, reason);

	agent_round_part(bench->agent, id, writer.data, writer.size);
	writer_fini(&writer);
}

/* The next part that went up, whatever its collective. */
static void take_part(struct bench *bench, struct combined *ret_combined)
{
	struct bench_queue *queue = &bench->parts;
	struct bench_frame *part = &queue->frames[queue->first++];

	assert_true(queue->first <= queue->end);
	assert_in_range(part->size, 1, PARCEL_PART_MIN);
	assert_int_equal(combined_init(ret_combined, PLACES), 0);
	assert_int_equal(combined_merge(ret_combined, part->bytes, part->size),
			 0);
}

static size_t parts_left(const struct bench *bench)
{
	return bench->parts.end - bench->parts.first;
}

static int verify(struct bench *bench, const struct combined *combined,
		  const struct sent *sent)
{
	assert_int_equal(combined->set_count, 1);
	return combined_verify(&combined->sets[0], &sent->head,
			       &bench->world.master, 1, node_of, bench);
}

/* Open the only confirmation that is carried as it is. */
static void take_carried(struct bench *bench, const struct combined *combined,
			 struct confirm *ret_confirm)
{
	const uint8_t *bytes;
	size_t cursor = 0, size;

	assert_int_equal(combined->carried_count, 1);
	assert_true(combined_carried_next(combined, &cursor, &bytes, &size));
	assert_int_equal(confirm_open(&bench->world.master, 1, bytes, size,
				      ret_confirm),
			 0);
}

/* --- tests --- */

static void node_without_children_answers_for_itself(void **state)
{
	struct bench *bench = *state;
	struct sent sent = lease(bench, &together);
	struct combined combined;

	receive(bench, 5, &sent);
	agent_round_closed(bench->agent, 5);
	assert_int_equal(parts_left(bench), 0);
	bench_pump(bench);
	assert_int_equal(bench->over, 5);
	take_part(bench, &combined);
	assert_int_equal(parts_left(bench), 0);
	assert_int_equal(verify(bench, &combined, &sent), 0);
	assert_int_equal(idset_count(combined.sets[0].places), 1);
	assert_true(idset_has(combined.sets[0].places, OWN));
	combined_fini(&combined);
	sent_fini(&sent);
}

static void answers_from_below_are_combined_with_its_own(void **state)
{
	struct bench *bench = *state;
	struct sent sent = lease(bench, &together);
	struct combined combined;

	receive(bench, 5, &sent);
	part_from_below(bench, 5, &sent, 2, 4, "");
	bench_pump(bench);
	part_from_below(bench, 5, &sent, 5, 9, "");
	assert_int_equal(parts_left(bench), 0);
	agent_round_closed(bench->agent, 5);
	assert_int_equal(bench->over, 5);
	take_part(bench, &combined);
	assert_int_equal(verify(bench, &combined, &sent), 0);
	assert_int_equal(idset_count(combined.sets[0].places), 9);
	assert_int_equal(combined.carried_count, 0);
	combined_fini(&combined);
	sent_fini(&sent);
}

/* The command may be bulk data, which the children can have sooner. */
static void answers_from_below_wait_for_the_command(void **state)
{
	struct bench *bench = *state;
	struct sent sent = lease(bench, &together);
	const struct parcel bulk = {
		.is_bulk = true,
		.patience_ms = PATIENCE_MS,
		.part_bytes = PARCEL_PART_MIN,
	};
	struct combined combined;

	sent.payload.size = 0;
	assert_int_equal(parcel_encode(&bulk, &sent.payload), 0);
	part_from_below(bench, 5, &sent, 2, 4, "");
	part_from_below(bench, 5, &sent, 5, 5, "");
	agent_round_command(bench->agent, 5, sent.payload.data,
			    sent.payload.size, sent.command.data,
			    sent.command.size);
	bench_pump(bench);
	agent_round_closed(bench->agent, 5);
	take_part(bench, &combined);
	assert_int_equal(verify(bench, &combined, &sent), 0);
	assert_int_equal(idset_count(combined.sets[0].places), 5);
	combined_fini(&combined);
	sent_fini(&sent);
}

static void separate_answer_is_carried_as_it_is(void **state)
{
	struct bench *bench = *state;
	struct parcel how = together;
	struct confirm confirm;
	struct combined combined;
	struct sent sent;

	how.is_separate = true;
	sent = lease(bench, &how);
	receive(bench, 5, &sent);
	bench_pump(bench);
	agent_round_closed(bench->agent, 5);
	take_part(bench, &combined);
	assert_int_equal(combined.set_count, 0);
	take_carried(bench, &combined, &confirm);
	assert_string_equal(confirm.node, FAKE_NODE);
	assert_int_equal(confirm.op, COMMAND_LEASE);
	assert_int_equal(confirm.result, 0);
	confirm_fini(&confirm);
	combined_fini(&combined);
	sent_fini(&sent);
}

static void long_answer_goes_up_in_parts(void **state)
{
	struct bench *bench = *state;
	struct sent sent = lease(bench, &together);
	static char reason[3001];
	uint32_t carried_count = 0;
	size_t part_count = parts_left(bench);
	struct combined combined;

	memset(reason, 'r', sizeof(reason) - 1);
	receive(bench, 5, &sent);
	bench_pump(bench);
	for (uint32_t place = 2; place < PLACES; place++)
		part_from_below(bench, 5, &sent, place, place, reason);
	assert_int_not_equal(bench->over, 5);
	part_count = parts_left(bench);
	assert_in_range(part_count, 2, 8);
	agent_round_closed(bench->agent, 5);
	assert_int_equal(parts_left(bench), part_count + 1);
	take_part(bench, &combined);
	assert_int_equal(verify(bench, &combined, &sent), 0);
	for (;;) {
		carried_count += combined.carried_count;
		combined_fini(&combined);
		if (parts_left(bench) == 0)
			break;
		take_part(bench, &combined);
		assert_int_equal(combined.set_count, 0);
	}
	assert_int_equal(carried_count, PLACES - 2);
	sent_fini(&sent);
}

static void query_is_answered_the_way_it_came(void **state)
{
	struct bench *bench = *state;
	struct confirm confirm;
	struct combined combined;
	struct sent sent;

	bench_connect(bench);
	bench_drop_frames(bench);
	sent = query(bench, QUERY_DEVICES, &together);
	receive(bench, 5, &sent);
	agent_round_closed(bench->agent, 5);
	bench_pump(bench);
	assert_int_equal(bench->over, 5);
	take_part(bench, &combined);
	take_carried(bench, &combined, &confirm);
	assert_int_equal(confirm.op, COMMAND_QUERY);
	assert_int_equal(confirm.sequence, sent.head.sequence);
	assert_non_null(strstr((const char *)confirm.answer, "dev0"));
	confirm_fini(&confirm);
	combined_fini(&combined);
	sent_fini(&sent);
	/* And nothing by the link. */
	assert_int_equal(bench->to_manager.end, 0);
}

static void answer_that_nobody_waits_for_is_not_sent_by_the_link(void **state)
{
	struct bench *bench = *state;
	struct sent sent = query(bench, QUERY_GRANTS, &together);

	bench_connect(bench);
	bench_drop_frames(bench);
	/* Nobody pumps: the guard is busy. */
	receive(bench, 5, &sent);
	agent_round_closed(bench->agent, 5);
	sim_clock_advance(&bench->clock, PATIENCE_MS);
	agent_tick(bench->agent);
	assert_int_equal(bench->over, 5);
	bench_pump(bench);
	assert_int_equal(bench->to_manager.end, 0);
	sent_fini(&sent);
}

static void command_is_obeyed_without_a_link(void **state)
{
	struct bench *bench = *state;
	struct revoke_body body;
	struct writer writer = { 0 };
	struct combined combined;
	struct sent sent;

	bench_connect(bench);
	bench_apply(bench, 7);
	assert_int_equal(world_object_count(&bench->world, 7), FAKE_DEVICES);
	agent_manager_closed(bench->agent, bench->peer, -ECONNRESET);
	fake_revoke_body(7, &body);
	body.nodes = NODES;
	assert_int_equal(revoke_body_encode(&body, &writer), 0);
	sent = sent_make(bench, COMMAND_REVOKE, 7, &writer, &together);
	receive(bench, 5, &sent);
	agent_round_closed(bench->agent, 5);
	bench_pump(bench);
	take_part(bench, &combined);
	assert_int_equal(verify(bench, &combined, &sent), 0);
	assert_int_equal(world_object_count(&bench->world, 7), 0);
	combined_fini(&combined);
	sent_fini(&sent);
}

static void answer_that_takes_too_long_is_not_waited_for(void **state)
{
	struct bench *bench = *state;
	struct sent sent = lease(bench, &together);
	struct combined combined;

	/* Nobody pumps: the guard is busy. */
	receive(bench, 5, &sent);
	part_from_below(bench, 5, &sent, 2, 4, "");
	agent_round_closed(bench->agent, 5);
	sim_clock_advance(&bench->clock, PATIENCE_MS - 1);
	agent_tick(bench->agent);
	assert_int_equal(parts_left(bench), 0);
	assert_true(agent_deadline_ms(bench->agent) <=
		    bench->clock.monotonic_ms + 1);
	sim_clock_advance(&bench->clock, 1);
	agent_tick(bench->agent);
	assert_int_equal(bench->over, 5);
	take_part(bench, &combined);
	assert_int_equal(verify(bench, &combined, &sent), 0);
	assert_int_equal(idset_count(combined.sets[0].places), 3);
	assert_false(idset_has(combined.sets[0].places, OWN));
	combined_fini(&combined);
	/* What the guard says later finds nobody, and the next is answered. */
	bench_pump(bench);
	assert_int_equal(parts_left(bench), 0);
	receive(bench, 6, &sent);
	agent_round_closed(bench->agent, 6);
	bench_pump(bench);
	take_part(bench, &combined);
	assert_int_equal(verify(bench, &combined, &sent), 0);
	combined_fini(&combined);
	sent_fini(&sent);
}

static void forged_command_is_not_answered_and_those_below_are(void **state)
{
	struct bench *bench = *state;
	struct sent sent = lease(bench, &together);
	struct combined combined;

	sent.payload.data[sent.payload.size - 4] ^= 1; /* lease_s */
	receive(bench, 5, &sent);
	part_from_below(bench, 5, &sent, 2, 4, "");
	bench_pump(bench);
	agent_round_closed(bench->agent, 5);
	take_part(bench, &combined);
	assert_int_equal(idset_count(combined.sets[0].places), 3);
	assert_int_equal(combined.carried_count, 0);
	combined_fini(&combined);
	sent_fini(&sent);
	assert_non_null(strstr(bench->log, "not obeyed"));
}

static void refusal_is_carried(void **state)
{
	struct bench *bench = *state;
	struct sent first = lease(bench, &together);
	struct sent second = lease(bench, &together);
	struct confirm confirm;
	struct combined combined;

	receive(bench, 5, &second);
	receive(bench, 6, &first); /* which is stale by then */
	agent_round_closed(bench->agent, 6);
	bench_pump(bench);
	take_part(bench, &combined);
	take_carried(bench, &combined, &confirm);
	assert_int_equal(confirm.result, -ESTALE);
	confirm_fini(&confirm);
	combined_fini(&combined);
	sent_fini(&first);
	sent_fini(&second);
}

static void nonsense_from_below_is_left_out(void **state)
{
	struct bench *bench = *state;
	struct sent sent = lease(bench, &together);
	static uint8_t large[PARCEL_PART_MIN + 1];
	struct combined combined;

	receive(bench, 5, &sent);
	bench_pump(bench);
	agent_round_part(bench->agent, 5, "nonsense", 8);
	agent_round_part(bench->agent, 5, NULL, 0);
	agent_round_part(bench->agent, 5, large, sizeof(large));
	part_from_below(bench, 5, &sent, 2, 4, "");
	part_from_below(bench, 5, &sent, 4, 6, ""); /* n4 is there */
	agent_round_closed(bench->agent, 5);
	take_part(bench, &combined);
	while (parts_left(bench) > 0) {
		assert_int_equal(combined.set_count, 1);
		combined_fini(&combined);
		take_part(bench, &combined);
	}
	assert_int_equal(verify(bench, &combined, &sent), 0);
	assert_true(idset_has(combined.sets[0].places, 3));
	assert_false(idset_has(combined.sets[0].places, 6));
	combined_fini(&combined);
	sent_fini(&sent);
}

/* The set is spoilt, and the manager asks again; ours is not lost. */
static void somebody_below_who_says_to_be_us_is_found_out(void **state)
{
	struct bench *bench = *state;
	struct sent sent = lease(bench, &together);
	struct sent other = lease(bench, &together);
	struct confirm confirm;
	struct combined combined;

	receive(bench, 5, &sent);
	part_from_below(bench, 5, &other, OWN, 3, "");
	bench_pump(bench);
	agent_round_closed(bench->agent, 5);
	take_part(bench, &combined);
	assert_int_equal(verify(bench, &combined, &sent), -EKEYREJECTED);
	take_carried(bench, &combined, &confirm);
	assert_string_equal(confirm.node, FAKE_NODE);
	assert_int_equal(confirm.result, 0);
	confirm_fini(&confirm);
	combined_fini(&combined);
	sent_fini(&sent);
	sent_fini(&other);
}

static void collective_without_a_command_is_answered_with_nothing(void **state)
{
	struct bench *bench = *state;
	struct sent sent = lease(bench, &together);
	struct query_body body = { .nodes = "n[2-9]", .what = QUERY_DEVICES };
	struct writer writer = { 0 };
	struct sent elsewhere;

	assert_int_equal(query_body_encode(&body, &writer), 0);
	elsewhere = sent_make(bench, COMMAND_QUERY, 0, &writer, &together);
	agent_round_closed(bench->agent, 5);
	assert_int_equal(bench->over, 5);
	part_from_below(bench, 6, &sent, 2, 4, "");
	agent_round_closed(bench->agent, 6);
	assert_int_equal(bench->over, 6);
	agent_round_command(bench->agent, 7, "nonsense", 8, NULL, 0);
	agent_round_closed(bench->agent, 7);
	assert_int_equal(bench->over, 7);
	receive(bench, 8, &elsewhere);
	agent_round_closed(bench->agent, 8);
	assert_int_equal(bench->over, 8);
	for (int i = 0; i < 4; i++)
		assert_int_equal(bench->parts.frames[bench->parts.first++].size,
				 0);
	sent_fini(&sent);
	sent_fini(&elsewhere);
}

static void too_many_at_once_are_answered_with_nothing(void **state)
{
	struct bench *bench = *state;
	struct sent sent = lease(bench, &together);

	for (uint64_t id = 1; id <= AGENT_ROUNDS_MAX + 1; id++)
		receive(bench, id, &sent);
	agent_round_closed(bench->agent, AGENT_ROUNDS_MAX + 1);
	assert_int_equal(bench->over, AGENT_ROUNDS_MAX + 1);
	assert_int_equal(bench->parts.frames[0].size, 0);
	bench_pump(bench);
	agent_round_closed(bench->agent, 1);
	assert_int_equal(bench->over, 1);
	assert_true(bench->parts.frames[1].size > 0);
	receive(bench, AGENT_ROUNDS_MAX + 2, &sent);
	bench_pump(bench);
	agent_round_closed(bench->agent, AGENT_ROUNDS_MAX + 2);
	assert_true(bench->parts.frames[2].size > 0);
	sent_fini(&sent);
}

static void registration_tells_the_address(void **state)
{
	static const uint8_t address[] = { 2, 0, 0x1b, 0x58 };
	struct bench *bench = *state;
	struct registration registration;
	uint8_t nonce[NONCE_SIZE];
	struct frame frame;

	bench_pump(bench);
	bench_challenge(bench);
	bench_pump(bench);
	memset(nonce, 0x5c, NONCE_SIZE);
	assert_int_equal(bench_take(bench, &frame), FRAME_REGISTER);
	assert_int_equal(registration_open(&bench->world.master, 1, nonce,
					   frame.payload, frame.size,
					   &registration),
			 0);
	assert_int_equal(registration.address_size, sizeof(address));
	assert_memory_equal(registration.address, address, sizeof(address));
	registration_fini(&registration);
}

static void registration_says_where_the_endpoint_is_by_then(void **state)
{
	static const uint8_t address[] = { 10, 0, 0, 7, 1 };
	struct bench *bench = *state;
	struct registration registration;
	uint8_t nonce[NONCE_SIZE];
	struct frame frame;

	bench_pump(bench);
	agent_locate(bench->agent, address, sizeof(address));
	bench_challenge(bench);
	bench_pump(bench);
	memset(nonce, 0x5c, NONCE_SIZE);
	assert_int_equal(bench_take(bench, &frame), FRAME_REGISTER);
	assert_int_equal(registration_open(&bench->world.master, 1, nonce,
					   frame.payload, frame.size,
					   &registration),
			 0);
	assert_int_equal(registration.address_size, sizeof(address));
	assert_memory_equal(registration.address, address, sizeof(address));
	registration_fini(&registration);
}

static void hop_keys_are_those_of_the_key_file(void **state)
{
	struct bench *bench = *state;
	struct node_keys *keys = &bench->world.keys;
	struct hop_keys hops;

	bench_pump(bench);
	node_keys_hops(keys, &hops);
	assert_memory_equal(&bench->hops, &hops, sizeof(hops));
	keys->hops[1] = (struct hop_key){ .id = 9, .bytes = { 1, 2, 3 } };
	keys->hop_count = 2;
	keys->commands[1] = (struct command_public){ .id = 9, .bytes = { 4 } };
	keys->command_count = 2;
	agent_reload(bench->agent);
	bench_pump(bench);
	node_keys_hops(keys, &hops);
	assert_memory_equal(&bench->hops, &hops, sizeof(hops));
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
	const struct CMUnitTest tests[] = {
		TEST(node_without_children_answers_for_itself),
		TEST(answers_from_below_are_combined_with_its_own),
		TEST(answers_from_below_wait_for_the_command),
		TEST(separate_answer_is_carried_as_it_is),
		TEST(long_answer_goes_up_in_parts),
		TEST(query_is_answered_the_way_it_came),
		TEST(answer_that_nobody_waits_for_is_not_sent_by_the_link),
		TEST(command_is_obeyed_without_a_link),
		TEST(answer_that_takes_too_long_is_not_waited_for),
		TEST(forged_command_is_not_answered_and_those_below_are),
		TEST(refusal_is_carried),
		TEST(nonsense_from_below_is_left_out),
		TEST(somebody_below_who_says_to_be_us_is_found_out),
		TEST(collective_without_a_command_is_answered_with_nothing),
		TEST(too_many_at_once_are_answered_with_nothing),
		TEST(registration_tells_the_address),
		TEST(registration_says_where_the_endpoint_is_by_then),
		TEST(hop_keys_are_those_of_the_key_file),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
