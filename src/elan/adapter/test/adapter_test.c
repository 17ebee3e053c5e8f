/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Two adapters and a network between them that loses, doubles and keeps back;
 * and somebody on it who sends what he likes.
 */
#include "elan/adapter/adapter.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "elan/capability.h"
#include "sim/rng.h"

#define PROGRAM      77
#define DATAGRAMS    256
#define RECORDED_MAX 64

struct datagram {
	int to; /* adapter */
	size_t size;
	uint8_t bytes[FRAME_SIZE_MAX];
};

/* A process's end. */
struct end {
	struct adapter_port *port;
	bool is_full;
	int result; /* of its last message; 1: none yet */
	size_t count;
	uint32_t from;
	size_t size;
	uint8_t bytes[RMS_MESSAGE_MAX];
};

struct world {
	uint64_t now_ms;
	struct sim_rng rng;
	struct adapter *adapters[2];
	struct elan_capability cap;
	struct route routes[2];
	struct datagram queue[DATAGRAMS];
	size_t head, tail;
	struct datagram *recorded; /* all that was ever sent */
	size_t recorded_count;
	uint32_t loss_per_million;
	uint32_t double_per_million;
	struct end ends[4];
};

static void transmit(void *ctx, const struct route *to, const void *bytes,
		     size_t size)
{
	struct world *world = ctx;
	struct datagram datagram = { .to = to->node, .size = size };
	int copies = 1;

	memcpy(datagram.bytes, bytes, size);
	if (world->recorded_count < RECORDED_MAX)
		world->recorded[world->recorded_count++] = datagram;
	copies += sim_rng_chance(&world->rng, world->double_per_million);
	while (copies-- > 0) {
		if (sim_rng_chance(&world->rng, world->loss_per_million))
			continue;
		assert_true(world->tail - world->head < DATAGRAMS);
		world->queue[world->tail++ % DATAGRAMS] = datagram;
	}
}

static int deliver(void *ctx, void *port_ctx, uint32_t from, const void *bytes,
		   size_t size)
{
	struct end *end = port_ctx;

	if (end->is_full)
		return -EAGAIN;
	end->count++;
	end->from = from;
	end->size = size;
	memcpy(end->bytes, bytes, size);
	return 0;
}

static void answer(void *ctx, void *port_ctx, int result)
{
	struct end *end = port_ctx;

	end->result = result;
}

static uint64_t monotonic_ms(void *ctx)
{
	const struct world *world = ctx;

	return world->now_ms;
}

static const struct adapter_ops ops = { transmit, deliver, answer };
static const struct clock_ops clock_ops = { .monotonic_ms = monotonic_ms };

static void adapter_start(struct world *world, int node)
{
	const struct adapter_seams seams = {
		.ops = &ops,
		.ctx = world,
		.clock = { &clock_ops, world },
		.rng = sim_rng_seam(&world->rng),
	};

	adapter_destroy(world->adapters[node]);
	world->adapters[node] = adapter_create(&seams);
	adapter_rails_set(world->adapters[node], 3);
}

static int setup(void **state)
{
	struct world *world = calloc(1, sizeof(*world));

	assert_non_null(world);
	world->recorded = calloc(RECORDED_MAX, sizeof(*world->recorded));
	assert_non_null(world->recorded);
	world->now_ms = 1000;
	sim_rng_init(&world->rng, 1);
	world->cap = (struct elan_capability){
		.cap_userkey.key_values = { 11, 22, 33, 44 },
		.cap_version = ELAN_CAP_VERSION_NUMBER,
		.cap_type = ELAN_CAP_TYPE_BLOCK,
		.cap_lowcontext = 0x400,
		.cap_highcontext = 0x401,
		.cap_mycontext = ELAN_CAP_UNINITIALISED,
		.cap_lownode = 0,
		.cap_highnode = 1,
		.cap_railmask = 3,
		.cap_bitmap = { 0xf },
	};
	for (uint16_t i = 0; i < 2; i++) {
		world->routes[i] =
			(struct route){ .node = i, .family = 4, .port = 1 };
		adapter_start(world, i);
	}
	*state = world;
	return 0;
}

static int teardown(void **state)
{
	struct world *world = *state;

	adapter_destroy(world->adapters[0]);
	adapter_destroy(world->adapters[1]);
	free(world->recorded);
	free(world);
	return 0;
}

static struct adapter_place place_of(const struct world *world, uint32_t rank)
{
	return (struct adapter_place){
		.program = PROGRAM,
		.context = 0x400 + (int32_t)(rank % 2),
		.node = (int32_t)(rank / 2),
		.cap = &world->cap,
		.routes = world->routes,
		.route_count = 2,
	};
}

static void open_place(struct world *world, uint32_t rank,
		       const struct adapter_place *place)
{
	struct end *end = &world->ends[rank];

	adapter_close(end->port);
	*end = (struct end){ .result = 1 };
	assert_int_equal(adapter_open(world->adapters[rank / 2], place, end,
				      &end->port),
			 0);
}

static void open_end(struct world *world, uint32_t rank)
{
	const struct adapter_place place = place_of(world, rank);

	open_place(world, rank, &place);
}

/* All that is under way arrives; then so much time passes. */
static void step(struct world *world, uint64_t ms)
{
	while (world->head < world->tail) {
		const struct datagram datagram =
			world->queue[world->head++ % DATAGRAMS];

		adapter_receive(world->adapters[datagram.to], datagram.bytes,
				datagram.size);
	}
	world->now_ms += ms;
	adapter_run(world->adapters[0]);
	adapter_run(world->adapters[1]);
}

static void send_text(struct world *world, uint32_t from, uint32_t to,
		      const char *text)
{
	world->ends[from].result = 1;
	adapter_send(world->ends[from].port, to, ADAPTER_FOREVER, text,
		     strlen(text));
}

static void run_until_answer(struct world *world, uint32_t rank)
{
	for (int i = 0; world->ends[rank].result == 1; i++) {
		assert_true(i < 10000);
		step(world, 1);
	}
}

static void assert_got(const struct world *world, uint32_t rank, size_t count,
		       uint32_t from, const char *text)
{
	const struct end *end = &world->ends[rank];

	assert_int_equal(end->count, count);
	assert_int_equal(end->from, from);
	assert_int_equal(end->size, strlen(text));
	assert_memory_equal(end->bytes, text, end->size);
}

static void ranks_send_to_each_other_here_and_there(void **state)
{
	struct world *world = *state;

	for (uint32_t i = 0; i < 4; i++)
		open_end(world, i);
	for (uint32_t from = 0; from < 4; from++)
		for (uint32_t to = 0; to < 4; to++) {
			send_text(world, from, to, "hello");
			run_until_answer(world, from);
			assert_int_equal(world->ends[from].result, 0);
			assert_got(world, to, from + 1, from, "hello");
		}
	send_text(world, 0, 3, "");
	run_until_answer(world, 0);
	assert_got(world, 3, 5, 0, "");
}

static void a_bad_network_delays_and_nothing_else(void **state)
{
	struct world *world = *state;
	char text[16];

	world->loss_per_million = 300000;
	world->double_per_million = 300000;
	open_end(world, 0);
	open_end(world, 3);
	for (size_t i = 0; i < 300; i++) {
		snprintf(text, sizeof(text), "message %zu", i);
		send_text(world, 0, 3, text);
		run_until_answer(world, 0);
		assert_int_equal(world->ends[0].result, 0);
		assert_got(world, 3, i + 1, 0, text);
	}
}

static void who_is_not_there_yet_or_full_gets_it_later(void **state)
{
	struct world *world = *state;

	for (uint32_t to = 1; to < 4; to += 2) {
		open_end(world, 0);
		send_text(world, 0, to, "late");
		for (int i = 0; i < 100; i++)
			step(world, 10);
		assert_int_equal(world->ends[0].result, 1);
		open_end(world, to);
		world->ends[to].is_full = true;
		for (int i = 0; i < 100; i++)
			step(world, 10);
		assert_int_equal(world->ends[0].result, 1);
		world->ends[to].is_full = false;
		run_until_answer(world, 0);
		assert_got(world, to, 1, 0, "late");
	}
}

static void a_message_that_nobody_takes_times_out(void **state)
{
	struct world *world = *state;
	struct end *end = &world->ends[0];

	open_end(world, 0);
	for (uint32_t to = 1; to < 4; to += 2) {
		end->result = 1;
		adapter_send(end->port, to, 500, "x", 1);
		for (int i = 0; i < 49; i++)
			step(world, 10);
		assert_int_equal(end->result, 1);
		step(world, 10);
		assert_int_equal(end->result, -ETIMEDOUT);
		assert_int_equal(adapter_deadline_ms(world->adapters[0]),
				 DEADLINE_NONE);
	}
	adapter_send(end->port, 4, 500, "x", 1);
	assert_int_equal(end->result, -EINVAL);
	adapter_send(end->port, 1, 500, end->bytes, RMS_MESSAGE_MAX + 1);
	assert_int_equal(end->result, -EMSGSIZE);
	end->result = 1;
	adapter_send(end->port, 3, 500, "x", 1);
	assert_int_equal(end->result, 1);
	adapter_send(end->port, 3, 500, "x", 1);
	assert_int_equal(end->result, -EBUSY);
}

static void a_place_has_to_be_a_process_of_a_known_node(void **state)
{
	struct world *world = *state;
	struct adapter_place place = place_of(world, 0);
	struct adapter_port *port;

	place.node = -1;
	assert_int_equal(adapter_open(world->adapters[0], &place, NULL, &port),
			 -ENODEV);
	place.node = 2;
	assert_int_equal(adapter_open(world->adapters[0], &place, NULL, &port),
			 -ENODEV);
	place.node = 0;
	world->cap.cap_bitmap[0] = 0xe;
	assert_int_equal(adapter_open(world->adapters[0], &place, NULL, &port),
			 -ENOENT);
	/* Of one node there is no question which it is. */
	world->cap.cap_highnode = 0;
	world->cap.cap_bitmap[0] = 3;
	place.node = -1;
	open_place(world, 0, &place);
	/* The addresses of others are not known. */
	world->cap.cap_highnode = 1;
	world->cap.cap_bitmap[0] = 0xf;
	place = place_of(world, 0);
	place.route_count = 0;
	open_place(world, 0, &place);
	adapter_send(world->ends[0].port, 3, 500, "x", 1);
	assert_int_equal(world->ends[0].result, -EHOSTUNREACH);
}

/* Another key, program, rail or capability: nothing comes through. */
static void who_holds_another_capability_gets_nothing(void **state)
{
	struct world *world = *state;

	for (int what = 0; what < 4; what++) {
		struct adapter_place place = place_of(world, 3);
		struct adapter_place near = place_of(world, 1);
		struct elan_capability other = world->cap;

		place.cap = near.cap = &other;
		if (what == 0)
			other.cap_userkey.key_values[3] ^= 1;
		if (what == 1)
			place.program = near.program = PROGRAM + 1;
		if (what == 2)
			place.rail = near.rail = 1;
		if (what == 3) {
			other.cap_userkey.key_values[0] ^= 1;
			other.cap_type = ELAN_CAP_TYPE_CYCLIC;
		}
		open_end(world, 0);
		open_place(world, 3, &place);
		open_place(world, 1, &near);
		for (uint32_t from = 0; from < 4; from++) {
			if (from == 2)
				continue;
			for (uint32_t to = 0; to < 4; to++) {
				if (to == from || (from != 0 && to != 0))
					continue;
				adapter_send(world->ends[from].port, to, 300,
					     "secret", 6);
				for (int i = 0; i < 60; i++)
					step(world, 10);
			}
			assert_int_equal(world->ends[from].count, 0);
		}
	}
}

static void a_rail_that_is_down_carries_nothing(void **state)
{
	struct world *world = *state;

	open_end(world, 0);
	open_end(world, 1);
	open_end(world, 3);
	adapter_rails_set(world->adapters[0], 2);
	for (uint32_t to = 1; to < 4; to += 2) {
		adapter_send(world->ends[0].port, to, 300, "x", 1);
		for (int i = 0; i < 60; i++)
			step(world, 10);
		assert_int_equal(world->ends[0].result, -ETIMEDOUT);
	}
	adapter_rails_set(world->adapters[0], 3);
	adapter_rails_set(world->adapters[1], 2);
	adapter_send(world->ends[0].port, 3, 300, "x", 1);
	for (int i = 0; i < 60; i++)
		step(world, 10);
	assert_int_equal(world->ends[0].result, -ETIMEDOUT);
	assert_int_equal(world->ends[3].count, 0);
}

/* --- somebody on the network --- */

/* Play it to both: what was sent, each of its bytes changed, and cut short. */
static void attack(struct world *world, size_t limit)
{
	size_t recorded = world->recorded_count;

	for (size_t i = 0; i < recorded && i < limit; i++) {
		struct datagram datagram = world->recorded[i];

		for (int to = 0; to < 2; to++)
			adapter_receive(world->adapters[to], datagram.bytes,
					datagram.size);
		for (size_t at = 0; at < datagram.size; at++) {
			datagram.bytes[at] ^= 0x40;
			for (int to = 0; to < 2; to++)
				adapter_receive(world->adapters[to],
						datagram.bytes, datagram.size);
			datagram.bytes[at] ^= 0x40;
		}
		for (size_t size = 0; size < datagram.size; size++)
			adapter_receive(world->adapters[datagram.to],
					datagram.bytes, size);
	}
	world->head = world->tail; /* what was said to that is lost */
}

static void forged_replayed_and_cut_datagrams_do_nothing(void **state)
{
	struct world *world = *state;

	open_end(world, 0);
	open_end(world, 3);
	for (int i = 0; i < 3; i++) {
		send_text(world, 0, 3, "right");
		run_until_answer(world, 0);
		send_text(world, 3, 0, "left");
		run_until_answer(world, 3);
	}
	attack(world, 12);
	assert_got(world, 3, 3, 0, "right");
	assert_got(world, 0, 3, 3, "left");
	/* And while one is under way, before there is an answer to it. */
	send_text(world, 0, 3, "next");
	world->head = world->tail;
	attack(world, 12);
	assert_int_equal(world->ends[0].result, 1);
	run_until_answer(world, 0);
	assert_got(world, 3, 4, 0, "next");
}

/* A member has the key, and may be root on its network. */
static void nobody_is_a_rank_of_this_node_or_of_none_by_datagram(void **state)
{
	struct world *world = *state;
	static const uint8_t nonce[FRAME_NONCE_SIZE];
	static const uint16_t bad[] = { 0, 1, 4, 0x1000, UINT16_MAX };
	uint8_t key[FRAME_KEY_SIZE], bytes[FRAME_SIZE_MAX];
	struct rms_frame frame;

	open_end(world, 0);
	open_end(world, 3);
	send_text(world, 3, 0, "ask");
	run_until_answer(world, 3);
	/* What it took last has the right incarnation. */
	for (size_t i = 0; i < world->recorded_count; i++)
		if (world->recorded[i].to == 0)
			assert_int_equal(frame_peek(world->recorded[i].bytes,
						    world->recorded[i].size,
						    &frame),
					 0);
	assert_int_equal(frame.type, FRAME_MESSAGE);
	frame_key(&world->cap.cap_userkey, key);
	frame.epoch++;
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		frame.from = bad[i];
		adapter_receive(world->adapters[0], bytes,
				frame_seal(&frame, key, nonce, "x", 1, bytes));
	}
	assert_int_equal(world->ends[0].count, 1);
	/* It would have been taken for another rank of its own job. */
	frame.from = 2;
	adapter_receive(world->adapters[0], bytes,
			frame_seal(&frame, key, nonce, "x", 1, bytes));
	assert_got(world, 0, 2, 2, "x");
}

static void what_was_for_an_earlier_port_is_not_for_this_one(void **state)
{
	struct world *world = *state;

	open_end(world, 0);
	open_end(world, 3);
	send_text(world, 0, 3, "before");
	run_until_answer(world, 0);
	/* The receiver attaches again: it, and then its adapter. */
	for (int i = 0; i < 2; i++) {
		if (i == 1) {
			world->ends[3].port = NULL;
			adapter_start(world, 1);
		}
		open_end(world, 3);
		attack(world, 8);
		assert_int_equal(world->ends[3].count, 0);
	}
	send_text(world, 0, 3, "after");
	run_until_answer(world, 0);
	assert_got(world, 3, 1, 0, "after");
	/* The sender is: what it sent before does not come again. */
	world->ends[0].port = NULL;
	world->now_ms++;
	adapter_start(world, 0);
	open_end(world, 0);
	send_text(world, 0, 3, "again");
	run_until_answer(world, 0);
	attack(world, RECORDED_MAX);
	assert_got(world, 3, 2, 0, "again");
}

static void a_message_cannot_be_read_without_the_key(void **state)
{
	struct world *world = *state;
	const char *text = "nobody may read this";

	open_end(world, 0);
	open_end(world, 3);
	send_text(world, 0, 3, text);
	run_until_answer(world, 0);
	assert_got(world, 3, 1, 0, text);
	for (size_t i = 0; i < world->recorded_count; i++)
		assert_null(memmem(world->recorded[i].bytes,
				   world->recorded[i].size, text, 6));
}

static void a_port_that_is_closed_is_nobodys(void **state)
{
	struct world *world = *state;

	open_end(world, 0);
	open_end(world, 3);
	send_text(world, 0, 3, "one");
	run_until_answer(world, 0);
	send_text(world, 0, 3, "two");
	adapter_close(world->ends[0].port);
	world->ends[0].port = NULL;
	for (int i = 0; i < 50; i++)
		step(world, 10);
	assert_int_equal(world->ends[0].result, 1);
	assert_int_equal(adapter_deadline_ms(world->adapters[0]),
			 DEADLINE_NONE);
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
#define adapter_case(name) \
	cmocka_unit_test_setup_teardown(name, setup, teardown)
		adapter_case(ranks_send_to_each_other_here_and_there),
		adapter_case(a_bad_network_delays_and_nothing_else),
		adapter_case(who_is_not_there_yet_or_full_gets_it_later),
		adapter_case(a_message_that_nobody_takes_times_out),
		adapter_case(a_place_has_to_be_a_process_of_a_known_node),
		adapter_case(who_holds_another_capability_gets_nothing),
		adapter_case(a_rail_that_is_down_carries_nothing),
		adapter_case(forged_replayed_and_cut_datagrams_do_nothing),
		adapter_case(
			nobody_is_a_rank_of_this_node_or_of_none_by_datagram),
		adapter_case(what_was_for_an_earlier_port_is_not_for_this_one),
		adapter_case(a_message_cannot_be_read_without_the_key),
		adapter_case(a_port_that_is_closed_is_nobodys),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
