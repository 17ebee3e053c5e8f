/* SPDX-License-Identifier: BSD-3-Clause */
/* A lane's devices in a namespace of its job. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <arpa/inet.h>
#include <fcntl.h>
#include <linux/rtnetlink.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>

#include "lanes/driver/ethernet/device.h"
#include "lanes/driver/ethernet/table.h"
#include "lanes/driver/ethernet/rules.h"
#include "lanes/driver/ethernet/shaper.h"
#include "lanes/driver/ethernet/tc.h"
#include "lanes/driver/test/job_namespace.h"

static const uint8_t node_mac[] = { 2, 0, 0, 7, 0, 1 };
static const uint8_t peer_mac[] = { 2, 0, 0, 7, 0, 2 };

static struct ip_address ip(const char *text)
{
	struct ip_address address;

	assert_true(ip_address_parse(text, &address));
	return address;
}

static struct lane_device device_of(const char *nic, const uint8_t *mac,
				    const char *underlay, const char *ipv4,
				    const char *ipv6)
{
	struct lane_device device = {
		.name = "fl7",
		.vni = 7,
		.port = ETHERNET_PORT,
		.mtu = 1400,
		.underlay_index = (int)if_nametoindex(nic),
		.underlay = ip(underlay),
		.ipv4 = ip(ipv4),
		.ipv4_prefix_size = 24,
		.ipv6 = ip(ipv6),
		.alias = { .grant_id = JOB,
			   .classes = 1,
			   .vni_count = 1,
			   .vnis = { 7 } },
	};

	memcpy(device.mac, mac, sizeof(device.mac));
	return device;
}

static struct lane_peer peer_of(const uint8_t *mac, const char *underlay,
				const char *ipv4, const char *ipv6)
{
	struct lane_peer peer = { .underlay = ip(underlay),
				  .ipv4 = ip(ipv4),
				  .ipv6 = ip(ipv6) };

	memcpy(peer.mac, mac, sizeof(peer.mac));
	return peer;
}

static struct lane_device job_device(void)
{
	return device_of("nic0", node_mac, "10.77.0.1", "100.64.0.1",
			 "fd46:4c00:0:7::1");
}

static struct lane_peer job_peer(void)
{
	return peer_of(peer_mac, "10.77.0.2", "100.64.0.2", "fd46:4c00:0:7::2");
}

static void check(int result)
{
	if (result < 0)
		fail_msg("%s", error.text);
}

static void make_peer(int nic_index)
{
	struct lane_peer node = peer_of(node_mac, "10.77.0.1", "100.64.0.1",
					"fd46:4c00:0:7::1");
	struct lane_device device = device_of("", peer_mac, "10.77.0.2",
					      "100.64.0.2", "fd46:4c00:0:7::2");
	struct netlink *inside;

	device.underlay_index = nic_index;
	check(namespace_netlink(DIRECTORY, PEER, &inside, &error));
	check(device_create(inside, &device, &node, 1, &error));
	check(device_up(inside, &device, &error));
	netlink_close(inside);
}

/* A wire from this node to its peer, and a lane's device at either end. */
static struct lane_device make_lane(void)
{
	struct lane_device device;
	struct lane_peer peer = job_peer();
	int nic_index;

	create(PEER);
	create(JOB);
	netns_run("ip link add nic0 type veth peer name nic1");
	nic_index = (int)if_nametoindex("nic1"); /* which it keeps */
	netns_run("ip link set nic1 netns " PEER_PATH);
	netns_run("ip addr add 10.77.0.1/24 dev nic0 && ip link set nic0 up");
	netns_run(IN_PEER "ip addr add 10.77.0.2/24 dev nic1");
	netns_run(IN_PEER "ip link set nic1 up");
	make_peer(nic_index);
	device = job_device();
	check(device_create(netlink, &device, &peer, 1, &error));
	return device;
}

static void take_device(const struct lane_device *device)
{
	check(namespace_take(netlink, DIRECTORY, JOB, device, &error));
}

static void dress_device(struct lane_device *device)
{
	struct lane_peer peer = job_peer();
	struct netlink *inside;

	check(namespace_netlink(DIRECTORY, JOB, &inside, &error));
	check(device_dress(inside, device, &peer, 1, &error));
	check(device_up(inside, device, &error));
	netlink_close(inside);
}

static int enter(const char *path)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	int result = setns(fd, CLONE_NEWNET);

	close(fd);
	return result;
}

/* A socket in that namespace, at the address. */
static int socket_in(const char *path, const char *address, uint16_t port)
{
	int home = open("/proc/thread-self/ns/net", O_RDONLY | O_CLOEXEC);
	struct sockaddr_in at = { .sin_family = AF_INET,
				  .sin_port = htons(port) };
	int fd;

	inet_pton(AF_INET, address, &at.sin_addr);
	assert_int_equal(enter(path), 0);
	fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	assert_int_equal(bind(fd, (struct sockaddr *)&at, sizeof(at)), 0);
	assert_int_equal(setns(home, CLONE_NEWNET), 0);
	close(home);
	return fd;
}

static ssize_t send_to(int fd, const char *address, uint16_t port,
		       const void *bytes, size_t size)
{
	struct sockaddr_in to = { .sin_family = AF_INET,
				  .sin_port = htons(port) };

	inet_pton(AF_INET, address, &to.sin_addr);
	return sendto(fd, bytes, size, 0, (struct sockaddr *)&to, sizeof(to));
}

static void a_taken_device_is_not_to_be_seen_in_the_host(void **state)
{
	struct lane_device device;

	if (!is_there)
		skip();
	device = make_lane();
	take_device(&device);
	assert_int_equal(if_nametoindex("fl7"), 0);
	assert_false(netns_holds("ip link show type vxlan | grep -q ."));
	netns_run("test $(" IN_JOB "ip -o link show fl7 | cut -d: -f1) = %d",
		  device.index);
}

static void a_move_takes_addresses_and_neighbours_and_nothing_else(void **state)
{
	struct lane_device device;

	if (!is_there)
		skip();
	device = make_lane();
	netns_run("ip addr show fl7 | grep -q 100.64.0.1");
	netns_run("ip neigh show dev fl7 | grep -q 100.64.0.2");
	take_device(&device);
	netns_run(IN_JOB "ip -d link show fl7 >/mnt/link");
	netns_run("grep -q 'mtu 1400.*DOWN.*group 17996' /mnt/link");
	netns_run("grep -q NOARP /mnt/link");
	netns_run("grep -q 02:00:00:07:00:01 /mnt/link");
	netns_run("grep -q 'alias fairlead:grant=9' /mnt/link");
	netns_run("grep -q 'vxlan id 7 local 10.77.0.1' /mnt/link");
	netns_run(IN_JOB "bridge fdb show dev fl7 | grep -q "
			 "'02:00:00:07:00:02 dst 10.77.0.2.*permanent'");
	assert_false(netns_holds(IN_JOB "ip addr show fl7 | grep inet"));
	assert_false(netns_holds(IN_JOB "ip neigh show dev fl7 | grep ."));
	netns_run("grep -q 'addrgenmode eui64' /mnt/link");
}

static void a_device_that_is_dressed_inside_has_all_again(void **state)
{
	struct lane_device device;

	if (!is_there)
		skip();
	device = make_lane();
	take_device(&device);
	dress_device(&device);
	netns_run(IN_JOB "ip addr show fl7 >/mnt/addresses");
	netns_run("grep -q 'inet 100.64.0.1/24' /mnt/addresses");
	netns_run("grep -q 'inet6 fd46:4c00:0:7::1/64' /mnt/addresses");
	netns_run("! grep -q fe80 /mnt/addresses");
	netns_run(IN_JOB "ip neigh show dev fl7 | grep -q 100.64.0.2");
	netns_run(IN_JOB "ip -6 neigh show dev fl7 | grep -q "
			 "fd46:4c00:0:7::2");
	netns_run("test $(" IN_JOB "bridge fdb show dev fl7 | wc -l) = 1");
}

static void a_lane_of_which_one_end_is_inside_carries_UDP(void **state)
{
	char bytes[16] = "";
	struct lane_device device;
	int job, peer;

	if (!is_there)
		skip();
	device = make_lane();
	take_device(&device);
	dress_device(&device);
	job = socket_in(JOB_PATH, "100.64.0.1", 700);
	peer = socket_in(PEER_PATH, "100.64.0.2", 700);
	assert_int_equal(send_to(job, "100.64.0.2", 700, "there", 6), 6);
	assert_int_equal(recv(peer, bytes, sizeof(bytes), 0), 6);
	assert_string_equal(bytes, "there");
	assert_int_equal(send_to(peer, "100.64.0.1", 700, "back", 5), 5);
	assert_int_equal(recv(job, bytes, sizeof(bytes), 0), 5);
	assert_string_equal(bytes, "back");
	close(job);
	close(peer);
}

static void a_netlink_inside_sees_the_device_and_the_hosts_does_not(
	void **state)
{
	struct netlink *inside;
	struct lane_device device;
	int result;

	if (!is_there)
		skip();
	device = make_lane();
	take_device(&device);
	assert_int_equal(namespace_netlink(DIRECTORY, JOB, &inside, &error), 0);
	/* To the peer, where there is one of that name. */
	result = namespace_take(inside, DIRECTORY, PEER, &device, &error);
	assert_int_equal(result, -EEXIST);
	assert_non_null(strstr(error.text, "fl7"));
	result = namespace_take(netlink, DIRECTORY, PEER, &device, &error);
	assert_int_equal(result, -ENODEV);
	result = namespace_take(inside, DIRECTORY, 11, &device, &error);
	assert_int_equal(result, -ENOENT);
	netlink_close(inside);
}

static void hold(int fd)
{
	char byte;

	if (enter(JOB_PATH) != 0 || write(fd, "", 1) != 1)
		_exit(1);
	_exit(read(fd, &byte, 1) == 0 ? 0 : 1);
}

static void a_device_goes_though_a_process_stays_inside(void **state)
{
	struct lane_device device;
	struct netlink *inside;
	bool is_left;
	int fds[2], status;
	char byte;
	pid_t pid;

	if (!is_there)
		skip();
	device = make_lane();
	take_device(&device);
	dress_device(&device);
	assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM, 0, fds), 0);
	pid = fork();
	if (pid == 0) {
		close(fds[0]);
		hold(fds[1]);
	}
	close(fds[1]);
	assert_int_equal(read(fds[0], &byte, 1), 1);
	/* The VNI is in use, wherever its device is. */
	assert_false(netns_holds("ip link add fl8 type vxlan id 7 dev nic0 "
				 "dstport 4789 udp6zerocsumrx"));
	check(namespace_netlink(DIRECTORY, JOB, &inside, &error));
	check(devices_delete(inside, &device, 1, &is_left, &error));
	netlink_close(inside);
	assert_int_equal(namespace_delete(DIRECTORY, JOB, &error), 0);
	assert_int_equal(access(JOB_PATH, F_OK), -1);
	netns_run("nsenter --net=/proc/%d/ns/net ip link show lo >/dev/null",
		  (int)pid);
	netns_run("ip link add fl8 type vxlan id 7 dev nic0 dstport 4789 "
		  "udp6zerocsumrx && "
		  "ip link del fl8");
	close(fds[0]);
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_int_equal(status, 0);
}

/* VXLAN of VNI 7 with a datagram in it, as any user can make it. */
static void forge(uint8_t bytes[51])
{
	static const uint8_t forged[51] = {
		/* VXLAN: there is a VNI, 7 */
		0x08, 0, 0, 0, 0, 0, 7, 0,
		/* Ethernet: to the peer, from the node, IPv4 */
		2, 0, 0, 7, 0, 2, 2, 0, 0, 7, 0, 1, 8, 0,
		/* IPv4: 29 bytes, UDP, 100.64.0.1 to 100.64.0.2 */
		0x45, 0, 0, 29, 0, 0, 0, 0, 64, 17, 0xb2, 0x4d, 100, 64, 0, 1,
		100, 64, 0, 2,
		/* UDP: 700 to 700, 9 bytes, no checksum: "!" */
		700 >> 8, 700 & 0xff, 700 >> 8, 700 & 0xff, 0, 9, 0, 0, '!'
	};

	memcpy(bytes, forged, sizeof(forged));
}

static void VXLAN_by_hand_is_distinguished_from_that_of_a_lane_inside(
	void **state)
{
	uint8_t forged[51];
	char bytes[16] = "";
	struct lane_device device;
	int job, peer, outside;

	if (!is_there)
		skip();
	device = make_lane();
	take_device(&device);
	dress_device(&device);
	job = socket_in(JOB_PATH, "100.64.0.1", 700);
	peer = socket_in(PEER_PATH, "100.64.0.2", 700);
	outside = socket_in("/proc/self/ns/net", "10.77.0.1", 0);
	forge(forged);
	/* Without the rule it arrives. */
	assert_int_equal(send_to(outside, "10.77.0.2", 4789, forged,
				 sizeof(forged)),
			 sizeof(forged));
	assert_int_equal(recv(peer, bytes, sizeof(bytes), 0), 1);
	assert_int_equal(bytes[0], '!');
	/* With it only what has no socket: that is left behind inside. */
	netns_run("nft 'add table inet t; add chain inet t out { type filter "
		  "hook output priority 0; }; add rule inet t out udp dport "
		  "4789 meta skuid 0-4294967295 drop'");
	assert_int_equal(send_to(outside, "10.77.0.2", 4789, forged,
				 sizeof(forged)),
			 -1);
	assert_int_equal(errno, EPERM);
	assert_int_equal(send_to(job, "100.64.0.2", 700, "ours", 5), 5);
	assert_int_equal(recv(peer, bytes, sizeof(bytes), 0), 5);
	assert_string_equal(bytes, "ours");
	netns_run("nft delete table inet t");
	close(job);
	close(peer);
	close(outside);
}

/* The whole table, as the driver has it; the class of the lane is in its alias. */
static void set_rules(const struct lane_device *device)
{
	static const uint8_t dscp[ETHERNET_CLASS_COUNT] = { 46, 32, 8, 0 };
	const struct ip_address peer = ip("10.77.0.2");
	struct rules_lane lane = { .device = *device,
				   .peers = &peer,
				   .peer_count = 1,
				   .is_netns = true };
	struct writer writer = { 0 };
	struct netlink *filter;

	lane.device.alias.classes = 1;
	rules_write_table(&ethernet_networks_default, dscp,
			  &(struct rules_counters){ 0 }, &lane, 1, &writer);
	check(table_open(&filter, &error));
	check(table_change(filter, &writer, &error));
	netlink_close(filter);
}

static uint64_t count_packets(const struct underlay *nic, uint16_t minor)
{
	struct tc_list list = { 0 };
	uint64_t packets = UINT64_MAX;

	check(tc_dump(netlink, RTM_GETTCLASS, nic, 0, &list, &error));
	for (size_t i = 0; i < list.count; i++) {
		if (list.items[i].handle == SHAPER_PRIORITY(minor))
			packets = list.items[i].packets;
	}
	tc_list_fini(&list);
	return packets;
}

static void a_lane_inside_is_shaped_by_its_VNI(void **state)
{
	const struct shaper_class shaped = { .minor = SHAPER_FIRST_MINOR,
					     .reserved_mbit = 100 };
	struct underlay nic = { .name = "nic0" };
	struct lane_device device;
	char bytes[16], lacking[256];
	int job, peer;

	if (!is_there)
		skip();
	check(shaper_probe(netlink, lacking));
	if (lacking[0]) {
		print_message("skipped: the kernel lacks %s\n", lacking);
		skip();
	}
	device = make_lane();
	nic.index = (int)if_nametoindex("nic0");
	check(shaper_start(netlink, &nic, 1000, &error));
	check(shaper_add(netlink, &nic, &shaped, &error));
	device.alias.htb_class = shaped.minor;
	take_device(&device);
	dress_device(&device);
	set_rules(&device);
	job = socket_in(JOB_PATH, "100.64.0.1", 700);
	peer = socket_in(PEER_PATH, "100.64.0.2", 700);
	for (int i = 1; i <= 6; i++) {
		assert_int_equal(send_to(job, "100.64.0.2", 700, "x", 1), 1);
		assert_int_equal(recv(peer, bytes, sizeof(bytes), 0), 1);
		assert_int_equal(count_packets(&nic, shaped.minor), i);
	}
	netns_run("nft delete table inet fairlead");
	close(job);
	close(peer);
}

#define one(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		one(a_taken_device_is_not_to_be_seen_in_the_host),
		one(a_move_takes_addresses_and_neighbours_and_nothing_else),
		one(a_device_that_is_dressed_inside_has_all_again),
		one(a_lane_of_which_one_end_is_inside_carries_UDP),
		one(a_netlink_inside_sees_the_device_and_the_hosts_does_not),
		one(a_device_goes_though_a_process_stays_inside),
		one(a_lane_inside_is_shaped_by_its_VNI),
		one(VXLAN_by_hand_is_distinguished_from_that_of_a_lane_inside),
	};

	return cmocka_run_group_tests(tests, group_setup, group_teardown);
}
