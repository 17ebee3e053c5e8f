/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Which UDP ports are VXLAN's on a node: those of all rails, and no others.
 * What refuses them is shown alone in test/lane and by the tests of the gate.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <arpa/inet.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>

#include "lanes/driver/ethernet/naming.h"
#include "lanes/driver/test/netns.h"
#include "lanes/driver/test/node_world.h"

#define OTHER_UID 20002

static void open_node(void)
{
	const struct fairlead_setting settings[] = {
		{ .name = "require_devices", .value = "false" },
	};

	node_world_open(settings, 1);
}

/* Beside eth1, which is there. */
static void add_nic(int number)
{
	netns_run("ip link add eth%d type veth peer name p%d; "
		  "ip addr add 10.%d.0.1/16 dev eth%d; "
		  "ip link set p%d up; ip link set eth%d up",
		  number, number, 203 + number, number, number, number);
}

static void tend(void)
{
	if (ethernet_node_ops.tend(world.state, &world.error) != 0)
		fail_msg("%s", world.error.text);
}

/* Another user sends a datagram to that port; 0 or an errno. */
static int send_as_other(uint16_t port, bool is_taken)
{
	const struct sockaddr_in address = {
		.sin_family = AF_INET,
		.sin_port = htons(port),
		.sin_addr.s_addr = htonl(INADDR_LOOPBACK),
	};
	const struct sockaddr *to = (const struct sockaddr *)&address;
	int in = socket(AF_INET, SOCK_DGRAM, 0);
	int out = socket(AF_INET, SOCK_DGRAM, 0);
	char byte = 'x';

	if (is_taken && bind(in, to, sizeof(address)) < 0)
		return errno;
	if (sendto(out, &byte, 1, 0, to, sizeof(address)) < 0)
		return errno;
	if (is_taken && recv(in, &byte, 1, 0) != 1)
		return errno;
	return 0;
}

static int as_other(uint16_t port, bool is_taken)
{
	pid_t pid = fork();
	int status;

	assert_true(pid >= 0);
	if (pid == 0) {
		if (setresuid(OTHER_UID, OTHER_UID, OTHER_UID) < 0)
			_exit(255);
		_exit(send_as_other(port, is_taken));
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_true(WIFEXITED(status));
	return WEXITSTATUS(status);
}

/* Anybody can send to it, take it, and is sent what comes to it. */
static bool is_free(uint16_t port)
{
	int result = as_other(port, false);

	if (result == 0)
		assert_int_equal(as_other(port, true), 0);
	else
		assert_int_equal(result, EPERM);
	return result == 0;
}

static void assert_ports(void)
{
	for (uint32_t rail = 0; rail <= ETHERNET_RAILS_MAX; rail++) {
		uint16_t port = ethernet_port(ETHERNET_PORT, rail);

		if (is_free(port) != (rail == ETHERNET_RAILS_MAX))
			fail_msg("the port of rail %u", rail);
	}
	assert_true(is_free(ETHERNET_PORT_ROCE));
}

/* Also those that a reboot without a NIC would leave to anybody. */
static void the_ports_of_all_rails_are_vxlan_s_without_their_nics(void **state)
{
	netns_run("ip link set eth1 down");
	open_node();
	assert_ports();
	netns_run("ip link set eth1 up");
	tend();
	assert_ports();
}

static void lanes_on_all_rails_are_not_on_rocev2_s_port(void **state)
{
	for (int i = 2; i <= ETHERNET_RAILS_MAX; i++)
		add_nic(i);
	open_node();
	node_world_apply(9, "host");
	assert_ports();
	assert_true(netns_holds("ip -d link show fl%dr2 | grep -q "
				"'dstport 4792 '",
				NODE_WORLD_VNI));
}

/* --- who asks for no port --- */

enum way {
	BIND,
	CONNECT,
	SEND,
	WAYS,
};

#define IP_LOCAL_PORT_RANGE_OPTION 51 /* Linux 6.3; of IPv6's sockets, too */

struct asking {
	int family;
	enum way way;
	uint16_t wanted; /* by the socket's own range; 0: by the node's */
};

static socklen_t make_address(int family, uint16_t port,
			      struct sockaddr_storage *ret_address)
{
	struct sockaddr_in6 *ipv6 = (struct sockaddr_in6 *)ret_address;
	struct sockaddr_in *ipv4 = (struct sockaddr_in *)ret_address;

	memset(ret_address, 0, sizeof(*ret_address));
	ret_address->ss_family = (sa_family_t)family;
	if (family == AF_INET) {
		ipv4->sin_port = htons(port);
		ipv4->sin_addr.s_addr = htonl(INADDR_LOOPBACK);
		return sizeof(*ipv4);
	}
	ipv6->sin6_port = htons(port);
	ipv6->sin6_addr = in6addr_loopback;
	return sizeof(*ipv6);
}

/* The port that another user gets; 0: none. */
static uint16_t given(const struct asking *asking)
{
	struct sockaddr_storage address;
	const struct sockaddr *to = (const struct sockaddr *)&address;
	int fd = socket(asking->family, SOCK_DGRAM, 0);
	uint32_t range = (uint32_t)asking->wanted << 16 | asking->wanted;
	socklen_t size = make_address(asking->family,
				      asking->way == BIND ? 0 : 9, &address);

	if (asking->wanted)
		(void)setsockopt(fd, IPPROTO_IP, IP_LOCAL_PORT_RANGE_OPTION,
				 &range, sizeof(range));
	if (asking->way == BIND)
		(void)bind(fd, to, size);
	else if (asking->way == CONNECT)
		(void)connect(fd, to, size);
	else
		(void)sendto(fd, "x", 1, 0, to, size);
	if (getsockname(fd, (struct sockaddr *)&address, &size) < 0)
		_exit(1);
	return ntohs(asking->family == AF_INET
			     ? ((struct sockaddr_in *)&address)->sin_port
			     : ((struct sockaddr_in6 *)&address)->sin6_port);
}

/* Else that half of the test cannot fail, and is left out. */
static bool has_own_ranges(void)
{
	const uint32_t range = 5001u << 16 | 5001;
	int fd = socket(AF_INET, SOCK_DGRAM, 0);
	int result = setsockopt(fd, IPPROTO_IP, IP_LOCAL_PORT_RANGE_OPTION,
				&range, sizeof(range));

	assert_true(fd >= 0);
	close(fd);
	if (result < 0)
		print_message("left out: a socket's own range of ports, which "
			      "this kernel (before 6.3) does not have\n");
	return result == 0;
}

static bool is_given(const struct asking *asking, uint16_t port)
{
	pid_t pid = fork();
	int status;

	assert_true(pid >= 0);
	if (pid == 0)
		_exit(setresuid(OTHER_UID, OTHER_UID, OTHER_UID) < 0
			      ? 1
			      : (given(asking) == port ? 2 : 3));
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_true(WIFEXITED(status) && WEXITSTATUS(status) > 1);
	return WEXITSTATUS(status) == 2;
}

static void assert_given(uint16_t port, bool is_expected, bool by_option)
{
	static const int families[] = { AF_INET, AF_INET6 };

	for (size_t i = 0; i < 2 * WAYS; i++) {
		struct asking asking = { .family = families[i / WAYS],
					 .way = i % WAYS };

		/* The node's range has no other. */
		netns_run("echo %u %u >/proc/sys/net/ipv4/ip_local_port_range",
			  port, port);
		if (is_given(&asking, port) != is_expected)
			fail_msg("port %u by way %zu", port, i);
		netns_run("echo 1024 65535 "
			  ">/proc/sys/net/ipv4/ip_local_port_range");
		asking.wanted = port;
		if (by_option && is_given(&asking, port) != is_expected)
			fail_msg("port %u by way %zu and an option", port, i);
	}
}

static void who_asks_for_no_port_is_given_none_of_vxlan(void **state)
{
	const bool by_option = has_own_ranges();

	assert_given(ETHERNET_PORT, true, by_option);
	open_node();
	for (uint32_t rail = 0; rail < ETHERNET_RAILS_MAX; rail++)
		assert_given(ethernet_port(ETHERNET_PORT, rail), false,
			     by_option);
	assert_given(ETHERNET_PORT_ROCE, true, by_option);
}

static bool are_reserved(const char *list)
{
	return netns_holds("[ $(cat /proc/sys/net/ipv4/"
			   "ip_local_reserved_ports) = %s ]",
			   list);
}

static void what_the_site_has_reserved_stays_so(void **state)
{
	netns_run("echo 4790,8080,9000-9010 "
		  ">/proc/sys/net/ipv4/ip_local_reserved_ports");
	open_node();
	assert_true(are_reserved("4789-4790,4792-4793,8080,9000-9010"));
	tend();
	netns_run("echo 8080 >/proc/sys/net/ipv4/ip_local_reserved_ports");
	assert_int_equal(ethernet_node_ops.tend(world.state, &world.error), 1);
	assert_non_null(strstr(world.error.text, "ports were not reserved"));
	assert_true(are_reserved("4789-4790,4792-4793,8080"));
	tend();
	/* Lanes outlive us. */
	node_world_close();
	assert_true(are_reserved("4789-4790,4792-4793,8080"));
}

static void be_forbidden(void **state)
{
	char line[FAIRLEAD_SUMMARY_MAX + 1];

	assert_int_equal(unshare(CLONE_NEWNS), 0);
	netns_run("mount --bind /proc/sys /proc/sys; "
		  "mount -o remount,bind,ro /proc/sys");
	open_node();
	tend();
	ethernet_node_ops.summarize(world.state, line);
	assert_null(strstr(line, "reserved ports"));
	netns_run("umount /proc/sys; echo 1024 65535 "
		  ">/proc/sys/net/ipv4/ip_local_port_range");
	ethernet_node_ops.summarize(world.state, line);
	assert_non_null(strstr(line, "lacks reserved ports (any program can be "
				     "given UDP port 4789: "));
	assert_int_equal(ethernet_node_ops.tend(world.state, &world.error), 1);
	ethernet_node_ops.summarize(world.state, line);
	assert_null(strstr(line, "reserved ports"));
	node_world_close();
}

static void ports_that_cannot_be_reserved_are_said_where_they_can_be_given(
	void **state)
{
	pid_t pid = fork();
	int status;

	assert_true(pid >= 0);
	if (pid == 0) {
		be_forbidden(state);
		_exit(0);
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_int_equal(status, 0);
}

int main(void)
{
#define TEST(name)                                              \
	cmocka_unit_test_setup_teardown(name, node_world_setup, \
					node_world_teardown)
	const struct CMUnitTest tests[] = {
		TEST(the_ports_of_all_rails_are_vxlan_s_without_their_nics),
		TEST(lanes_on_all_rails_are_not_on_rocev2_s_port),
		TEST(who_asks_for_no_port_is_given_none_of_vxlan),
		TEST(what_the_site_has_reserved_stays_so),
		TEST(ports_that_cannot_be_reserved_are_said_where_they_can_be_given),
	};

	return cmocka_run_group_tests(tests, node_world_group_setup, NULL);
}
