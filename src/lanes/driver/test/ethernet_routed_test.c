/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A lane of two nodes with a router in between, each a network namespace of its
 * own: what lanes carry gets through when its TTL suffices, and else is refused
 * by the router, which is reported.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <errno.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>

#include "lanes/driver/ethernet/ethernet.h"
#include "lanes/driver/test/netns.h"
#include "lanes/driver/test/two_nodes.h"

static int router; /* its namespace */

static void enter_router(void)
{
	assert_int_equal(setns(router, CLONE_NEWNET), 0);
}

/* Node I has 10.20(4+I).0.1, the router .254 beside it. */
static void wire(void)
{
	router = nodes_netns_make();
	netns_run("sysctl -q net.ipv4.ip_forward=1");
	for (int i = 0; i < NODES_COUNT; i++) {
		nodes_enter((size_t)i);
		netns_run("ip link add eth1 type veth peer name r%d netns "
			  "/proc/%d/fd/%d",
			  i, (int)getpid(), router);
		netns_run("ip addr add 10.%d.0.1/24 dev eth1", 204 + i);
		netns_run("ip link set eth1 up");
		netns_run("ip route add default via 10.%d.0.254", 204 + i);
		enter_router();
		netns_run("ip addr add 10.%d.0.254/24 dev r%d", 204 + i, i);
		netns_run("ip link set r%d up", i);
	}
}

static int setup(void **state)
{
	return nodes_begin(wire);
}

static int teardown(void **state)
{
	close(router);
	return nodes_teardown(state);
}

static void open_all(const char *ttl)
{
	const struct fairlead_setting settings[] = {
		{ .name = "ttl", .value = ttl },
	};

	for (size_t i = 0; i < NODES_COUNT; i++)
		nodes_open(i, settings, 1);
}

static void lane_apply(void)
{
	struct fairlead_lane lane = nodes_lane(9, NODES_OWNER, NODES_VNI);

	nodes_apply_all(&lane);
}

/* A socket at the second node's address. */
static int listen_there(void)
{
	struct sockaddr_storage address;
	socklen_t size = nodes_address(4, 1, &address);
	int fd;

	nodes_enter(1);
	fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	assert_int_equal(bind(fd, (struct sockaddr *)&address, size), 0);
	return fd;
}

/* A datagram of the owner's from the first node to the second. */
static void send_there(void)
{
	const struct place_to_be owner = { .node = 0, .uid = NODES_OWNER };
	struct sockaddr_storage address;
	socklen_t size = nodes_address(4, 1, &address);
	pid_t pid = fork();
	int status;

	assert_true(pid >= 0);
	if (pid == 0) {
		int fd;

		nodes_be_at(&owner);
		fd = socket(AF_INET, SOCK_DGRAM, 0);
		_exit(sendto(fd, "x", 1, 0, (struct sockaddr *)&address,
			     size) == 1
			      ? 0
			      : errno);
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_int_equal(status, 0);
}

/* Packets that the router would not pass on since their time was over. */
static bool has_refused(void)
{
	enter_router();
	return netns_holds("awk '/^Ip:/ { n++ } n == 2 { exit !$5 }' "
			   "/proc/thread-self/net/snmp");
}

static const char *summary(void)
{
	static char line[FAIRLEAD_SUMMARY_MAX + 1];

	nodes_enter(0);
	ethernet_node_ops.summarize(world.nodes[0].state, line);
	return line;
}

/* --- tests --- */

static void with_a_ttl_of_1_a_lane_ends_at_a_router_which_is_reported(
	void **state)
{
	char byte;
	int fd;

	open_all("1");
	assert_null(strstr(summary(), "ttl"));
	lane_apply();
	assert_int_equal(world.warning_count, NODES_COUNT);
	assert_non_null(strstr(world.warning,
			       "eth1: 10.204.0.1 is behind router "
			       "10.205.0.254"));
	assert_non_null(strstr(world.warning, "set ttl"));
	assert_non_null(strstr(summary(),
			       "; lacks a ttl above 1 (eth1: 10.205.0.1 is "
			       "behind router 10.204.0.254)"));
	fd = listen_there();
	assert_false(has_refused());
	send_there();
	while (!has_refused())
		;
	assert_int_equal(recv(fd, &byte, 1, MSG_DONTWAIT), -1);
	assert_int_equal(errno, EAGAIN);
	close(fd);
}

static void what_is_said_of_the_ttl_ends_with_its_cause(void **state)
{
	open_all("1");
	lane_apply();
	assert_non_null(strstr(summary(), "lacks a ttl"));
	netns_run("ip route add 10.205.0.0/24 dev eth1");
	assert_null(strstr(summary(), "ttl"));
}

static void with_a_higher_ttl_a_lane_is_routed(void **state)
{
	char byte = 0;
	int fd;

	open_all("2");
	lane_apply();
	assert_int_equal(world.warning_count, 0);
	assert_null(strstr(summary(), "ttl"));
	fd = listen_there();
	send_there();
	assert_int_equal(recv(fd, &byte, 1, 0), 1);
	assert_int_equal(byte, 'x');
	assert_false(has_refused());
	close(fd);
}

static void a_ttl_that_cannot_be_is_an_error(void **state)
{
	static const char *const values[] = { "0", "256", "-1", "far" };
	struct fairlead_setting setting = { .name = "ttl" };
	void *node;

	for (size_t i = 0; i < sizeof(values) / sizeof(values[0]); i++) {
		setting.value = values[i];
		assert_int_equal(ethernet_node_ops.open(&setting, 1, &node,
							&world.error),
				 -EINVAL);
		assert_non_null(strstr(world.error.text, "'ttl'"));
	}
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(with_a_ttl_of_1_a_lane_ends_at_a_router_which_is_reported),
		TEST(what_is_said_of_the_ttl_ends_with_its_cause),
		TEST(with_a_higher_ttl_a_lane_is_routed),
		TEST(a_ttl_that_cannot_be_is_an_error),
	};

	return cmocka_run_group_tests(tests, nodes_group_setup, NULL);
}
