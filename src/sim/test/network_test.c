/* SPDX-License-Identifier: BSD-3-Clause */
#include "sim/network.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>

#define RECEIVED_MAX 4096

/* A process that writes down what happens to it. */
struct process {
	struct sim_host *host;
	uint64_t peer; /* of the last opened */
	char machine[16];
	uid_t uid;
	unsigned int opened_count, closed_count;
	unsigned int received_count;
	uint32_t received[RECEIVED_MAX];
};

struct bed {
	struct sim_clock clock;
	struct sim_queue *queue;
	struct sim_network *network;
	struct process server, client;
};

static void on_opened(void *ctx, uint64_t peer, const char *machine, uid_t uid)
{
	struct process *process = ctx;

	process->peer = peer;
	process->uid = uid;
	process->opened_count++;
	snprintf(process->machine, sizeof(process->machine), "%s", machine);
}

static void on_received(void *ctx, uint64_t peer, const void *frame,
			size_t size)
{
	struct process *process = ctx;

	assert_true(peer == process->peer);
	assert_int_equal(size, sizeof(uint32_t));
	assert_true(process->received_count < RECEIVED_MAX);
	memcpy(&process->received[process->received_count++], frame, size);
}

static void on_closed(void *ctx, uint64_t peer)
{
	struct process *process = ctx;

	process->closed_count++;
	if (peer == process->peer)
		process->peer = 0;
}

static const struct sim_network_events events = {
	.opened = on_opened,
	.received = on_received,
	.closed = on_closed,
};

static void run(struct bed *bed)
{
	while (sim_queue_run(bed->queue))
		;
}

static void bed_init(struct bed *bed, uint64_t seed)
{
	struct sim_rng rng;

	memset(bed, 0, sizeof(*bed));
	sim_rng_init(&rng, seed);
	bed->queue = sim_queue_create(&bed->clock);
	bed->network = sim_network_create(bed->queue, &rng);
	bed->server.host =
		sim_host_create(bed->network, "server", &events, &bed->server);
	bed->client.host =
		sim_host_create(bed->network, "client", &events, &bed->client);
	sim_host_listen(bed->server.host, "port");
}

static void bed_connect(struct bed *bed)
{
	sim_host_dial(bed->client.host, "port", 77);
	run(bed);
	assert_int_equal(bed->client.opened_count, 1);
	assert_int_equal(bed->server.opened_count, 1);
}

static void bed_fini(struct bed *bed)
{
	sim_network_destroy(bed->network);
	sim_queue_destroy(bed->queue);
}

static int say(struct process *from, uint32_t word)
{
	struct net_seam net = sim_host_seam(from->host);

	return net.ops->send(net.ctx, from->peer, &word, sizeof(word));
}

static void hang_up(struct process *from)
{
	struct net_seam net = sim_host_seam(from->host);

	net.ops->close(net.ctx, from->peer);
}

static void a_dial_opens_both_ends(void **state)
{
	struct bed bed;
	uint64_t peer;

	bed_init(&bed, 1);
	peer = sim_host_dial(bed.client.host, "port", 77);
	assert_int_equal(bed.client.opened_count, 0);
	run(&bed);
	assert_true(bed.client.peer == peer);
	assert_true(bed.server.peer != peer);
	assert_string_equal(bed.server.machine, "client");
	assert_string_equal(bed.client.machine, "server");
	assert_int_equal(bed.server.uid, 77);
	bed_fini(&bed);
}

static void frames_arrive_in_order_both_ways(void **state)
{
	const struct sim_network_faults slow = { .delay_min_ms = 1,
						 .delay_max_ms = 50 };
	struct bed bed;

	bed_init(&bed, 2);
	sim_network_set_faults(bed.network, &slow);
	bed_connect(&bed);
	for (uint32_t i = 0; i < 200; i++) {
		assert_int_equal(say(&bed.client, i), 0);
		assert_int_equal(say(&bed.server, 1000 + i), 0);
	}
	assert_int_equal(bed.server.received_count, 0);
	run(&bed);
	assert_int_equal(bed.server.received_count, 200);
	assert_int_equal(bed.client.received_count, 200);
	for (uint32_t i = 0; i < 200; i++) {
		assert_int_equal(bed.server.received[i], i);
		assert_int_equal(bed.client.received[i], 1000 + i);
	}
	assert_true(bed.clock.monotonic_ms >= 50);
	bed_fini(&bed);
}

static void a_dial_to_nobody_is_closed(void **state)
{
	struct bed bed;

	bed_init(&bed, 3);
	sim_host_dial(bed.client.host, "elsewhere", 0);
	run(&bed);
	assert_int_equal(bed.client.opened_count, 0);
	assert_int_equal(bed.client.closed_count, 1);
	assert_int_equal(sim_network_stats(bed.network)->refused, 1);
	bed_fini(&bed);
}

static void close_lets_what_was_sent_arrive(void **state)
{
	const struct sim_network_faults slow = { .delay_min_ms = 5,
						 .delay_max_ms = 90 };
	struct bed bed;

	bed_init(&bed, 4);
	sim_network_set_faults(bed.network, &slow);
	bed_connect(&bed);
	for (uint32_t i = 0; i < 20; i++)
		say(&bed.client, i);
	hang_up(&bed.client);
	assert_int_equal(say(&bed.client, 20), -ENOTCONN);
	assert_int_equal(bed.client.closed_count, 0);
	run(&bed);
	assert_int_equal(bed.server.received_count, 20);
	assert_int_equal(bed.client.closed_count, 1);
	assert_int_equal(bed.server.closed_count, 1);
	assert_int_equal(say(&bed.server, 1), -ENOTCONN);
	bed_fini(&bed);
}

static void a_process_that_ends_closes_its_connections(void **state)
{
	struct bed bed;

	bed_init(&bed, 5);
	bed_connect(&bed);
	sim_host_destroy(bed.client.host, false);
	run(&bed);
	assert_int_equal(bed.server.closed_count, 1);
	assert_int_equal(bed.client.closed_count, 0);
	bed_fini(&bed);
}

static void a_silent_end_is_found_by_sending(void **state)
{
	struct bed bed;

	bed_init(&bed, 6);
	bed_connect(&bed);
	sim_host_destroy(bed.client.host, true);
	run(&bed);
	assert_int_equal(bed.server.closed_count, 0);
	assert_int_equal(say(&bed.server, 1), 0);
	run(&bed);
	assert_int_equal(bed.server.closed_count, 1);
	assert_int_equal(sim_network_stats(bed.network)->reset, 1);
	bed_fini(&bed);
}

static void a_machine_that_is_cut_off_hears_and_says_nothing(void **state)
{
	struct bed bed;

	bed_init(&bed, 7);
	bed_connect(&bed);
	sim_network_cut(bed.network, "client", true, false);
	say(&bed.server, 1);
	say(&bed.client, 2);
	run(&bed);
	assert_int_equal(bed.client.received_count, 0);
	assert_int_equal(bed.server.received_count, 1);
	sim_network_cut(bed.network, "client", true, true);
	say(&bed.client, 3);
	hang_up(&bed.client);
	run(&bed);
	assert_int_equal(bed.server.received_count, 1);
	assert_int_equal(bed.client.closed_count, 1);
	assert_int_equal(bed.server.closed_count, 0);
	sim_host_dial(bed.client.host, "port", 0);
	run(&bed);
	assert_int_equal(bed.client.closed_count, 2);
	assert_true(bed.clock.monotonic_ms >= SIM_DIAL_TIMEOUT_MS);
	sim_network_cut(bed.network, "client", false, false);
	say(&bed.server, 4);
	run(&bed);
	assert_int_equal(bed.server.closed_count, 1);
	bed_fini(&bed);
}

static void a_new_listener_takes_the_address_over(void **state)
{
	struct bed bed;
	struct process newer = { 0 };

	bed_init(&bed, 8);
	bed_connect(&bed);
	newer.host = sim_host_create(bed.network, "newer", &events, &newer);
	sim_host_listen(newer.host, "port");
	sim_host_dial(bed.client.host, "port", 0);
	run(&bed);
	assert_int_equal(newer.opened_count, 1);
	assert_int_equal(bed.server.opened_count, 1);
	assert_int_equal(bed.server.closed_count, 0);
	sim_host_destroy(newer.host, false);
	run(&bed);
	assert_int_equal(bed.client.closed_count, 1);
	bed_fini(&bed);
}

/* Every fault happens about as often as was asked for, and is counted. */
static void faults_happen_and_are_counted(void **state)
{
	const struct sim_network_faults faults = {
		.delay_min_ms = 1,
		.delay_max_ms = 3,
		.lost = 100000,
		.doubled = 50000,
		.reordered = 100000,
		.reorder_max_ms = 500,
		.full = 50000,
	};
	const struct sim_network_stats *stats;
	unsigned int seen[2000] = { 0 };
	unsigned int refused = 0, overtaken = 0;
	struct bed bed;

	bed_init(&bed, 9);
	bed_connect(&bed);
	sim_network_set_faults(bed.network, &faults);
	for (uint32_t i = 0; i < 2000; i++) {
		refused += say(&bed.client, i) == -ENOBUFS;
		sim_queue_run(bed.queue);
	}
	run(&bed);
	stats = sim_network_stats(bed.network);
	assert_int_equal(stats->full, refused);
	assert_in_range(stats->full, 60, 140);
	assert_in_range(stats->lost, 140, 240);
	assert_in_range(stats->doubled, 50, 130);
	assert_in_range(stats->reordered, 140, 240);
	assert_int_equal(stats->sent, 2000 - refused);
	assert_int_equal(bed.server.received_count,
			 stats->sent - stats->lost + stats->doubled);
	for (unsigned int i = 0; i < bed.server.received_count; i++) {
		seen[bed.server.received[i]]++;
		overtaken += i > 0 && bed.server.received[i] <
					      bed.server.received[i - 1];
	}
	for (int i = 0; i < 2000; i++)
		assert_in_range(seen[i], 0, 2);
	assert_in_range(overtaken, 20, 500);
	bed_fini(&bed);
}

static void a_broken_connection_is_reported_to_both(void **state)
{
	const struct sim_network_faults faults = { .broken = 1000000 };
	struct bed bed;

	bed_init(&bed, 10);
	bed_connect(&bed);
	say(&bed.server, 1);
	sim_network_set_faults(bed.network, &faults);
	assert_int_equal(say(&bed.client, 2), 0);
	assert_int_equal(say(&bed.client, 3), -ENOTCONN);
	run(&bed);
	assert_int_equal(bed.server.received_count, 0);
	assert_int_equal(bed.server.closed_count, 1);
	assert_int_equal(bed.client.closed_count, 1);
	assert_int_equal(sim_network_stats(bed.network)->broken, 1);
	bed_fini(&bed);
}

static void a_late_frame_comes_on_the_next_connection(void **state)
{
	const struct sim_network_faults faults = { .late = 1000000,
						   .late_max_ms = 60000 };
	const struct sim_network_faults none = { 0 };
	struct bed bed;

	bed_init(&bed, 11);
	bed_connect(&bed);
	sim_network_set_faults(bed.network, &faults);
	say(&bed.client, 42);
	sim_network_set_faults(bed.network, &none);
	hang_up(&bed.client);
	sim_queue_run(bed.queue);
	sim_queue_run(bed.queue);
	assert_int_equal(bed.server.received_count, 0);
	sim_host_dial(bed.client.host, "port", 0);
	run(&bed);
	assert_int_equal(bed.server.opened_count, 2);
	assert_int_equal(bed.server.received_count, 1);
	assert_int_equal(bed.server.received[0], 42);
	assert_int_equal(sim_network_stats(bed.network)->late, 1);
	bed_fini(&bed);
}

static void what_is_injected_needs_a_connection(void **state)
{
	struct bed bed;
	uint32_t word = 7;

	bed_init(&bed, 12);
	sim_network_inject(bed.network, "client", "server", &word, sizeof(word),
			   0);
	run(&bed);
	assert_int_equal(bed.server.received_count, 0);
	bed_connect(&bed);
	sim_network_inject(bed.network, "client", "server", &word, sizeof(word),
			   3);
	run(&bed);
	assert_int_equal(bed.server.received_count, 1);
	assert_int_equal(bed.client.received_count, 0);
	assert_int_equal(sim_network_stats(bed.network)->injected, 1);
	bed_fini(&bed);
}

static void on_tap(void *ctx, const char *from, const char *to, uint64_t peer,
		   const void *frame, size_t size)
{
	char *text = ctx;

	sprintf(text + strlen(text), "%s>%s ", from, to);
}

static void a_tap_sees_what_is_sent(void **state)
{
	const struct sim_network_faults faults = { .lost = 1000000 };
	char text[100] = "";
	struct bed bed;

	bed_init(&bed, 13);
	bed_connect(&bed);
	sim_network_set_tap(bed.network, on_tap, text);
	sim_network_set_faults(bed.network, &faults);
	say(&bed.client, 1);
	say(&bed.server, 1);
	run(&bed);
	assert_string_equal(text, "client>server server>client ");
	bed_fini(&bed);
}

static void a_dial_given_up_is_no_connection(void **state)
{
	struct bed bed;

	bed_init(&bed, 14);
	bed.client.peer = sim_host_dial(bed.client.host, "port", 0);
	hang_up(&bed.client);
	run(&bed);
	assert_int_equal(bed.client.closed_count, 1);
	assert_int_equal(bed.client.opened_count, 0);
	assert_int_equal(bed.server.opened_count, bed.server.closed_count);
	bed_fini(&bed);
}

static void same_seed_same_history(void **state)
{
	const struct sim_network_faults faults = {
		.delay_min_ms = 1,
		.delay_max_ms = 100,
		.lost = 100000,
		.reordered = 100000,
		.reorder_max_ms = 500,
	};
	static struct bed beds[3];

	for (int i = 0; i < 3; i++) {
		bed_init(&beds[i], i < 2 ? 5 : 6);
		bed_connect(&beds[i]);
		sim_network_set_faults(beds[i].network, &faults);
		for (uint32_t k = 0; k < 300; k++)
			say(&beds[i].client, k);
		run(&beds[i]);
		bed_fini(&beds[i]);
	}
	assert_memory_equal(beds[0].server.received, beds[1].server.received,
			    sizeof(beds[0].server.received));
	assert_true(beds[0].clock.monotonic_ms == beds[1].clock.monotonic_ms);
	assert_memory_not_equal(beds[0].server.received,
				beds[2].server.received,
				sizeof(beds[0].server.received));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_dial_opens_both_ends),
		cmocka_unit_test(frames_arrive_in_order_both_ways),
		cmocka_unit_test(a_dial_to_nobody_is_closed),
		cmocka_unit_test(close_lets_what_was_sent_arrive),
		cmocka_unit_test(a_process_that_ends_closes_its_connections),
		cmocka_unit_test(a_silent_end_is_found_by_sending),
		cmocka_unit_test(
			a_machine_that_is_cut_off_hears_and_says_nothing),
		cmocka_unit_test(a_new_listener_takes_the_address_over),
		cmocka_unit_test(faults_happen_and_are_counted),
		cmocka_unit_test(a_broken_connection_is_reported_to_both),
		cmocka_unit_test(a_late_frame_comes_on_the_next_connection),
		cmocka_unit_test(what_is_injected_needs_a_connection),
		cmocka_unit_test(a_tap_sees_what_is_sent),
		cmocka_unit_test(a_dial_given_up_is_no_connection),
		cmocka_unit_test(same_seed_same_history),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
