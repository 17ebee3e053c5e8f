/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Peers that die, stop, come back and move, and how to wait for them. Limits
 * of time are met by a clock that is put ahead.
 */
#include "scoll/transport/ofi/ofi.h"

#include <dirent.h>
#include <errno.h>
#include <inttypes.h>
#include <net/if.h>
#include <netinet/in.h>
#include <poll.h>
#include <sched.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cmocka.h>

#include "scoll/transport/test/node.h"
#include "sys/test/watchdog.h"

#define TAG   (UINT64_C(0x5eed) << 12)
#define BYTES (SCOLL_REPLY_PART_MAX + 256)

static struct node node;
static struct puppet puppets[SENDERS_MAX];
static char answer[CHILD_ANSWER_MAX];
static uint8_t bytes[BYTES];

static int setup(void **state)
{
	watchdog_start(NULL);
	node_open(&node, test_host(), NULL, 0);
	return 0;
}

static int teardown(void **state)
{
	for (int i = 0; i < SENDERS_MAX; i++)
		child_stop(&puppets[i].child);
	if (node.t != NULL)
		node_close(&node);
	watchdog_stop();
	return 0;
}

/* Both ways. */
static void is_connected(int i)
{
	uint64_t count = node.received_count;
	struct move move;

	do {
		child_tell(&puppets[i].child, "send 1 0 1 100");
		puppet_hear(&puppets[i], &node, answer);
		assert_int_equal(node_send(&node, PUPPET_NID(i), 1, 100, &move),
				 0);
		node_finish(&node, &move);
	} while (node.received_count == count || move.result < 0);
}

/* Whatever its end is; the clock runs ten times as fast. */
static int finish_fast(struct move *move)
{
	while (!move->is_done) {
		node_skip(&node, UINT64_C(10000000));
		node_step(&node, test_now_ns() + 1000000);
	}
	return move->result;
}

static void send_to_a_dead_peer_ends_with_an_error(void **state)
{
	struct move move;
	int result = 0;

	puppet_meet_new(&puppets[0], 0, &node);
	is_connected(0);
	child_kill(&puppets[0].child);
	/* The first ones may still be taken by the system. */
	for (int i = 0; i < 100 && result == 0; i++) {
		assert_int_equal(
			node_send(&node, PUPPET_NID(0), 1, 4096, &move), 0);
		result = finish_fast(&move);
	}
	assert_true(result < 0);
	assert_int_equal(node_send(&node, PUPPET_NID(0), 1, 4096, &move), 0);
	assert_int_equal(finish_fast(&move), -EHOSTUNREACH);
}

static void peer_that_never_was_is_unreachable(void **state)
{
	struct move moves[3];

	puppet_meet_quietly(&puppets[0], 0, &node);
	child_kill(&puppets[0].child);
	for (int i = 0; i < 3; i++)
		assert_int_equal(
			node_send(&node, PUPPET_NID(0), 1, 100, &moves[i]), 0);
	node.ops->connect(node.t, PUPPET_NID(0));
	for (int i = 0; i < 3; i++)
		assert_int_equal(finish_fast(&moves[i]), -EHOSTUNREACH);
}

#define REPLIES 16

/* It is given more than sockets hold, which takes its help, and dies. */
static void reply_to_a_peer_that_dies_ends(void **state)
{
	struct iovec piece = { bytes, BYTES };
	struct move moves[REPLIES];
	int error_count = 0;

	memset(moves, 0, sizeof(moves));
	puppet_meet_new(&puppets[0], 0, &node);
	is_connected(0);
	child_tell(&puppets[0].child, "sleep");
	child_hear(&puppets[0].child, answer);
	for (int i = 0; i < REPLIES; i++)
		assert_int_equal(node.ops->reply_send(node.t, PUPPET_NID(0),
						      TAG + (unsigned)i, &piece,
						      1, &moves[i].transfer),
				 0);
	for (int i = 0; i < 10; i++)
		node_step(&node, test_now_ns() + 1000000);
	assert_false(moves[REPLIES - 1].is_done);
	child_kill(&puppets[0].child);
	for (int i = 0; i < REPLIES; i++)
		error_count += finish_fast(&moves[i]) < 0;
	assert_true(error_count > 0);
	assert_true(moves[REPLIES - 1].result < 0);
}

static void read_from_a_peer_that_dies_ends(void **state)
{
	struct iovec piece = { bytes, sizeof(bytes) };
	struct move move = { .is_done = false };
	struct remote_piece remote;
	struct region region;

	puppet_meet_new(&puppets[0], 0, &node);
	child_tell(&puppets[0].child, "open %zu", sizeof(bytes));
	puppet_hear(&puppets[0], &node, answer);
	assert_int_equal(sscanf(answer, "%" SCNu64 " %" SCNu64 " %" SCNu64,
				&remote.address, &remote.key, &remote.size),
			 3);
	is_connected(0);
	child_tell(&puppets[0].child, "sleep");
	child_hear(&puppets[0].child, answer);
	assert_int_equal(
		node.ops->region_open(node.t, &piece, 1, &region, NULL), 0);
	child_kill(&puppets[0].child);
	assert_int_equal(node.ops->read(node.t, PUPPET_NID(0), &remote, 1, 0,
					&region, 0, sizeof(bytes),
					&move.transfer),
			 0);
	assert_true(finish_fast(&move) < 0);
	node.ops->region_close(node.t, &region);
}

static void posted_reply_of_a_dead_peer_can_be_cancelled(void **state)
{
	struct iovec piece = { bytes, 1000 };
	struct move move = { .is_done = false };

	puppet_meet_new(&puppets[0], 0, &node);
	is_connected(0);
	assert_int_equal(node.ops->reply_post(node.t, PUPPET_NID(0), TAG,
					      &piece, 1, &move.transfer),
			 0);
	child_kill(&puppets[0].child);
	if (test_provider_is("tcp")) { /* its connection is gone */
		assert_int_equal(node_finish(&node, &move), -ECONNRESET);
		return;
	}
	for (int i = 0; i < 10; i++)
		node_step(&node, test_now_ns() + 1000000);
	assert_false(move.is_done);
	node.ops->cancel(node.t, &move.transfer);
	assert_int_equal(node_finish(&node, &move), -ECANCELED);
}

/* One that stands still takes what it gets when it goes on. */
static void stopped_peer_holds_up_nobody_else(void **state)
{
	struct move stopped, other;

	puppet_meet_new(&puppets[0], 0, &node);
	puppet_meet_new(&puppets[1], 1, &node);
	is_connected(0);
	is_connected(1);
	kill(puppets[0].child.pid, SIGSTOP);
	for (int i = 0; i < 10; i++) {
		assert_int_equal(
			node_send(&node, PUPPET_NID(0), 1, 4000, &stopped), 0);
		assert_int_equal(
			node_send(&node, PUPPET_NID(1), 2, 4000, &other), 0);
		assert_int_equal(node_finish(&node, &other), 0);
		node_finish(&node, &stopped);
	}
	kill(puppets[0].child.pid, SIGCONT);
	is_connected(0);
	do {
		child_tell(&puppets[0].child, "count");
		puppet_hear(&puppets[0], &node, answer);
	} while (atoi(answer) < 11);
}

/* The service that a puppet listens on. */
static void service_of(const struct puppet *puppet, char text[32])
{
	const struct sockaddr_in *in = (const void *)puppet->address;

	snprintf(text, 32, "%u", ntohs(in->sin_port));
}

static void restart(struct puppet *puppet, int index, const char *service)
{
	uint8_t address[TRANSPORT_ADDRESS_MAX];
	size_t size = node_address(&node, address);

	puppet_start(puppet, test_host(), service);
	puppet_meet(puppet, SELF_NID, address, size);
}

static void peer_that_restarts_at_its_address_is_reached_again(void **state)
{
	char service[32];

	puppet_meet_new(&puppets[0], 0, &node);
	service_of(&puppets[0], service);
	is_connected(0);
	for (int i = 0; i < 3; i++) {
		child_kill(&puppets[0].child);
		/* As the owner does at the news of its death. */
		if (i != 1)
			assert_int_equal(node.kind->peer_refresh(node.t,
								 PUPPET_NID(0)),
					 0);
		restart(&puppets[0], 0, service);
		is_connected(0);
	}
	assert_int_equal(node.kind->peer_refresh(node.t, 99), -ENOENT);
}

static void address_may_change(void **state)
{
	struct move move;

	puppet_meet_new(&puppets[0], 0, &node);
	is_connected(0);
	puppet_meet_new(&puppets[1], 1, &node);
	/* What was at the first is at the second now. */
	node_meet(&node, PUPPET_NID(0), puppets[1].address,
		  puppets[1].address_size);
	assert_int_equal(node_send(&node, PUPPET_NID(0), 3, 50, &move), 0);
	assert_int_equal(node_finish(&node, &move), 0);
	do {
		child_tell(&puppets[1].child, "count");
		puppet_hear(&puppets[1], &node, answer);
	} while (strcmp(answer, "1 0") != 0);
	child_tell(&puppets[0].child, "count");
	puppet_hear(&puppets[0], &node, answer);
	assert_int_equal(answer[0], '1'); /* that of is_connected */
	/* What waits for a connection goes where the peer is by then. */
	child_kill(&puppets[1].child);
	assert_int_equal(node.kind->peer_refresh(node.t, PUPPET_NID(1)), 0);
	assert_int_equal(node_send(&node, PUPPET_NID(1), 3, 50, &move), 0);
	node_step(&node, test_now_ns() + 1000000);
	node_meet(&node, PUPPET_NID(1), puppets[0].address,
		  puppets[0].address_size);
	assert_int_equal(node_finish(&node, &move), 0);
}

static void peer_that_is_forgotten_ends_what_waits(void **state)
{
	struct move move;

	puppet_meet_quietly(&puppets[0], 0, &node);
	child_kill(&puppets[0].child);
	assert_int_equal(node_send(&node, PUPPET_NID(0), 3, 50, &move), 0);
	assert_int_equal(node.kind->peer_set(node.t, PUPPET_NID(0), NULL, 0),
			 0);
	node_step(&node, test_now_ns() + 1000000);
	assert_int_equal(node_finish(&node, &move), -EHOSTUNREACH);
	assert_int_equal(node_send(&node, PUPPET_NID(0), 3, 50, &move),
			 -EHOSTUNREACH);
	assert_int_equal(node.kind->peer_set(node.t, PUPPET_NID(0), NULL, 0),
			 -ENOENT);
}

static void address_is_resolved_from_text(void **state)
{
	uint8_t address[TRANSPORT_ADDRESS_MAX];
	struct fairlead_error error = { 0 };
	size_t size = sizeof(address);
	char service[32];
	struct move move;

	puppet_meet_new(&puppets[0], 0, &node);
	service_of(&puppets[0], service);
	assert_int_equal(node.kind->resolve(node.t, "127.0.0.1", service,
					    address, &size, &error),
			 0);
	node_meet(&node, 77, address, size);
	assert_int_equal(node_send(&node, 77, 3, 50, &move), 0);
	assert_int_equal(node_finish(&node, &move), 0);
	assert_true(node.kind->resolve(node.t, "no.such.host.", service,
				       address, &size, &error) < 0);
	assert_non_null(strstr(error.text, "no.such.host."));
}

static void ipv6_works(void **state)
{
	uint8_t address[TRANSPORT_ADDRESS_MAX];
	struct move move;
	size_t size;

	node_close(&node);
	node_open(&node, "::1", NULL, 0);
	size = node_address(&node, address);
	assert_int_equal(size, sizeof(struct sockaddr_in6));
	puppet_start(&puppets[0], "::1", NULL);
	node_meet(&node, PUPPET_NID(0), puppets[0].address,
		  puppets[0].address_size);
	puppet_meet(&puppets[0], SELF_NID, address, size);
	is_connected(0);
	assert_int_equal(node_send(&node, PUPPET_NID(0), 1, 4096, &move), 0);
	assert_int_equal(node_finish(&node, &move), 0);
	/* One family is not the other. */
	assert_int_equal(node.kind->peer_set(node.t, 5, address,
					     sizeof(struct sockaddr_in)),
			 -EINVAL);
}

static void connect_opens_the_connection_ahead(void **state)
{
	struct transport_stats stats;
	struct move move;

	puppet_meet_quietly(&puppets[0], 0, &node);
	node.ops->connect(node.t, PUPPET_NID(0));
	node.ops->connect(node.t, PUPPET_NID(0));
	/* The hello is no message to anybody. */
	for (int i = 0; i < 100; i++)
		node_step(&node, test_now_ns() + 10000000);
	child_tell(&puppets[0].child, "count");
	puppet_hear(&puppets[0], &node, answer);
	assert_string_equal(answer, "0 0");
	node.kind->stats(node.t, &stats);
	assert_int_equal(stats.sent_count, 0);
	/* So this one is taken at once. */
	assert_int_equal(node_send(&node, PUPPET_NID(0), 1, 64, &move), 0);
	node.kind->stats(node.t, &stats);
	assert_int_equal(stats.waiting_count, 0);
	assert_int_equal(node_finish(&node, &move), 0);
	/* And this one, to a peer that nobody has spoken to, is not. */
	puppet_meet_quietly(&puppets[1], 1, &node);
	assert_int_equal(node_send(&node, PUPPET_NID(1), 1, 64, &move), 0);
	node.kind->stats(node.t, &stats);
	assert_int_equal(stats.waiting_count, 1);
	assert_int_equal(node_finish(&node, &move), 0);
}

static int thread_count(void)
{
	DIR *folder = opendir("/proc/self/task");
	int count = 0;

	while (readdir(folder) != NULL)
		count++;
	closedir(folder);
	return count - 2; /* "." and ".." */
}

/* Awake is the number of times that somebody who waits is woken. */
static void waiting_does_not_spin_and_misses_nothing(void **state)
{
	struct pollfd fd = { .fd = node.kind->fd(node.t), .events = POLLIN };
	uint64_t before;

	puppet_meet_new(&puppets[0], 0, &node);
	is_connected(0);
	/* Let the sweep, the last completions and the timer come to rest. */
	for (int i = 0; i < 20; i++)
		node_step(&node, test_now_ns() + 20000000);
	assert_true(poll(&fd, 1, 0) >= 0);
	node_step(&node, test_now_ns() + 1000000000);
	before = test_now_ns();
	for (int i = 0; i < 10; i++)
		node_step(&node, test_now_ns() + 1000000000);
	/* Ten times: at 1 s, or at 5 ms where there is no descriptor. */
	assert_true(test_now_ns() - before >= 20000000);
	child_tell(&puppets[0].child, "send 1 0 1 100");
	node_until(&node, &node.received_count, node.received_count + 1);
	puppet_hear(&puppets[0], &node, answer);
	assert_int_equal(thread_count(), 1);
}

/* Everything under way ends at once, and nothing starts. */
static void stop_ends_all_transfers(void **state)
{
	struct iovec piece = { bytes, BYTES };
	struct move moves[4];

	memset(moves, 0, sizeof(moves));
	puppet_meet_new(&puppets[0], 0, &node);
	is_connected(0);
	child_tell(&puppets[0].child, "sleep");
	child_hear(&puppets[0].child, answer);
	assert_int_equal(node.ops->reply_send(node.t, PUPPET_NID(0), TAG,
					      &piece, 1, &moves[0].transfer),
			 0);
	assert_int_equal(node.ops->reply_post(node.t, PUPPET_NID(0), TAG,
					      &piece, 1, &moves[1].transfer),
			 0);
	node.kind->stop(node.t);
	assert_true(moves[0].is_done);
	assert_int_equal(moves[1].result, -ECANCELED);
	assert_int_equal(node.ops->reply_post(node.t, PUPPET_NID(0), TAG,
					      &piece, 1, &moves[2].transfer),
			 -ESHUTDOWN);
	assert_int_equal(node_send(&node, PUPPET_NID(0), 1, 10, &moves[3]),
			 -ESHUTDOWN);
	node.kind->progress(node.t, node_now_ns(&node));
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

/*
 * Where nobody else takes a port in the moment in which its peer restarts; a plain
 * user has only the machine's own.
 */
static void own_network(void)
{
	struct ifreq lo = { .ifr_name = "lo", .ifr_flags = IFF_UP };
	int fd;

	if (geteuid() != 0 || unshare(CLONE_NEWNET) < 0)
		return;
	fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	assert_true(fd >= 0);
	assert_int_equal(ioctl(fd, SIOCSIFFLAGS, &lo), 0);
	close(fd);
}

int main(int argc, char **argv)
{
	static const struct CMUnitTest tests[] = {
		TEST(send_to_a_dead_peer_ends_with_an_error),
		TEST(peer_that_never_was_is_unreachable),
		TEST(reply_to_a_peer_that_dies_ends),
		TEST(read_from_a_peer_that_dies_ends),
		TEST(posted_reply_of_a_dead_peer_can_be_cancelled),
		TEST(stopped_peer_holds_up_nobody_else),
		TEST(peer_that_restarts_at_its_address_is_reached_again),
		TEST(address_may_change),
		TEST(peer_that_is_forgotten_ends_what_waits),
		TEST(address_is_resolved_from_text),
		TEST(ipv6_works),
		TEST(connect_opens_the_connection_ahead),
		TEST(waiting_does_not_spin_and_misses_nothing),
		TEST(stop_ends_all_transfers),
	};
	int result = puppet_main(argc, argv);

	if (result < 0 && argc > 2)
		cmocka_set_test_filter(argv[2]);
	if (result < 0)
		own_network();
	return result >= 0 ? result : cmocka_run_group_tests(tests, NULL, NULL);
}
