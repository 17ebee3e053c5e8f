/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The node half on two nodes, each a network namespace of its own, joined by a
 * veth pair; what the contract cannot say of every driver.
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
#include "driver/ethernet/plan.h"
#include "driver/test/netns.h"

#define OWNER    20001
#define STRANGER 20002
#define VNI      4096
#define NODES    2
#define NETNS_0  "/mnt/netns0"
#define NETNS_1  "/mnt/netns1"

struct node_under_test {
	int netns;
	void *state;
	struct fairlead_place place;
	struct fairlead_record record;
};

static struct {
	bool is_there; /* else the tests are to be skipped */
	int home;
	struct node_under_test nodes[NODES];
	void *manager;
	struct fairlead_error error;
	size_t warning_count;
	char warning[600]; /* the last one */
} world;

/* --- the world --- */

static void enter(size_t i)
{
	assert_int_equal(setns(world.nodes[i].netns, CLONE_NEWNET), 0);
}

static int open_netns(void)
{
	int fd = open("/proc/self/ns/net", O_RDONLY | O_CLOEXEC);

	assert_true(fd >= 0);
	return fd;
}

static int group_setup(void **state)
{
	if (geteuid() != 0 || unshare(CLONE_NEWNS) != 0 ||
	    mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) != 0) {
		print_message("skipped: network namespaces need root\n");
		return 0;
	}
	netns_run("mount -t tmpfs -o mode=0755 tmpfs /mnt");
	world.home = open_netns();
	world.is_there = true;
	return 0;
}

/* In place of the setting of that name, or besides. */
static void setting_put(struct fairlead_setting *settings, size_t *count,
			const struct fairlead_setting *setting)
{
	size_t i = 0;

	while (i < *count && strcmp(settings[i].name, setting->name) != 0)
		i++;
	settings[i] = *setting;
	if (i == *count)
		++*count;
}

static void node_open(size_t i, const struct fairlead_setting *more,
		      size_t more_count)
{
	struct fairlead_setting settings[8] = {
		{ .name = "devices", .value = "eth1" },
		{ .name = "namespaces", .value = i == 0 ? NETNS_0 : NETNS_1 },
		{ .name = "bpf_pins",
		  .value = i == 0 ? "/mnt/bpf0" : "/mnt/bpf1" },
	};
	size_t count = 3;

	for (size_t k = 0; k < more_count; k++)
		setting_put(settings, &count, &more[k]);
	enter(i);
	if (ethernet_node_ops.open(settings, count, &world.nodes[i].state,
				   &world.error) < 0)
		fail_msg("%s", world.error.text);
}

static void nodes_join(void)
{
	for (size_t i = 0; i < NODES; i++) {
		assert_int_equal(unshare(CLONE_NEWNET), 0);
		world.nodes[i] = (struct node_under_test){
			.netns = open_netns(),
		};
		netns_run("ip link set lo up");
	}
	netns_run("ip link add eth1 type veth peer name eth1 netns "
		  "/proc/%d/fd/%d",
		  (int)getpid(), world.nodes[0].netns);
	for (size_t i = 0; i < NODES; i++) {
		enter(i);
		netns_run("ip addr add 10.204.0.%zu/16 dev eth1", i + 1);
		netns_run("ip link set eth1 up");
	}
}

static int setup(void **state)
{
	if (!world.is_there)
		skip();
	memset(&world.error, 0, sizeof(world.error));
	world.warning_count = 0;
	nodes_join();
	for (size_t i = 0; i < NODES; i++)
		node_open(i, NULL, 0);
	return ethernet_manager_ops.configure(NULL, 0, &world.manager,
					      &world.error);
}

static void node_close(size_t i)
{
	enter(i);
	ethernet_node_ops.close(world.nodes[i].state);
	world.nodes[i].state = NULL;
}

static int teardown(void **state)
{
	for (size_t i = 0; i < NODES; i++) {
		node_close(i);
		close(world.nodes[i].netns);
		netns_run("umount -R /mnt/bpf%zu /mnt/netns%zu 2>/dev/null; "
			  "rm -rf /mnt/netns%zu",
			  i, i, i);
	}
	ethernet_manager_ops.destroy(world.manager);
	return setns(world.home, CLONE_NEWNET);
}

static void warning_take(struct fairlead_warnings *warnings, const char *text)
{
	world.warning_count++;
	snprintf(world.warning, sizeof(world.warning), "%s", text);
}

static struct fairlead_warnings warnings = { .add = warning_take };

/* --- lanes --- */

static struct fairlead_lane lane_of(uint64_t grant_id, uid_t uid, uint32_t vni)
{
	struct fairlead_lane lane = {
		.grant_id = grant_id,
		.uid = uid,
		.gid = uid,
		.cores = 1,
		.tasks = 1,
		.id_count = 1,
		.ids = { vni },
		.options = "vnis=1,tcs=BEST_EFFORT,isolation=host",
	};

	return lane;
}

/* What the manager makes of what the nodes say; the caller frees it. */
static uint8_t *members_of(const struct fairlead_lane *lane, size_t *ret_size)
{
	static const char *const names[] = { "n0", "n1" };
	struct fairlead_place places[NODES];
	uint8_t *bytes = NULL;

	for (size_t i = 0; i < NODES; i++) {
		enter(i);
		assert_int_equal(ethernet_node_ops.place(world.nodes[i].state,
							 &places[i],
							 &world.error),
				 0);
	}
	if (ethernet_manager_ops.assemble(world.manager, lane, names, places,
					  NODES, &bytes, ret_size,
					  &world.error) < 0)
		fail_msg("%s", world.error.text);
	return bytes;
}

static int apply_on(size_t i, struct fairlead_lane *lane)
{
	_auto_(freep) uint8_t *members = members_of(lane, &lane->members_size);
	int result;

	lane->index = (uint32_t)i;
	lane->node_count = NODES;
	lane->members = members;
	enter(i);
	result = ethernet_node_ops.apply(world.nodes[i].state, lane, false,
					 &world.nodes[i].record, &warnings,
					 &world.error);
	lane->members = NULL;
	lane->members_size = 0;
	return result;
}

static void apply_everywhere(struct fairlead_lane *lane)
{
	for (size_t i = 0; i < NODES; i++) {
		if (apply_on(i, lane) < 0)
			fail_msg("%s", world.error.text);
	}
}

static int revoke_on(size_t i, const struct fairlead_lane *lane,
		     bool has_record)
{
	const struct fairlead_record none = { 0 };

	enter(i);
	return ethernet_node_ops.revoke(world.nodes[i].state, lane,
					has_record ? &world.nodes[i].record
						   : &none,
					false, &warnings, &world.error);
}

/* --- traffic --- */

struct place_to_be {
	size_t node;
	const char *netns; /* NULL: the node's own */
	uid_t uid;
};

static socklen_t address_of(uint8_t family, size_t node,
			    struct sockaddr_storage *address)
{
	struct ethernet_names names;

	ethernet_name(&ethernet_networks_default, VNI, 0, (uint32_t)node + 1,
		      &names);
	memset(address, 0, sizeof(*address));
	if (family == 4) {
		struct sockaddr_in *in = (struct sockaddr_in *)address;

		in->sin_family = AF_INET;
		in->sin_port = htons(7000);
		memcpy(&in->sin_addr, names.ipv4.bytes, 4);
		return sizeof(*in);
	}
	struct sockaddr_in6 *in6 = (struct sockaddr_in6 *)address;

	in6->sin6_family = AF_INET6;
	in6->sin6_port = htons(7000);
	memcpy(&in6->sin6_addr, names.ipv6.bytes, 16);
	return sizeof(*in6);
}

static void be_at(const struct place_to_be *place)
{
	if (place->netns) {
		int fd = open(place->netns, O_RDONLY | O_CLOEXEC);

		if (fd < 0 || setns(fd, CLONE_NEWNET) < 0)
			_exit(200);
	} else if (setns(world.nodes[place->node].netns, CLONE_NEWNET) < 0) {
		_exit(201);
	}
	if (setresgid(place->uid, place->uid, place->uid) < 0 ||
	    setresuid(place->uid, place->uid, place->uid) < 0)
		_exit(202);
}

/*
 * A TCP connection from one to the other: 0, or the errno of the client. The
 * listener is there before the client begins.
 */
static int connect_from(uint8_t family, const struct place_to_be *from,
			const struct place_to_be *to)
{
	struct sockaddr_storage address;
	socklen_t size = address_of(family, to->node, &address);
	int ready[2], status;
	pid_t listener, client;
	char byte;

	assert_int_equal(pipe2(ready, O_CLOEXEC), 0);
	listener = fork();
	assert_true(listener >= 0);
	if (listener == 0) {
		int fd;

		be_at(to);
		fd = socket(address.ss_family, SOCK_STREAM, 0);
		if (bind(fd, (struct sockaddr *)&address, size) < 0 ||
		    listen(fd, 1) < 0)
			_exit(1);
		if (write(ready[1], "x", 1) != 1)
			_exit(2);
		for (;;)
			pause();
	}
	close(ready[1]);
	assert_int_equal(read(ready[0], &byte, 1), 1);
	close(ready[0]);
	client = fork();
	assert_true(client >= 0);
	if (client == 0) {
		int fd;

		be_at(from);
		fd = socket(address.ss_family, SOCK_STREAM, 0);
		_exit(connect(fd, (struct sockaddr *)&address, size) < 0 ? errno
									 : 0);
	}
	assert_int_equal(waitpid(client, &status, 0), client);
	assert_true(WIFEXITED(status));
	kill(listener, SIGKILL);
	assert_int_equal(waitpid(listener, NULL, 0), listener);
	return WEXITSTATUS(status);
}

static void assert_owner_only(void)
{
	const struct place_to_be owners[] = { { .node = 0, .uid = OWNER },
					      { .node = 1, .uid = OWNER } };
	const struct place_to_be stranger = { .node = 0, .uid = STRANGER };

	for (uint8_t family = 4; family <= 6; family += 2) {
		assert_int_equal(connect_from(family, &owners[0], &owners[1]),
				 0);
		assert_int_equal(connect_from(family, &owners[1], &owners[0]),
				 0);
		assert_int_not_equal(
			connect_from(family, &stranger, &owners[1]), 0);
	}
}

/* --- tests --- */

static void a_lane_of_two_nodes_is_for_its_owner(void **state)
{
	struct fairlead_lane lane = lane_of(9, OWNER, VNI);

	apply_everywhere(&lane);
	assert_owner_only();
	for (size_t i = 0; i < NODES; i++) {
		assert_int_equal(revoke_on(i, &lane, true), 0);
		assert_false(netns_holds("ip link show fl%d", VNI));
		assert_false(netns_holds("nft list table inet fairlead | "
					 "grep fl%d",
					 VNI));
	}
}

static void a_lane_in_a_namespace_is_seen_there_only(void **state)
{
	const struct place_to_be owners[] = {
		{ .node = 0, .netns = NETNS_0 "/9", .uid = OWNER },
		{ .node = 1, .netns = NETNS_1 "/9", .uid = OWNER },
	};
	struct fairlead_lane lane = lane_of(9, OWNER, VNI);

	strcpy(lane.options, "vnis=1,tcs=BEST_EFFORT,isolation=netns");
	apply_everywhere(&lane);
	for (size_t i = 0; i < NODES; i++) {
		enter(i);
		assert_false(netns_holds("ip link show fl%d", VNI));
		assert_true(netns_holds("nsenter --net=%s ip link show fl%d",
					owners[i].netns, VNI));
	}
	assert_int_equal(connect_from(4, &owners[0], &owners[1]), 0);
	assert_int_equal(connect_from(6, &owners[1], &owners[0]), 0);
	for (size_t i = 0; i < NODES; i++) {
		assert_int_equal(revoke_on(i, &lane, i == 0), 0);
		assert_true(access(owners[i].netns, F_OK) < 0);
	}
}

static void object_drop(void *arg, const struct fairlead_object *object)
{
	size_t *count = arg;

	(*count)++;
}

static void rules_that_somebody_flushed_come_back_with_a_look(void **state)
{
	struct fairlead_lane lane = lane_of(9, OWNER, VNI);
	size_t count = 0;

	apply_everywhere(&lane);
	enter(0);
	netns_run("nft flush ruleset");
	assert_int_equal(ethernet_node_ops.list(world.nodes[0].state,
						object_drop, &count,
						&world.error),
			 0);
	assert_int_equal(count, 2);
	assert_true(
		netns_holds("nft list table inet fairlead | grep fl%d", VNI));
	assert_owner_only();
}

static void rules_that_somebody_flushed_come_back_when_they_are_tended(
	void **state)
{
	struct fairlead_lane lane = lane_of(9, OWNER, VNI);

	apply_everywhere(&lane);
	enter(0);
	assert_int_equal(
		ethernet_node_ops.tend(world.nodes[0].state, &world.error), 0);
	/* Lanes that come and go are no change of the rules. */
	assert_int_equal(revoke_on(0, &lane, true), 0);
	assert_int_equal(apply_on(0, &lane), 0);
	enter(0);
	assert_int_equal(
		ethernet_node_ops.tend(world.nodes[0].state, &world.error), 0);
	netns_run("nft flush ruleset");
	assert_int_equal(
		ethernet_node_ops.tend(world.nodes[0].state, &world.error), 1);
	assert_non_null(strstr(world.error.text, "inet fairlead"));
	assert_owner_only();
	enter(0);
	assert_int_equal(
		ethernet_node_ops.tend(world.nodes[0].state, &world.error), 0);
	/* Neither a lane nor somebody else's rules are a change of ours. */
	netns_run("nft add table inet other");
	assert_int_equal(
		ethernet_node_ops.tend(world.nodes[0].state, &world.error), 0);
	netns_run("nft flush table inet fairlead");
	assert_int_equal(
		ethernet_node_ops.tend(world.nodes[0].state, &world.error), 1);
	assert_owner_only();
	enter(0);
	netns_run("nft delete table inet fairlead");
	netns_run("nft add table inet fairlead");
	assert_int_equal(ethernet_node_ops.tend(world.nodes[0].state,
						&world.error),
			 -EEXIST);
	netns_run("nft delete table inet fairlead");
}

static void a_start_writes_rules_for_what_is_there(void **state)
{
	struct fairlead_lane lane = lane_of(9, OWNER, VNI);

	apply_everywhere(&lane);
	node_close(0);
	netns_run("nft flush ruleset");
	node_open(0, NULL, 0);
	assert_owner_only();
	assert_int_equal(revoke_on(0, &lane, true), 0);
}

static void an_apply_after_a_flush_brings_all_rules_back(void **state)
{
	struct fairlead_lane lanes[] = { lane_of(9, OWNER, VNI),
					 lane_of(10, STRANGER, VNI + 1) };

	apply_everywhere(&lanes[0]);
	enter(0);
	netns_run("nft flush ruleset");
	assert_int_equal(apply_on(0, &lanes[1]), 0);
	assert_true(
		netns_holds("nft list table inet fairlead | grep fl%d", VNI));
	assert_owner_only();
}

static void a_device_without_an_alias_is_the_lane_s_that_has_its_vni(
	void **state)
{
	struct fairlead_lane lane = lane_of(9, OWNER, VNI);

	enter(0);
	netns_run("ip link add fl%d group 17996 type vxlan id %d dev eth1 "
		  "dstport 4789 udp6zerocsumrx",
		  VNI, VNI);
	assert_int_equal(apply_on(0, &lane), -EEXIST);
	assert_int_equal(revoke_on(0, &lane, false), 0);
	assert_false(netns_holds("ip link show fl%d", VNI));
	assert_int_equal(apply_on(0, &lane), 0);
}

static void rules_of_a_device_that_somebody_deleted_go_by_the_record(
	void **state)
{
	struct fairlead_lane lane = lane_of(9, OWNER, VNI);

	apply_everywhere(&lane);
	enter(0);
	netns_run("ip link del fl%d", VNI);
	assert_true(
		netns_holds("nft list table inet fairlead | grep fl%d", VNI));
	assert_int_equal(revoke_on(0, &lane, true), 0);
	assert_false(
		netns_holds("nft list table inet fairlead | grep fl%d", VNI));
}

/* Rules that stay would let its owner into the next lane that has its VNI. */
static void rules_of_a_device_that_somebody_changed_go_with_it(void **state)
{
	static const char *const changes[] = {
		"ip link set fl4096 alias other",
		"ip link set fl4096 down",
		"ip -4 addr flush dev fl4096",
	};
	struct fairlead_lane lane = lane_of(9, OWNER, VNI);

	for (size_t i = 0; i < sizeof(changes) / sizeof(changes[0]); i++) {
		apply_everywhere(&lane);
		enter(0);
		netns_run("%s", changes[i]);
		assert_int_equal(revoke_on(0, &lane, true), 0);
		assert_false(netns_holds("nft list table inet fairlead | "
					 "grep -e fl%d -e %d",
					 VNI, OWNER));
		assert_int_equal(revoke_on(1, &lane, true), 0);
		lane.grant_id++;
	}
}

struct seen {
	size_t count;
	struct fairlead_object foreign;
};

static void foreign_take(void *arg, const struct fairlead_object *object)
{
	struct seen *seen = arg;

	if (object->flags & FAIRLEAD_OBJECT_SYSTEM)
		return;
	seen->count++;
	seen->foreign = *object;
}

static void a_foreign_vxlan_device_withholds_its_vni(void **state)
{
	struct fairlead_lane lane = lane_of(9, OWNER, VNI);
	struct seen seen = { 0 };

	enter(0);
	netns_run("ip link add other0 type vxlan id %d dev eth1 dstport 4789 "
		  "udp6zerocsumrx",
		  VNI);
	netns_run("ip link add flannel.1 type vxlan id 1 dev eth1 "
		  "dstport 8472");
	assert_int_equal(apply_on(0, &lane), -EEXIST);
	assert_non_null(strstr(world.error.text, "other0"));
	assert_int_equal(revoke_on(0, &lane, false), 0);
	assert_int_equal(ethernet_node_ops.list(world.nodes[0].state,
						foreign_take, &seen,
						&world.error),
			 0);
	assert_int_equal(seen.count, 1);
	assert_string_equal(seen.foreign.device, "other0");
	assert_int_equal(seen.foreign.ids[0], VNI);
	assert_int_equal(ethernet_node_ops.destroy(world.nodes[0].state,
						   &seen.foreign, false,
						   &world.error),
			 0);
	assert_false(netns_holds("ip link show other0"));
	assert_true(netns_holds("ip link show flannel.1"));
}

static void a_node_with_another_address_than_it_told_says_so(void **state)
{
	struct fairlead_lane lane = lane_of(9, OWNER, VNI);
	_auto_(freep) uint8_t *members = members_of(&lane, &lane.members_size);

	enter(0);
	netns_run("ip addr flush dev eth1");
	netns_run("ip addr add 10.204.0.77/16 dev eth1");
	lane.members = members;
	lane.node_count = NODES;
	assert_int_equal(ethernet_node_ops.apply(world.nodes[0].state, &lane,
						 false, &world.nodes[0].record,
						 &warnings, &world.error),
			 -ESTALE);
	assert_non_null(strstr(world.error.text, "10.204.0.77"));
	assert_false(netns_holds("ip link show fl%d", VNI));
}

static void the_smallest_mtu_of_the_job_is_everybody_s(void **state)
{
	struct fairlead_lane lane = lane_of(9, OWNER, VNI);

	enter(1);
	netns_run("ip link set eth1 mtu 1400");
	apply_everywhere(&lane);
	enter(0);
	assert_true(netns_holds("ip link show fl%d | grep 'mtu 1350'", VNI));
}

static void a_nic_too_small_for_a_lane_is_said(void **state)
{
	struct fairlead_lane lane = lane_of(9, OWNER, VNI);

	enter(0);
	netns_run("ip link set eth1 mtu 1300");
	assert_int_equal(ethernet_node_ops.apply(world.nodes[0].state, &lane,
						 false, &world.nodes[0].record,
						 &warnings, &world.error),
			 -ENODEV);
	assert_non_null(strstr(world.error.text, "MTU"));
}

static void lanes_whose_networks_overlap_are_refused(void **state)
{
	struct fairlead_lane lanes[] = { lane_of(9, OWNER, VNI),
					 lane_of(10, STRANGER, VNI + 1024) };

	/* The two are apart in a pool, and not when it is cut otherwise. */
	apply_everywhere(&lanes[0]);
	assert_int_equal(apply_on(0, &lanes[1]), -EADDRINUSE);
	assert_non_null(strstr(world.error.text, "fl4096"));
	assert_false(netns_holds("ip link show fl%d", VNI + 1024));
	assert_owner_only();
}

static void a_clash_with_the_site_s_networks_is_said(void **state)
{
	struct fairlead_lane lane = lane_of(9, OWNER, VNI);

	enter(0);
	netns_run("ip addr add 100.64.3.1/24 dev lo");
	assert_int_equal(apply_on(0, &lane), -EADDRINUSE);
	assert_non_null(strstr(world.error.text, "100.64."));
}

/* The node's rules would be for others than the lane's addresses and ports. */
static void lanes_of_other_networks_than_the_node_s_are_refused(void **state)
{
	static const struct fairlead_setting others[][1] = {
		{ { .name = "ipv6_network", .value = "fd99:1::/32" } },
		{ { .name = "ipv4_network", .value = "10.64.0.0/10" } },
		{ { .name = "ipv4_network", .value = "none" } },
		{ { .name = "port", .value = "5789" } },
	};
	struct fairlead_lane lane = lane_of(9, OWNER, VNI);

	for (size_t i = 0; i < sizeof(others) / sizeof(others[0]); i++) {
		node_close(0);
		node_open(0, others[i], 1);
		assert_int_equal(apply_on(0, &lane), -ESTALE);
		assert_non_null(strstr(world.error.text, others[i][0].name));
		assert_false(netns_holds("ip link show fl%d", VNI));
	}
	node_close(0);
	node_open(0, NULL, 0);
	apply_everywhere(&lane);
	assert_owner_only();
}

static int open_with_clash(size_t i)
{
	const struct fairlead_setting settings[] = {
		{ .name = "devices", .value = "eth1" },
		{ .name = "namespaces", .value = NETNS_0 },
		{ .name = "bpf_pins", .value = "/mnt/bpf0" },
	};

	node_close(i);
	netns_run("ip addr add 100.64.200.1/24 dev eth1");
	return ethernet_node_ops.open(settings, 3, &world.nodes[i].state,
				      &world.error);
}

static void a_start_takes_no_network_that_is_the_site_s(void **state)
{
	assert_int_equal(open_with_clash(0), -EADDRINUSE);
	assert_non_null(strstr(world.error.text, "100.64.200.1"));
	assert_false(netns_holds("nft list table inet fairlead"));
	assert_false(netns_holds("find /mnt/bpf0 -mindepth 1 -type d | "
				 "grep -q ."));
}

static void a_start_with_a_lane_keeps_its_rules_whatever_the_site_has(
	void **state)
{
	struct fairlead_lane lane = lane_of(9, OWNER, VNI);

	apply_everywhere(&lane);
	enter(0);
	assert_int_equal(open_with_clash(0), 0);
	assert_owner_only();
	assert_int_equal(revoke_on(0, &lane, true), 0);
}

static void a_start_with_other_networks_than_a_lane_s_is_refused(void **state)
{
	const struct fairlead_setting settings[] = {
		{ .name = "devices", .value = "eth1" },
		{ .name = "bpf", .value = "off" },
		{ .name = "ipv4_network", .value = "172.16.0.0/12" },
		{ .name = "namespaces", .value = NETNS_0 },
	};
	struct fairlead_lane lane = lane_of(9, OWNER, VNI);
	void *node;

	apply_everywhere(&lane);
	node_close(0);
	assert_int_equal(ethernet_node_ops.open(settings, 4, &node,
						&world.error),
			 -EADDRINUSE);
	assert_non_null(strstr(world.error.text, "fl4096"));
	assert_non_null(strstr(world.error.text, "ipv4_network"));
	node_open(0, NULL, 0);
	assert_owner_only();
	assert_int_equal(revoke_on(0, &lane, true), 0);
}

/* Programs that stay would refuse all lanes that they are not told of. */
static void without_bpf_an_earlier_gate_is_taken_away(void **state)
{
	const struct fairlead_setting off = { .name = "bpf", .value = "off" };
	struct fairlead_lane lane = lane_of(9, OWNER, VNI);

	enter(0);
	if (access("/mnt/bpf0", F_OK) < 0) {
		print_message("skipped: this kernel has no gate\n");
		skip();
	}
	node_close(0);
	node_open(0, &off, 1);
	apply_everywhere(&lane);
	assert_owner_only();
}

static void a_lane_of_many_nodes_without_members_is_refused(void **state)
{
	struct fairlead_lane lane = lane_of(9, OWNER, VNI);

	lane.index = 1;
	lane.node_count = NODES;
	enter(1);
	assert_int_equal(ethernet_node_ops.apply(world.nodes[1].state, &lane,
						 false, &world.nodes[1].record,
						 &warnings, &world.error),
			 -EBADMSG);
	assert_false(netns_holds("ip link show fl%d", VNI));
}

static void a_foreign_table_is_not_touched(void **state)
{
	const struct fairlead_setting none[] = {
		{ .name = "bpf", .value = "off" },
		{ .name = "bpf_pins", .value = "/mnt/bpf0" },
	};
	void *node;

	node_close(0);
	netns_run("nft flush ruleset");
	netns_run("nft add table inet fairlead");
	assert_int_equal(ethernet_node_ops.open(none, 2, &node, &world.error),
			 -EEXIST);
	assert_non_null(strstr(world.error.text, "inet fairlead"));
	netns_run("nft delete table inet fairlead");
	node_open(0, NULL, 0);
}

static void rates_are_classes_where_the_node_shapes(void **state)
{
	static const struct fairlead_setting shaping[] = {
		{ .name = "shaping", .value = "true" },
		{ .name = "link_rate", .value = "10G" },
	};
	struct fairlead_lane lane = lane_of(9, OWNER, VNI);

	strcpy(lane.options,
	       "vnis=1,tcs=LOW_LATENCY,reserved=100M,max=2G,isolation=host");
	node_close(0);
	node_open(0, shaping, 2);
	apply_everywhere(&lane);
	/* The other node does not shape, and says so. */
	assert_int_equal(world.warning_count, 1);
	assert_non_null(strstr(world.warning, "shaping is off"));
	enter(0);
	assert_true(netns_holds("tc class show dev eth1 | "
				"grep 'rate 100Mbit ceil 2Gbit'"));
	assert_owner_only();
	assert_int_equal(revoke_on(0, &lane, true), 0);
	assert_false(netns_holds("tc class show dev eth1 | grep 'ceil 2Gbit'"));
}

static void a_class_goes_from_a_nic_that_carries_no_lanes_any_more(void **state)
{
	static const struct fairlead_setting shaping[] = {
		{ .name = "shaping", .value = "true" },
		{ .name = "link_rate", .value = "10G" },
	};
	const struct fairlead_setting other = { .name = "devices",
						.value = "eth2" };
	struct fairlead_lane lane = lane_of(9, OWNER, VNI);

	strcpy(lane.options, "vnis=1,tcs=LOW_LATENCY,max=2G,isolation=host");
	node_close(0);
	node_open(0, shaping, 2);
	assert_int_equal(apply_on(0, &lane), 0);
	assert_true(netns_holds("tc class show dev eth1 | grep 'ceil 2Gbit'"));
	node_close(0);
	node_open(0, &other, 1);
	assert_int_equal(revoke_on(0, &lane, true), 0);
	assert_false(netns_holds("ip link show fl%d", VNI));
	assert_false(netns_holds("tc class show dev eth1 | grep 'ceil 2Gbit'"));
}

/* Which of them shall carry lanes is not to be guessed; what is there goes. */
static void a_lane_is_revoked_where_there_are_too_many_nics(void **state)
{
	const struct fairlead_setting automatic = { .name = "devices",
						    .value = "auto" };
	struct fairlead_lane lane = lane_of(9, OWNER, VNI);

	node_close(0);
	node_open(0, &automatic, 1);
	assert_int_equal(apply_on(0, &lane), 0);
	for (int i = 2; i < 6; i++) {
		netns_run("ip link add eth%d type veth peer name end%d", i, i);
		netns_run("ip addr add 10.205.%d.1/24 dev eth%d", i, i);
		netns_run("ip link set eth%d up", i);
	}
	assert_int_equal(ethernet_node_ops.place(world.nodes[0].state,
						 &world.nodes[0].place,
						 &world.error),
			 -E2BIG);
	assert_int_equal(revoke_on(0, &lane, true), 0);
	assert_false(netns_holds("ip link show fl%d", VNI));
}

static void what_cannot_be_reserved_is_a_warning(void **state)
{
	static const struct fairlead_setting shaping[] = {
		{ .name = "shaping", .value = "true" },
		{ .name = "link_rate", .value = "1G" },
	};
	struct fairlead_lane lane = lane_of(9, OWNER, VNI);

	strcpy(lane.options,
	       "vnis=1,tcs=LOW_LATENCY,reserved=2G,isolation=host");
	node_close(0);
	node_open(0, shaping, 2);
	assert_int_equal(apply_on(0, &lane), 0);
	assert_int_equal(world.warning_count, 1);
	assert_non_null(strstr(world.warning, "left to reserve"));
	assert_int_equal(revoke_on(0, &lane, true), 0);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(a_lane_of_two_nodes_is_for_its_owner),
		TEST(a_lane_in_a_namespace_is_seen_there_only),
		TEST(rules_that_somebody_flushed_come_back_with_a_look),
		TEST(rules_that_somebody_flushed_come_back_when_they_are_tended),
		TEST(a_start_writes_rules_for_what_is_there),
		TEST(an_apply_after_a_flush_brings_all_rules_back),
		TEST(a_device_without_an_alias_is_the_lane_s_that_has_its_vni),
		TEST(rules_of_a_device_that_somebody_deleted_go_by_the_record),
		TEST(rules_of_a_device_that_somebody_changed_go_with_it),
		TEST(a_foreign_vxlan_device_withholds_its_vni),
		TEST(a_node_with_another_address_than_it_told_says_so),
		TEST(the_smallest_mtu_of_the_job_is_everybody_s),
		TEST(a_nic_too_small_for_a_lane_is_said),
		TEST(lanes_whose_networks_overlap_are_refused),
		TEST(a_clash_with_the_site_s_networks_is_said),
		TEST(lanes_of_other_networks_than_the_node_s_are_refused),
		TEST(a_start_takes_no_network_that_is_the_site_s),
		TEST(a_start_with_a_lane_keeps_its_rules_whatever_the_site_has),
		TEST(a_start_with_other_networks_than_a_lane_s_is_refused),
		TEST(without_bpf_an_earlier_gate_is_taken_away),
		TEST(a_lane_of_many_nodes_without_members_is_refused),
		TEST(a_foreign_table_is_not_touched),
		TEST(rates_are_classes_where_the_node_shapes),
		TEST(a_class_goes_from_a_nic_that_carries_no_lanes_any_more),
		TEST(a_lane_is_revoked_where_there_are_too_many_nics),
		TEST(what_cannot_be_reserved_is_a_warning),
	};

	return cmocka_run_group_tests(tests, group_setup, NULL);
}
