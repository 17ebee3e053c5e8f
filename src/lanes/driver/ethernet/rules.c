/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The rules. A packet into a lane is judged by the uid of the socket that it
 * comes from, and marked; what the kernel then sends as VXLAN keeps socket and
 * mark, so that VXLAN without the mark and with a user's socket was made by
 * hand. Packets without a user's socket are the kernel's own: they pass, but
 * for datagrams and first packets of connections, which are answers to nothing.
 *
 * VXLAN is judged before all else, also on loopback and inside lanes: a node
 * unpacks it wherever it comes from. Before that only what would hide it: these
 * hooks see fragments of IPv6, and those of IPv4 that are forwarded.
 *
 * All traffic of the node passes here, and most of it belongs to no lane: it is
 * distinguished by numbers that cost little to compare. Devices of lanes are
 * known by their link group. Sets have exact keys (hash tables); only the
 * site's two networks are ranges, which cost less as constants than as sets.
 */
#include "lanes/driver/ethernet/rules.h"

#include <arpa/inet.h>
#include <assert.h>
#include <linux/netfilter.h>
#include <linux/netfilter/nf_tables.h>
#include <stdio.h>
#include <string.h>

#include "lanes/driver/ethernet/nftables.h"
#include "lanes/driver/ethernet/rules_sets.h"

#define COMMENT              "lanes; written by Fairlead, changes will be lost"

#define IPV6_ROUTING_HEADER  43
#define IPV6_FRAGMENT_HEADER 44
#define IPV4_LSRR            131
#define IPV4_SSRR            137
#define REJECT_PROHIBITED    3 /* of icmpx */
#define RULE_MAX             128

/*
 * A rule is its chain and words. Chain by chain, in the order in which a packet
 * meets them; %s: for each class. One with "net4" is left out where lanes have
 * no IPv4.
 */
static const char *const rules[] = {
	/* Never a hang: TCP by IPv6 takes a reset only. */
	"refuse count refused_send",
	"refuse tcp reset",
	"refuse prohibit",

	"others root accept",
	"others user goto refuse",
	/* What kernel sockets begin is nobody's, or a user's by another name. */
	"others udp goto refuse",
	"others tcp syn goto refuse",

	"into_lane in senders4 mark accept",
	"into_lane in senders6 mark accept",
	"into_lane goto others",

	/* A node's own lane addresses are reached over loopback. */
	"to_own_address not-in owners4 goto others",
	"to_own_address ip from-net4 source-not-in owners4 goto others",
	"to_own_address not-in owners6 goto others",
	"to_own_address ip6 from-net6 source-not-in owners6 goto others",
	/* Without a uid nothing has matched. */
	"to_own_address user accept",
	"to_own_address goto others",

	"over_loopback ip to-net4 goto to_own_address",
	"over_loopback ip from-net4 source-not-in owners4 goto others",
	"over_loopback ip6 to-net6 goto to_own_address",
	"over_loopback ip6 from-net6 source-not-in owners6 goto others",

	"as_%s priority queue_%s",
	"class_%s ip set-dscp %s goto as_%s",
	"class_%s ip6 set-dscp6 %s goto as_%s",
	/*
	 * The outer header has the inner one's DSCP. Where the lane has no
	 * queues that is all: one look into a map less for each packet.
	 */
	"vxlan_out unmarked not-root count refused_raw drop",
	"vxlan_out ip dscp %s obey has_%s",
	"vxlan_out ip6 dscp6 %s obey has_%s",
	"vxlan_out obey first_class",

	"output_ipv6 ip6 to-net6 goto others",
	"output_ipv6 ip6 from-net6 goto others",

	"output in ports goto vxlan_out",
	"output into-lane goto into_lane",
	"output into-loopback goto over_loopback",
	"output ip6 goto output_ipv6",
	"output ip to-net4 goto others",
	"output ip from-net4 goto others",

	/*
	 * RFC 7112: the first fragment has all headers. One that has no ports,
	 * or what is in their place, may become VXLAN. Of later ones nothing
	 * comes without it.
	 */
	"first_fragment any-port return",
	"first_fragment count refused_way drop",

	/* Behind other devices anybody may have a member's address. */
	"vxlan_in in members4 accept",
	"vxlan_in in members6 accept",
	"vxlan_in count refused_host drop",

	/*
	 * The kernel goes on to the next address that a packet names, and this
	 * hook does not see it again. IPv4's next one is in its place already,
	 * which only loopback does not look at.
	 */
	"from_loopback ip6 routed count refused_way drop",
	"from_loopback ip loose-route count refused_way drop",
	"from_loopback ip strict-route count refused_way drop",

	/* Whoever has a member's root can put any source into it. */
	"from_lane ip6 routed count refused_way drop",
	"from_lane ip not-from-net4 count refused_way drop",
	"from_lane ip6 not-from-net6 count refused_way drop",
	"from_lane in arrivals4 accept",
	"from_lane in arrivals6 accept",
	"from_lane count refused_way drop",

	"input_ipv6 ip6 routed count refused_way drop",
	"input_ipv6 ip6 to-net6 count refused_way drop",
	"input_ipv6 ip6 from-net6 count refused_way drop",

	"input ip6 first-fragment jump first_fragment",
	"input in ports goto vxlan_in",
	"input from-lane goto from_lane",
	"input from-loopback goto from_loopback",
	"input ip6 goto input_ipv6",
	"input ip to-net4 count refused_way drop",
	"input ip from-net4 count refused_way drop",

	"forward ip6 first-fragment jump first_fragment",
	"forward in ports count refused_raw drop",
	"forward from-lane count refused_way drop",
	"forward into-lane count refused_way drop",
	"forward ip to-net4 count refused_way drop",
	"forward ip from-net4 count refused_way drop",
	"forward ip6 to-net6 count refused_way drop",
	"forward ip6 from-net6 count refused_way drop",
};

#define RULE_COUNT (sizeof(rules) / sizeof(rules[0]))

/* What a rule is written with. */
struct writing {
	struct writer *batch;
	const struct ethernet_networks *networks;
	const uint8_t *dscp; /* by class */
};

struct rules_word {
	const char *word;
	/* name: of a chain, set, counter or class, which follows the word. */
	void (*put)(const struct writing *writing,
		    const struct rules_word *word, const char *name);
	bool has_name;
	uint32_t which;
	int value;
};

/* --- what a packet has to be --- */

static void put_meta(const struct writing *writing,
		     const struct rules_word *word, const char *name)
{
	const uint32_t value = (uint32_t)word->value;

	nftables_load_meta(writing->batch, word->which, 0);
	nftables_compare(writing->batch, NFT_CMP_EQ, &value, sizeof(value));
}

static void put_protocol(const struct writing *writing,
			 const struct rules_word *word, const char *name)
{
	const uint8_t value = (uint8_t)word->value;

	nftables_load_meta(writing->batch, word->which, 0);
	nftables_compare(writing->batch, NFT_CMP_EQ, &value, sizeof(value));
}

/* A packet without a user's socket has no uid, and matches no comparison. */
static void put_not_uid(const struct writing *writing,
			const struct rules_word *word, const char *name)
{
	nftables_load_meta(writing->batch, NFT_META_SKUID, 0);
	nftables_compare(writing->batch, NFT_CMP_NEQ, &word->which,
			 sizeof(word->which));
}

static void put_syn(const struct writing *writing,
		    const struct rules_word *word, const char *name)
{
	const uint8_t mask = 0x12, none = 0, syn = 0x02;

	nftables_load_payload(writing->batch, NFT_PAYLOAD_TRANSPORT_HEADER, 13,
			      1, 0);
	nftables_mask(writing->batch, &mask, &none, 1);
	nftables_compare(writing->batch, NFT_CMP_EQ, &syn, 1);
}

/* The address at an offset of the header, in the site's network or not. */
static void put_network(const struct writing *writing,
			const struct rules_word *word, const char *name)
{
	/* The IPv6 network is a /32, at offsets of its header. */
	const struct ip_network *network = strchr(word->word, '4')
						   ? &writing->networks->ipv4
						   : &writing->networks->ipv6;
	const uint32_t mask = htonl(UINT32_MAX << (32 - network->prefix_size));
	const uint32_t none = 0;

	nftables_load_payload(writing->batch, NFT_PAYLOAD_NETWORK_HEADER,
			      word->which, sizeof(mask), 0);
	if (mask != UINT32_MAX)
		nftables_mask(writing->batch, &mask, &none, sizeof(mask));
	nftables_compare(writing->batch, (uint32_t)word->value,
			 network->address.bytes, sizeof(mask));
}

static void put_unmarked(const struct writing *writing,
			 const struct rules_word *word, const char *name)
{
	const uint32_t mask = 0xffff0000, none = 0, sign = RULES_MARK;

	nftables_load_meta(writing->batch, NFT_META_MARK, 0);
	nftables_mask(writing->batch, &mask, &none, sizeof(mask));
	nftables_compare(writing->batch, NFT_CMP_NEQ, &sign, sizeof(sign));
}

/* Also what is in place of a port. */
static void put_any_port(const struct writing *writing,
			 const struct rules_word *word, const char *name)
{
	const uint16_t least = 0, most = UINT16_MAX;

	nftables_load_payload(writing->batch, NFT_PAYLOAD_TRANSPORT_HEADER, 2,
			      sizeof(least), 0);
	nftables_compare(writing->batch, NFT_CMP_GTE, &least, sizeof(least));
	nftables_compare(writing->batch, NFT_CMP_LTE, &most, sizeof(most));
}

static void put_header(const struct writing *writing,
		       const struct rules_word *word, const char *name)
{
	const uint8_t one = 1;

	nftables_load_header(writing->batch, (uint32_t)word->value,
			     (uint8_t)word->which, 0, 1, true);
	nftables_compare(writing->batch, NFT_CMP_EQ, &one, sizeof(one));
}

static void put_first_fragment(const struct writing *writing,
			       const struct rules_word *word, const char *name)
{
	const uint16_t mask = htons(0xfff8), none = 0;

	nftables_load_header(writing->batch, NFT_EXTHDR_OP_IPV6,
			     IPV6_FRAGMENT_HEADER, 2, sizeof(mask), false);
	nftables_mask(writing->batch, &mask, &none, sizeof(mask));
	nftables_compare(writing->batch, NFT_CMP_EQ, &none, sizeof(none));
}

/* value: by the source in place of the destination. */
static void put_look_up(const struct writing *writing,
			const struct rules_word *word, const char *name)
{
	rules_load_key(name, word->value != 0, writing->batch);
	nftables_look_up(writing->batch, name, word->which);
}

/* value: bytes of the traffic class's field. */
static void put_dscp(const struct writing *writing,
		     const struct rules_word *word, const char *name)
{
	uint8_t dscp = writing->dscp[rules_class(name)];
	const uint8_t masks[2][2] = { { 0xfc }, { 0x0f, 0xc0 } };
	const uint8_t wanted[2][2] = { { (uint8_t)(dscp << 2) },
				       { dscp >> 2, (uint8_t)(dscp << 6) } };
	const uint8_t none[2] = { 0 };
	uint32_t size = (uint32_t)word->value;

	nftables_load_payload(writing->batch, NFT_PAYLOAD_NETWORK_HEADER,
			      word->which, size, 0);
	nftables_mask(writing->batch, masks[size - 1], none, size);
	nftables_compare(writing->batch, NFT_CMP_EQ, wanted[size - 1], size);
}

/* --- what becomes of it --- */

static void put_verdict(const struct writing *writing,
			const struct rules_word *word, const char *name)
{
	nftables_verdict(writing->batch, word->value, name);
}

static void put_count(const struct writing *writing,
		      const struct rules_word *word, const char *name)
{
	nftables_count(writing->batch, name);
}

static void put_reject(const struct writing *writing,
		       const struct rules_word *word, const char *name)
{
	nftables_reject(writing->batch, word->which, (uint8_t)word->value);
}

static void put_mark(const struct writing *writing,
		     const struct rules_word *word, const char *name)
{
	const uint32_t mask = 0xffff, sign = RULES_MARK;

	nftables_load_meta(writing->batch, NFT_META_MARK, 0);
	nftables_mask(writing->batch, &mask, &sign, sizeof(mask));
	nftables_store_meta(writing->batch, NFT_META_MARK);
}

static void put_set_dscp(const struct writing *writing,
			 const struct rules_word *word, const char *name)
{
	uint8_t dscp = writing->dscp[rules_class(name)];
	const uint8_t kept[2][2] = { { 0xff, 0x03 }, { 0xf0, 0x3f } };
	const uint8_t value[2][2] = { { 0, (uint8_t)(dscp << 2) },
				      { dscp >> 2, (uint8_t)(dscp << 6) } };
	bool is_ipv6 = word->value == 6;

	nftables_load_payload(writing->batch, NFT_PAYLOAD_NETWORK_HEADER, 0, 2,
			      0);
	nftables_mask(writing->batch, kept[is_ipv6], value[is_ipv6], 2);
	nftables_store_network(writing->batch, 2, !is_ipv6);
}

static void put_priority(const struct writing *writing,
			 const struct rules_word *word, const char *name)
{
	rules_load_key(name, false, writing->batch);
	nftables_look_up(writing->batch, name, NFTABLES_VALUE);
	nftables_store_meta(writing->batch, NFT_META_PRIORITY);
}

static const struct rules_word words[] = {
	{ "ip", put_protocol, false, NFT_META_NFPROTO, NFPROTO_IPV4 },
	{ "ip6", put_protocol, false, NFT_META_NFPROTO, NFPROTO_IPV6 },
	{ "udp", put_protocol, false, NFT_META_L4PROTO, IPPROTO_UDP },
	{ "tcp", put_protocol, false, NFT_META_L4PROTO, IPPROTO_TCP },
	{ "into-lane", put_meta, false, NFT_META_OIFGROUP,
	  ETHERNET_LINK_GROUP },
	{ "from-lane", put_meta, false, NFT_META_IIFGROUP,
	  ETHERNET_LINK_GROUP },
	{ "into-loopback", put_meta, false, NFT_META_OIF, 1 },
	{ "from-loopback", put_meta, false, NFT_META_IIF, 1 },
	{ "root", put_meta, false, NFT_META_SKUID, 0 },
	{ "not-root", put_not_uid, false, 0 },
	{ "user", put_not_uid, false, UINT32_MAX },
	{ "syn", put_syn },
	{ "from-net4", put_network, false, 12, NFT_CMP_EQ },
	{ "not-from-net4", put_network, false, 12, NFT_CMP_NEQ },
	{ "to-net4", put_network, false, 16, NFT_CMP_EQ },
	{ "from-net6", put_network, false, 8, NFT_CMP_EQ },
	{ "not-from-net6", put_network, false, 8, NFT_CMP_NEQ },
	{ "to-net6", put_network, false, 24, NFT_CMP_EQ },
	{ "unmarked", put_unmarked },
	{ "any-port", put_any_port },
	{ "routed", put_header, false, IPV6_ROUTING_HEADER,
	  NFT_EXTHDR_OP_IPV6 },
	{ "loose-route", put_header, false, IPV4_LSRR, NFT_EXTHDR_OP_IPV4 },
	{ "strict-route", put_header, false, IPV4_SSRR, NFT_EXTHDR_OP_IPV4 },
	{ "first-fragment", put_first_fragment },
	{ "in", put_look_up, true, NFTABLES_HAS },
	{ "not-in", put_look_up, true, NFTABLES_HAS_NOT },
	{ "source-not-in", put_look_up, true, NFTABLES_HAS_NOT, 1 },
	{ "obey", put_look_up, true, NFTABLES_VERDICT },
	{ "dscp", put_dscp, true, 1, 1 },
	{ "dscp6", put_dscp, true, 0, 2 },
	{ "accept", put_verdict, false, 0, NF_ACCEPT },
	{ "drop", put_verdict, false, 0, NF_DROP },
	{ "return", put_verdict, false, 0, NFT_RETURN },
	{ "goto", put_verdict, true, 0, NFT_GOTO },
	{ "jump", put_verdict, true, 0, NFT_JUMP },
	{ "count", put_count, true },
	{ "reset", put_reject, false, NFT_REJECT_TCP_RST },
	{ "prohibit", put_reject, false, NFT_REJECT_ICMPX_UNREACH,
	  REJECT_PROHIBITED },
	{ "mark", put_mark },
	{ "set-dscp", put_set_dscp, true, 0, 4 },
	{ "set-dscp6", put_set_dscp, true, 0, 6 },
	{ "priority", put_priority, true },
};

/* Chains that the kernel calls, all with the policy to accept. */
static const struct {
	const char *chain;
	uint32_t number;
} hooks[] = {
	{ "output", NF_INET_LOCAL_OUT },
	{ "input", NF_INET_LOCAL_IN },
	{ "forward", NF_INET_FORWARD },
};

/* --- the table --- */

static void put_table(struct writer *batch, uint16_t request, bool has_comment)
{
	/* As nft writes and lists it. */
	const char comment[] = "\0\x31" COMMENT;
	size_t message = nftables_begin(batch, request, NLM_F_CREATE);

	_Static_assert(sizeof(COMMENT) == 0x31, "its size is in it");
	nftables_text(batch, NFTA_TABLE_NAME, RULES_TABLE);
	if (has_comment)
		nftables_attribute(batch, NFTA_TABLE_USERDATA, comment,
				   sizeof(comment));
	nftables_end(batch, message);
}

/* Made if need be, so that there is one to delete. */
static void put_removal(struct writer *batch)
{
	put_table(batch, NFT_MSG_NEWTABLE, false);
	put_table(batch, NFT_MSG_DELTABLE, false);
}

void rules_write_removal(struct writer *batch)
{
	put_removal(batch);
	nftables_finish(batch);
}

static void put_counter(struct writer *batch, const char *name,
			uint64_t packets)
{
	size_t message = nftables_begin(batch, NFT_MSG_NEWOBJ, NLM_F_CREATE);
	size_t data;

	nftables_text(batch, NFTA_OBJ_TABLE, RULES_TABLE);
	nftables_text(batch, NFTA_OBJ_NAME, name);
	nftables_u32(batch, NFTA_OBJ_TYPE, NFT_OBJECT_COUNTER);
	data = nftables_nest(batch, NFTA_OBJ_DATA);
	nftables_u64(batch, NFTA_COUNTER_PACKETS, packets);
	nftables_nest_end(batch, data);
	nftables_end(batch, message);
}

/* They go on from where they were. */
static void put_counters(struct writer *batch,
			 const struct rules_counters *refused)
{
	put_counter(batch, RULES_VERSION, 0);
	put_counter(batch, "refused_send", refused->refused_send);
	put_counter(batch, "refused_raw", refused->refused_raw);
	put_counter(batch, "refused_host", refused->refused_host);
	put_counter(batch, "refused_way", refused->refused_way);
}

/* What is there already stays. */
static void put_chain(struct writer *batch, const char *chain)
{
	size_t message = nftables_begin(batch, NFT_MSG_NEWCHAIN, NLM_F_CREATE);
	size_t hook;

	nftables_text(batch, NFTA_CHAIN_TABLE, RULES_TABLE);
	nftables_text(batch, NFTA_CHAIN_NAME, chain);
	for (size_t i = 0; i < sizeof(hooks) / sizeof(hooks[0]); i++) {
		if (strcmp(chain, hooks[i].chain) != 0)
			continue;
		nftables_text(batch, NFTA_CHAIN_TYPE, "filter");
		hook = nftables_nest(batch, NFTA_CHAIN_HOOK);
		nftables_u32(batch, NFTA_HOOK_HOOKNUM, hooks[i].number);
		nftables_u32(batch, NFTA_HOOK_PRIORITY, 0);
		nftables_nest_end(batch, hook);
	}
	nftables_end(batch, message);
}

static void put_words(const struct writing *writing, char *rest)
{
	while (rest) {
		const char *text = strsep(&rest, " ");
		const struct rules_word *word = words;

		while (strcmp(word->word, text) != 0)
			assert(++word < words + sizeof(words) / sizeof(*words));
		word->put(writing, word,
			  word->has_name ? strsep(&rest, " ") : NULL);
	}
}

typedef void put_rule_fn(const struct writing *writing, const char *chain,
			 char *rest);

static void put_rule(const struct writing *writing, const char *chain,
		     char *rest)
{
	struct writer *batch = writing->batch;
	size_t message = nftables_begin(batch, NFT_MSG_NEWRULE,
					NLM_F_CREATE | NLM_F_APPEND);
	size_t expressions;

	nftables_text(batch, NFTA_RULE_TABLE, RULES_TABLE);
	nftables_text(batch, NFTA_RULE_CHAIN, chain);
	expressions = nftables_nest(batch, NFTA_RULE_EXPRESSIONS);
	put_words(writing, rest);
	nftables_nest_end(batch, expressions);
	nftables_end(batch, message);
}

static void put_rule_chain(const struct writing *writing, const char *chain,
			   char *rest)
{
	put_chain(writing->batch, chain);
}

static void each_rule(const struct writing *writing, put_rule_fn *put)
{
	bool has_ipv4 = writing->networks->ipv4.address.family != 0;

	for (size_t i = 0; i < RULE_COUNT; i++) {
		bool is_of_class = strchr(rules[i], '%');

		if (!has_ipv4 && strstr(rules[i], "net4"))
			continue;
		for (int k = 0; k < (is_of_class ? ETHERNET_CLASS_COUNT : 1);
		     k++) {
			const char *class = rules_class_words[k];
			char text[RULE_MAX], *rest = text;
			const char *chain;

			snprintf(text, sizeof(text), rules[i], class, class,
				 class);
			chain = strsep(&rest, " ");
			put(writing, chain, rest);
		}
	}
}

void rules_write_table(const struct ethernet_networks *networks,
		       const uint8_t dscp[ETHERNET_CLASS_COUNT],
		       const struct rules_counters *refused,
		       const struct rules_lane *lanes, size_t count,
		       struct writer *batch)
{
	const struct writing writing = { batch, networks, dscp };

	put_removal(batch);
	put_table(batch, NFT_MSG_NEWTABLE, true);
	put_counters(batch, refused);
	rules_put_sets(networks->port, batch);
	each_rule(&writing, put_rule_chain);
	each_rule(&writing, put_rule);
	rules_put_lanes(lanes, count, batch);
	nftables_finish(batch);
}
