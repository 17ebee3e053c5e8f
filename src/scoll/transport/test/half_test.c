/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Half of a message: its sender is behind a relay in this process, which stops
 * within it for as long as others fill all the room for messages.
 */
#include "scoll/transport/ofi/ofi.h"

#include <arpa/inet.h>
#include <inttypes.h>
#include <netinet/in.h>
#include <poll.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cmocka.h>

#include "scoll/transport/test/node.h"
#include "sys/test/watchdog.h"

#define SELF_NID      1
#define STRIDE        12345 /* bytes; no message ends where we stop */
#define STOPS         20
#define MESSAGE_BYTES 3100
#define HALF_COUNT    200 /* messages of the one behind the relay */
#define OTHERS_COUNT  200 /* messages of the other at each stop: all room */

struct relay {
	int listener;
	int ends[2]; /* the sender's, the node's; -1: none yet */
	struct sockaddr_in to;
	uint64_t sent;  /* bytes, of the sender to the node */
	uint64_t limit; /* of these */
};

static struct node node;
static struct puppet puppets[2];
static struct relay relay;
static char answer[CHILD_ANSWER_MAX];

static void relay_open(const uint8_t *address)
{
	struct sockaddr_in at = { .sin_family = AF_INET };

	relay = (struct relay){ .ends = { -1, -1 } };
	memcpy(&relay.to, address, sizeof(relay.to));
	at.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	relay.listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	assert_int_equal(
		bind(relay.listener, (struct sockaddr *)&at, sizeof(at)), 0);
	assert_int_equal(listen(relay.listener, 1), 0);
}

/* Where the sender finds it: the node's address, with another port. */
static void relay_address(uint8_t *address)
{
	struct sockaddr_in at;
	socklen_t size = sizeof(at);

	assert_int_equal(
		getsockname(relay.listener, (struct sockaddr *)&at, &size), 0);
	memcpy(address + offsetof(struct sockaddr_in, sin_port), &at.sin_port,
	       sizeof(at.sin_port));
}

static bool is_readable(int fd)
{
	struct pollfd poll_fd = { .fd = fd, .events = POLLIN };

	return poll(&poll_fd, 1, 0) > 0;
}

/* What has come at one end, `most` bytes of it. Returns how many. */
static size_t pass(int from, int to, uint64_t most)
{
	char bytes[4096];
	ssize_t size;

	if (most > sizeof(bytes))
		most = sizeof(bytes);
	if (most == 0 || !is_readable(from))
		return 0;
	size = read(from, bytes, most);
	assert_true(size >= 0);
	for (ssize_t at = 0; at < size;) {
		ssize_t part = write(to, bytes + at, (size_t)(size - at));

		assert_true(part > 0);
		at += part;
	}
	return (size_t)size;
}

static void relay_step(void)
{
	if (relay.ends[0] < 0 && is_readable(relay.listener)) {
		relay.ends[0] = accept(relay.listener, NULL, NULL);
		relay.ends[1] = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
		assert_int_equal(connect(relay.ends[1],
					 (struct sockaddr *)&relay.to,
					 sizeof(relay.to)),
				 0);
	}
	if (relay.ends[0] < 0)
		return;
	relay.sent +=
		pass(relay.ends[0], relay.ends[1], relay.limit - relay.sent);
	pass(relay.ends[1], relay.ends[0], SIZE_MAX);
}

static void relay_close(void)
{
	close(relay.listener);
	close(relay.ends[0]);
	close(relay.ends[1]);
}

static int setup(void **state)
{
	watchdog_start(NULL);
	node_open(&node, test_host(), NULL, 0);
	return 0;
}

static int teardown(void **state)
{
	for (int i = 0; i < 2; i++)
		child_stop(&puppets[i].child);
	node_close(&node);
	watchdog_stop();
	return 0;
}

static void until(const uint64_t *counter, uint64_t value)
{
	while (*counter < value) {
		relay_step();
		node_step(&node, test_now_ns() + 1000000);
	}
}

static void others_keep_off_the_half_that_has_come(void **state)
{
	uint8_t address[TRANSPORT_ADDRESS_MAX];
	size_t size = node_address(&node, address);

	puppet_meet_new(&puppets[1], 1, &node);
	relay_open(address);
	relay_address(address);
	puppet_start(&puppets[0], test_host(), NULL);
	puppet_meet(&puppets[0], SELF_NID, address, size);
	child_tell(&puppets[0].child, "send %d 0 %d %d", SELF_NID, HALF_COUNT,
		   MESSAGE_BYTES);
	for (uint64_t i = 1; i <= STOPS; i++) {
		relay.limit = i * STRIDE;
		until(&relay.sent, relay.limit);
		child_tell(&puppets[1].child, "send %d 1 %d %d", SELF_NID,
			   OTHERS_COUNT, MESSAGE_BYTES);
		until(&node.from[1], i * OTHERS_COUNT);
		assert_int_equal(node.damaged_count, 0);
		puppet_hear(&puppets[1], &node, answer);
		assert_string_equal(answer, "0 0");
	}
	relay.limit = UINT64_MAX;
	until(&node.received_count, HALF_COUNT + STOPS * OTHERS_COUNT);
	assert_int_equal(node.from[0], HALF_COUNT);
	assert_int_equal(node.damaged_count, 0);
	puppet_hear(&puppets[0], &node, answer);
	assert_string_equal(answer, "0 0");
	relay_close();
}

int main(int argc, char **argv)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(
			others_keep_off_the_half_that_has_come, setup,
			teardown),
	};
	int result = puppet_main(argc, argv);

	return result >= 0 ? result : cmocka_run_group_tests(tests, NULL, NULL);
}
