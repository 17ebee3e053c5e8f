/* SPDX-License-Identifier: BSD-3-Clause */
/* Kinds of sockets that users may have besides TCP's and UDP's. */
#include "lanes/driver/ethernet/gate.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <arpa/inet.h>
#include <errno.h>
#include <netinet/icmp6.h>
#include <netinet/in.h>
#include <netinet/ip_icmp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "lanes/driver/test/gate_world.h"

/* --- multipath TCP --- */

/* It makes sockets in the kernel, and not all of its calls are asked about. */
static void multipath_tcp_is_no_way_around(void **state)
{
	const int type = SOCK_STREAM | SOCK_NONBLOCK | SOCK_MULTIPATH;
	int probe = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, IPPROTO_MPTCP);
	struct call call = { .kind = CONNECT, .type = type, .address = ALICE4 };
	struct gate_counters counters;
	int fd;

	if (probe < 0) {
		printf("skipped: the kernel has no multipath TCP\n");
		skip();
	}
	close(probe);
	fd = listen_as(&bob, SOCK_STREAM | SOCK_MULTIPATH, "0.0.0.0", 5013);
	assert_false(accepts(fd, &alice, ALICE4, "127.0.0.1", 5013));
	assert_true(accepts(fd, &bob, BOB4, "127.0.0.1", 5013));
	close(fd);

	call.port = 5016;
	fd = listen_as(&alice, type, "0.0.0.0", 5016);
	assert_int_not_equal(as(&bob, try_call, &call), 0);
	assert_int_equal(gate_counters(*state, &counters), 0);
	assert_true(counters.refused_send > 0);
	assert_int_equal(accept(fd, NULL, NULL), -1);
	assert_int_equal(errno, EAGAIN);
	call.type &= ~SOCK_NONBLOCK;
	assert_int_equal(as(&alice, try_call, &call), 0);
	call.kind = BIND;
	call.port = 5017;
	assert_int_equal(as(&bob, try_call, &call), EPERM);
	assert_int_equal(as(&alice, try_call, &call), 0);
	close(fd);
}

/* --- UDP-Lite --- */

/* The errno of a datagram by a connected socket to an IPv4 address. */
static int connect_and_send(const void *arg)
{
	struct sockaddr_in name = { .sin_family = AF_INET,
				    .sin_port = htons(9) };
	int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, IPPROTO_UDPLITE);

	inet_pton(AF_INET, arg, &name.sin_addr);
	if (connect(fd, (struct sockaddr *)&name, sizeof(name)) < 0)
		return 254;
	return send(fd, "x", 1, 0) < 0 ? errno : 0;
}

static void udp_lite_is_no_way_around(void **state)
{
	static const char *const addresses[] = { ALICE4, ALICE6, ALICE4IN6,
						 ALICE4P, ALICE6P };
	struct call call = { .type = SOCK_DGRAM | SOCK_LITE };
	int probe = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, IPPROTO_UDPLITE);
	struct sockaddr_in from;
	socklen_t size = sizeof(from);
	struct in_addr expected;
	char text[8];
	int fd;

	if (probe < 0) {
		printf("skipped: the kernel has no UDP-Lite\n");
		skip();
	}
	close(probe);
	for (size_t i = 0; i < sizeof(addresses) / sizeof(*addresses); i++) {
		call.address = addresses[i];
		call.kind = BIND;
		assert_int_equal(as(&bob, try_call, &call), EPERM);
		assert_int_equal(as(&alice, try_call, &call), 0);
		call.kind = SEND;
		assert_int_equal(as(&bob, try_call, &call), EPERM);
		assert_int_equal(as(&alice, try_call, &call), 0);
	}
	/* The kernel does not ask about its connect, but the packet is judged. */
	assert_int_equal(as(&bob, connect_and_send, ALICE4), EPERM);
	assert_int_equal(as(&alice, connect_and_send, ALICE4), 0);
	/* At no address. */
	fd = listen_as(&bob, SOCK_DGRAM | SOCK_LITE, "0.0.0.0", 5018);
	call = (struct call){ .kind = SEND,
			      .type = SOCK_DGRAM | SOCK_LITE,
			      .address = ALICE4,
			      .port = 5018 };
	assert_int_equal(as(&alice, try_call, &call), 0);
	call.address = BOB4;
	assert_int_equal(as(&bob, try_call, &call), 0);
	/* The first is the last. */
	assert_int_equal(recvfrom(fd, text, sizeof(text), 0,
				  (struct sockaddr *)&from, &size),
			 4);
	inet_pton(AF_INET, BOB4, &expected);
	assert_int_equal(from.sin_addr.s_addr, expected.s_addr);
	assert_int_equal(recv(fd, text, sizeof(text), MSG_DONTWAIT), -1);
	close(fd);
}

/* --- ICMP --- */

struct ping {
	const char *from; /* to bind to; NULL: nothing */
	const char *to;
};

/* The errno of a question for an echo, by a socket that users may have. */
static int ping(const void *arg)
{
	const struct icmp6_hdr echo6 = { .icmp6_type = ICMP6_ECHO_REQUEST };
	const struct icmphdr echo4 = { .type = ICMP_ECHO };
	const struct ping *ping = arg;
	bool is_ipv6 = strchr(ping->to, ':') != NULL;
	struct sockaddr_in6 ipv6 = { .sin6_family = AF_INET6 };
	struct sockaddr_in ipv4 = { .sin_family = AF_INET };
	const struct sockaddr *name =
		is_ipv6 ? (struct sockaddr *)&ipv6 : (struct sockaddr *)&ipv4;
	socklen_t size = is_ipv6 ? sizeof(ipv6) : sizeof(ipv4);
	void *place =
		is_ipv6 ? (void *)&ipv6.sin6_addr : (void *)&ipv4.sin_addr;
	int family = is_ipv6 ? AF_INET6 : AF_INET;
	int fd = socket(family, SOCK_DGRAM | SOCK_CLOEXEC,
			is_ipv6 ? IPPROTO_ICMPV6 : IPPROTO_ICMP);

	if (fd < 0)
		return errno;
	/* What is bound is judged by its packets. */
	if (ping->from && (inet_pton(family, ping->from, place) != 1 ||
			   bind(fd, name, size) < 0))
		return errno;
	if (inet_pton(family, ping->to, place) != 1)
		return 254;
	return sendto(fd, is_ipv6 ? (const void *)&echo6 : &echo4, 8, 0, name,
		      size) < 0
		       ? errno
		       : 0;
}

static void ping_is_no_way_around(void **state)
{
	static const struct ping pings[] = {
		{ NULL, ALICE4 },  { NULL, ALICE6 },   { NULL, ALICE4P },
		{ NULL, ALICE6P }, { ALICE4, OTHER4 }, { ALICE6, OTHER6 },
	};
	static const struct ping other = { NULL, OTHER4 };
	struct gate_counters counters;

	assert_int_equal(
		system("sysctl -qw net.ipv4.ping_group_range='0 2147483647'"),
		0);
	assert_int_equal(as(&bob, ping, &other), 0);
	for (size_t i = 0; i < sizeof(pings) / sizeof(*pings); i++) {
		/* Over IPv6 the kernel does not say that it was refused. */
		const int answer = strchr(pings[i].to, ':') ? 0 : EPERM;

		assert_int_equal(as(&bob, ping, &pings[i]), answer);
		assert_int_equal(gate_counters(*state, &counters), 0);
		assert_int_equal(counters.refused_send, i + 1);
		assert_int_equal(as(&alice, ping, &pings[i]), 0);
		assert_int_equal(gate_counters(*state, &counters), 0);
		assert_int_equal(counters.refused_send, i + 1);
	}
}

#define GATE_TEST(name)                                          \
	cmocka_unit_test_setup_teardown(name, world_lanes_setup, \
					world_lanes_teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		GATE_TEST(multipath_tcp_is_no_way_around),
		GATE_TEST(udp_lite_is_no_way_around),
		GATE_TEST(ping_is_no_way_around),
	};

	if (!world_enter())
		return 77;
	return cmocka_run_group_tests(tests, NULL, NULL);
}
