/* SPDX-License-Identifier: BSD-3-Clause */
/* Who is up, whether there is a link or not, and what goes over the link. */
#include "bed.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <errno.h>
#include <string.h>
#include <utlist.h>

static void a_node_without_a_link_is_up(void **state)
{
	struct bed *bed = *state;
	struct bed_node node;

	bed_node_up(bed, "n0", &node);
	engine_node_closed(bed->engine, node.peer);
	bed_node_state(bed, "n0", "up");
	bed_advance(bed, 10 * ENGINE_LEASE_MS);
	bed_node_state(bed, "n0", "up");
	assert_true(bed->lease_count >= 29);
	assert_int_equal(bed_round_last(bed, COMMAND_LEASE)->group,
			 ROUND_GROUP_ALL);
}

static void a_node_that_does_not_confirm_its_lease_is_down(void **state)
{
	struct bed *bed = *state;
	struct bed_node node, other;

	bed_node_up(bed, "n0", &node);
	bed_node_up(bed, "n1", &other);
	for (int i = 0; i < 2; i++)
		engine_node_closed(bed->engine, i ? other.peer : node.peer);
	bed_advance(bed, 2 * ENGINE_RENEW_MS);
	bed_node_silence(&node, true);
	/* The last one that it confirmed was a moment ago. */
	bed_advance(bed, ENGINE_LEASE_MS - ENGINE_RENEW_MS);
	bed_node_state(bed, "n0", "up");
	assert_int_equal(bed->forget_count, 0);
	bed_advance(bed, ENGINE_RENEW_MS);
	bed_node_state(bed, "n0", "down");
	bed_node_state(bed, "n1", "up");
	assert_int_equal(bed->forget_count, 1);
	/* And nobody asks it any more. */
	bed_advance(bed, ENGINE_RENEW_MS);
	assert_string_equal(bed_round_last(bed, COMMAND_LEASE)->nodes, "n1");
	bed_node_silence(&node, false);
	bed_node_reconnect(&node);
	bed_node_register(&node);
	bed_node_state(bed, "n0", "up");
}

/* Its link is of no use when rounds do not reach it. */
static void a_link_is_no_lease(void **state)
{
	static const uint8_t pong = FRAME_PONG;
	struct bed *bed = *state;
	struct bed_node node;

	bed_node_up(bed, "n0", &node);
	bed_node_silence(&node, true);
	for (int i = 0; i < 29; i++) {
		bed_advance(bed, 1000);
		bed_node_receive(&node, &pong, 1);
	}
	bed_node_state(bed, "n0", "up");
	bed_advance(bed, 2000);
	bed_node_refused(&node, "does not answer");
	bed_node_state(bed, "n0", "down");
}

/* A LEASE that somebody else has answered for it. */
static void a_forged_lease_keeps_nobody_up(void **state)
{
	struct bed *bed = *state;
	struct bed_node node, liar;

	bed_node_up(bed, "n0", &node);
	bed_node_up(bed, "n1", &liar);
	engine_node_closed(bed->engine, node.peer);
	node.key = liar.key;
	bed_known_set(&node);
	bed_advance(bed, ENGINE_LEASE_MS + 2000);
	bed_node_state(bed, "n0", "down");
	bed_node_state(bed, "n1", "up");
}

/* Names of letters only, which a host list does not make shorter. */
static void name_make(char *name, unsigned int number)
{
	memset(name, 'x', NODE_NAME_MAX);
	for (size_t i = 0; i < 4; i++, number /= 26)
		name[i] = (char)('a' + number % 26);
	name[NODE_NAME_MAX] = 0;
}

static void reconfigure(struct bed *bed, const char *nodes)
{
	uint64_t client = bed_client(bed, BED_ROOT);

	bed->reconfigure_nodes = nodes;
	bed_ask(bed, client, "reconfigure", NULL);
	bed_commit(bed);
	bed_expect_done(bed, client, 0);
	engine_client_closed(bed->engine, client);
}

static void more_names_than_fit_get_several_leases(void **state)
{
	enum {
		COUNT = NODES_TEXT_MAX / (NODE_NAME_MAX + 1) + 100
	};
	struct bed *bed = *state;
	char *nodes = calloc(COUNT, NODE_NAME_MAX + 1);
	size_t named = 0;
	struct bed_round *round;

	for (unsigned int i = 0; i < COUNT; i++) {
		name_make(nodes + (size_t)i * (NODE_NAME_MAX + 1), i);
		nodes[(size_t)(i + 1) * (NODE_NAME_MAX + 1) - 1] =
			i + 1 < COUNT ? ',' : 0;
	}
	reconfigure(bed, nodes);
	for (unsigned int i = 0; i < COUNT; i++) {
		char name[NODE_NAME_MAX + 1];
		struct bed_node node;

		name_make(name, i);
		bed_node_up(bed, name, &node);
		engine_node_closed(bed->engine, node.peer);
	}
	bed_advance(bed, 1000);
	DL_FOREACH (bed->rounds, round) {
		assert_int_equal(round->command.op, COMMAND_LEASE);
		assert_int_equal(round->group, named == 0
						       ? ROUND_GROUP_ALL
						       : ROUND_GROUP_ALL - 1);
		named += round->count;
	}
	assert_int_equal(named, COUNT);
	assert_int_equal(bed->lease_count, COUNT);
	bed->reconfigure_nodes = "n[0-9]";
	free(nodes);
}

static void a_silent_link_is_pinged_and_then_closed(void **state)
{
	struct bed *bed = *state;
	struct bed_node node;
	size_t size;

	bed_node_up(bed, "n0", &node);
	bed_advance(bed, ENGINE_PING_MS + 1000);
	free(bed_node_take(&node, FRAME_PING, &size));
	assert_int_equal(size, 0);
	bed_advance(bed, ENGINE_SILENCE_MS - ENGINE_PING_MS - 2000);
	assert_false(bed_was_closed(&bed->nodes, node.peer));
	bed_advance(bed, 2000);
	assert_true(bed_was_closed(&bed->nodes, node.peer));
	bed_node_state(bed, "n0", "up");
}

static void a_link_that_answers_pings_stays_open(void **state)
{
	static const uint8_t pong = FRAME_PONG;
	struct bed *bed = *state;
	struct bed_node node;
	size_t size;

	bed_node_up(bed, "n0", &node);
	for (int i = 0; i < 10; i++) {
		uint8_t *bytes;

		bed_advance(bed, ENGINE_PING_MS + 1000);
		bytes = bed_node_take(&node, FRAME_PING, &size);
		assert_non_null(bytes);
		free(bytes);
		bed_node_receive(&node, &pong, 1);
	}
	assert_false(bed_was_closed(&bed->nodes, node.peer));
}

static void a_node_is_looked_for_where_it_registered_last(void **state)
{
	static const uint8_t address[COLLECTIVE_ADDRESS_MAX] = { 1 };
	struct bed *bed = *state;
	struct bed_node node;

	bed_node_up(bed, "n0", &node);
	assert_int_equal(bed->address_count, 1);
	bed_node_reconnect(&node);
	bed_node_register(&node);
	assert_int_equal(bed->address_count, 1);
	bed_node_reconnect(&node);
	node.registration.address = address;
	node.registration.address_size = sizeof(address);
	bed_node_register(&node);
	assert_int_equal(bed->address_count, 2);
	/* Another boot may have the same address, and is somebody else. */
	bed_node_reconnect(&node);
	node.incarnation[0] ^= 0xff;
	bed_node_register(&node);
	assert_int_equal(bed->address_count, 3);
	/* And so may another start of its daemon. */
	bed_node_reconnect(&node);
	node.nonce[0] ^= 0xff;
	bed_node_register(&node);
	assert_int_equal(bed->address_count, 4);
	bed_node_reconnect(&node);
	node.nonce[NONCE_START_SIZE] ^= 0xff;
	bed_node_register(&node);
	assert_int_equal(bed->address_count, 4);
	assert_int_equal(bed->forget_count, 0);
}

static void restart(struct bed *bed)
{
	bed_crash(bed);
	bed_start(bed, bed->epoch + 1, false);
	bed_advance(bed, 0);
}

static void a_new_manager_calls_its_nodes_back(void **state)
{
	struct bed *bed = *state;
	struct bed_node node, other;
	struct bed_round *call;

	bed_node_up(bed, "n0", &node);
	bed_node_up(bed, "n1", &other);
	bed_commit(bed);
	bed->address_count = 0;
	restart(bed);
	call = bed_round_last(bed, COMMAND_LEASE);
	assert_int_equal(call->command.epoch, bed->epoch);
	assert_string_equal(call->nodes, "n[0-1]");
	assert_int_equal(call->count, 2);
	assert_int_equal(call->group, 0);
	assert_int_equal(bed->address_count, 2);
	/* Whoever answers has not registered. */
	bed_advance(bed, 1000);
	bed_node_state(bed, "n0", "down");
	bed_node_reconnect(&node);
	bed_node_register(&node);
	bed_node_state(bed, "n0", "up");
	bed_node_state(bed, "n1", "down");
}

static void a_node_that_does_not_hear_the_call_is_called_again(void **state)
{
	struct bed *bed = *state;
	struct bed_node node;
	unsigned int lease_count;

	bed_node_up(bed, "n0", &node);
	bed_commit(bed);
	lease_count = bed->lease_count;
	restart(bed);
	bed_advance(bed, ENGINE_LEASE_MS / 2);
	assert_int_equal(bed->lease_count, lease_count);
	bed_known_set(&node);
	bed_advance(bed, ENGINE_LEASE_MS / 2);
	assert_int_equal(bed->lease_count, lease_count + 1);
}

static void drain(struct bed *bed, const char *op, const char *reason)
{
	uint64_t client = bed_client(bed, BED_ROOT);

	if (reason == NULL)
		bed_ask(bed, client, op, "{s:s}", "nodes", "n0");
	else
		bed_ask(bed, client, op, "{s:s, s:s}", "nodes", "n0", "reason",
			reason);
	bed_commit(bed);
	bed_expect_done(bed, client, 0);
	engine_client_closed(bed->engine, client);
	engine_notified(bed->engine, "n0", bed->drain_id, 0);
	bed_commit(bed);
}

/* The node's next command on its link is DRAIN. */
static void assert_drain(struct bed_node *node, bool is_drained)
{
	struct command command;
	union command_body body;
	uint8_t *bytes;

	assert_true(bed_node_command(node, &command, &bytes));
	assert_int_equal(command.op, COMMAND_DRAIN);
	assert_int_equal(command_body_decode(COMMAND_DRAIN, command.body,
					     command.body_size, &body),
			 0);
	assert_int_equal(body.drain.is_drained, is_drained);
	free(bytes);
}

static void a_drained_node_gets_drain_when_it_registers(void **state)
{
	struct bed *bed = *state;
	struct bed_node node;

	bed_node_up(bed, "n0", &node);
	drain(bed, "node-drain", "bad cable");
	assert_drain(&node, true);
	drain(bed, "node-undrain", NULL);
	assert_drain(&node, false);
	engine_node_closed(bed->engine, node.peer);
	drain(bed, "node-drain", "bad cable");
	bed_node_reconnect(&node);
	bed_node_register(&node);
	assert_drain(&node, true);
	engine_node_closed(bed->engine, node.peer);
	drain(bed, "node-undrain", NULL);
	bed_node_reconnect(&node);
	bed_node_register(&node);
	assert_int_equal(bed_node_frames(&node), 0);
}

static void a_ping_is_answered(void **state)
{
	static const uint8_t ping = FRAME_PING;
	struct bed *bed = *state;
	struct bed_node node;
	uint8_t *bytes;
	size_t size;

	bed_node_connect(bed, "n0", &node);
	bed_node_receive(&node, &ping, 1);
	bytes = bed_node_take(&node, FRAME_PONG, &size);
	assert_non_null(bytes);
	free(bytes);
}

static void who_does_not_register_in_time_is_let_go(void **state)
{
	struct bed *bed = *state;
	struct bed_node node;

	bed_node_connect(bed, "n0", &node);
	bed_advance(bed, ENGINE_CHALLENGE_MS - 1000);
	assert_false(bed_was_closed(&bed->nodes, node.peer));
	bed_advance(bed, 2000);
	bed_node_refused(&node, "took too long");
}

static void node_list_shows_when_a_node_was_seen(void **state)
{
	struct bed *bed = *state;
	uint64_t client = bed_client(bed, BED_ROOT);
	struct bed_node node;
	json_t *answer;
	json_t *first;
	json_t *second;

	bed_node_up(bed, "n0", &node);
	bed_advance(bed, 900);
	bed_ask(bed, client, "node-list", NULL);
	answer = bed_expect(bed, client, 0);
	first = json_array_get(json_object_get(answer, "nodes"), 0);
	second = json_array_get(json_object_get(answer, "nodes"), 1);
	assert_int_equal(json_integer_value(json_object_get(first, "seen_ms")),
			 900);
	assert_null(json_object_get(second, "seen_ms"));
	json_decref(answer);
}

int main(void)
{
#define TEST(name) \
	cmocka_unit_test_setup_teardown(name, bed_set_up, bed_tear_down)
	const struct CMUnitTest tests[] = {
		TEST(a_node_without_a_link_is_up),
		TEST(a_node_that_does_not_confirm_its_lease_is_down),
		TEST(a_link_is_no_lease),
		TEST(a_forged_lease_keeps_nobody_up),
		TEST(more_names_than_fit_get_several_leases),
		TEST(a_silent_link_is_pinged_and_then_closed),
		TEST(a_link_that_answers_pings_stays_open),
		TEST(a_node_is_looked_for_where_it_registered_last),
		TEST(a_new_manager_calls_its_nodes_back),
		TEST(a_node_that_does_not_hear_the_call_is_called_again),
		TEST(a_drained_node_gets_drain_when_it_registers),
		TEST(a_ping_is_answered),
		TEST(who_does_not_register_in_time_is_let_go),
		TEST(node_list_shows_when_a_node_was_seen),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
