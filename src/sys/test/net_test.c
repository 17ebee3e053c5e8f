/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The net seam on real sockets: a served net, dialled nets, and raw sockets
 * that misbehave. Everything runs on one loop; a step is one uv_run, and a
 * test waits for conditions, never for time.
 */
#include "sys/net.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <netdb.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>

#include "sys/test/watchdog.h"

#define TIMEOUT_MS      30
#define CONNECTIONS_MAX 3
#define FRAME_MAX       65536
#define QUEUE_MAX       (8 * FRAME_MAX)

struct record {
	struct fixture *fixture;
	unsigned int opened, received, violated, closed;
	uint64_t peer;
	int violation;
	int reason;
	size_t bytes;
	char last[64];
	struct net_peer_info info;
	bool is_over; /* for the peer of the last frame, when it came */
	bool closes_on_frame;
	bool has_last_words;
};

struct fixture {
	uv_loop_t loop;
	struct net *server;
	struct net *client;
	struct record at_server;
	struct record at_client;
	char folder[32];
	char path[64];
	uint16_t port;
	struct fairlead_error error;
};

static void on_opened(void *ctx, uint64_t peer,
		      const struct net_peer_info *info)
{
	struct record *record = ctx;

	record->opened++;
	record->peer = peer;
	record->info = *info;
}

static struct net *net_of(struct record *record)
{
	return record == &record->fixture->at_server ? record->fixture->server
						     : record->fixture->client;
}

static void on_received(void *ctx, uint64_t peer, const void *frame,
			size_t size)
{
	struct record *record = ctx;
	struct net_seam seam = net_seam(net_of(record));

	record->received++;
	record->is_over = net_is_over(&seam, peer);
	record->bytes += size;
	memset(record->last, 0, sizeof(record->last));
	memcpy(record->last, frame,
	       size < sizeof(record->last) ? size : sizeof(record->last) - 1);
	if (record->closes_on_frame) {
		assert_int_equal(seam.ops->send(seam.ctx, peer, "bye", 3), 0);
		seam.ops->close(seam.ctx, peer);
		assert_int_equal(seam.ops->send(seam.ctx, peer, "no", 2),
				 -ENOTCONN);
	}
}

static void on_violated(void *ctx, uint64_t peer, int reason)
{
	struct record *record = ctx;
	struct net_seam seam = net_seam(net_of(record));

	record->violated++;
	record->violation = reason;
	if (record->has_last_words)
		assert_int_equal(seam.ops->send(seam.ctx, peer, "shame", 5), 0);
}

static void on_closed(void *ctx, uint64_t peer, int reason)
{
	struct record *record = ctx;

	record->closed++;
	record->reason = reason;
}

static const struct net_events events = {
	.opened = on_opened,
	.received = on_received,
	.violated = on_violated,
	.closed = on_closed,
};

static struct net *make_net(struct fixture *fixture, struct record *record)
{
	struct net_options options = {
		.events = &events,
		.events_ctx = record,
		.connections_max = CONNECTIONS_MAX,
		.frame_bytes_max = FRAME_MAX,
		.queue_bytes_max = QUEUE_MAX,
		.frame_timeout_ms = TIMEOUT_MS,
		.linger_ms = TIMEOUT_MS,
	};
	struct net *net;

	record->fixture = fixture;
	net = net_create(&fixture->loop, &options);
	return net;
}

static int set_up(void **state)
{
	struct fixture *fixture = calloc(1, sizeof(*fixture));

	watchdog_start(NULL);
	signal(SIGPIPE, SIG_IGN);
	uv_loop_init(&fixture->loop);
	strcpy(fixture->folder, "/tmp/fairlead-net-XXXXXX");
	assert_non_null(mkdtemp(fixture->folder));
	snprintf(fixture->path, sizeof(fixture->path), "%s/socket",
		 fixture->folder);
	fixture->server = make_net(fixture, &fixture->at_server);
	fixture->client = make_net(fixture, &fixture->at_client);
	assert_int_equal(net_listen_unix(fixture->server, fixture->path, 0640,
					 (uid_t)-1, (gid_t)-1, &fixture->error),
			 0);
	assert_int_equal(net_listen_tcp(fixture->server, "127.0.0.1:0",
					&fixture->port, &fixture->error),
			 0);
	*state = fixture;
	return 0;
}

static int tear_down(void **state)
{
	struct fixture *fixture = *state;

	net_destroy(fixture->server);
	net_destroy(fixture->client);
	assert_int_equal(uv_run(&fixture->loop, UV_RUN_DEFAULT), 0);
	assert_int_equal(uv_loop_close(&fixture->loop), 0);
	assert_int_equal(access(fixture->path, F_OK), -1);
	assert_int_equal(rmdir(fixture->folder), 0);
	free(fixture);
	watchdog_stop();
	return 0;
}

#define run_until(fixture, condition) \
	while (!(condition))          \
	uv_run(&(fixture)->loop, UV_RUN_ONCE)

static uint64_t dial(struct fixture *fixture, const char *address)
{
	uint64_t peer = 0;

	assert_int_equal(
		net_dial(fixture->client, address, &peer, &fixture->error), 0);
	assert_int_not_equal(peer, 0);
	return peer;
}

static uint64_t dial_tcp(struct fixture *fixture)
{
	char address[32];

	snprintf(address, sizeof(address), "127.0.0.1:%u", fixture->port);
	return dial(fixture, address);
}

static int send_text(struct net *net, uint64_t peer, const char *text)
{
	struct net_seam seam = net_seam(net);

	return seam.ops->send(seam.ctx, peer, text, strlen(text));
}

static void close_peer(struct net *net, uint64_t peer)
{
	struct net_seam seam = net_seam(net);

	seam.ops->close(seam.ctx, peer);
}

/* A socket that does not know about frames. */
static int raw_connect(struct fixture *fixture)
{
	struct sockaddr_un address = { .sun_family = AF_UNIX };
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);

	strcpy(address.sun_path, fixture->path);
	assert_int_equal(
		connect(fd, (struct sockaddr *)&address, sizeof(address)), 0);
	return fd;
}

static void raw_write(int fd, const void *bytes, size_t size)
{
	assert_int_equal(write(fd, bytes, size), size);
}

static void assert_echo(struct fixture *fixture, uint64_t peer)
{
	run_until(fixture, fixture->at_server.opened == 1 &&
				   fixture->at_client.opened == 1);
	assert_int_equal(send_text(fixture->client, peer, "hello"), 0);
	run_until(fixture, fixture->at_server.received == 1);
	assert_string_equal(fixture->at_server.last, "hello");
	assert_int_equal(send_text(fixture->server, fixture->at_server.peer,
				   "world"),
			 0);
	run_until(fixture, fixture->at_client.received == 1);
	assert_string_equal(fixture->at_client.last, "world");
	close_peer(fixture->client, peer);
	run_until(fixture, fixture->at_client.closed == 1 &&
				   fixture->at_server.closed == 1);
	assert_int_equal(fixture->at_client.reason, 0);
	assert_int_equal(fixture->at_server.reason, 0);
	assert_int_equal(net_connection_count(fixture->server), 0);
}

static void frames_go_both_ways_over_tcp(void **state)
{
	struct fixture *fixture = *state;

	assert_echo(fixture, dial_tcp(fixture));
	assert_false(fixture->at_server.info.is_unix);
	assert_int_equal(strncmp(fixture->at_server.info.address, "127.", 4),
			 0);
}

static void names_are_looked_up(void **state)
{
	struct fixture *fixture = *state;
	struct addrinfo *found;
	char address[32];

	if (getaddrinfo("localhost", NULL, NULL, &found) != 0) {
		print_message("this machine does not know 'localhost'\n");
		skip();
	}
	freeaddrinfo(found);
	snprintf(address, sizeof(address), "localhost:%u", fixture->port);
	assert_echo(fixture, dial(fixture, address));
}

static void unix_peers_come_with_credentials(void **state)
{
	struct fixture *fixture = *state;

	assert_echo(fixture, dial(fixture, fixture->path));
	assert_true(fixture->at_server.info.is_unix);
	assert_int_equal(fixture->at_server.info.uid, getuid());
	assert_int_equal(fixture->at_server.info.gid, getgid());
	assert_int_equal(fixture->at_server.info.pid, getpid());
}

static void an_adopted_socket_is_open_at_once(void **state)
{
	struct fixture *fixture = *state;
	uint64_t ours, theirs;
	int fds[2];

	assert_int_equal(
		socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, fds), 0);
	assert_int_equal(net_adopt(fixture->client, fds[0], &ours), 0);
	assert_int_equal(net_adopt(fixture->server, fds[1], &theirs), 0);
	close(fds[0]);
	close(fds[1]);
	assert_int_equal(send_text(fixture->client, ours, "hello"), 0);
	run_until(fixture, fixture->at_server.received == 1);
	assert_string_equal(fixture->at_server.last, "hello");
	close_peer(fixture->server, theirs);
	run_until(fixture, fixture->at_client.closed == 1);
	assert_int_equal(fixture->at_client.reason, 0);
	assert_int_equal(fixture->at_client.opened, 0);
	assert_int_equal(net_adopt(fixture->client, -1, &ours), -EBADF);
}

static void send_before_opened_is_not_connected(void **state)
{
	struct fixture *fixture = *state;
	uint64_t peer = dial_tcp(fixture);

	assert_int_equal(send_text(fixture->client, peer, "early"), -ENOTCONN);
	assert_int_equal(send_text(fixture->client, peer + 1, "nobody"),
			 -ENOTCONN);
	close_peer(fixture->client, peer);
	run_until(fixture, fixture->at_client.closed == 1);
	assert_int_equal(fixture->at_client.opened, 0);
}

static void a_failed_dial_is_closed_without_opened(void **state)
{
	struct fixture *fixture = *state;
	char path[80];

	snprintf(path, sizeof(path), "%s/none", fixture->folder);
	dial(fixture, path);
	run_until(fixture, fixture->at_client.closed == 1);
	assert_int_equal(fixture->at_client.opened, 0);
	assert_int_equal(fixture->at_client.reason, -ENOENT);
	dial(fixture, "127.0.0.1:1");
	run_until(fixture, fixture->at_client.closed == 2);
	assert_int_equal(fixture->at_client.opened, 0);
	assert_int_equal(fixture->at_client.reason, -ECONNREFUSED);
}

static void dial_and_listen_refuse_bad_addresses(void **state)
{
	static const char *const bad[] = { "",       "host",    "host:",
					   ":1",     "h:65536", "h:1x",
					   "::1:99", "[]:1",    "h:-1" };
	struct fixture *fixture = *state;
	uint64_t peer;

	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		assert_int_equal(net_dial(fixture->client, bad[i], &peer,
					  &fixture->error),
				 -EINVAL);
		assert_int_equal(net_listen_tcp(fixture->client, bad[i], NULL,
						&fixture->error),
				 -EINVAL);
	}
	assert_int_equal(net_listen_tcp(fixture->client, "localhost:0", NULL,
					&fixture->error),
			 -EINVAL);
	assert_int_equal(net_listen_unix(fixture->client, "relative", 0600, 0,
					 0, &fixture->error),
			 -EINVAL);
}

static void many_frames_in_one_read_are_delivered_in_order(void **state)
{
	struct fixture *fixture = *state;
	_auto_(closep) int fd = raw_connect(fixture);

	raw_write(fd, "\1\0\0\0a\2\0\0\0bb\3\0\0\0cc", 17);
	run_until(fixture, fixture->at_server.received == 2);
	assert_string_equal(fixture->at_server.last, "bb");
	raw_write(fd, "c", 1);
	run_until(fixture, fixture->at_server.received == 3);
	assert_string_equal(fixture->at_server.last, "ccc");
	assert_int_equal(fixture->at_server.violated, 0);
}

static void a_peer_that_hangs_up_is_known_before_its_frame(void **state)
{
	struct fixture *fixture = *state;
	int fd = raw_connect(fixture);

	raw_write(fd, "\1\0\0\0a", 5);
	run_until(fixture, fixture->at_server.received == 1);
	assert_false(fixture->at_server.is_over);
	raw_write(fd, "\1\0\0\0b", 5);
	close(fd);
	run_until(fixture, fixture->at_server.received == 2);
	assert_true(fixture->at_server.is_over);
	run_until(fixture, fixture->at_server.closed == 1);
}

static void and_over_tcp_too(void **state)
{
	struct fixture *fixture = *state;
	uint64_t peer = dial_tcp(fixture);

	run_until(fixture, fixture->at_server.opened == 1 &&
				   fixture->at_client.opened == 1);
	assert_int_equal(send_text(fixture->client, peer, "last"), 0);
	close_peer(fixture->client, peer);
	run_until(fixture, fixture->at_server.received == 1);
	assert_true(fixture->at_server.is_over);
}

static void half_a_frame_then_silence_is_closed_with_last_words(void **state)
{
	struct fixture *fixture = *state;
	_auto_(closep) int fd = raw_connect(fixture);
	char bytes[16] = "";

	fixture->at_server.has_last_words = true;
	raw_write(fd, "\5\0\0\0he", 6);
	run_until(fixture, fixture->at_server.violated == 1);
	assert_int_equal(fixture->at_server.violation, -ETIMEDOUT);
	assert_int_equal(read(fd, bytes, sizeof(bytes)), 9);
	assert_memory_equal(bytes, "\5\0\0\0shame", 9);
	raw_write(fd, "llo", 3);
	shutdown(fd, SHUT_WR);
	run_until(fixture, fixture->at_server.closed == 1);
	assert_int_equal(fixture->at_server.reason, -ETIMEDOUT);
	assert_int_equal(fixture->at_server.received, 0);
	assert_int_equal(read(fd, bytes, sizeof(bytes)), 0);
}

static void silence_between_frames_is_allowed(void **state)
{
	struct fixture *fixture = *state;
	_auto_(closep) int quiet = raw_connect(fixture);
	_auto_(closep) int half = raw_connect(fixture);

	raw_write(quiet, "\1\0\0\0a", 5);
	run_until(fixture, fixture->at_server.received == 1);
	/* The other connection shows that the time of a frame has passed. */
	raw_write(half, "\5", 1);
	run_until(fixture, fixture->at_server.violated == 1);
	raw_write(quiet, "\1\0\0\0b", 5);
	run_until(fixture, fixture->at_server.received == 2);
	assert_string_equal(fixture->at_server.last, "b");
}

static void an_oversize_frame_is_refused_by_its_length(void **state)
{
	struct fixture *fixture = *state;
	_auto_(closep) int fd = raw_connect(fixture);
	_auto_(closep) int empty = -1;
	char bytes[16] = "";

	fixture->at_server.has_last_words = true;
	raw_write(fd, "\1\0\1\0", 4);
	run_until(fixture, fixture->at_server.violated == 1);
	assert_int_equal(fixture->at_server.violation, -EMSGSIZE);
	assert_int_equal(read(fd, bytes, sizeof(bytes)), 9);
	empty = raw_connect(fixture);
	raw_write(empty, "\0\0\0\0", 4);
	run_until(fixture, fixture->at_server.violated == 2);
	assert_int_equal(fixture->at_server.violation, -EMSGSIZE);
}

static void the_largest_frame_arrives_and_a_larger_is_not_sent(void **state)
{
	struct fixture *fixture = *state;
	uint64_t peer = dial_tcp(fixture);
	struct net_seam seam = net_seam(fixture->client);
	static char frame[FRAME_MAX + 1];

	run_until(fixture, fixture->at_client.opened == 1);
	assert_int_equal(seam.ops->send(seam.ctx, peer, frame, FRAME_MAX + 1),
			 -EMSGSIZE);
	assert_int_equal(seam.ops->send(seam.ctx, peer, frame, 0), -EMSGSIZE);
	assert_int_equal(seam.ops->send(seam.ctx, peer, frame, FRAME_MAX), 0);
	run_until(fixture, fixture->at_server.received == 1);
	assert_int_equal(fixture->at_server.bytes, FRAME_MAX);
}

static void a_slow_reader_gets_no_more_than_its_queue(void **state)
{
	struct fixture *fixture = *state;
	_auto_(closep) int fd = raw_connect(fixture);
	struct net_seam seam = net_seam(fixture->server);
	static char frame[FRAME_MAX];
	unsigned int sent = 0;
	int result;

	assert_true(fd >= 0);
	run_until(fixture, fixture->at_server.opened == 1);
	while ((result = seam.ops->send(seam.ctx, fixture->at_server.peer,
					frame, sizeof(frame))) == 0)
		assert_true(++sent < 10000);
	assert_int_equal(result, -ENOBUFS);
	assert_true(sent >= QUEUE_MAX / (FRAME_MAX + 4));
	/* It never reads: closing gives up after the linger time. */
	seam.ops->close(seam.ctx, fixture->at_server.peer);
	run_until(fixture, fixture->at_server.closed == 1);
}

static void what_is_queued_is_written_before_the_close(void **state)
{
	struct fixture *fixture = *state;
	uint64_t peer = dial_tcp(fixture);

	fixture->at_server.closes_on_frame = true;
	run_until(fixture, fixture->at_client.opened == 1);
	assert_int_equal(send_text(fixture->client, peer, "one"), 0);
	assert_int_equal(send_text(fixture->client, peer, "two"), 0);
	run_until(fixture, fixture->at_client.closed == 1 &&
				   fixture->at_server.closed == 1);
	assert_int_equal(fixture->at_server.received, 1);
	assert_string_equal(fixture->at_client.last, "bye");
}

static void connections_over_the_maximum_end_at_once(void **state)
{
	struct fixture *fixture = *state;
	int fds[CONNECTIONS_MAX];
	_auto_(closep) int over = -1;
	uint64_t peer;
	char byte;

	for (size_t i = 0; i < CONNECTIONS_MAX; i++)
		fds[i] = raw_connect(fixture);
	run_until(fixture, fixture->at_server.opened == CONNECTIONS_MAX);
	over = raw_connect(fixture);
	assert_int_equal(send(over, "\1\0\0\0a", 5, MSG_NOSIGNAL), 5);
	while (recv(over, &byte, 1, MSG_DONTWAIT) < 0 && errno == EAGAIN)
		uv_run(&fixture->loop, UV_RUN_NOWAIT);
	assert_int_equal(fixture->at_server.opened, CONNECTIONS_MAX);
	for (size_t i = 0; i < CONNECTIONS_MAX; i++) {
		dial(fixture, fixture->path);
		close(fds[i]);
	}
	assert_int_equal(net_dial(fixture->client, fixture->path, &peer,
				  &fixture->error),
			 -EMFILE);
	run_until(fixture, fixture->at_server.closed >= CONNECTIONS_MAX);
}

static void a_unix_socket_has_its_mode(void **state)
{
	struct fixture *fixture = *state;
	struct stat status;

	assert_int_equal(stat(fixture->path, &status), 0);
	assert_int_equal(status.st_mode & 07777, 0640);
}

static void a_live_socket_is_not_replaced(void **state)
{
	struct fixture *fixture = *state;
	uint64_t peer;
	char address[32];

	assert_int_equal(net_listen_unix(fixture->client, fixture->path, 0600,
					 (uid_t)-1, (gid_t)-1, &fixture->error),
			 -EADDRINUSE);
	assert_non_null(strstr(fixture->error.text, fixture->path));
	snprintf(address, sizeof(address), "127.0.0.1:%u", fixture->port);
	assert_int_equal(net_listen_tcp(fixture->client, address, NULL,
					&fixture->error),
			 -EADDRINUSE);
	assert_non_null(strstr(fixture->error.text, "is another fairleadd "
						    "running?"));
	peer = dial(fixture, fixture->path);
	run_until(fixture, fixture->at_client.opened == 1);
	assert_int_equal(send_text(fixture->client, peer, "here"), 0);
	run_until(fixture, fixture->at_server.received == 1);
	assert_string_equal(fixture->at_server.last, "here");
}

static void a_stale_socket_is_replaced(void **state)
{
	struct fixture *fixture = *state;
	struct sockaddr_un address = { .sun_family = AF_UNIX };
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	struct net *net = make_net(fixture, &fixture->at_client);

	snprintf(address.sun_path, sizeof(address.sun_path), "%s/stale",
		 fixture->folder);
	assert_int_equal(bind(fd, (struct sockaddr *)&address, sizeof(address)),
			 0);
	close(fd);
	assert_int_equal(net_listen_unix(net, address.sun_path, 0600, (uid_t)-1,
					 (gid_t)-1, &fixture->error),
			 0);
	net_destroy(net);
	assert_int_equal(access(address.sun_path, F_OK), -1);
}

static void another_file_in_the_sockets_place_stays(void **state)
{
	struct fixture *fixture = *state;
	char path[80];

	snprintf(path, sizeof(path), "%s/file", fixture->folder);
	fclose(fopen(path, "w"));
	assert_int_equal(net_listen_unix(fixture->client, path, 0600, (uid_t)-1,
					 (gid_t)-1, &fixture->error),
			 -EEXIST);
	assert_int_equal(unlink(path), 0);
}

static void listen_stop_keeps_connections(void **state)
{
	struct fixture *fixture = *state;
	uint64_t peer = dial_tcp(fixture);

	run_until(fixture, fixture->at_server.opened == 1 &&
				   fixture->at_client.opened == 1);
	net_listen_stop(fixture->server);
	assert_int_equal(access(fixture->path, F_OK), -1);
	assert_int_equal(send_text(fixture->client, peer, "still"), 0);
	run_until(fixture, fixture->at_server.received == 1);
	assert_string_equal(fixture->at_server.last, "still");
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
	const struct CMUnitTest tests[] = {
		TEST(frames_go_both_ways_over_tcp),
		TEST(names_are_looked_up),
		TEST(unix_peers_come_with_credentials),
		TEST(an_adopted_socket_is_open_at_once),
		TEST(send_before_opened_is_not_connected),
		TEST(a_failed_dial_is_closed_without_opened),
		TEST(dial_and_listen_refuse_bad_addresses),
		TEST(many_frames_in_one_read_are_delivered_in_order),
		TEST(a_peer_that_hangs_up_is_known_before_its_frame),
		TEST(and_over_tcp_too),
		TEST(half_a_frame_then_silence_is_closed_with_last_words),
		TEST(silence_between_frames_is_allowed),
		TEST(an_oversize_frame_is_refused_by_its_length),
		TEST(the_largest_frame_arrives_and_a_larger_is_not_sent),
		TEST(a_slow_reader_gets_no_more_than_its_queue),
		TEST(what_is_queued_is_written_before_the_close),
		TEST(connections_over_the_maximum_end_at_once),
		TEST(a_unix_socket_has_its_mode),
		TEST(a_live_socket_is_not_replaced),
		TEST(a_stale_socket_is_replaced),
		TEST(another_file_in_the_sockets_place_stays),
		TEST(listen_stop_keeps_connections),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
