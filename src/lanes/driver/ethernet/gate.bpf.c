/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Decides about calls (by the caller's uid) and packets (by that of the
 * socket). An address counts by the longest prefix that has it: a lane's
 * network, for its owner; the site's networks, for nobody; else for all. So the
 * address of a peer needs no entry, nor does a source that the kernel has not
 * chosen yet. Packets are looked at besides calls since sockets may be older
 * than the programs, choose their source for each packet, or be at no address.
 *
 * Packets that the kernel sends of its own accord have no socket, or one of
 * root's.
 */
#include <stdbool.h>
#include <linux/bpf.h>
#include <linux/if_ether.h>
#include <linux/in.h>
#include <linux/in6.h>
#include <bpf/bpf_endian.h>
#include <bpf/bpf_helpers.h>

#include "lanes/driver/ethernet/gate_maps.h"

#define REFUSE              0
#define PASS                1

#define IPV4_PROTOCOL_AT    9
#define IPV4_ADDRESSES_AT   12
#define IPV6_PROTOCOL_AT    6
#define IPV6_ADDRESSES_AT   8
#define IPV6_HEADER_SIZE    40
#define IPV4_PREFIX_OF_IPV6 bpf_htonl(0xffff)

const volatile struct gate_config config = { 0 };

struct {
	__uint(type, BPF_MAP_TYPE_LPM_TRIE);
	__uint(max_entries, GATE_LANES_MAX);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__type(key, struct gate_key);
	__type(value, struct gate_value);
} lanes SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, GATE_COUNTER_COUNT);
	__type(key, __u32);
	__type(value, __u64);
} counters SEC(".maps");

static __always_inline int refuse(enum gate_counter which)
{
	__u32 key = which;
	__u64 *counter = bpf_map_lookup_elem(&counters, &key);

	if (counter)
		(*counter)++;
	return REFUSE;
}

static __always_inline bool is_vxlan(__be16 port)
{
	for (int i = 0; i < GATE_PORTS_MAX; i++) {
		if (config.ports[i] == bpf_ntohs(port))
			return true;
	}
	return false;
}

struct gate_address {
	__be32 words[4];
};

/* NULL: the address is not of a lane. */
static __always_inline const struct gate_value *lane_find(
	const struct gate_address *address)
{
	struct gate_key key;

	key.prefix_size = 128;
	__builtin_memcpy(key.address, address, sizeof(key.address));
	return bpf_map_lookup_elem(&lanes, &key);
}

/* Calls. */

static __always_inline bool caller_is_below(__u64 cgroup_id)
{
	for (int level = 0; level <= GATE_CGROUP_LEVELS; level++) {
		__u64 id = bpf_get_current_ancestor_cgroup_id(level);

		if (id == cgroup_id)
			return true;
		if (!id)
			return false;
	}
	return false;
}

static __always_inline bool call_concerns(struct bpf_sock_addr *call,
					  __u32 *ret_uid)
{
	if (bpf_get_netns_cookie(call) != config.netns_cookie)
		return false;
	*ret_uid = (__u32)bpf_get_current_uid_gid();
	return *ret_uid != 0;
}

static __always_inline int check_caller(__u32 uid,
					const struct gate_address *address,
					enum gate_counter which)
{
	const struct gate_value *value = lane_find(address);

	if (!value ||
	    ((value->flags & GATE_HAS_OWNER) && value->uid == uid &&
	     (!value->cgroup_id || caller_is_below(value->cgroup_id))))
		return PASS;
	return refuse(which);
}

static __always_inline int check_bind(struct bpf_sock_addr *call,
				      const struct gate_address *address)
{
	__u32 uid;

	if (!call_concerns(call, &uid))
		return PASS;
	/* Whoever has the port keeps all lanes of the rail from the node. */
	if (call->protocol == IPPROTO_UDP && is_vxlan((__be16)call->user_port))
		return refuse(GATE_REFUSED_BIND);
	return check_caller(uid, address, GATE_REFUSED_BIND);
}

static __always_inline int check_send(struct bpf_sock_addr *call,
				      const struct gate_address *address)
{
	__u32 uid;

	if (!call_concerns(call, &uid))
		return PASS;
	if (call->protocol == IPPROTO_UDP && is_vxlan((__be16)call->user_port))
		return refuse(GATE_REFUSED_RAW);
	return check_caller(uid, address, GATE_REFUSED_SEND);
}

static __always_inline struct gate_address call_ipv4(struct bpf_sock_addr *call)
{
	return (struct gate_address){ { 0, 0, IPV4_PREFIX_OF_IPV6,
					call->user_ip4 } };
}

static __always_inline struct gate_address call_ipv6(struct bpf_sock_addr *call)
{
	return (struct gate_address){ { call->user_ip6[0], call->user_ip6[1],
					call->user_ip6[2],
					call->user_ip6[3] } };
}

#define CALL_PROGRAM(name, family, check)                          \
	SEC("cgroup/" #name)                                       \
	int gate_##name(struct bpf_sock_addr *call)                \
	{                                                          \
		struct gate_address address = call_##family(call); \
                                                                   \
		return check(call, &address);                      \
	}

CALL_PROGRAM(bind4, ipv4, check_bind)
CALL_PROGRAM(bind6, ipv6, check_bind)
CALL_PROGRAM(connect4, ipv4, check_send)
CALL_PROGRAM(connect6, ipv6, check_send)
CALL_PROGRAM(sendmsg4, ipv4, check_send)
CALL_PROGRAM(sendmsg6, ipv6, check_send)

/* Packets. */

struct gate_packet {
	struct gate_address source;
	struct gate_address target;
	__u32 payload_at;
	__u8 protocol;
};

static __always_inline bool packet_read(struct __sk_buff *skb,
					struct gate_packet *packet)
{
	__u8 header[IPV6_HEADER_SIZE] __attribute__((aligned(8)));

	if (skb->protocol == bpf_htons(ETH_P_IPV6)) {
		if (bpf_skb_load_bytes(skb, 0, header, IPV6_HEADER_SIZE))
			return false;
		packet->protocol = header[IPV6_PROTOCOL_AT];
		packet->payload_at = IPV6_HEADER_SIZE;
		__builtin_memcpy(&packet->source, header + IPV6_ADDRESSES_AT,
				 2 * sizeof(packet->source));
		return true;
	}
	if (skb->protocol != bpf_htons(ETH_P_IP) ||
	    bpf_skb_load_bytes(skb, 0, header, 20))
		return false;
	packet->protocol = header[IPV4_PROTOCOL_AT];
	packet->payload_at = (header[0] & 0xfu) * 4;
	packet->source.words[0] = packet->source.words[1] = 0;
	packet->source.words[2] = IPV4_PREFIX_OF_IPV6;
	packet->target = packet->source;
	__builtin_memcpy(&packet->source.words[3], header + IPV4_ADDRESSES_AT,
			 sizeof(__be32));
	__builtin_memcpy(&packet->target.words[3],
			 header + IPV4_ADDRESSES_AT + sizeof(__be32),
			 sizeof(__be32));
	return true;
}

/* Is the packet's socket of our network namespace? */
static __always_inline bool packet_concerns(struct __sk_buff *skb)
{
	return !config.is_netns_of_packets_known ||
	       bpf_get_netns_cookie(skb) == config.netns_cookie;
}

static __always_inline bool socket_is_below(struct __sk_buff *skb,
					    __u64 cgroup_id)
{
	for (int level = 0; level <= GATE_CGROUP_LEVELS; level++) {
		__u64 id = bpf_skb_ancestor_cgroup_id(skb, level);

		if (id == cgroup_id)
			return true;
		if (!id)
			return false;
	}
	return false;
}

enum standing {
	ELSEWHERE, /* the address is not of a lane */
	OWNER,
	OTHER, /* or root */
};

/* What the packet's socket is to the address. */
static __always_inline enum standing socket_standing(
	struct __sk_buff *skb, const struct gate_address *address)
{
	const struct gate_value *value = lane_find(address);

	if (!value)
		return ELSEWHERE;
	if ((value->flags & GATE_HAS_OWNER) &&
	    value->uid == bpf_get_socket_uid(skb) &&
	    (!value->cgroup_id || socket_is_below(skb, value->cgroup_id)))
		return OWNER;
	return OTHER;
}

SEC("cgroup_skb/egress")
int gate_egress(struct __sk_buff *skb)
{
	struct gate_packet packet;
	__be16 port = 0;

	if (!packet_concerns(skb) || !packet_read(skb, &packet))
		return PASS;
	if (packet.protocol == IPPROTO_UDP &&
	    !bpf_skb_load_bytes(skb, packet.payload_at + 2, &port,
				sizeof(port)) &&
	    is_vxlan(port) && bpf_get_socket_uid(skb) != 0)
		return refuse(GATE_REFUSED_RAW);
	if (socket_standing(skb, &packet.source) != OTHER &&
	    socket_standing(skb, &packet.target) != OTHER)
		return PASS;
	if (bpf_get_socket_uid(skb) == 0)
		return PASS;
	return refuse(GATE_REFUSED_SEND);
}

static __always_inline bool is_at_no_address(struct __sk_buff *skb)
{
	struct bpf_sock *sk = skb->sk;

	if (!sk)
		return false;
	if (skb->protocol == bpf_htons(ETH_P_IP))
		return !sk->src_ip4;
	return !(sk->src_ip6[0] | sk->src_ip6[1] | sk->src_ip6[2] |
		 sk->src_ip6[3]);
}

/*
 * What of root's may get what was sent to a lane's address: a job shall not
 * reach, from another node of it, services that were not meant for it.
 */
static __always_inline bool root_receives(struct __sk_buff *skb,
					  const struct gate_packet *packet)
{
	return packet->protocol == IPPROTO_ICMP ||
	       packet->protocol == IPPROTO_ICMPV6 || !is_at_no_address(skb);
}

SEC("cgroup_skb/ingress")
int gate_ingress(struct __sk_buff *skb)
{
	enum standing source;
	enum standing target;
	struct gate_packet packet;

	if (!packet_concerns(skb) || !packet_read(skb, &packet))
		return PASS;
	source = socket_standing(skb, &packet.source);
	target = socket_standing(skb, &packet.target);
	if (source != OTHER && target != OTHER)
		return PASS;
	if (bpf_get_socket_uid(skb) == 0 &&
	    (target == ELSEWHERE || root_receives(skb, &packet)))
		return PASS;
	return refuse(GATE_REFUSED_RECEIVE);
}

/* None of the helpers asks for more. */
char license_text[] SEC("license") = "BSD-3-Clause";
