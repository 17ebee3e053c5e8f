/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Faults that only the transport over streams meets: frames that break the
 * protocol, many silent connections, no free descriptor.
 */
#include "scoll/transport/tcp/tcp.h"

#include <errno.h>
#include <netinet/in.h>
#include <poll.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "scoll/transport/test/node.h"
#include "sys/test/watchdog.h"

#define NOBODY 65534

static struct node node;
static struct puppet puppet;
static char answer[CHILD_ANSWER_MAX];

static int setup(void **state)
{
	test_provider = "tcp";
	watchdog_start(NULL);
	node_open(&node, "127.0.0.1", NULL, 0);
	return 0;
}

static int teardown(void **state)
{
	child_stop(&puppet.child);
	if (node.t != NULL)
		node_close(&node);
	watchdog_stop();
	return 0;
}

static void step(void)
{
	node_step(&node, test_now_ns() + 1000000);
}

static struct sockaddr_in where(void)
{
	uint8_t address[TRANSPORT_ADDRESS_MAX];
	struct sockaddr_in at;

	assert_int_equal(node_address(&node, address), sizeof(at));
	memcpy(&at, address, sizeof(at));
	return at;
}

static int caller_open(void)
{
	struct sockaddr_in at = where();
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

	assert_true(fd >= 0);
	assert_int_equal(connect(fd, (struct sockaddr *)&at, sizeof(at)), 0);
	return fd;
}

static void frame(uint8_t *bytes, uint32_t size, unsigned kind, uint64_t tag)
{
	memset(bytes, 0, 16);
	for (int i = 0; i < 4; i++)
		bytes[i] = (uint8_t)(size >> 8 * i);
	bytes[4] = (uint8_t)kind;
	bytes[5] = 1;
	for (int i = 0; i < 8; i++)
		bytes[8 + i] = (uint8_t)(tag >> 8 * i);
}

static bool is_closed(int fd)
{
	char byte;
	ssize_t size = recv(fd, &byte, 1, MSG_DONTWAIT);

	return size == 0 || (size < 0 && errno == ECONNRESET);
}

static void until_closed(int fd)
{
	while (!is_closed(fd))
		step();
	close(fd);
}

static uint64_t refused(void)
{
	struct transport_stats stats;

	node.kind->stats(node.t, &stats);
	return stats.refused_count;
}

/* Wrong sizes, kinds and versions, and kinds that only we may send. */
static void malformed_frames_close_their_connection(void **state)
{
	static const struct {
		uint32_t size;
		uint8_t kind, version;
	} cases[] = {
		{ 0, 1, 1 },                   /* an empty message */
		{ SCOLL_BCAST_MAX + 1, 1, 1 }, /* one too long */
		{ UINT32_MAX, 1, 1 },
		{ 10, 2, 1 }, /* a reply to nothing that we asked */
		{ 24, 3, 1 }, /* a read; we have not called it */
		{ 1, 5, 1 },  /* a refusal with a body */
		{ 10, 0, 1 }, /* no kind */
		{ 10, 6, 1 },
		{ 10, 255, 255 },
		{ 10, 1, 2 }, /* of another version */
	};
	uint64_t before = refused();

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		uint8_t head[16];
		int fd = caller_open();

		frame(head, cases[i].size, cases[i].kind, 7);
		head[5] = cases[i].version;
		assert_int_equal(send(fd, head, 16, 0), 16);
		until_closed(fd);
		assert_int_equal(refused(), before + i + 1);
	}
	assert_int_equal(node.received_count, 0);
}

static void message_in_single_bytes_is_one_message(void **state)
{
	uint8_t bytes[16 + 300];
	uint32_t sender = 3;
	int fd = caller_open();

	frame(bytes, 300, 1, 0);
	for (size_t i = 0; i < 300; i++)
		bytes[16 + i] = test_byte(i);
	memcpy(bytes + 16, &sender, sizeof(sender));
	for (size_t i = 0; i < sizeof(bytes); i++) {
		assert_int_equal(node.received_count, 0);
		assert_int_equal(send(fd, bytes + i, 1, 0), 1);
		step();
	}
	node_until(&node, &node.received_count, 1);
	assert_int_equal(node.damaged_count, 0);
	assert_int_equal(node.last_size, 300);
	/* And two and a half of them in one go. */
	for (int i = 0; i < 2; i++)
		assert_int_equal(send(fd, bytes, sizeof(bytes), 0),
				 sizeof(bytes));
	assert_int_equal(send(fd, bytes, 100, 0), 100);
	node_until(&node, &node.received_count, 3);
	close(fd);
	step();
	assert_int_equal(node.received_count, 3);
	assert_int_equal(node.damaged_count, 0);
}

/* Data that nobody asked for goes nowhere, however much it says it is. */
static void unasked_data_is_skipped(void **state)
{
	static uint8_t bytes[100000];
	int fd = caller_open();

	frame(bytes, sizeof(bytes) - 16, 4, UINT64_MAX);
	assert_int_equal(send(fd, bytes, sizeof(bytes), 0), sizeof(bytes));
	frame(bytes, 8, 1, 0);
	assert_int_equal(send(fd, bytes, 24, 0), 24);
	node_until(&node, &node.received_count, 1);
	close(fd);
}

/* Connections that say nothing go, oldest first; a true peer stays. */
static void silent_connections_are_bounded(void **state)
{
	int fds[TRANSPORT_TCP_DOUBTFUL_MAX + 20];
	int count = sizeof(fds) / sizeof(fds[0]), closed = 0;
	struct move move;

	puppet_meet_new(&puppet, 0, &node);
	for (int i = 0; i < count; i++) {
		fds[i] = caller_open();
		step();
	}
	while (closed < 20) {
		step();
		closed = 0;
		for (int i = 0; i < count; i++)
			closed += is_closed(fds[i]);
	}
	assert_true(is_closed(fds[0]));
	assert_false(is_closed(fds[count - 1]));
	for (int i = 0; i < count; i++)
		close(fds[i]);
	child_tell(&puppet.child, "send 1 3 1 100");
	node_until(&node, &node.received_count, 1);
	puppet_hear(&puppet, &node, answer);
	assert_string_equal(answer, "0 0");
	assert_int_equal(node_send(&node, PUPPET_NID(0), 1, 100, &move), 0);
	assert_int_equal(node_finish(&node, &move), 0);
}

/* Callers wait in the listen queue until a descriptor is free. */
static void lack_of_descriptors_is_waited_for_without_spinning(void **state)
{
	struct rlimit limit, none;
	uint64_t before;
	uint8_t bytes[24] = { 0 };
	int fd = caller_open();
	int last = dup(fd);

	step(); /* accepted */
	close(last);
	fd = caller_open();
	assert_int_equal(getrlimit(RLIMIT_NOFILE, &limit), 0);
	none = limit;
	none.rlim_cur = (rlim_t)dup(fd);
	close((int)none.rlim_cur);
	assert_int_equal(setrlimit(RLIMIT_NOFILE, &none), 0);
	step();
	before = node.progress_count;
	for (uint64_t until_ns = test_now_ns() + UINT64_C(300000000);
	     test_now_ns() < until_ns;)
		node_step(&node, until_ns);
	/* Each pause is 50 ms; a busy loop has thousands. */
	assert_true(node.progress_count - before < 40);
	assert_int_equal(setrlimit(RLIMIT_NOFILE, &limit), 0);
	frame(bytes, 8, 1, 0);
	assert_int_equal(send(fd, bytes, sizeof(bytes), 0), sizeof(bytes));
	node_until(&node, &node.received_count, 1);
	close(fd);
}

/* A listener that accepts nothing; the node knows it as this peer. */
static int listener_open(scoll_nid_t nid, bool is_listening)
{
	struct sockaddr_in at = { .sin_family = AF_INET,
				  .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	socklen_t size = sizeof(at);
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

	assert_int_equal(bind(fd, (struct sockaddr *)&at, size), 0);
	assert_int_equal(getsockname(fd, (struct sockaddr *)&at, &size), 0);
	if (is_listening)
		assert_int_equal(listen(fd, 1), 0);
	node_meet(&node, nid, (const uint8_t *)&at, size);
	return fd;
}

/*
 * The time of the last progress is long ago when a program that was idle sends:
 * a peer that is about to start has its time all the same.
 */
static void peer_that_starts_late_is_reached_after_idle_time(void **state)
{
	int listener = listener_open(5, false);
	struct move move;

	step();
	node.skew_ns += 10 * TRANSPORT_TCP_SEND_NS;
	assert_int_equal(node_send(&node, 5, 1, 100, &move), 0);
	for (int i = 0; i < 20; i++)
		step();
	assert_false(move.is_done);
	assert_int_equal(listen(listener, 1), 0);
	assert_int_equal(node_finish(&node, &move), 0);
	close(listener);
}

static void peer_with_a_full_queue_is_busy(void **state)
{
	static struct move moves[TRANSPORT_TCP_QUEUE_MAX];
	uint8_t byte = 1;
	struct iovec piece = { &byte, 1 };
	struct move more = { .is_done = false };
	int fd = listener_open(5, false);

	memset(moves, 0, sizeof(moves));
	for (int i = 0; i < TRANSPORT_TCP_QUEUE_MAX; i++)
		assert_int_equal(node.ops->send(node.t, 5, &piece, 1,
						&moves[i].transfer),
				 0);
	assert_int_equal(node.ops->send(node.t, 5, &piece, 1, &more.transfer),
			 -EBUSY);
	assert_int_equal(node.kind->peer_set(node.t, 5, NULL, 0), 0);
	for (int i = 0; i < TRANSPORT_TCP_QUEUE_MAX; i++)
		assert_int_equal(node_finish(&node, &moves[i]), -EHOSTUNREACH);
	close(fd);
}

static void receive_all(int fd, uint8_t *bytes, size_t size)
{
	for (size_t at = 0; at < size;) {
		ssize_t part = recv(fd, bytes + at, size - at, MSG_DONTWAIT);

		assert_true(part > 0 || (part < 0 && errno == EAGAIN));
		at += part > 0 ? (size_t)part : 0;
		step();
	}
}

/* Wrong key, beyond the end, of no bytes: each has its answer. */
static void reads_that_are_not_possible_are_refused(void **state)
{
	static uint8_t memory[100];
	struct iovec piece = { memory, sizeof(memory) };
	int listener = listener_open(5, true), fd;
	struct remote_piece shown;
	struct region region;
	uint8_t bytes[16 + 100];
	struct move move;
	const uint64_t cases[][3] = { { 1, 0, 10 },
				      { 0, 91, 10 },
				      { 0, UINT64_MAX, 10 },
				      { 0, 0, 0 },
				      { 0, 0, UINT64_MAX } };

	assert_int_equal(
		node.ops->region_open(node.t, &piece, 1, &region, &shown), 0);
	assert_int_equal(node_send(&node, 5, 1, 100, &move), 0);
	assert_int_equal(node_finish(&node, &move), 0);
	fd = accept(listener, NULL, NULL);
	receive_all(fd, bytes, 116);
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		uint64_t body[3] = { shown.key + cases[i][0], cases[i][1],
				     cases[i][2] };

		frame(bytes, sizeof(body), 3, 70 + i);
		memcpy(bytes + 16, body, sizeof(body));
		assert_int_equal(send(fd, bytes, 16 + sizeof(body), 0),
				 16 + sizeof(body));
		receive_all(fd, bytes, 16);
		assert_int_equal(bytes[4], 5);
		assert_int_equal(bytes[8], 70 + i);
	}
	node.ops->region_close(node.t, &region);
	close(fd);
	close(listener);
}

static void missing_plugin_is_an_error_that_names_it(void **state)
{
	struct transport_options options = { .provider = "verbs;ofi_rxm" };
	struct transport other = { 0 };
	struct fairlead_error error = { 0 };

	if (transport_open(&options, &other, &error) != -ELIBACC) {
		print_message("libscoll-ofi.so is installed here\n");
		transport_close(&other);
		skip();
	}
	assert_non_null(strstr(error.text, "libscoll-ofi.so"));
	assert_non_null(strstr(error.text, "provider 'tcp'"));
}

/* --- another user has the name of a Unix socket --- */

static void name_take(const struct sockaddr_in *at, int ready)
{
	const uint8_t *bytes = (const uint8_t *)at;
	struct sockaddr_un name = { .sun_family = AF_UNIX };
	char *text = name.sun_path + 1;
	int fd = socket(AF_UNIX, SOCK_STREAM, 0);

	text += sprintf(text, "scoll/");
	for (size_t i = 0; i < sizeof(*at); i++)
		text += sprintf(text, "%02x", bytes[i]);
	if (setuid(NOBODY) < 0 ||
	    bind(fd, (struct sockaddr *)&name,
		 (socklen_t)(text - (char *)&name)) < 0 ||
	    listen(fd, 5) < 0 || write(ready, "x", 1) != 1)
		_exit(1);
	pause();
	_exit(0);
}

static void name_taken_by_another_user_is_not_trusted(void **state)
{
	struct sockaddr_in at = { .sin_family = AF_INET,
				  .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	socklen_t size = sizeof(at);
	int listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	int ready[2], fd = -1;
	struct move move;
	char byte;
	pid_t pid;

	if (geteuid() != 0) {
		print_message("only root can become another user\n");
		skip();
	}
	assert_int_equal(bind(listener, (struct sockaddr *)&at, size), 0);
	assert_int_equal(listen(listener, 1), 0);
	assert_int_equal(getsockname(listener, (struct sockaddr *)&at, &size),
			 0);
	assert_int_equal(pipe(ready), 0);
	pid = fork();
	if (pid == 0)
		name_take(&at, ready[1]);
	assert_int_equal(read(ready[0], &byte, 1), 1);
	node_meet(&node, 5, (const uint8_t *)&at, size);
	assert_int_equal(node_send(&node, 5, 1, 100, &move), 0);
	assert_int_equal(node_finish(&node, &move), 0);
	fd = accept(listener, NULL, NULL);
	assert_true(fd >= 0);
	assert_int_equal(recv(fd, &byte, 1, MSG_PEEK), 1);
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
	close(fd);
	close(listener);
	close(ready[0]);
	close(ready[1]);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(int argc, char **argv)
{
	static const struct CMUnitTest tests[] = {
		TEST(malformed_frames_close_their_connection),
		TEST(message_in_single_bytes_is_one_message),
		TEST(unasked_data_is_skipped),
		TEST(silent_connections_are_bounded),
		TEST(lack_of_descriptors_is_waited_for_without_spinning),
		TEST(peer_that_starts_late_is_reached_after_idle_time),
		TEST(peer_with_a_full_queue_is_busy),
		TEST(reads_that_are_not_possible_are_refused),
		TEST(missing_plugin_is_an_error_that_names_it),
		TEST(name_taken_by_another_user_is_not_trusted),
	};
	int result = puppet_main(argc, argv);

	return result >= 0 ? result : cmocka_run_group_tests(tests, NULL, NULL);
}
