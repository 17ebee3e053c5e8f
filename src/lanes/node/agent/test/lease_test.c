/* SPDX-License-Identifier: BSD-3-Clause */
/* A link that is open for as long as something is to be said. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "lanes/proto/collective.h"
#include "lanes/node/agent/test/bench.h"

#define LEASE_S 30

static int setup(void **state)
{
	static struct bench bench;

	bench_init(&bench);
	bench_connect(&bench);
	bench_drop_frames(&bench);
	*state = &bench;
	return 0;
}

static int teardown(void **state)
{
	bench_fini(*state);
	return 0;
}

/* A LEASE by a collective of its own. */
static void lease(struct bench *bench)
{
	const struct lease_body lease_body = {
		.nodes = FAKE_NODE,
		.lease_s = LEASE_S,
	};
	struct writer body = { 0 }, command = { 0 }, payload = { 0 };
	struct parcel parcel = {
		.patience_ms = 1000,
		.part_bytes = PARCEL_PART_MIN,
	};
	uint64_t id = bench->over + 1;

	assert_int_equal(lease_body_encode(&lease_body, &body), 0);
	world_seal(&bench->world, COMMAND_LEASE, 0, &body, &command);
	parcel.command = command.data;
	parcel.command_size = command.size;
	assert_int_equal(parcel_encode(&parcel, &payload), 0);
	agent_round_command(bench->agent, id, payload.data, payload.size, NULL,
			    0);
	agent_round_closed(bench->agent, id);
	bench_pump(bench);
	assert_int_equal(bench->over, id);
	writer_fini(&body);
	writer_fini(&command);
	writer_fini(&payload);
}

static void assert_state(struct bench *bench, const char *expected)
{
	json_t *answer = bench_call(bench, 0, "node-status", "", 0);
	json_t *manager = json_object_get(answer, "manager");

	assert_string_equal(
		json_string_value(json_object_get(manager, "state")), expected);
	json_decref(answer);
}

/* Leased, and closed for it. */
static void rest(struct bench *bench)
{
	lease(bench);
	bench_advance(bench, AGENT_IDLE_MS);
	assert_int_equal(bench->closed, bench->peer);
	assert_int_equal(bench->dial_count, 1);
}

static void link_stays_open_without_a_lease(void **state)
{
	struct bench *bench = *state;

	for (int i = 0; i < 10; i++) {
		bench_advance(bench, AGENT_IDLE_MS);
		bench_send(bench, FRAME_PONG, NULL, 0);
	}
	assert_int_equal(bench->closed, 0);
	assert_state(bench, "up");
}

static void leased_link_is_closed_when_nothing_is_open(void **state)
{
	struct bench *bench = *state;

	bench_advance(bench, AGENT_IDLE_MS - 1);
	lease(bench);
	assert_int_equal(bench->closed, 0);
	bench_advance(bench, 1);
	assert_int_equal(bench->closed, bench->peer);
	assert_state(bench, "up");
	/* It is our doing, and no news. */
	assert_string_equal(bench->log, "");
}

static void lease_that_is_renewed_keeps_it_closed(void **state)
{
	struct bench *bench = *state;

	rest(bench);
	for (int i = 0; i < 20; i++) {
		bench_advance(bench, 10000);
		lease(bench);
	}
	assert_int_equal(bench->dial_count, 1);
	assert_state(bench, "up");
}

static void link_in_use_is_not_closed(void **state)
{
	struct bench *bench = *state;

	lease(bench);
	bench_advance(bench, AGENT_IDLE_MS - 1);
	bench_ack(bench, 1);
	bench_advance(bench, AGENT_IDLE_MS - 1);
	assert_int_equal(bench->closed, 0);
	bench_advance(bench, 1);
	assert_int_equal(bench->closed, bench->peer);
}

static void command_at_the_guard_keeps_the_link_open(void **state)
{
	struct bench *bench = *state;
	struct writer body = { 0 };
	struct confirm confirm;
	struct revoke_body revoke;

	lease(bench);
	fake_revoke_body(7, &revoke);
	assert_int_equal(revoke_body_encode(&revoke, &body), 0);
	bench_command(bench, COMMAND_REVOKE, 7, &body);
	/* Nobody pumps. */
	sim_clock_advance(&bench->clock, 2 * AGENT_IDLE_MS);
	agent_tick(bench->agent);
	assert_int_equal(bench->closed, 0);
	bench_drop_frames(bench);
	bench_pump(bench);
	bench_take_confirm(bench, &confirm);
	assert_int_equal(confirm.op, COMMAND_REVOKE);
	confirm_fini(&confirm);
}

static void pending_confirmation_brings_the_link_back(void **state)
{
	struct bench *bench = *state;
	struct confirm confirm;
	uint64_t sequence;

	bench_apply(bench, 7);
	rest(bench);
	json_decref(
		bench_call(bench, 0, "epilog", "{\"job\": \"slurm/J7/0\"}", 0));
	bench_advance(bench, 0);
	assert_int_equal(bench->dial_count, 2);
	bench_drop_frames(bench);
	bench_connect(bench);
	bench_advance(bench, 0);
	bench_take_confirm(bench, &confirm);
	assert_int_equal(confirm.op, 0);
	assert_int_equal(confirm.grant_id, 7);
	sequence = confirm.sequence;
	confirm_fini(&confirm);
	/* It stays until it is acknowledged, whatever the lease. */
	lease(bench);
	bench_advance(bench, 2 * AGENT_IDLE_MS);
	assert_int_not_equal(bench->closed, bench->peer);
	bench_ack(bench, sequence);
	bench_advance(bench, AGENT_IDLE_MS);
	assert_int_equal(bench->closed, bench->peer);
}

static void lease_that_has_run_out_brings_the_link_back(void **state)
{
	struct bench *bench = *state;

	rest(bench);
	bench_advance(bench, LEASE_S * 1000 - AGENT_IDLE_MS - 1);
	assert_int_equal(bench->dial_count, 1);
	assert_state(bench, "up");
	bench_advance(bench, 1);
	assert_state(bench, "connecting");
	assert_non_null(strstr(bench->log, "lease"));
	bench_advance(bench, AGENT_RETURN_MS / 2 - 1);
	assert_int_equal(bench->dial_count, 1);
	bench_advance(bench, AGENT_RETURN_MS + 1);
	assert_int_equal(bench->dial_count, 2);
	bench_drop_frames(bench);
	bench_connect(bench);
	assert_state(bench, "up");
}

static void lease_of_a_restarted_manager_brings_the_link_back(void **state)
{
	struct bench *bench = *state;

	rest(bench);
	bench->world.epoch++;
	bench->world.life++;
	lease(bench);
	assert_state(bench, "connecting");
	bench_advance(bench, AGENT_DIAL_MS / 2 - 1);
	assert_int_equal(bench->dial_count, 1);
	bench_advance(bench, AGENT_DIAL_MS + 1);
	assert_int_equal(bench->dial_count, 2);
	bench_drop_frames(bench);
	bench_connect(bench);
	assert_state(bench, "up");
	/* It knows us now. */
	lease(bench);
	bench_advance(bench, AGENT_IDLE_MS);
	lease(bench);
	bench_advance(bench, 2 * AGENT_DIAL_MS);
	assert_int_equal(bench->dial_count, 2);
}

static void node_that_moved_registers_again(void **state)
{
	struct bench *bench = *state;

	rest(bench);
	bench->world.place = (struct fairlead_place){ .size = 1, .bytes = "x" };
	lease(bench);
	assert_non_null(strstr(bench->log, "other addresses"));
	assert_state(bench, "connecting");
	bench_advance(bench, 2 * AGENT_DIAL_MS);
	assert_int_equal(bench->dial_count, 2);
	bench_drop_frames(bench);
	bench_connect(bench);
	/* It was notified. */
	lease(bench);
	bench_advance(bench, AGENT_IDLE_MS);
	lease(bench);
	bench_advance(bench, 2 * AGENT_DIAL_MS);
	assert_int_equal(bench->dial_count, 2);
}

static void node_that_moved_while_it_had_a_link_registers_again(void **state)
{
	struct bench *bench = *state;

	bench->world.place = (struct fairlead_place){ .size = 1, .bytes = "x" };
	lease(bench);
	assert_int_equal(bench->closed, bench->peer);
	bench_advance(bench, 2 * AGENT_DIAL_MS);
	assert_int_equal(bench->dial_count, 2);
}

/* However long we had made up our mind to wait. */
static void lease_of_a_restarted_manager_shortens_the_wait(void **state)
{
	struct bench *bench = *state;
	unsigned int count;

	for (int i = 0; i < 8; i++) {
		agent_manager_closed(bench->agent, bench->peer, -ECONNREFUSED);
		bench_advance(bench, AGENT_DIAL_MS_MAX * 3 / 2 + 1);
	}
	agent_manager_closed(bench->agent, bench->peer, -ECONNREFUSED);
	count = bench->dial_count;
	bench->world.epoch++;
	bench->world.life++;
	lease(bench);
	bench_advance(bench, AGENT_DIAL_MS * 3 / 2 + 1);
	assert_int_equal(bench->dial_count, count + 1);
}

/* The manager has another life, and knows nothing of us. */
static void lease_that_came_before_the_link_broke_does_not_replace_it(
	void **state)
{
	struct bench *bench = *state;

	lease(bench);
	agent_manager_closed(bench->agent, bench->peer, -ECONNRESET);
	bench_advance(bench, 2 * AGENT_DIAL_MS);
	assert_int_equal(bench->dial_count, 2);
	assert_state(bench, "connecting");
}

/* Greeted once more while it is leased, and when it is not. */
static void manager_of_which_no_lease_came_has_returned(void **state)
{
	struct bench *bench = *state;

	assert_int_equal(bench->returned_count, 1);
	lease(bench);
	agent_manager_closed(bench->agent, bench->peer, -ECONNRESET);
	bench_advance(bench, 2 * AGENT_DIAL_MS);
	bench_connect(bench);
	assert_int_equal(bench->returned_count, 1);
	bench_advance(bench, AGENT_LEASE_MS);
	agent_manager_closed(bench->agent, bench->peer, -ECONNRESET);
	bench_advance(bench, 2 * AGENT_DIAL_MS_MAX);
	bench_connect(bench);
	assert_int_equal(bench->returned_count, 2);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
	const struct CMUnitTest tests[] = {
		TEST(link_stays_open_without_a_lease),
		TEST(leased_link_is_closed_when_nothing_is_open),
		TEST(lease_that_is_renewed_keeps_it_closed),
		TEST(link_in_use_is_not_closed),
		TEST(command_at_the_guard_keeps_the_link_open),
		TEST(pending_confirmation_brings_the_link_back),
		TEST(lease_that_has_run_out_brings_the_link_back),
		TEST(lease_of_a_restarted_manager_brings_the_link_back),
		TEST(lease_of_a_restarted_manager_shortens_the_wait),
		TEST(node_that_moved_registers_again),
		TEST(node_that_moved_while_it_had_a_link_registers_again),
		TEST(manager_of_which_no_lease_came_has_returned),
		TEST(lease_that_came_before_the_link_broke_does_not_replace_it),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
