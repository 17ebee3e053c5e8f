/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Neighbours on the underlay are fixed, so that no first packet waits for an
 * answer.
 */
#include "place.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/if_ether.h>
#include <poll.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/socket.h>
#include <unistd.h>

#define SETTLE_PORT   7999
#define SETTLE_ROUNDS 8 /* as many as the longest way has turns */
#define LANE_MTU      1400
#define COMMAND_MAX   1024

static const struct {
	uint32_t vni;
	uid_t owner;
	uint32_t number[HOST_COUNT]; /* 0: not a member */
} lanes[LANE_COUNT] = {
	[LANE_A] = { 4242, OWNER_A, { [NODE1] = 1, [NODE2] = 2 } },
	[LANE_B] = { 4243, OWNER_B, { [NODE1] = 1, [NODE3] = 2 } },
};

/* --- who is where --- */

bool place_is_member(enum place_lane lane, enum place_host host)
{
	return lanes[lane].number[host] != 0;
}

uint32_t place_vni(enum place_lane lane)
{
	return lanes[lane].vni;
}

uid_t place_owner(enum place_lane lane)
{
	return lanes[lane].owner;
}

struct probe_actor place_actor(const struct place *place, enum place_host host,
			       uid_t uid)
{
	return (struct probe_actor){ .netns = place->netns[host], .uid = uid };
}

struct probe_actor place_inside(const struct place *place, enum place_lane lane,
				enum place_host host, uid_t uid)
{
	int inside = place->inside[lane][host];

	return (struct probe_actor){
		.netns = inside >= 0 ? inside : place->netns[host],
		.uid = uid,
	};
}

struct probe_end place_underlay(enum place_host host, uint8_t family,
				uint16_t port)
{
	struct probe_end end = { .port = port };
	char text[IP_ADDRESS_TEXT_MAX];

	snprintf(text, sizeof(text), family == 6 ? "fd77::%d" : "10.77.0.%d",
		 host + 1);
	assert_true(ip_address_parse(text, &end.address));
	return end;
}

void place_names(enum place_lane lane, enum place_host host,
		 struct ethernet_names *ret_names)
{
	ethernet_name(&ethernet_networks_default, lanes[lane].vni, 0,
		      lanes[lane].number[host], ret_names);
}

struct probe_end place_end(enum place_lane lane, enum place_host host,
			   uint8_t family, uint16_t port)
{
	struct ethernet_names names;

	place_names(lane, host, &names);
	return (struct probe_end){
		.address = family == 6 ? names.ipv6 : names.ipv4,
		.port = port,
	};
}

struct rules_lane place_rules(const struct place *place, enum place_lane lane,
			      enum place_host host,
			      struct ip_address peers[HOST_COUNT])
{
	struct rules_lane rules = {
		.device = { .vni = lanes[lane].vni,
			    .alias = { .grant_id = lane + 1u,
				       .uid = lanes[lane].owner,
				       .gid = lanes[lane].owner,
				       .vni_count = 1,
				       .vnis = { lanes[lane].vni },
				       .htb_class = lane == LANE_A ? HTB_CLASS
								   : 0 } },
		.peers = peers,
		.classes =
			1u << ETHERNET_LOW_LATENCY | 1u << ETHERNET_BEST_EFFORT,
		.first_class = ETHERNET_LOW_LATENCY,
	};
	struct ethernet_names names;

	place_names(lane, host, &names);
	memcpy(rules.device.name, names.device, sizeof(names.device));
	memcpy(rules.device.mac, names.mac, sizeof(names.mac));
	rules.device.port = names.port;
	rules.device.ipv4 = names.ipv4;
	rules.device.ipv6 = names.ipv6;
	rules.device.ipv4_prefix_size = names.ipv4_prefix_size;
	rules.device.mtu = LANE_MTU;
	rules.device.underlay =
		place_underlay(host, place->underlay_family, 0).address;
	rules.is_netns = place->is_netns;
	for (enum place_host peer = 0; peer < HOST_COUNT; peer++) {
		if (place_is_member(lane, peer) && peer != host)
			peers[rules.peer_count++] =
				place_underlay(peer, place->underlay_family, 0)
					.address;
	}
	return rules;
}

/* --- the machine --- */

void place_enter(int netns)
{
	if (setns(netns, CLONE_NEWNET) < 0)
		fail_msg("cannot enter a network namespace");
}

void place_run(const struct place *place, enum place_host host,
	       const char *format, ...)
{
	char command[COMMAND_MAX];
	va_list args;
	int result;

	va_start(args, format);
	vsnprintf(command, sizeof(command), format, args);
	va_end(args);
	place_enter(place->netns[host]);
	result = system(command);
	place_enter(place->home);
	if (result != 0)
		fail_msg("%s", command);
}

static void stay_on_one_processor(void)
{
	cpu_set_t set;
	int cpu = sched_getcpu();

	assert_true(cpu >= 0);
	CPU_ZERO(&set);
	CPU_SET(cpu, &set);
	assert_int_equal(sched_setaffinity(0, sizeof(set), &set), 0);
}

static int namespace_open(void)
{
	int fd = open("/proc/self/ns/net", O_RDONLY | O_CLOEXEC);

	assert_true(fd >= 0);
	return fd;
}

static void underlay_make(struct place *place, enum place_host host)
{
	char command[COMMAND_MAX];

	assert_int_equal(unshare(CLONE_NEWNET), 0);
	place->netns[host] = namespace_open();
	place_enter(place->home);
	/* The namespace is named by the descriptor that this process has. */
	snprintf(command, sizeof(command),
		 "ip link add port%d type veth peer name eth0 "
		 "address 02:77:00:00:00:0%d netns /proc/%d/fd/%d && "
		 "ip link set port%d master switch up",
		 host, host + 1, getpid(), place->netns[host], host);
	if (system(command) != 0)
		fail_msg("%s", command);
	place_run(place, host,
		  "sysctl -qw net.ipv4.conf.all.rp_filter=0 "
		  "net.ipv4.conf.default.rp_filter=0 "
		  "net.ipv6.conf.all.accept_dad=0 "
		  "net.ipv6.conf.default.accept_dad=0 "
		  "net.ipv4.ip_forward=1 net.ipv6.conf.all.forwarding=1 && "
		  "ip link set lo up && ip link set eth0 addrgenmode none && "
		  "ip link set eth0 up && "
		  "ip address add 10.77.0.%d/24 dev eth0 && "
		  "ip address add fd77::%d/64 dev eth0 nodad",
		  host + 1, host + 1);
	for (enum place_host peer = 0; peer < HOST_COUNT; peer++) {
		if (peer == host)
			continue;
		place_run(place, host,
			  "for address in 10.77.0.%d fd77::%d; do "
			  "ip neighbour replace $address dev eth0 "
			  "lladdr 02:77:00:00:00:0%d nud permanent; done",
			  peer + 1, peer + 1, peer + 1);
	}
}

/* Device and peers of a lane, as the driver would have them. */
static size_t plan_device(const struct place *place, enum place_lane lane,
			  enum place_host host, struct lane_device *ret_device,
			  struct lane_peer peers[HOST_COUNT])
{
	struct ip_address underlays[HOST_COUNT];
	struct ethernet_names names;
	size_t count = 0;

	*ret_device = place_rules(place, lane, host, underlays).device;
	for (enum place_host peer = 0; peer < HOST_COUNT; peer++) {
		struct lane_peer *next = &peers[count];

		if (peer == host || !place_is_member(lane, peer))
			continue;
		place_names(lane, peer, &names);
		memcpy(next->mac, names.mac, sizeof(next->mac));
		next->underlay = underlays[count];
		next->ipv4 = names.ipv4;
		next->ipv6 = names.ipv6;
		count++;
	}
	return count;
}

static void device_make(struct place *place, enum place_lane lane,
			enum place_host host, bool is_netns)
{
	_auto_(netlink_closep) struct netlink *outside = NULL;
	_auto_(netlink_closep) struct netlink *inside = NULL;
	struct lane_device device;
	struct lane_peer peers[HOST_COUNT];
	struct fairlead_error error = { 0 };
	size_t count = plan_device(place, lane, host, &device, peers);
	int result;

	place_enter(place->netns[host]);
	device.underlay_index = (int)if_nametoindex("eth0");
	assert_int_equal(netlink_open(&outside, &error), 0);
	result = device_create(outside, &device, peers, count, &error);
	if (result == 0 && is_netns) {
		assert_int_equal(unshare(CLONE_NEWNET), 0);
		place->inside[lane][host] = namespace_open();
		place_run(place, host, "ip link set %s netns /proc/%d/fd/%d",
			  device.name, getpid(), place->inside[lane][host]);
		place_enter(place->inside[lane][host]);
		if (system("ip link set lo up") != 0)
			fail_msg("no loopback");
		assert_int_equal(netlink_open(&inside, &error), 0);
		result = device_dress(inside, &device, peers, count, &error);
	}
	if (result == 0)
		result =
			device_up(is_netns ? inside : outside, &device, &error);
	place_enter(place->home);
	if (result < 0)
		fail_msg("%s", error.text);
}

/* A device that nobody holds any more goes with its namespace. */
static void device_remove(struct place *place, enum place_lane lane,
			  enum place_host host)
{
	int *inside = &place->inside[lane][host];
	struct ethernet_names names;
	char command[COMMAND_MAX];

	place_names(lane, host, &names);
	snprintf(command, sizeof(command), "ip link del %s", names.device);
	place_enter(*inside >= 0 ? *inside : place->netns[host]);
	if (system(command) != 0)
		fail_msg("%s", command);
	place_enter(place->home);
	if (*inside >= 0)
		close(*inside);
	*inside = -1;
}

static void devices_make(struct place *place, bool is_netns)
{
	for (enum place_lane lane = 0; lane < LANE_COUNT; lane++) {
		for (enum place_host host = 0; host < HOST_COUNT; host++) {
			if (place_is_member(lane, host))
				device_make(place, lane, host, is_netns);
		}
	}
	place->is_netns = is_netns;
}

void place_isolate(struct place *place, bool is_netns)
{
	if (place->is_netns == is_netns)
		return;
	for (enum place_lane lane = 0; lane < LANE_COUNT; lane++) {
		for (enum place_host host = 0; host < HOST_COUNT; host++) {
			if (place_is_member(lane, host))
				device_remove(place, lane, host);
		}
	}
	devices_make(place, is_netns);
}

struct place *place_create(uint8_t underlay_family)
{
	struct place *place;

	if (geteuid() != 0) {
		print_message("skipped: network namespaces need root\n");
		return NULL;
	}
	if (unshare(CLONE_NEWNET) != 0) {
		print_message("skipped: no network namespace can be made\n");
		return NULL;
	}
	if (system("ip link add switch type bridge && "
		   "ip link set switch up") != 0) {
		print_message("skipped: this kernel has no bridges\n");
		return NULL;
	}
	/* What is pinned here goes with this process. */
	if (unshare(CLONE_NEWNS) != 0 ||
	    mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) != 0 ||
	    mount("bpf", "/sys/fs/bpf", "bpf", 0, NULL) != 0) {
		print_message("skipped: no file system of BPF can be mounted: "
			      "%s\n",
			      strerror(errno));
		return NULL;
	}
	place = calloc(1, sizeof(*place));
	assert_non_null(place);
	stay_on_one_processor();
	place->underlay_family = underlay_family;
	place->home = namespace_open();
	for (enum place_host host = 0; host < HOST_COUNT; host++)
		underlay_make(place, host);
	memset(place->inside, -1, sizeof(place->inside));
	devices_make(place, false);
	return place;
}

void place_destroy(struct place *place)
{
	if (place == NULL)
		return;
	if (place->level == LEVEL_GATE)
		place_enforce(place, LEVEL_NONE);
	for (enum place_host host = 0; host < HOST_COUNT; host++)
		close(place->netns[host]);
	close(place->home);
	free(place);
}

int place_capture(const struct place *place, enum place_host host)
{
	uint16_t protocol =
		htons(place->underlay_family == 6 ? ETH_P_IPV6 : ETH_P_IP);
	int fd;

	place_enter(place->netns[host]);
	fd = socket(AF_PACKET, SOCK_DGRAM | SOCK_NONBLOCK | SOCK_CLOEXEC,
		    protocol);
	place_enter(place->home);
	assert_true(fd >= 0);
	return fd;
}

/* The owner's packets through lane A, each sent when the one before has come. */
void place_settle(const struct place *place)
{
	struct probe_actor sender = place_inside(place, LANE_A, NODE1, OWNER_A);
	struct probe_actor receiver =
		place_inside(place, LANE_A, NODE2, OWNER_A);
	struct probe_call bound = {
		.type = SOCK_DGRAM,
		.from = place_end(LANE_A, NODE2, 4, SETTLE_PORT),
	};
	struct probe_call sent = {
		.type = SOCK_DGRAM,
		.to = bound.from,
		.bytes = "settled",
		.size = 7,
	};
	int fd = probe_open(&receiver, &bound);
	struct pollfd poll_fd = { .fd = fd, .events = POLLIN };
	char bytes[8];

	assert_true(fd >= 0);
	for (int i = 0; i < SETTLE_ROUNDS; i++) {
		int out = probe_open(&sender, &sent);

		assert_true(out >= 0);
		assert_int_equal(poll(&poll_fd, 1, -1), 1);
		assert_int_equal(probe_receive(fd, bytes, sizeof(bytes)), 7);
		close(out);
	}
	close(fd);
}
