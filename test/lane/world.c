/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Neighbours on the underlay are fixed, so that no first packet waits for an
 * answer.
 */
#include "world.h"

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

#define NETWORK       77 /* of rail 0 */
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

bool world_is_member(enum world_lane lane, enum world_host host)
{
	return lanes[lane].number[host] != 0;
}

uint32_t world_vni(enum world_lane lane)
{
	return lanes[lane].vni;
}

uid_t world_owner(enum world_lane lane)
{
	return lanes[lane].owner;
}

struct probe_actor world_actor(const struct world *world, enum world_host host,
			       uid_t uid)
{
	return (struct probe_actor){ .netns = world->netns[host], .uid = uid };
}

struct probe_actor world_inside(const struct world *world, enum world_lane lane,
				enum world_host host, uid_t uid)
{
	int inside = world->inside[lane][host];

	return (struct probe_actor){
		.netns = inside >= 0 ? inside : world->netns[host],
		.uid = uid,
	};
}

struct probe_end world_underlay(const struct world *world, enum world_host host,
				uint8_t family, uint16_t port)
{
	struct probe_end end = { .port = port };
	char text[IP_ADDRESS_TEXT_MAX];

	snprintf(text, sizeof(text), family == 6 ? "fd%d::%d" : "10.%d.0.%d",
		 NETWORK + world->rail, host + 1);
	assert_true(ip_address_parse(text, &end.address));
	return end;
}

uint16_t world_port(const struct world *world)
{
	return ethernet_port(ETHERNET_PORT, world->rail);
}

void world_names(const struct world *world, enum world_lane lane,
		 enum world_host host, struct ethernet_names *ret_names)
{
	ethernet_name(&ethernet_networks_default, lanes[lane].vni, world->rail,
		      lanes[lane].number[host], ret_names);
}

struct probe_end world_end(const struct world *world, enum world_lane lane,
			   enum world_host host, uint8_t family, uint16_t port)
{
	struct ethernet_names names;

	world_names(world, lane, host, &names);
	return (struct probe_end){
		.address = family == 6 ? names.ipv6 : names.ipv4,
		.port = port,
	};
}

struct rules_lane world_rules(const struct world *world, enum world_lane lane,
			      enum world_host host,
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
	};
	struct ethernet_names names;

	rules.device.alias.classes =
		1u << ETHERNET_LOW_LATENCY | 1u << ETHERNET_BEST_EFFORT;
	rules.device.alias.first_class = ETHERNET_LOW_LATENCY;
	world_names(world, lane, host, &names);
	memcpy(rules.device.name, names.device, sizeof(names.device));
	memcpy(rules.device.mac, names.mac, sizeof(names.mac));
	rules.device.rail = world->rail;
	rules.device.port = names.port;
	rules.device.ipv4 = names.ipv4;
	rules.device.ipv6 = names.ipv6;
	rules.device.ipv4_prefix_size = names.ipv4_prefix_size;
	rules.device.mtu = LANE_MTU;
	rules.device.underlay =
		world_underlay(world, host, world->underlay_family, 0).address;
	rules.device.underlay_index = world->underlay_index[host][world->rail];
	rules.is_netns = world->is_netns;
	for (enum world_host peer = 0; peer < HOST_COUNT; peer++) {
		if (world_is_member(lane, peer) && peer != host)
			peers[rules.peer_count++] =
				world_underlay(world, peer,
					       world->underlay_family, 0)
					.address;
	}
	return rules;
}

/* --- the machine --- */

void world_enter(int netns)
{
	if (setns(netns, CLONE_NEWNET) < 0)
		fail_msg("cannot enter a network namespace");
}

void world_run(const struct world *world, enum world_host host,
	       const char *format, ...)
{
	char command[COMMAND_MAX];
	va_list args;
	int result;

	va_start(args, format);
	vsnprintf(command, sizeof(command), format, args);
	va_end(args);
	world_enter(world->netns[host]);
	result = system(command);
	world_enter(world->home);
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

int world_namespace(void)
{
	int fd = open("/proc/self/ns/net", O_RDONLY | O_CLOEXEC);

	assert_true(fd >= 0);
	return fd;
}

/* A namespace that forwards, refuses nothing, and waits for nothing. */
static void host_make(struct world *world, enum world_host host)
{
	assert_int_equal(unshare(CLONE_NEWNET), 0);
	world->netns[host] = world_namespace();
	world_enter(world->home);
	world_run(world, host,
		  "sysctl -qw net.ipv4.conf.all.rp_filter=0 "
		  "net.ipv4.conf.default.rp_filter=0 "
		  "net.ipv6.conf.all.accept_dad=0 "
		  "net.ipv6.conf.default.accept_dad=0 "
		  "net.ipv4.ip_forward=1 net.ipv6.conf.all.forwarding=1 && "
		  "ip link set lo up");
}

/*
 * A pair of devices between namespaces, the first of them where the caller is,
 * or a host's. The namespaces are named by the descriptors that this process
 * has.
 */
static void pair_make(const struct world *world, const char *name,
		      enum world_host host, const char *host_name,
		      const char *mac)
{
	char command[COMMAND_MAX];

	snprintf(command, sizeof(command),
		 "ip link add %s type veth peer name %s address %s "
		 "netns /proc/%d/fd/%d",
		 name, host_name, mac, getpid(), world->netns[host]);
	if (system(command) != 0)
		fail_msg("%s", command);
}

static void address_set(const struct world *world, enum world_host host,
			const char *device, int network)
{
	world_run(world, host,
		  "ip link set %s addrgenmode none && ip link set %s up && "
		  "ip address add 10.%d.0.%d/24 dev %s && "
		  "ip address add fd%d::%d/64 dev %s nodad",
		  device, device, network, host + 1, device, network, host + 1,
		  device);
}

static void neighbour_set(const struct world *world, enum world_host host,
			  const char *device, int network, enum world_host peer)
{
	world_run(world, host,
		  "for address in 10.%d.0.%d fd%d::%d; do "
		  "ip neighbour replace $address dev %s "
		  "lladdr 02:%d:00:00:00:0%d nud permanent; done",
		  network, peer + 1, network, peer + 1, device, network,
		  peer + 1);
}

static void underlay_make(struct world *world, enum world_host host,
			  uint8_t rail)
{
	char nic[IFNAMSIZ], port[IFNAMSIZ], mac[40], command[COMMAND_MAX];
	int network = NETWORK + rail;

	snprintf(nic, sizeof(nic), "eth%d", rail);
	snprintf(port, sizeof(port), "port%d.%d", host, rail);
	snprintf(mac, sizeof(mac), "02:%d:00:00:00:0%d", network, host + 1);
	pair_make(world, port, host, nic, mac);
	snprintf(command, sizeof(command), "ip link set %s master switch%d up",
		 port, rail);
	if (system(command) != 0)
		fail_msg("%s", command);
	address_set(world, host, nic, network);
	for (enum world_host peer = 0; peer < CONTAINER; peer++) {
		if (peer != host)
			neighbour_set(world, host, nic, network, peer);
	}
	world_enter(world->netns[host]);
	world->underlay_index[host][rail] = (int)if_nametoindex(nic);
	world_enter(world->home);
}

static void underlays_make(struct world *world)
{
	for (enum world_host host = 0; host < CONTAINER; host++) {
		host_make(world, host);
		for (uint8_t rail = 0; rail < RAIL_COUNT; rail++)
			underlay_make(world, host, rail);
	}
}

/* Node 2 is its router. */
static void container_make(struct world *world)
{
	host_make(world, CONTAINER);
	world_enter(world->netns[NODE2]);
	pair_make(world, "pod", CONTAINER, "eth0", "02:88:00:00:00:05");
	world_enter(world->home);
	world_run(world, NODE2, "ip link set pod address 02:88:00:00:00:02");
	address_set(world, NODE2, "pod", 88);
	address_set(world, CONTAINER, "eth0", 88);
	neighbour_set(world, NODE2, "pod", 88, CONTAINER);
	neighbour_set(world, CONTAINER, "eth0", 88, NODE2);
	world_run(world, CONTAINER,
		  "ip route add default via 10.88.0.2 && "
		  "ip route add default via fd88::2");
}

struct world *world_create(uint8_t underlay_family)
{
	struct world *world;

	if (geteuid() != 0) {
		print_message("skipped: network namespaces need root\n");
		return NULL;
	}
	if (unshare(CLONE_NEWNET) != 0) {
		print_message("skipped: no network namespace can be made\n");
		return NULL;
	}
	if (system("for switch in switch0 switch1; do "
		   "ip link add $switch type bridge && "
		   "ip link set $switch up || exit; done") != 0) {
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
	world = calloc(1, sizeof(*world));
	assert_non_null(world);
	stay_on_one_processor();
	world->underlay_family = underlay_family;
	world->home = world_namespace();
	underlays_make(world);
	container_make(world);
	memset(world->inside, -1, sizeof(world->inside));
	world_devices_make(world, false);
	return world;
}

void world_destroy(struct world *world)
{
	if (world == NULL)
		return;
	if (world->level == LEVEL_GATE)
		world_enforce(world, LEVEL_NONE);
	for (enum world_host host = 0; host < HOST_COUNT; host++)
		close(world->netns[host]);
	close(world->home);
	free(world);
}

int world_capture(const struct world *world, enum world_host host)
{
	uint16_t protocol =
		htons(world->underlay_family == 6 ? ETH_P_IPV6 : ETH_P_IP);
	int fd;

	world_enter(world->netns[host]);
	fd = socket(AF_PACKET, SOCK_DGRAM | SOCK_NONBLOCK | SOCK_CLOEXEC,
		    protocol);
	world_enter(world->home);
	assert_true(fd >= 0);
	return fd;
}

/* The owner's packets through lane A, each sent when the one before has come. */
void world_settle(const struct world *world)
{
	struct probe_actor sender = world_inside(world, LANE_A, NODE1, OWNER_A);
	struct probe_actor receiver =
		world_inside(world, LANE_A, NODE2, OWNER_A);
	struct probe_call bound = {
		.type = SOCK_DGRAM,
		.from = world_end(world, LANE_A, NODE2, 4, SETTLE_PORT),
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
