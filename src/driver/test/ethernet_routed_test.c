/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A lane of two nodes with a router in between, each a network namespace of its
 * own: what lanes carry gets through when its TTL suffices, and else is refused
 * by the router, of which people are told.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/socket.h>
#include <sys/wait.h>

#include "base/cleanup.h"
#include "driver/ethernet/ethernet.h"
#include "driver/ethernet/naming.h"
#include "driver/test/netns.h"

#define OWNER 20001
#define VNI   4096
#define NODES 2
#define PORT  7000

static struct {
	bool is_there; /* else the tests are to be skipped */
	int home, router;
	int netns[NODES];
	void *state[NODES];
	struct fairlead_error error;
	size_t warning_count;
	char warning[600]; /* the last one */
} world;

/* --- the world --- */

static void enter(int netns)
{
	assert_int_equal(setns(netns, CLONE_NEWNET), 0);
}

static int netns_open(void)
{
	int fd = open("/proc/thread-self/ns/net", O_RDONLY | O_CLOEXEC);

	assert_true(fd >= 0);
	return fd;
}

static int netns_make(void)
{
	assert_int_equal(unshare(CLONE_NEWNET), 0);
	netns_run("ip link set lo up");
	return netns_open();
}

static int group_setup(void **state)
{
	if (geteuid() != 0 || unshare(CLONE_NEWNS) != 0 ||
	    mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) != 0) {
		print_message("skipped: network namespaces need root\n");
		return 0;
	}
	netns_run("mount -t tmpfs -o mode=0755 tmpfs /mnt");
	world.home = netns_open();
	world.is_there = true;
	return 0;
}

/* Node I has 10.20(4+I).0.1, the router .254 beside it. */
static int setup(void **state)
{
	if (!world.is_there)
		skip();
	world.warning_count = 0;
	world.router = netns_make();
	netns_run("sysctl -q net.ipv4.ip_forward=1");
	for (int i = 0; i < NODES; i++) {
		world.netns[i] = netns_make();
		netns_run("ip link add eth1 type veth peer name r%d netns "
			  "/proc/%d/fd/%d",
			  i, (int)getpid(), world.router);
		netns_run("ip addr add 10.%d.0.1/24 dev eth1", 204 + i);
		netns_run("ip link set eth1 up");
		netns_run("ip route add default via 10.%d.0.254", 204 + i);
		enter(world.router);
		netns_run("ip addr add 10.%d.0.254/24 dev r%d", 204 + i, i);
		netns_run("ip link set r%d up", i);
	}
	return 0;
}

static int teardown(void **state)
{
	for (int i = 0; i < NODES; i++) {
		enter(world.netns[i]);
		ethernet_node_ops.close(world.state[i]);
		world.state[i] = NULL;
		close(world.netns[i]);
	}
	close(world.router);
	return setns(world.home, CLONE_NEWNET);
}

static void warning_take(struct fairlead_warnings *warnings, const char *text)
{
	world.warning_count++;
	snprintf(world.warning, sizeof(world.warning), "%s", text);
}

/* --- the lane --- */

static void nodes_open(const char *ttl)
{
	const struct fairlead_setting settings[] = {
		{ .name = "devices", .value = "eth1" },
		{ .name = "namespaces", .value = "/mnt/netns" },
		{ .name = "bpf_pins", .value = "/mnt/bpf" },
		{ .name = "bpf", .value = "off" },
		{ .name = "ttl", .value = ttl },
	};

	for (int i = 0; i < NODES; i++) {
		enter(world.netns[i]);
		if (ethernet_node_ops.open(settings, 5, &world.state[i],
					   &world.error) < 0)
			fail_msg("%s", world.error.text);
	}
}

/* What the manager makes of what the nodes say; the caller frees it. */
static uint8_t *members_make(const struct fairlead_lane *lane, size_t *ret_size)
{
	static const char *const names[] = { "n0", "n1" };
	struct fairlead_place places[NODES];
	uint8_t *bytes = NULL;
	void *manager;

	for (int i = 0; i < NODES; i++) {
		enter(world.netns[i]);
		assert_int_equal(ethernet_node_ops.place(world.state[i],
							 &places[i],
							 &world.error),
				 0);
	}
	assert_int_equal(ethernet_manager_ops.configure(NULL, 0, &manager,
							&world.error),
			 0);
	if (ethernet_manager_ops.assemble(manager, lane, names, places, NODES,
					  &bytes, ret_size, &world.error) < 0)
		fail_msg("%s", world.error.text);
	ethernet_manager_ops.destroy(manager);
	return bytes;
}

static void lane_apply(void)
{
	struct fairlead_warnings warnings = { .add = warning_take };
	struct fairlead_record record;
	struct fairlead_lane lane = {
		.grant_id = 9,
		.uid = OWNER,
		.gid = OWNER,
		.id_count = 1,
		.ids = { VNI },
		.node_count = NODES,
		.options = "vnis=1,tcs=BEST_EFFORT,isolation=host",
	};
	_auto_(freep) uint8_t *members =
		members_make(&lane, &lane.members_size);

	lane.members = members;
	for (; lane.index < NODES; lane.index++) {
		enter(world.netns[lane.index]);
		if (ethernet_node_ops.apply(world.state[lane.index], &lane,
					    false, &record, &warnings,
					    &world.error) < 0)
			fail_msg("%s", world.error.text);
	}
}

static struct sockaddr_in address_of(uint32_t number)
{
	struct sockaddr_in address = { .sin_family = AF_INET,
				       .sin_port = htons(PORT) };
	struct ethernet_names names;

	ethernet_name(&ethernet_networks_default, VNI, 0, number, &names);
	memcpy(&address.sin_addr, names.ipv4.bytes, 4);
	return address;
}

/* A socket at the second node's address. */
static int listen_there(void)
{
	struct sockaddr_in address = address_of(2);
	int fd;

	enter(world.netns[1]);
	fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	assert_int_equal(bind(fd, (struct sockaddr *)&address, sizeof(address)),
			 0);
	return fd;
}

/* A datagram of the owner's from the first node to the second. */
static void send_there(void)
{
	struct sockaddr_in address = address_of(2);
	pid_t pid = fork();
	int status;

	assert_true(pid >= 0);
	if (pid == 0) {
		int fd;

		enter(world.netns[0]);
		if (setresgid(OWNER, OWNER, OWNER) < 0 ||
		    setresuid(OWNER, OWNER, OWNER) < 0)
			_exit(255);
		fd = socket(AF_INET, SOCK_DGRAM, 0);
		_exit(sendto(fd, "x", 1, 0, (struct sockaddr *)&address,
			     sizeof(address)) == 1
			      ? 0
			      : errno);
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_int_equal(status, 0);
}

/* Packets that the router would not pass on since their time was over. */
static bool has_refused(void)
{
	enter(world.router);
	return netns_holds("awk '/^Ip:/ { n++ } n == 2 { exit !$5 }' "
			   "/proc/thread-self/net/snmp");
}

static const char *summary(void)
{
	static char line[FAIRLEAD_SUMMARY_MAX + 1];

	enter(world.netns[0]);
	ethernet_node_ops.summarize(world.state[0], line);
	return line;
}

/* --- tests --- */

static void with_a_ttl_of_1_a_lane_ends_at_a_router_and_people_are_told(
	void **state)
{
	char byte;
	int fd;

	nodes_open("1");
	assert_null(strstr(summary(), "ttl"));
	lane_apply();
	assert_int_equal(world.warning_count, NODES);
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
	nodes_open("1");
	lane_apply();
	assert_non_null(strstr(summary(), "lacks a ttl"));
	netns_run("ip route add 10.205.0.0/24 dev eth1");
	assert_null(strstr(summary(), "ttl"));
}

static void with_a_higher_ttl_a_lane_is_routed(void **state)
{
	char byte = 0;
	int fd;

	nodes_open("2");
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
		TEST(with_a_ttl_of_1_a_lane_ends_at_a_router_and_people_are_told),
		TEST(what_is_said_of_the_ttl_ends_with_its_cause),
		TEST(with_a_higher_ttl_a_lane_is_routed),
		TEST(a_ttl_that_cannot_be_is_an_error),
	};

	return cmocka_run_group_tests(tests, group_setup, NULL);
}
