/* SPDX-License-Identifier: BSD-3-Clause */
/* FAIRLEAD_TEST=long: there are always 10,000 nodes; else at least once. */
#include "fleet.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <sodium.h>
#include <stdlib.h>
#include <string.h>

#include "lanes/manager/engine.h"
#include "lanes/proto/collective.h"
#include "lanes/proto/seal.h"

#define MANY       10000
#define MANY_SHORT 2000 /* of a short run */
/* Of scoll/wire/wire.h, whose WIRE_VERSION is another one. */
#define HEAD_BASE 128
#define HEAD_MAX  1185

static size_t many(void)
{
	const char *length = getenv("FAIRLEAD_TEST");

	return length != NULL && strcmp(length, "long") == 0 ? MANY
							     : MANY_SHORT;
}

static uint64_t populated(const struct fleet *fleet)
{
	return rounds_counters(fleet->rounds)->populate_count;
}

static void fan_out_to_one_node(void **state)
{
	struct fleet *fleet = fleet_create(1);

	fan_out_to_all(fleet, COMMAND_APPLY, "apply");
	fan_out_to_all(fleet, COMMAND_REVOKE, "revoke");
	assert_int_equal(populated(fleet), 0);
	fleet_destroy(fleet);
}

static bool fits(size_t count, size_t *ret_payload_size)
{
	struct fleet *fleet = fleet_create(count);
	bool result;

	fan_out_to_all(fleet, COMMAND_APPLY, "apply");
	result = populated(fleet) == 0;
	*ret_payload_size = fleet->payload_size;
	fan_out_to_all(fleet, COMMAND_REVOKE, "revoke");
	fleet_destroy(fleet);
	return result;
}

/*
 * The head is between its shortest with signature and seal, and its longest;
 * what it and the command leave of a message is for the nodes. Each has a NID,
 * a tag, and an address of one byte with its length.
 */
static void fan_out_at_the_piggyback_limit_and_one_above(void **state)
{
	static const size_t each =
		sizeof(scoll_nid_t) + sizeof(scoll_tag_t) + 2;
	size_t low = 32, high = 256; /* low fits, high does not */
	size_t payload_size, room;

	while (high - low > 1) {
		size_t middle = (low + high) / 2;

		if (fits(middle, &payload_size))
			low = middle;
		else
			high = middle;
	}
	assert_false(fits(low + 1, &payload_size));
	assert_true(fits(low, &payload_size));
	print_message("%zu nodes and no more beside the command (%zu bytes)\n",
		      low, payload_size);
	room = SCOLL_BCAST_MAX - payload_size;
	assert_in_range(
		low, (room - HEAD_MAX) / each,
		(room - HEAD_BASE - ROOT_SIGNATURE_SIZE - HOP_SEAL_SIZE) /
			each);
}

static void fan_out_to_ten_thousand_nodes_with_a_dead_one_at_revoke(
	void **state)
{
	struct fleet *fleet = fleet_create(MANY);

	fan_out_to_all(fleet, COMMAND_APPLY, "apply");
	node_stop(&fleet->nodes[4000]);
	fan_out(fleet, COMMAND_REVOKE, "revoke with a dead node");
	assert_int_equal(fleet->answer_count, MANY - 1);
	assert_int_equal(fleet->lost_count, 1);
	assert_int_equal(fleet->lost, 4000);
	/* It comes back elsewhere. */
	node_start(fleet, &fleet->nodes[4000]);
	fan_out_to_all(fleet, COMMAND_REVOKE, "revoke when it is back");
	fleet_destroy(fleet);
}

/* Nobody says that it is dead: its power is gone, and those below it wait. */
static void fan_out_to_very_many_nodes_with_a_silent_one_at_revoke(void **state)
{
	static const uint32_t none[TRANSPORT_SIM_FAULT_COUNT];
	/* The deeper what is below it, the longer its parent waits. */
	const size_t count = many();
	const size_t silent[] = { 63, count == MANY ? 4095 : 511 };

	for (size_t i = 0; i < 2; i++) {
		struct fleet *fleet = fleet_create(count);

		fan_out_to_all(fleet, COMMAND_APPLY, "apply");
		transport_sim_faults_set(medium_network(fleet->medium), none);
		node_stop(&fleet->nodes[silent[i]]);
		fan_out(fleet, COMMAND_REVOKE, "revoke with a silent node");
		assert_int_equal(fleet->answer_count, count - 1);
		assert_int_equal(fleet->lost_count, 1);
		assert_int_equal(fleet->lost, silent[i]);
		fleet_destroy(fleet);
	}
}

/* It has groups of before at all nodes, and nothing of its own. */
static void fan_out_to_very_many_nodes_over_a_manager_restart(void **state)
{
	const size_t count = many();
	struct fleet *fleet = fleet_create(count);

	fan_out_to_all(fleet, COMMAND_APPLY, "apply");
	manager_stop(fleet);
	manager_start(fleet);
	for (size_t i = 0; i < count; i++)
		tell_address(fleet, &fleet->nodes[i]);
	fan_out_to_all(fleet, COMMAND_REVOKE, "revoke after a restart");
	/* And with one that is dead before there is a group. */
	manager_stop(fleet);
	manager_start(fleet);
	for (size_t i = 0; i < count; i++)
		tell_address(fleet, &fleet->nodes[i]);
	node_stop(&fleet->nodes[1]);
	fan_out(fleet, COMMAND_REVOKE, "revoke after a restart, one dead");
	assert_int_equal(fleet->answer_count, count - 1);
	assert_int_equal(fleet->lost, 1);
	fleet_destroy(fleet);
}

static bool all_are_up(const struct fleet *fleet)
{
	for (size_t i = 0; i < fleet->count; i++) {
		uint64_t leased_ms = fleet->nodes[i].leased_ms;

		if (leased_ms < fleet->start_ms ||
		    fleet->now_ns / MS >= leased_ms + ENGINE_LEASE_MS)
			return false;
	}
	return true;
}

static void leases_of_very_many_nodes_are_renewed_by_one_collective(
	void **state)
{
	struct fleet *fleet = fleet_create(many());
	const struct fanout_counters *counters =
		fanouts_counters(fleet->fanouts);

	for (uint64_t i = 1; i <= 3; i++) {
		fan_out_to_all(fleet, COMMAND_LEASE, "lease");
		assert_true(all_are_up(fleet));
		assert_int_equal(counters->round_count, i);
		assert_int_equal(counters->repeat_count, 0);
		/* The group is made with the first one, and kept. */
		assert_int_equal(populated(fleet), 1);
		while (fleet->now_ns / MS < fleet->start_ms + ENGINE_RENEW_MS)
			fleet_advance(fleet);
	}
	fleet_destroy(fleet);
}

/* --- secrets --- */

/* A token of 8 KiB, sealed to all nodes of the list, of which ours are some. */
static void seal(struct fleet *fleet, const char *nodes_text)
{
	static uint8_t token[FAIRLEAD_OUTSIDE_SECRET_MAX];
	struct rng_seam rng = sim_rng_seam(&fleet->rng);
	struct hostlist *list;

	rng_fill(&rng, token, sizeof(token));
	fleet->secret = token;
	fleet->secret_size = sizeof(token);
	snprintf(fleet->nodes_text, sizeof(fleet->nodes_text), "%s",
		 nodes_text);
	assert_int_equal(hostlist_parse(nodes_text, &list, NULL), 0);
	assert_int_equal(seal_make(&rng, &fleet->masters[0], GRANT,
				   (const char *const *)list->names,
				   list->count, token, sizeof(token),
				   &fleet->sealed),
			 0);
	hostlist_destroy(list);
}

static void apply_with_a_token(struct fleet *fleet)
{
	const struct fanout_counters *counters =
		fanouts_counters(fleet->fanouts);

	fan_out_to_all(fleet, COMMAND_APPLY, "apply with a token");
	assert_int_equal(fleet->opened_count, fleet->count);
	assert_int_equal(counters->repeat_count, 0);
	assert_int_equal(rounds_counters(fleet->rounds)->bulk_count, 1);
	fan_out_to_all(fleet, COMMAND_REVOKE, "revoke");
	fleet_destroy(fleet);
}

/* El Capitan's nodes. */
static void token_reaches_all_of_11136_nodes(void **state)
{
	struct fleet *fleet = fleet_create(11136);

	seal(fleet, "n[0-11135]");
	apply_with_a_token(fleet);
}

/* The largest command there is goes the same way; some of the nodes do. */
static void token_of_65536_nodes_reaches_them(void **state)
{
	struct fleet *fleet = fleet_create(40);

	seal(fleet, "n[0-65535]");
	assert_true(fleet->sealed.size > 3 * 1024 * 1024);
	apply_with_a_token(fleet);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(fan_out_to_one_node),
		cmocka_unit_test(token_reaches_all_of_11136_nodes),
		cmocka_unit_test(token_of_65536_nodes_reaches_them),
		cmocka_unit_test(fan_out_at_the_piggyback_limit_and_one_above),
		cmocka_unit_test(
			fan_out_to_ten_thousand_nodes_with_a_dead_one_at_revoke),
		cmocka_unit_test(
			fan_out_to_very_many_nodes_with_a_silent_one_at_revoke),
		cmocka_unit_test(
			fan_out_to_very_many_nodes_over_a_manager_restart),
		cmocka_unit_test(
			leases_of_very_many_nodes_are_renewed_by_one_collective),
	};

	if (sodium_init() < 0)
		return 1;
	return cmocka_run_group_tests(tests, NULL, NULL);
}
