/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Sockets that the kernel makes by itself have nobody's uid: those of tunnels,
 * and those by which AF_RXRPC, AF_RDS and AF_SMC carry what users send. Here
 * they are a tunnel's and multipath TCP's, which every kernel has.
 */
#include <errno.h>
#include <netinet/in.h>
#include <netinet/ip.h>
#include <netinet/ip6.h>
#include <netinet/tcp.h>
#include <linux/if_ether.h>
#include <poll.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "attacks.h"

#define TUNNEL_PORT 8472

static const struct probe_end anywhere;

/* --- what leaves a node --- */

/* What comes to and leaves all devices of a host, when its rules have passed it. */
static int capture(const struct world *world, enum world_host host)
{
	int fd;

	world_enter(world->netns[host]);
	fd = socket(AF_PACKET, SOCK_DGRAM | SOCK_CLOEXEC, htons(ETH_P_ALL));
	world_enter(world->home);
	assert_true(fd >= 0);
	return fd;
}

struct packet {
	struct ip_address from, to;
	struct tcphdr tcp;
};

/* False: it is none of TCP. */
static bool packet_read(const uint8_t *bytes, size_t size,
			struct packet *ret_packet)
{
	const struct iphdr *ipv4 = (const struct iphdr *)bytes;
	const struct ip6_hdr *ipv6 = (const struct ip6_hdr *)bytes;
	struct packet packet = { 0 };
	bool is_ipv6 = ipv4->version == 6;
	size_t at = is_ipv6 ? sizeof(*ipv6) : sizeof(*ipv4);
	uint8_t protocol = ipv4->protocol;

	if (size < at + sizeof(packet.tcp))
		return false;
	if (is_ipv6) {
		packet.from.family = packet.to.family = 6;
		memcpy(packet.from.bytes, &ipv6->ip6_src, 16);
		memcpy(packet.to.bytes, &ipv6->ip6_dst, 16);
		protocol = ipv6->ip6_nxt;
	} else {
		packet.from.family = packet.to.family = 4;
		memcpy(packet.from.bytes, &ipv4->saddr, 4);
		memcpy(packet.to.bytes, &ipv4->daddr, 4);
	}
	memcpy(&packet.tcp, bytes + at, sizeof(packet.tcp));
	*ret_packet = packet;
	return protocol == IPPROTO_TCP;
}

static bool is_same(const struct ip_address *a, const struct ip_address *b)
{
	return a->family == b->family &&
	       memcmp(a->bytes, b->bytes, a->family == 6 ? 16 : 4) == 0;
}

/* --- datagrams --- */

/*
 * A tunnel from a host to a lane's address. Who sends something into it has the
 * kernel ask where that goes; the question has no socket.
 */
static void tunnel(const struct world *world, enum world_host host,
		   const struct ip_address *to)
{
	const struct probe_call call = {
		.type = SOCK_DGRAM,
		.to = { .address = { .family = 4, .bytes = { 192, 0, 2, 2 } },
			.port = PORT },
		.bytes = ATTACK_TEXT,
		.size = sizeof(ATTACK_TEXT),
	};
	struct probe_actor other = world_actor(world, host, OTHER_USER);
	char name[IP_ADDRESS_TEXT_MAX];
	int fd;

	ip_address_format(to, name);
	world_run(world, host,
		  "ip link add tunnel0 type vxlan id 7 dstport %d remote %s",
		  TUNNEL_PORT, name);
	world_run(world, host, "ip address add 192.0.2.1/24 dev tunnel0");
	world_run(world, host, "ip link set tunnel0 up");
	fd = probe_open(&other, &call);
	if (fd >= 0)
		close(fd);
	world_run(world, host, "ip link delete tunnel0");
}

static bool kernel_sends(const struct world *world, uint8_t family)
{
	struct probe_end to =
		world_end(world, LANE_A, NODE2, family, TUNNEL_PORT);
	int receiver = attack_listen(
		world_inside(world, LANE_A, NODE2, OWNER_A), SOCK_DGRAM, to);
	uint8_t bytes[256];
	bool result;

	assert_true(receiver >= 0);
	tunnel(world, NODE1, &to.address);
	world_settle(world);
	result = probe_receive(receiver, bytes, sizeof(bytes)) > 0;
	close(receiver);
	return result;
}

/* --- connections --- */

/* Of multipath TCP, which is to find other ways by what its peer says. */
static int connect_by_all_ways(const struct world *world, uint8_t family,
			       int *ret_server)
{
	struct probe_actor client = world_actor(world, NODE1, OTHER_USER);
	struct probe_actor server = world_actor(world, OUTSIDE, OTHER_USER);
	struct probe_call call = {
		.type = SOCK_STREAM,
		.is_multipath = true,
		.is_listening = true,
		.from = world_underlay(world, OUTSIDE, family, PORT),
	};
	int listener = probe_open(&server, &call);
	struct pollfd ready = { .fd = listener, .events = POLLIN };
	int fd;

	if (listener == -EPROTONOSUPPORT) {
		print_message("skipped: the kernel has no multipath TCP\n");
		skip();
	}
	assert_true(listener >= 0);
	call.to = call.from;
	call.from = anywhere;
	call.is_listening = false;
	fd = probe_open(&client, &call);
	assert_true(fd >= 0);
	assert_int_equal(poll(&ready, 1, -1), 1);
	*ret_server = probe_accept(listener);
	assert_true(*ret_server >= 0);
	close(listener);
	return fd;
}

/*
 * The kernel's first word to an address of a lane, or what refuses it: the one
 * leaves the node, the other comes by loopback.
 */
static bool connects_to(int tap, const struct ip_address *address)
{
	struct packet packet;
	uint8_t bytes[2048];

	for (;;) {
		ssize_t size = recv(tap, bytes, sizeof(bytes), 0);

		assert_true(size >= 0);
		if (!packet_read(bytes, (size_t)size, &packet))
			continue;
		if (is_same(&packet.to, address) && packet.tcp.syn)
			return true;
		if (is_same(&packet.from, address) && packet.tcp.rst)
			return false;
	}
}

/* A host outside claims to another user's socket to be at a lane's address, too. */
static bool kernel_reaches(const struct world *world, uint8_t family,
			   enum world_host target)
{
	struct ip_address address =
		world_end(world, LANE_A, target, family, 0).address;
	char name[IP_ADDRESS_TEXT_MAX];
	bool result;
	int server;
	int tap;
	int fd;

	/* There is no way to it then, and nothing would be seen. */
	if (world->is_netns)
		return false;
	ip_address_format(&address, name);
	tap = capture(world, NODE1);
	world_run(world, NODE1,
		  "ip mptcp limits set subflows 2 add_addr_accepted 2");
	world_run(world, OUTSIDE, "ip mptcp endpoint add %s signal", name);
	fd = connect_by_all_ways(world, family, &server);
	assert_int_equal(send(fd, "x", 1, 0), 1);
	result = connects_to(tap, &address);
	world_run(world, OUTSIDE, "ip mptcp endpoint flush");
	close(server);
	close(fd);
	close(tap);
	return result;
}

static bool kernel_connects(const struct world *world, uint8_t family)
{
	return kernel_reaches(world, family, NODE2);
}

static bool kernel_connects_on_node(const struct world *world, uint8_t family)
{
	return kernel_reaches(world, family, NODE1);
}

const struct attack attacks_by_kernel[] = {
	{ "9 a tunnel sends into a lane", kernel_sends, LEVEL_NFT },
	{ "9 another user's multipath TCP connects into a lane",
	  kernel_connects, LEVEL_NFT },
	{ "9 another user's multipath TCP connects on the node itself",
	  kernel_connects_on_node, LEVEL_NFT },
	{ NULL, NULL, LEVEL_NEVER },
};
