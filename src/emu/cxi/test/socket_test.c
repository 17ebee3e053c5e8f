/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The daemon against clients that do not behave: usage: socket_test
 * PATH-OF-fairlead-softnic.
 */
#include "emu/cxi/wire/peer.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <errno.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "emu/cxi/test/daemon.h"
#include "sys/packet_server.h"

#define EVENTUALLY_SECONDS 60
#define DESCRIPTORS_WANTED (PACKET_CLIENTS_MAX + 64)

static const char *program; /* argv[1] */

static int setup(void **state)
{
	struct daemon *daemon = calloc(1, sizeof(*daemon));

	assert_non_null(daemon);
	daemon_init(daemon, program);
	assert_true(daemon_start(daemon, NULL));
	*state = daemon;
	return 0;
}

static int teardown(void **state)
{
	struct daemon *daemon = *state;

	daemon_fini(daemon);
	free(daemon);
	return 0;
}

static int must_connect(const struct daemon *daemon)
{
	int fd = packet_connect(daemon->dir);

	assert_true(fd >= 0);
	return fd;
}

static int ask_devices(const struct daemon *daemon)
{
	struct wire_request request = { .op = WIRE_GET_DEVICE_LIST };
	_auto_(freep) uint8_t *packet = malloc(WIRE_REPLY_MAX);
	_auto_(closep) int fd = must_connect(daemon);
	struct softnic_wire_reply reply;
	int result;

	result = peer_call(fd, &request, packet, &reply, NULL);
	return result < 0 ? result : reply.result;
}

/* Does the daemon serve others? */
static void assert_alive(const struct daemon *daemon)
{
	assert_int_equal(ask_devices(daemon), 1);
}

/* A refusal with this error, and then the end. */
static void assert_refused(int fd, int expected)
{
	uint8_t packet[64];
	struct softnic_wire_reply reply;
	ssize_t size;

	/* An error of ours, of having sent, can come before it. */
	do
		size = recv(fd, packet, sizeof(packet), 0);
	while (size < 0 && errno == ECONNRESET);
	assert_int_equal(wire_reply_decode(packet, (size_t)size, &reply), 0);
	assert_int_equal(reply.op, WIRE_NONE);
	assert_int_equal(reply.result, expected);
	assert_true(recv(fd, packet, sizeof(packet), 0) <= 0);
}

static void garbage_ends_the_connection(void **state)
{
	static const uint8_t garbage[] = { 1, 250, 0, 0 };
	static const uint8_t version[] = { 9, WIRE_GET_DEVICE_LIST, 0, 0 };
	const struct daemon *daemon = *state;
	_auto_(closep) int one = must_connect(daemon);
	_auto_(closep) int two = must_connect(daemon);

	assert_int_equal(send(one, garbage, sizeof(garbage), 0), 4);
	assert_refused(one, -EPROTO);
	assert_int_equal(send(two, version, sizeof(version), 0), 4);
	assert_refused(two, -EPROTONOSUPPORT);
	assert_alive(daemon);
}

static void too_large_a_request_ends_the_connection(void **state)
{
	const struct daemon *daemon = *state;
	_auto_(closep) int fd = must_connect(daemon);
	uint8_t large[WIRE_REQUEST_MAX + 1] = { 1, WIRE_CONTROL };

	assert_int_equal(send(fd, large, sizeof(large), 0), sizeof(large));
	assert_refused(fd, -EMSGSIZE);
	assert_alive(daemon);
}

static void silence_holds_up_nobody(void **state)
{
	const struct daemon *daemon = *state;
	int fd = must_connect(daemon);

	assert_alive(daemon);
	assert_int_equal(close(fd), 0);
}

static void vanishing_client_is_forgotten(void **state)
{
	struct wire_request request = { .op = WIRE_CONTROL, .text = "dump" };
	const struct daemon *daemon = *state;
	struct writer writer = { 0 };

	wire_request_encode(&request, &writer);
	for (int i = 0; i < 50; i++) {
		int fd = must_connect(daemon);

		assert_int_equal(send(fd, writer.data, writer.size, 0),
				 writer.size);
		close(fd);
	}
	writer_fini(&writer);
	assert_alive(daemon);
}

/* Requests that are sent and sent while no answer is read. */
static void client_that_does_not_read_is_let_go(void **state)
{
	struct wire_request request = { .op = WIRE_GET_DEVICE_LIST };
	const struct daemon *daemon = *state;
	_auto_(closep) int fd = must_connect(daemon);
	struct writer writer = { 0 };

	wire_request_encode(&request, &writer);
	while (send(fd, writer.data, writer.size, MSG_NOSIGNAL) > 0)
		continue;
	assert_true(errno == EPIPE || errno == ECONNRESET);
	assert_alive(daemon);
	writer_fini(&writer);
}

static void connections_have_a_maximum(void **state)
{
	const struct daemon *daemon = *state;
	struct rlimit limit;
	time_t deadline = time(NULL) + EVENTUALLY_SECONDS;
	int fds[PACKET_CLIENTS_MAX];
	int result;
	int over;

	assert_int_equal(getrlimit(RLIMIT_NOFILE, &limit), 0);
	if (limit.rlim_max < DESCRIPTORS_WANTED) {
		print_message("the limit of descriptors is %llu\n",
			      (unsigned long long)limit.rlim_max);
		skip();
	}
	if (limit.rlim_cur < DESCRIPTORS_WANTED) {
		limit.rlim_cur = DESCRIPTORS_WANTED;
		assert_int_equal(setrlimit(RLIMIT_NOFILE, &limit), 0);
	}
	for (int i = 0; i < PACKET_CLIENTS_MAX; i++)
		fds[i] = must_connect(daemon);
	over = must_connect(daemon);
	assert_refused(over, -EUSERS);
	close(over);
	for (int i = 0; i < PACKET_CLIENTS_MAX; i++)
		close(fds[i]);
	/* It may see the next connection before it sees that these end. */
	while ((result = ask_devices(daemon)) == -EUSERS &&
	       time(NULL) < deadline)
		sched_yield();
	assert_int_equal(result, 1);
}

#define node_test(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		node_test(garbage_ends_the_connection),
		node_test(too_large_a_request_ends_the_connection),
		node_test(silence_holds_up_nobody),
		node_test(vanishing_client_is_forgotten),
		node_test(client_that_does_not_read_is_let_go),
		node_test(connections_have_a_maximum),
	};

	if (argc != 2) {
		fprintf(stderr, "usage: %s FAIRLEAD-SOFTNIC\n", argv[0]);
		return 2;
	}
	program = argv[1];
	return cmocka_run_group_tests(tests, NULL, NULL);
}
