/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The rules. A packet into a lane is judged by the uid of the socket that it
 * comes from, and marked; what the kernel then sends as VXLAN keeps socket and
 * mark, so that VXLAN without the mark and with a user's socket was made by
 * hand. Packets without a user's socket are the kernel's own: they pass, but for
 * datagrams and first words of connections, which are answers to nothing.
 *
 * VXLAN is judged before all else, also on loopback and inside lanes: a node
 * unpacks it wherever it comes from. Before that only what would hide it: these
 * hooks see fragments of IPv6, and those of IPv4 that are forwarded.
 *
 * All traffic of the node passes here, and most of it belongs to no lane: what
 * tells it apart are numbers that cost little to compare. Devices of lanes are
 * known by their link group. Sets have exact keys (hash tables); only the site's
 * two networks are ranges, which cost less as constants than as sets.
 */
#include "lanes/driver/ethernet/rules.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "lanes/driver/ethernet/rules_elements.h"

#define LINE_MAX_SIZE 256

/* @th,96,24: the VNI in VXLAN's header, behind UDP's 8 bytes. */
#define PORT_VNI "udp dport . @th,96,24"
/*
 * Any packet that comes from a user's socket has a uid. nft takes a number for the
 * name of an account that is called so, but none is called by a sign.
 */
#define A_USER "meta skuid \"+0\"-\"+4294967295\""
#define MARKED "meta mark set meta mark and 0x0000ffff or $sign accept"

/*
 * A line with $net4 is left out where lanes have no IPv4, one with $ports where
 * the node has no rails.
 */
static const char *const table_lines[] = {
	"table inet " RULES_TABLE " {",
	"set senders4 { typeof oifname . ip saddr . meta skuid; }",
	"set senders6 { typeof oifname . ip6 saddr . meta skuid; }",
	"set owners4 { typeof ip daddr . meta skuid; }",
	"set owners6 { typeof ip6 daddr . meta skuid; }",
	"set arrivals4 { typeof ip daddr . iifname; }",
	"set arrivals6 { typeof ip6 daddr . iifname; }",
	"set members4 { typeof iif . ip saddr . " PORT_VNI "; }",
	"set members6 { typeof iif . ip6 saddr . " PORT_VNI "; }",
	"map has_dedicated_access { typeof " PORT_VNI " : verdict; }",
	"map has_low_latency { typeof " PORT_VNI " : verdict; }",
	"map has_bulk_data { typeof " PORT_VNI " : verdict; }",
	"map has_best_effort { typeof " PORT_VNI " : verdict; }",
	"map first_class { typeof " PORT_VNI " : verdict; }",
	"map queue_dedicated_access { typeof " PORT_VNI " : meta priority; }",
	"map queue_low_latency { typeof " PORT_VNI " : meta priority; }",
	"map queue_bulk_data { typeof " PORT_VNI " : meta priority; }",
	"map queue_best_effort { typeof " PORT_VNI " : meta priority; }",

	/* Never a hang: TCP by IPv6 takes a reset only. */
	"chain refuse {",
	"counter name refused_send",
	"meta l4proto tcp reject with tcp reset",
	"reject with icmpx type admin-prohibited",
	"}",
	"chain strangers {",
	"meta skuid \"+0\" accept",
	A_USER " goto refuse",
	/* What kernel sockets begin is nobody's, or a user's by another name. */
	"meta l4proto udp goto refuse",
	"tcp flags & (syn | ack) == syn goto refuse",
	"}",
	"chain into_lane {",
	"oifname . ip saddr . meta skuid @senders4 " MARKED,
	"oifname . ip6 saddr . meta skuid @senders6 " MARKED,
	"goto strangers",
	"}",
	/* A node's own lane addresses are reached over loopback. */
	"chain to_own_address {",
	"ip daddr . meta skuid != @owners4 goto strangers",
	"ip saddr $net4 ip saddr . meta skuid != @owners4 goto strangers",
	"ip6 daddr . meta skuid != @owners6 goto strangers",
	"ip6 saddr $net6 ip6 saddr . meta skuid != @owners6 goto strangers",
	/* Without a uid nothing has matched. */
	A_USER " accept",
	"goto strangers",
	"}",
	"chain over_loopback {",
	"ip daddr $net4 goto to_own_address",
	"ip saddr $net4 ip saddr . meta skuid != @owners4 goto strangers",
	"ip6 daddr $net6 goto to_own_address",
	"ip6 saddr $net6 ip6 saddr . meta skuid != @owners6 goto strangers",
	"}",

	"chain as_dedicated_access {",
	"meta priority set " PORT_VNI " map @queue_dedicated_access",
	"}",
	"chain class_dedicated_access {",
	"ip dscp set $dedicated_access",
	"ip6 dscp set $dedicated_access",
	"goto as_dedicated_access",
	"}",
	"chain as_low_latency {",
	"meta priority set " PORT_VNI " map @queue_low_latency",
	"}",
	"chain class_low_latency {",
	"ip dscp set $low_latency",
	"ip6 dscp set $low_latency",
	"goto as_low_latency",
	"}",
	"chain as_bulk_data {",
	"meta priority set " PORT_VNI " map @queue_bulk_data",
	"}",
	"chain class_bulk_data {",
	"ip dscp set $bulk_data",
	"ip6 dscp set $bulk_data",
	"goto as_bulk_data",
	"}",
	"chain as_best_effort {",
	"meta priority set " PORT_VNI " map @queue_best_effort",
	"}",
	"chain class_best_effort {",
	"ip dscp set $best_effort",
	"ip6 dscp set $best_effort",
	"goto as_best_effort",
	"}",
	/*
	 * The outer header has the inner one's DSCP. Where the lane has no queues
	 * that is all: one look into a map less for each packet.
	 */
	"chain vxlan_out {",
	"meta mark & 0xffff0000 != $sign meta skuid \"+1\"-\"+4294967295\" "
	"counter name refused_raw drop",
	"ip dscp $dedicated_access " PORT_VNI " vmap @has_dedicated_access",
	"ip dscp $low_latency " PORT_VNI " vmap @has_low_latency",
	"ip dscp $bulk_data " PORT_VNI " vmap @has_bulk_data",
	"ip dscp $best_effort " PORT_VNI " vmap @has_best_effort",
	"ip6 dscp $dedicated_access " PORT_VNI " vmap @has_dedicated_access",
	"ip6 dscp $low_latency " PORT_VNI " vmap @has_low_latency",
	"ip6 dscp $bulk_data " PORT_VNI " vmap @has_bulk_data",
	"ip6 dscp $best_effort " PORT_VNI " vmap @has_best_effort",
	PORT_VNI " vmap @first_class",
	"}",
	"chain output_ipv6 {",
	"ip6 daddr $net6 goto strangers",
	"ip6 saddr $net6 goto strangers",
	"}",
	"chain output {",
	"type filter hook output priority filter; policy accept;",
	"udp dport $ports goto vxlan_out",
	"oifgroup $group goto into_lane",
	"oif lo goto over_loopback",
	"meta nfproto ipv6 goto output_ipv6",
	"ip daddr $net4 goto strangers",
	"ip saddr $net4 goto strangers",
	"}",

	/*
	 * RFC 7112: the first fragment has all headers. One that has no ports,
	 * or what is in their place, may become VXLAN. Of later ones nothing
	 * comes without it.
	 */
	"chain first_fragment {",
	"th dport 0-65535 return",
	"counter name refused_way drop",
	"}",
	/* Behind other devices anybody may have a member's address. */
	"chain vxlan_in {",
	"iif . ip saddr . " PORT_VNI " @members4 accept",
	"iif . ip6 saddr . " PORT_VNI " @members6 accept",
	"counter name refused_host drop",
	"}",
	/*
	 * The kernel goes on to the next address that a packet names, and this
	 * hook does not see it again. IPv4's next one is in its place already,
	 * which only loopback does not look at.
	 */
	"chain from_loopback {",
	"exthdr rt exists counter name refused_way drop",
	"ip option lsrr exists counter name refused_way drop",
	"ip option ssrr exists counter name refused_way drop",
	"}",
	/* Whoever has a member's root can put any source into it. */
	"chain from_lane {",
	"exthdr rt exists counter name refused_way drop",
	"ip saddr != $net4 counter name refused_way drop",
	"ip6 saddr != $net6 counter name refused_way drop",
	"ip daddr . iifname @arrivals4 accept",
	"ip6 daddr . iifname @arrivals6 accept",
	"counter name refused_way drop",
	"}",
	"chain input_ipv6 {",
	"exthdr rt exists counter name refused_way drop",
	"ip6 daddr $net6 counter name refused_way drop",
	"ip6 saddr $net6 counter name refused_way drop",
	"}",
	"chain input {",
	"type filter hook input priority filter; policy accept;",
	"frag frag-off 0 jump first_fragment",
	"udp dport $ports goto vxlan_in",
	"iifgroup $group goto from_lane",
	"iif lo goto from_loopback",
	"meta nfproto ipv6 goto input_ipv6",
	"ip daddr $net4 counter name refused_way drop",
	"ip saddr $net4 counter name refused_way drop",
	"}",
	"chain forward {",
	"type filter hook forward priority filter; policy accept;",
	"frag frag-off 0 jump first_fragment",
	"udp dport $ports counter name refused_raw drop",
	"iifgroup $group counter name refused_way drop",
	"oifgroup $group counter name refused_way drop",
	"ip daddr $net4 counter name refused_way drop",
	"ip saddr $net4 counter name refused_way drop",
	"ip6 daddr $net6 counter name refused_way drop",
	"ip6 saddr $net6 counter name refused_way drop",
	"}",
	"}",
};

__attribute__((format(printf, 2, 3))) static void put(struct writer *writer,
						      const char *format, ...)
{
	char line[LINE_MAX_SIZE];
	va_list args;

	va_start(args, format);
	vsnprintf(line, sizeof(line), format, args);
	va_end(args);
	write_plain(writer, line);
}

/* A set of one is slower than the port itself. */
static void put_ports(uint16_t first, uint8_t rail_count, struct writer *writer)
{
	if (rail_count == 0)
		return;
	put(writer, "define ports = %s%u", rail_count > 1 ? "{ " : "", first);
	for (uint32_t rail = 1; rail < rail_count; rail++)
		put(writer, ", %u", ethernet_port(first, rail));
	put(writer, "%s\n", rail_count > 1 ? " }" : "");
}

static void put_definitions(const struct ethernet_networks *networks,
			    uint8_t rail_count,
			    const uint8_t dscp[ETHERNET_CLASS_COUNT],
			    struct writer *writer)
{
	char network[IP_NETWORK_TEXT_MAX];

	put(writer, "define sign = 0x%x\n", RULES_MARK);
	put(writer, "define group = %d\n", ETHERNET_LINK_GROUP);
	put_ports(networks->port, rail_count, writer);
	ip_network_format(&networks->ipv6, network);
	put(writer, "define net6 = %s\n", network);
	if (networks->ipv4.address.family != 0) {
		ip_network_format(&networks->ipv4, network);
		put(writer, "define net4 = %s\n", network);
	}
	for (size_t i = 0; i < ETHERNET_CLASS_COUNT; i++)
		put(writer, "define %s = %u\n", rules_class_words[i], dscp[i]);
}

/* They go on from where they were. */
static void put_counters(const struct nft_counters *refused,
			 struct writer *writer)
{
	const struct {
		const char *name;
		uint64_t packets;
	} counters[] = {
		{ RULES_VERSION, 0 },
		{ "refused_send", refused->refused_send },
		{ "refused_raw", refused->refused_raw },
		{ "refused_host", refused->refused_host },
		{ "refused_way", refused->refused_way },
	};

	write_plain(writer, "table inet " RULES_TABLE " {\n"
			    "comment \"lanes; written by Fairlead, changes "
			    "will be lost\"\n");
	for (size_t i = 0; i < sizeof(counters) / sizeof(counters[0]); i++)
		put(writer, "counter %s { packets %" PRIu64 " bytes 0; }\n",
		    counters[i].name, counters[i].packets);
	write_plain(writer, "}\n");
}

void rules_write_table(const struct ethernet_networks *networks,
		       uint8_t rail_count,
		       const uint8_t dscp[ETHERNET_CLASS_COUNT],
		       const struct nft_counters *refused,
		       const struct rules_lane *lanes, size_t count,
		       struct writer *writer)
{
	bool has_ipv4 = networks->ipv4.address.family != 0;

	put_definitions(networks, rail_count, dscp, writer);
	/* Made if need be, so that there is one to delete. */
	write_plain(writer, "table inet " RULES_TABLE "\n"
			    "delete table inet " RULES_TABLE "\n");
	put_counters(refused, writer);
	for (size_t i = 0; i < sizeof(table_lines) / sizeof(table_lines[0]);
	     i++) {
		if (!has_ipv4 && strstr(table_lines[i], "$net4") != NULL)
			continue;
		if (rail_count == 0 && strstr(table_lines[i], "$ports") != NULL)
			continue;
		write_plain(writer, table_lines[i]);
		write_plain(writer, "\n");
	}
	rules_put_elements(lanes, count, writer);
}
