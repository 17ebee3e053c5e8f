/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The net seam with peers that ask too much: more than their turn, more than
 * they read, more connections than their share. They are raw sockets; the
 * served net answers each frame.
 */
#include "sys/net.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>

#include "sys/test/watchdog.h"

#define CONNECTIONS_MAX 6
#define ROOT_MAX        2
#define USER_MAX        3
#define PEERS_MAX       8
#define FRAMES          500
#define ANSWER_BYTES    16384
#define CLOG_BYTES      (2 * ANSWER_BYTES)
#define OTHER_UID       65534
#define CROWD           (8 * NET_TURN_CONNECTIONS)

struct fixture {
	uv_loop_t loop;
	struct net *net;
	unsigned int opened;
	unsigned int received[PEERS_MAX + 1]; /* by peer */
	unsigned int others;                  /* frames since root wrote */
	int root; /* writes with the first frame of another; or -1 */
	size_t answer_bytes;
	char folder[32];
	char path[64];
};

static void on_opened(void *ctx, uint64_t peer,
		      const struct net_peer_info *info)
{
	struct fixture *fixture = ctx;

	assert_int_not_equal(peer, 0);
	fixture->opened++;
}

static void raw_ask(int fd, size_t count)
{
	static char bytes[FRAMES * 5];

	for (size_t i = 0; i < count; i++)
		memcpy(bytes + 5 * i, "\1\0\0\0?", 5);
	assert_int_equal(write(fd, bytes, 5 * count), 5 * count);
}

static void on_received(void *ctx, uint64_t peer, const void *frame,
			size_t size)
{
	static const char answer[ANSWER_BYTES];
	struct fixture *fixture = ctx;
	struct net_seam seam = net_seam(fixture->net);

	assert_in_range(peer, 1, PEERS_MAX);
	fixture->received[peer]++;
	fixture->others++;
	if (fixture->root >= 0) {
		raw_ask(fixture->root, 1);
		fixture->root = -1;
		fixture->others = 0;
	}
	if (fixture->answer_bytes > 0)
		assert_int_equal(seam.ops->send(seam.ctx, peer, answer,
						fixture->answer_bytes),
				 0);
}

static void on_closed(void *ctx, uint64_t peer, int reason)
{
	struct fixture *fixture = ctx;

	fixture->opened--;
}

static const struct net_events events = {
	.opened = on_opened,
	.received = on_received,
	.closed = on_closed,
};

static int set_up(void **state)
{
	struct fixture *fixture = calloc(1, sizeof(*fixture));
	const struct net_options options = {
		.events = &events,
		.events_ctx = fixture,
		.connections_max = CONNECTIONS_MAX,
		.root_connections = ROOT_MAX,
		.user_connections_max = USER_MAX,
		.clog_bytes = CLOG_BYTES,
	};
	struct fairlead_error error;

	fixture->root = -1;
	watchdog_start(NULL);
	signal(SIGPIPE, SIG_IGN);
	uv_loop_init(&fixture->loop);
	strcpy(fixture->folder, "/tmp/fairlead-crowd-XXXXXX");
	assert_non_null(mkdtemp(fixture->folder));
	assert_int_equal(chmod(fixture->folder, 0755), 0);
	snprintf(fixture->path, sizeof(fixture->path), "%s/socket",
		 fixture->folder);
	fixture->net = net_create(&fixture->loop, &options);
	assert_int_equal(net_listen_unix(fixture->net, fixture->path, 0666,
					 (uid_t)-1, (gid_t)-1, &error),
			 0);
	*state = fixture;
	return 0;
}

static int tear_down(void **state)
{
	struct fixture *fixture = *state;

	net_destroy(fixture->net);
	assert_int_equal(uv_run(&fixture->loop, UV_RUN_DEFAULT), 0);
	assert_int_equal(uv_loop_close(&fixture->loop), 0);
	assert_int_equal(rmdir(fixture->folder), 0);
	free(fixture);
	watchdog_stop();
	return 0;
}

#define run_until(fixture, condition) \
	while (!(condition))          \
	uv_run(&(fixture)->loop, UV_RUN_ONCE)

/* As a user other than root, whoever runs the test, or as who runs it. */
static int raw_connect(struct fixture *fixture, bool is_other)
{
	struct sockaddr_un address = { .sun_family = AF_UNIX };
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);

	strcpy(address.sun_path, fixture->path);
	if (is_other && getuid() == 0)
		assert_int_equal(seteuid(OTHER_UID), 0);
	assert_int_equal(
		connect(fd, (struct sockaddr *)&address, sizeof(address)), 0);
	if (is_other && getuid() == 0)
		assert_int_equal(seteuid(0), 0);
	return fd;
}

static int raw_connect_tcp(uint16_t port)
{
	struct sockaddr_in address = {
		.sin_family = AF_INET,
		.sin_port = htons(port),
		.sin_addr.s_addr = htonl(INADDR_LOOPBACK),
	};
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

	assert_int_equal(
		connect(fd, (struct sockaddr *)&address, sizeof(address)), 0);
	return fd;
}

/* The loop has nothing to do that is not waited for. */
static void run_idle(struct fixture *fixture)
{
	for (size_t i = 0; i < 2 * FRAMES; i++)
		uv_run(&fixture->loop, UV_RUN_NOWAIT);
}

/* True when the other end is closed, false when it is open and silent. */
static bool is_ended(int fd)
{
	char byte;
	ssize_t size = recv(fd, &byte, 1, MSG_DONTWAIT);

	return size == 0 || (size < 0 && errno == ECONNRESET);
}

static void many_frames_of_one_do_not_keep_others_waiting(void **state)
{
	struct fixture *fixture = *state;
	_auto_(closep) int greedy = raw_connect(fixture, true);
	_auto_(closep) int modest = -1;

	run_until(fixture, fixture->opened == 1);
	modest = raw_connect(fixture, true);
	run_until(fixture, fixture->opened == 2);
	raw_ask(greedy, FRAMES);
	raw_ask(modest, 1);
	run_until(fixture, fixture->received[2] == 1);
	assert_in_range(fixture->received[1], 0, NET_TURN_FRAMES);
	run_until(fixture, fixture->received[1] == FRAMES);
}

/* All of its connections have more than enough to do. */
static void one_user_does_not_keep_root_waiting(void **state)
{
	struct fixture *fixture = *state;
	int crowd[USER_MAX];
	int root;

	if (getuid() != 0) {
		print_message("needs root, which goes first\n");
		skip();
	}
	for (size_t i = 0; i < USER_MAX; i++)
		crowd[i] = raw_connect(fixture, true);
	run_until(fixture, fixture->opened == USER_MAX);
	root = raw_connect(fixture, false);
	run_until(fixture, fixture->opened == USER_MAX + 1);
	for (size_t i = 0; i < USER_MAX; i++)
		raw_ask(crowd[i], FRAMES);
	fixture->root = root;
	run_until(fixture, fixture->received[USER_MAX + 1] == 1);
	assert_in_range(fixture->others, 1, 2);
	for (size_t i = 0; i < USER_MAX; i++)
		close(crowd[i]);
	close(root);
	run_until(fixture, fixture->opened == 0);
}

static size_t count_ended(const int *fds, size_t count)
{
	size_t ended = 0;

	for (size_t i = 0; i < count; i++)
		ended += is_ended(fds[i]);
	return ended;
}

/* As long as more come than are let in, the loop would do nothing else. */
static void many_that_connect_do_not_keep_others_waiting(void **state)
{
	struct fixture *fixture = *state;
	_auto_(closep) int modest = raw_connect(fixture, true);
	int crowd[CROWD];

	run_until(fixture, fixture->opened == 1);
	for (size_t i = 0; i < CROWD; i++)
		crowd[i] = raw_connect(fixture, true);
	raw_ask(modest, 1);
	run_until(fixture, fixture->received[1] == 1);
	assert_in_range(count_ended(crowd, CROWD), 0, CROWD / 2);
	run_until(fixture, count_ended(crowd, CROWD) == CROWD - USER_MAX + 1);
	for (size_t i = 0; i < CROWD; i++)
		close(crowd[i]);
	run_until(fixture, fixture->opened == 1);
}

static void who_does_not_read_is_not_served(void **state)
{
	struct fixture *fixture = *state;
	static char answers[65536];
	_auto_(closep) int fd = raw_connect(fixture, true);
	size_t got = 0, all = (size_t)FRAMES * (4 + ANSWER_BYTES);

	fixture->answer_bytes = ANSWER_BYTES;
	run_until(fixture, fixture->opened == 1);
	raw_ask(fd, FRAMES);
	run_idle(fixture);
	assert_in_range(fixture->received[1], 1, FRAMES / 2);
	while (got < all) {
		ssize_t size = recv(fd, answers, sizeof(answers), MSG_DONTWAIT);

		assert_true(size > 0 || errno == EAGAIN);
		got += size > 0 ? (size_t)size : 0;
		uv_run(&fixture->loop, UV_RUN_NOWAIT);
	}
	assert_int_equal(fixture->received[1], FRAMES);
}

static void who_waits_and_goes_away_is_forgotten(void **state)
{
	struct fixture *fixture = *state;
	int greedy, clogged;

	fixture->answer_bytes = ANSWER_BYTES;
	greedy = raw_connect(fixture, true);
	clogged = raw_connect(fixture, true);
	run_until(fixture, fixture->opened == 2);
	raw_ask(clogged, FRAMES);
	run_idle(fixture);
	raw_ask(greedy, FRAMES);
	uv_run(&fixture->loop, UV_RUN_ONCE);
	close(greedy);
	close(clogged);
	run_until(fixture, fixture->opened == 0);
	assert_int_equal(net_connection_count(fixture->net), 0);
}

static void one_user_has_no_more_than_its_share(void **state)
{
	struct fixture *fixture = *state;
	int fds[USER_MAX + 1];

	for (size_t i = 0; i <= USER_MAX; i++)
		fds[i] = raw_connect(fixture, true);
	run_until(fixture, is_ended(fds[USER_MAX]));
	assert_int_equal(fixture->opened, USER_MAX);
	assert_false(is_ended(fds[0]));
	close(fds[USER_MAX]);
	close(fds[0]);
	run_until(fixture, fixture->opened == USER_MAX - 1);
	fds[0] = raw_connect(fixture, true);
	run_until(fixture, fixture->opened == USER_MAX);
	for (size_t i = 0; i < USER_MAX; i++)
		close(fds[i]);
	run_until(fixture, fixture->opened == 0);
}

/* As many as there are, in one go, with those that are turned away. */
static void root_is_let_in_when_others_crowd(void **state)
{
	struct fixture *fixture = *state;
	int crowd[2 * CONNECTIONS_MAX];
	int root[CONNECTIONS_MAX - USER_MAX];

	if (getuid() != 0) {
		print_message("needs root, whose turn it is\n");
		skip();
	}
	for (size_t i = 0; i < 2 * CONNECTIONS_MAX; i++)
		crowd[i] = raw_connect(fixture, true);
	for (size_t i = 0; i < CONNECTIONS_MAX - USER_MAX; i++)
		root[i] = raw_connect(fixture, false);
	run_until(fixture, fixture->opened == CONNECTIONS_MAX);
	for (size_t i = 0; i < CONNECTIONS_MAX - USER_MAX; i++) {
		assert_false(is_ended(root[i]));
		close(root[i]);
	}
	for (size_t i = 0; i < 2 * CONNECTIONS_MAX; i++)
		close(crowd[i]);
	run_until(fixture, fixture->opened == 0);
}

/* Its peer does not care, and the time to linger is not over. */
static void what_is_being_closed_makes_room_over_tcp(void **state)
{
	struct fixture *fixture = *state;
	struct net_seam seam = net_seam(fixture->net);
	int fds[CONNECTIONS_MAX + 1];
	struct fairlead_error error;
	uint16_t port;

	assert_int_equal(
		net_listen_tcp(fixture->net, "127.0.0.1:0", &port, &error), 0);
	for (size_t i = 0; i < CONNECTIONS_MAX; i++)
		fds[i] = raw_connect_tcp(port);
	run_until(fixture, fixture->opened == CONNECTIONS_MAX);
	seam.ops->close(seam.ctx, 2);
	seam.ops->close(seam.ctx, 1);
	fds[CONNECTIONS_MAX] = raw_connect_tcp(port);
	raw_ask(fds[CONNECTIONS_MAX], 1);
	run_until(fixture, fixture->received[CONNECTIONS_MAX + 1] == 1);
	/* The one that was closed first has made room for it. */
	assert_int_equal(fixture->opened, CONNECTIONS_MAX);
	assert_false(is_ended(fds[2]));
	for (size_t i = 0; i <= CONNECTIONS_MAX; i++)
		close(fds[i]);
	run_until(fixture, fixture->opened == 0);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
	const struct CMUnitTest tests[] = {
		TEST(many_frames_of_one_do_not_keep_others_waiting),
		TEST(one_user_does_not_keep_root_waiting),
		TEST(many_that_connect_do_not_keep_others_waiting),
		TEST(who_does_not_read_is_not_served),
		TEST(who_waits_and_goes_away_is_forgotten),
		TEST(one_user_has_no_more_than_its_share),
		TEST(root_is_let_in_when_others_crowd),
		TEST(what_is_being_closed_makes_room_over_tcp),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
