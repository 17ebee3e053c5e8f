/* SPDX-License-Identifier: BSD-3-Clause */
#include "scoll/transport/sim/sim.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#define PORTS  4
#define EVENTS 64

struct seen {
	uint64_t at_ns;
	struct transfer *transfer; /* NULL: a message */
	int result;
	size_t size;
	uint8_t first; /* byte */
};

struct member {
	struct transport_sim_port *port;
	struct transport_seam seam;
	struct seen seen[EVENTS];
	unsigned int count;
};

static struct transport_timeline *timeline;
static struct transport_sim *sim;
static struct member members[PORTS];

static struct seen *next(struct member *member)
{
	assert_true(member->count < EVENTS);
	return &member->seen[member->count++];
}

static void received(void *ctx, uint64_t now_ns, const void *bytes, size_t size)
{
	*next(ctx) = (struct seen){
		.at_ns = now_ns,
		.size = size,
		.first = size > 0 ? *(const uint8_t *)bytes : 0,
	};
}

static void done(void *ctx, uint64_t now_ns, struct transfer *transfer,
		 int result, size_t size)
{
	*next(ctx) = (struct seen){
		.at_ns = now_ns,
		.transfer = transfer,
		.result = result,
		.size = size,
	};
}

static const struct transport_events events = {
	.received = received,
	.done = done,
};

static void member_start(unsigned int i)
{
	members[i].port = transport_sim_open(sim, i + 1, &events, &members[i]);
	members[i].seam = transport_sim_seam(members[i].port);
	members[i].count = 0;
}

static void begin(const struct transport_sim_options *options)
{
	struct transport_sim_options own = *options;

	timeline = transport_timeline_create();
	own.timeline = timeline;
	sim = transport_sim_create(&own);
	for (unsigned int i = 0; i < PORTS; i++)
		member_start(i);
}

static void end(void)
{
	transport_sim_destroy(sim);
	transport_timeline_destroy(timeline);
}

static void run_all(void)
{
	while (transport_timeline_run(timeline))
		;
}

static int send_text(unsigned int from, unsigned int to, const char *text,
		     struct transfer *transfer)
{
	struct iovec pieces[2] = {
		{ .iov_base = (void *)text, .iov_len = 1 },
		{ .iov_base = (void *)(text + 1), .iov_len = strlen(text) - 1 },
	};
	struct transport_seam *seam = &members[from].seam;

	return seam->ops->send(seam->ctx, to + 1, pieces, 2, transfer);
}

static int post(unsigned int at, uint64_t tag, void *bytes, size_t size,
		struct transfer *transfer)
{
	struct iovec piece = { .iov_base = bytes, .iov_len = size };
	struct transport_seam *seam = &members[at].seam;

	return seam->ops->reply_post(seam->ctx, 1, tag, &piece, 1, transfer);
}

static int reply(unsigned int from, unsigned int to, uint64_t tag,
		 const char *text, struct transfer *transfer)
{
	struct iovec piece = { .iov_base = (void *)text,
			       .iov_len = strlen(text) };
	struct transport_seam *seam = &members[from].seam;

	return seam->ops->reply_send(seam->ctx, to + 1, tag, &piece, 1,
				     transfer);
}

static const struct transport_sim_options plain = {
	.seed = 1,
	.costs = { .latency_ns = 100, .gap_ns = 10, .byte_ps = 1000 },
	.held_ns = 1000,
};

static void message_costs_what_loggp_says(void **state)
{
	struct transfer transfers[3];

	begin(&plain);
	assert_int_equal(send_text(0, 1, "12345", &transfers[0]), 0);
	assert_int_equal(send_text(0, 2, "123", &transfers[1]), 0);
	assert_int_equal(send_text(0, 1, "12", &transfers[2]), 0);
	assert_int_equal(members[0].count, 0);
	run_all();
	assert_int_equal(members[0].count, 3);
	assert_ptr_equal(members[0].seen[0].transfer, &transfers[0]);
	assert_int_equal(members[0].seen[0].result, 0);
	assert_int_equal(members[0].seen[0].at_ns, 15);
	assert_int_equal(members[0].seen[1].at_ns, 28);
	assert_int_equal(members[1].count, 2);
	assert_int_equal(members[1].seen[0].at_ns, 105);
	assert_int_equal(members[1].seen[0].size, 5);
	assert_int_equal(members[1].seen[0].first, '1');
	assert_int_equal(members[2].seen[0].at_ns, 15 + 100 + 3);
	assert_int_equal(members[1].seen[1].at_ns, 28 + 100 + 2);
	end();
}

static void receiver_takes_its_time_for_each(void **state)
{
	struct transport_sim_options options = plain;
	struct transfer transfers[2];

	options.costs.receive_ns = 50;
	begin(&options);
	send_text(0, 2, "12345", &transfers[0]);
	send_text(1, 2, "12345", &transfers[1]);
	run_all();
	assert_int_equal(members[2].seen[0].at_ns, 155);
	assert_int_equal(members[2].seen[1].at_ns, 205);
	end();
}

static void reply_needs_a_buffer_of_its_tag(void **state)
{
	struct transfer wanted, sent[3], other;
	char bytes[8] = "", spare[8] = "";

	begin(&plain);
	assert_int_equal(post(1, 77, bytes, sizeof(bytes), &wanted), 0);
	assert_int_equal(post(2, 78, spare, sizeof(spare), &other), 0);
	reply(0, 1, 78, "no", &sent[0]);
	reply(0, 1, 77, "yes", &sent[1]);
	reply(0, 1, 77, "late", &sent[2]);
	run_all();
	assert_int_equal(members[1].count, 1);
	assert_ptr_equal(members[1].seen[0].transfer, &wanted);
	assert_int_equal(members[1].seen[0].size, 3);
	assert_string_equal(bytes, "yes");
	assert_int_equal(members[2].count, 0);
	assert_int_equal(transport_sim_stats(sim)->replies_unexpected, 2);
	end();
}

static void too_large_reply_is_an_error(void **state)
{
	struct transfer wanted, sent;
	char bytes[3];

	begin(&plain);
	post(1, 5, bytes, sizeof(bytes), &wanted);
	reply(0, 1, 5, "four", &sent);
	run_all();
	assert_int_equal(members[1].seen[0].result, -EMSGSIZE);
	end();
}

static void cancelled_buffer_gets_no_reply(void **state)
{
	struct transfer wanted, sent;
	struct transport_sim_use use;
	char bytes[8] = "";

	begin(&plain);
	post(1, 5, bytes, sizeof(bytes), &wanted);
	reply(0, 1, 5, "late", &sent);
	assert_true(transport_sim_borrows(members[1].port, bytes + 2, 1));
	assert_false(transport_sim_borrows(members[1].port, bytes + 8, 1));
	members[1].seam.ops->cancel(members[1].seam.ctx, &wanted);
	assert_false(transport_sim_borrows(members[1].port, bytes, 8));
	assert_int_equal(members[1].count, 0);
	run_all();
	assert_int_equal(members[1].count, 1);
	assert_int_equal(members[1].seen[0].result, -ECANCELED);
	assert_string_equal(bytes, "");
	transport_sim_use(members[1].port, &use);
	assert_int_equal(use.posts, 0);
	end();
}

static void late_cancel_may_find_a_reply(void **state)
{
	struct transport_sim_options options = plain;
	struct transfer wanted, sent;
	char bytes[8] = "";
	unsigned int replies = 0;

	options.faults_ppm[TRANSPORT_SIM_KEPT] = 1000000;
	for (options.seed = 1; options.seed <= 20; options.seed++) {
		begin(&options);
		post(1, 5, bytes, sizeof(bytes), &wanted);
		reply(0, 1, 5, "late", &sent);
		members[1].seam.ops->cancel(members[1].seam.ctx, &wanted);
		run_all();
		assert_int_equal(members[1].count, 1);
		if (members[1].seen[0].result == 0)
			replies++;
		else
			assert_int_equal(members[1].seen[0].result, -ECANCELED);
		end();
	}
	assert_in_range(replies, 1, 19);
}

static void late_cancel_waits_for_a_paused_member(void **state)
{
	struct transport_sim_options options = plain;
	struct transfer wanted;
	char bytes[8];

	options.faults_ppm[TRANSPORT_SIM_KEPT] = 1000000;
	begin(&options);
	post(1, 5, bytes, sizeof(bytes), &wanted);
	members[1].seam.ops->cancel(members[1].seam.ctx, &wanted);
	transport_sim_pause(members[1].port, 5000);
	run_all();
	assert_int_equal(members[1].count, 1);
	assert_int_equal(members[1].seen[0].result, -ECANCELED);
	assert_int_equal(members[1].seen[0].at_ns, 5000);
	end();
}

static void read_copies_over_pieces(void **state)
{
	char here[10] = "", there[] = "abcdefgh";
	struct iovec source[2] = { { there, 3 }, { there + 3, 5 } };
	struct iovec target[2] = { { here, 2 }, { here + 2, 4 } };
	struct remote_piece remote[2];
	struct region from, to;
	struct transfer transfer;
	struct transport_seam *seam;

	begin(&plain);
	seam = &members[1].seam;
	seam->ops->region_open(seam->ctx, source, 2, &from, remote);
	assert_int_equal(from.size, 8);
	seam = &members[0].seam;
	seam->ops->region_open(seam->ctx, target, 2, &to, NULL);
	assert_int_equal(seam->ops->read(seam->ctx, 2, remote, 2, 1, &to, 1, 5,
					 &transfer),
			 0);
	run_all();
	assert_int_equal(members[0].seen[0].result, 0);
	assert_int_equal(members[0].seen[0].size, 5);
	assert_int_equal(members[0].seen[0].at_ns, 100 + 100 + 5);
	assert_memory_equal(here, "\0bcdef\0", 7);
	seam->ops->region_close(seam->ctx, &to);
	end();
}

static void read_of_closed_memory_fails(void **state)
{
	char here[4] = "", there[4] = "abc";
	struct iovec source = { there, 4 }, target = { here, 4 };
	struct remote_piece remote;
	struct region from, to;
	struct transfer transfers[2];
	struct transport_seam *a, *b;

	begin(&plain);
	a = &members[0].seam;
	b = &members[1].seam;
	b->ops->region_open(b->ctx, &source, 1, &from, &remote);
	a->ops->region_open(a->ctx, &target, 1, &to, NULL);
	a->ops->read(a->ctx, 2, &remote, 1, 0, &to, 0, 4, &transfers[0]);
	b->ops->region_close(b->ctx, &from);
	run_all();
	assert_int_equal(members[0].seen[0].result, -EACCES);
	b->ops->region_open(b->ctx, &source, 1, &from, &remote);
	remote.size = 5; /* more than there is */
	a->ops->read(a->ctx, 2, &remote, 1, 0, &to, 0, 4, &transfers[1]);
	run_all();
	assert_int_equal(members[0].seen[1].result, -EACCES);
	assert_string_equal(here, "");
	assert_int_equal(transport_sim_stats(sim)->reads_denied, 2);
	end();
}

static void disconnect_ends_answers_that_are_on_their_way(void **state)
{
	char here[4] = "", there[4] = "abc";
	struct iovec source = { there, 4 }, target = { here, 4 };
	struct remote_piece remote;
	struct region from, to;
	struct transfer transfer;
	struct transport_seam *a, *b;

	begin(&plain);
	a = &members[0].seam;
	b = &members[1].seam;
	b->ops->region_open(b->ctx, &source, 1, &from, &remote);
	a->ops->region_open(a->ctx, &target, 1, &to, NULL);
	a->ops->read(a->ctx, 2, &remote, 1, 0, &to, 0, 4, &transfer);
	assert_true(transport_timeline_run(timeline)); /* it is answered */
	assert_string_equal(here, "abc");
	assert_int_equal(members[0].count, 0);
	b->ops->disconnect(b->ctx, 1);
	b->ops->region_close(b->ctx, &from);
	run_all();
	assert_int_equal(members[0].count, 1);
	assert_int_equal(members[0].seen[0].result, -ECONNRESET);
	assert_int_equal(members[0].seen[0].at_ns, 100);
	a->ops->region_close(a->ctx, &to);
	end();
}

static void faults_happen_and_are_counted(void **state)
{
	static const struct {
		enum transport_sim_fault fault;
		int result;
		unsigned int arrived;
	} cases[] = {
		{ TRANSPORT_SIM_LOST, -EIO, 0 },
		{ TRANSPORT_SIM_DENIED, -EIO, 1 },
		{ TRANSPORT_SIM_LATE_END, 0, 1 },
		{ TRANSPORT_SIM_HELD, 0, 1 },
		{ TRANSPORT_SIM_ALTERED, 0, 1 },
		{ TRANSPORT_SIM_CUT_SHORT, 0, 1 },
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct transport_sim_options options = plain;
		struct transfer transfer;

		options.faults_ppm[cases[i].fault] = 1000000;
		begin(&options);
		assert_int_equal(send_text(0, 1, "123", &transfer), 0);
		run_all();
		assert_int_equal(members[0].count, 1);
		assert_int_equal(members[0].seen[0].result, cases[i].result);
		assert_int_equal(members[1].count, cases[i].arrived);
		if (cases[i].fault == TRANSPORT_SIM_CUT_SHORT)
			assert_true(members[1].seen[0].size < 3);
		assert_int_equal(
			transport_sim_stats(sim)->faults[cases[i].fault], 1);
		end();
	}
}

static void held_messages_are_overtaken(void **state)
{
	struct transport_sim_options options = plain;
	struct transfer transfers[20];
	unsigned int overtaken = 0;

	options.faults_ppm[TRANSPORT_SIM_HELD] = 500000;
	begin(&options);
	for (char i = 0; i < 20; i++) {
		char text[] = { (char)('a' + i), '.', 0 };

		send_text(0, 1, text, &transfers[(int)i]);
	}
	run_all();
	assert_int_equal(members[1].count, 20);
	for (unsigned int i = 1; i < 20; i++)
		overtaken +=
			members[1].seen[i].first < members[1].seen[i - 1].first;
	assert_true(overtaken > 0);
	end();
}

static void full_transport_says_so_while_something_is_under_way(void **state)
{
	struct transport_sim_options options = plain;
	struct transfer transfers[3];

	options.window = 2;
	begin(&options);
	assert_int_equal(send_text(0, 1, "123", &transfers[0]), 0);
	assert_int_equal(send_text(0, 1, "123", &transfers[1]), 0);
	assert_int_equal(send_text(0, 1, "123", &transfers[2]), -EAGAIN);
	assert_true(transport_timeline_run(timeline));
	assert_int_equal(send_text(0, 1, "123", &transfers[2]), 0);
	run_all();
	assert_int_equal(members[0].count, 3);
	assert_int_equal(transport_sim_stats(sim)->faults[TRANSPORT_SIM_FULL],
			 1);
	end();
}

static void closed_member_hears_nothing_more(void **state)
{
	struct transport_sim_options options = plain;
	struct transfer transfers[4];
	char bytes[8];

	options.faults_ppm[TRANSPORT_SIM_REFUSED] = 1000000;
	begin(&options);
	post(1, 5, bytes, sizeof(bytes), &transfers[0]);
	send_text(1, 0, "from the dead", &transfers[1]);
	send_text(0, 1, "on its way", &transfers[2]);
	transport_sim_close(members[1].port);
	send_text(0, 1, "too late", &transfers[3]);
	run_all();
	assert_int_equal(members[1].count, 0);
	assert_int_equal(members[0].count, 3);
	for (unsigned int i = 0; i < 3; i++) {
		if (members[0].seen[i].transfer == &transfers[3])
			assert_int_equal(members[0].seen[i].result,
					 -EHOSTUNREACH);
	}
	assert_int_equal(
		transport_sim_stats(sim)->faults[TRANSPORT_SIM_VANISHED], 1);
	end();
}

static void reboot_may_get_what_was_for_the_earlier_life(void **state)
{
	struct transport_sim_options options = plain;
	struct transfer transfer;

	for (unsigned int i = 0; i < 2; i++) {
		options.faults_ppm[TRANSPORT_SIM_NEXT_LIFE] = i * 1000000;
		begin(&options);
		send_text(0, 1, "hello", &transfer);
		transport_sim_close(members[1].port);
		member_start(1);
		run_all();
		assert_int_equal(members[1].count, i);
		end();
	}
}

static void severed_member_ends_all_it_has(void **state)
{
	struct transfer transfers[3];
	struct transport_sim_use use;
	char bytes[8];

	begin(&plain);
	post(1, 5, bytes, sizeof(bytes), &transfers[0]);
	send_text(1, 0, "hello", &transfers[1]);
	transport_sim_sever(members[1].port);
	assert_int_equal(members[1].count, 2);
	send_text(1, 0, "still", &transfers[2]);
	run_all();
	assert_int_equal(members[1].count, 2);
	transport_sim_sever(members[1].port);
	assert_int_equal(members[1].count, 3);
	for (unsigned int i = 0; i < 3; i++)
		assert_int_equal(members[1].seen[i].result, -ECANCELED);
	transport_sim_use(members[1].port, &use);
	assert_int_equal(use.posts + use.sends, 0);
	assert_int_equal(members[0].count, 1);
	end();
}

static void paused_member_gets_all_when_it_wakes(void **state)
{
	struct transfer transfers[2];

	begin(&plain);
	send_text(0, 1, "hello", &transfers[0]);
	send_text(1, 0, "hello", &transfers[1]);
	transport_sim_pause(members[1].port, 5000);
	run_all();
	assert_int_equal(members[1].count, 2);
	assert_int_equal(members[1].seen[0].at_ns, 5000);
	assert_int_equal(members[1].seen[1].at_ns, 5000);
	assert_int_equal(members[0].seen[1].at_ns, 105);
	end();
}

static void partition_keeps_back_what_the_heal_lets_go(void **state)
{
	struct transport_sim_options options = plain;
	struct transfer transfers[3];

	options.faults_ppm[TRANSPORT_SIM_KEPT_BACK] = 1000000;
	begin(&options);
	send_text(0, 1, "under way", &transfers[0]);
	transport_sim_side_set(members[1].port, 1);
	send_text(0, 1, "cut off", &transfers[1]);
	send_text(0, 2, "near", &transfers[2]);
	run_all();
	assert_int_equal(members[1].count, 0);
	assert_int_equal(members[2].count, 1);
	transport_sim_heal(sim);
	run_all();
	assert_int_equal(members[1].count, 2);
	end();
}

static void injected_bytes_arrive_unasked(void **state)
{
	struct transfer wanted;
	char bytes[8] = "";

	begin(&plain);
	post(1, 5, bytes, sizeof(bytes), &wanted);
	transport_sim_inject(sim, 2, false, 0, "forged", 6);
	transport_sim_inject(sim, 2, true, 5, "reply", 5);
	run_all();
	assert_int_equal(members[1].count, 2);
	assert_string_equal(bytes, "reply");
	end();
}

static uint64_t noisy_hash(uint64_t seed)
{
	struct transport_sim_options options = plain;
	struct transfer transfers[30];
	uint64_t hash;

	options.seed = seed;
	options.costs.jitter_ppm = 500000;
	options.faults_ppm[TRANSPORT_SIM_LOST] = 200000;
	options.faults_ppm[TRANSPORT_SIM_HELD] = 200000;
	begin(&options);
	for (unsigned int i = 0; i < 30; i++)
		send_text(i % 3, 3, "some text", &transfers[i]);
	run_all();
	hash = transport_sim_hash(sim);
	end();
	return hash;
}

static void same_seed_gives_the_same_hash(void **state)
{
	assert_true(noisy_hash(1) == noisy_hash(1));
	assert_true(noisy_hash(1) != noisy_hash(2));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(message_costs_what_loggp_says),
		cmocka_unit_test(receiver_takes_its_time_for_each),
		cmocka_unit_test(reply_needs_a_buffer_of_its_tag),
		cmocka_unit_test(too_large_reply_is_an_error),
		cmocka_unit_test(cancelled_buffer_gets_no_reply),
		cmocka_unit_test(late_cancel_may_find_a_reply),
		cmocka_unit_test(late_cancel_waits_for_a_paused_member),
		cmocka_unit_test(read_copies_over_pieces),
		cmocka_unit_test(read_of_closed_memory_fails),
		cmocka_unit_test(disconnect_ends_answers_that_are_on_their_way),
		cmocka_unit_test(faults_happen_and_are_counted),
		cmocka_unit_test(held_messages_are_overtaken),
		cmocka_unit_test(
			full_transport_says_so_while_something_is_under_way),
		cmocka_unit_test(closed_member_hears_nothing_more),
		cmocka_unit_test(reboot_may_get_what_was_for_the_earlier_life),
		cmocka_unit_test(severed_member_ends_all_it_has),
		cmocka_unit_test(paused_member_gets_all_when_it_wakes),
		cmocka_unit_test(partition_keeps_back_what_the_heal_lets_go),
		cmocka_unit_test(injected_bytes_arrive_unasked),
		cmocka_unit_test(same_seed_gives_the_same_hash),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
