/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The requests, as the kernel takes them in a network namespace of its own, and
 * as nft lists them. What they keep out is shown by packets, in test/lane.
 */
#include "lanes/driver/ethernet/rules.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <string.h>

#include "base/cleanup.h"
#include "lanes/driver/ethernet/table.h"
#include "lanes/driver/test/netns.h"

#define NFT      "/usr/sbin/nft"
#define LANES    500
#define TEXT_MAX (1 << 20)

static const uint8_t dscp[ETHERNET_CLASS_COUNT] = { 46, 32, 8, 0 };

static struct ip_address peers[2];

static struct ip_address address(const char *text)
{
	struct ip_address result;

	assert_true(ip_address_parse(text, &result));
	return result;
}

/* A lane of node 1 on rail 0. */
static struct rules_lane lane_of(uint32_t vni)
{
	struct rules_lane lane = {
		.device = { .vni = vni,
			    .alias = { .uid = 20001,
				       .classes = 1u << ETHERNET_LOW_LATENCY |
						  1u << ETHERNET_BEST_EFFORT,
				       .first_class = ETHERNET_LOW_LATENCY } },
		.peers = peers,
		.peer_count = 2,
	};
	struct ethernet_names names;

	ethernet_name(&ethernet_networks_default, vni, 0, 1, &names);
	memcpy(lane.device.name, names.device, sizeof(names.device));
	lane.device.port = names.port;
	lane.device.ipv4 = names.ipv4;
	lane.device.ipv6 = names.ipv6;
	peers[0] = address("10.77.0.2");
	peers[1] = address("fd77::2");
	return lane;
}

static void change(struct writer *requests, int expected)
{
	_auto_(netlink_closep) struct netlink *filter = NULL;
	struct fairlead_error error = { 0 };
	int result;

	assert_int_equal(table_open(&filter, &error), 0);
	result = table_change(filter, requests, &error);
	if (result != expected)
		fail_msg("%d, not %d: %s", result, expected, error.text);
}

static void write_table(const struct rules_lane *lanes, size_t count)
{
	struct writer writer = { 0 };

	rules_write_table(&ethernet_networks_default, dscp,
			  &(struct rules_counters){ 0 }, lanes, count, &writer);
	change(&writer, 0);
}

static void add(const struct rules_lane *lanes, size_t count)
{
	struct writer writer = { 0 };

	rules_write_add(lanes, count, &writer);
	change(&writer, 0);
}

static char *output_of(const char *command)
{
	FILE *nft = popen(command, "r");
	char *text = calloc(1, TEXT_MAX);

	assert_non_null(nft);
	assert_non_null(text);
	assert_true(fread(text, 1, TEXT_MAX - 1, nft) > 0);
	assert_int_equal(pclose(nft), 0);
	return text;
}

/* What nft lists of the table; the caller frees it. */
static char *list(void)
{
	return output_of(NFT " list table inet " RULES_TABLE);
}

/* Elements are in no order. */
static char *list_sorted(void)
{
	return output_of(NFT " list table inet " RULES_TABLE
			     " | tr -d '\t ' | tr , '\n' | sort");
}

static void assert_has_all(const char *text, const char *const *parts)
{
	for (; *parts != NULL; parts++) {
		if (strstr(text, *parts) == NULL)
			fail_msg("'%s' is not in %s", *parts, text);
	}
}

static void a_table_without_lanes_has_no_elements(void **state)
{
	_auto_(freep) char *text = NULL;

	write_table(NULL, 0);
	text = list();
	assert_non_null(strstr(text, "hook output"));
	assert_null(strstr(text, "elements = { \""));
	/* But for the ports. */
	assert_null(strstr(strstr(text, "elements") + 1, "elements"));
}

static void assert_is_first(const char *text, const char *hook,
			    const char *rule)
{
	const char *chain = strstr(text, hook);
	const char *end = chain != NULL ? strchr(chain, '\n') : NULL;

	if (end == NULL || strncmp(end + 3, rule, strlen(rule)) != 0)
		fail_msg("'%s' is not first after '%s' in %s", rule, hook,
			 text);
}

static void fragments_are_judged_before_all_else(void **state)
{
	static const char rule[] = "frag frag-off 0 jump first_fragment\n";
	_auto_(freep) char *text = NULL;

	write_table(NULL, 0);
	text = list();
	assert_is_first(text, "hook input", rule);
	assert_is_first(text, "hook forward", rule);
	assert_has_all(text, (const char *const[]){
				     "chain first_fragment {\n"
				     "\t\tth dport 0-65535 return\n"
				     "\t\tcounter name \"refused_way\" drop\n",
				     NULL });
}

/* Each set and rule in nft's own words, as somebody reads them. */
static void nft_lists_the_table_as_its_own(void **state)
{
	_auto_(freep) char *text = NULL;

	write_table(NULL, 0);
	text = list();
	assert_has_all(
		text, (const char *const[]){
			      "elements = { 4789, 4790, 4792, 4793 }",
			      "typeof oifname . ip saddr . meta skuid",
			      "typeof iif . ip6 saddr . udp dport . @th,96,24",
			      "typeof udp dport . @th,96,24 : verdict",
			      "typeof udp dport . @th,96,24 : meta priority",
			      "udp dport @ports goto vxlan_out",
			      "ip saddr 100.64.0.0/10 ip saddr . meta skuid != "
			      "@owners4 goto others",
			      "ip6 dscp set ef",
			      "ip dscp cs4 udp dport . @th,96,24 vmap "
			      "@has_low_latency",
			      "meta priority set udp dport . @th,96,24 map "
			      "@queue_bulk_data",
			      "reject with icmpx admin-prohibited",
			      "ip option ssrr exists counter name "
			      "\"refused_way\" drop",
			      NULL });
}

static void a_lane_without_ipv4_needs_no_network(void **state)
{
	struct ethernet_networks networks = ethernet_networks_default;
	struct rules_lane lane = lane_of(4242);
	struct writer writer = { 0 };
	_auto_(freep) char *text = NULL;

	networks.ipv4.address.family = 0;
	lane.device.ipv4.family = 0;
	rules_write_table(&networks, dscp, &(struct rules_counters){ 0 }, &lane,
			  1, &writer);
	change(&writer, 0);
	text = list();
	assert_null(strstr(text, "100.64"));
	assert_non_null(strstr(text, "fd46:4c00::/32"));
}

static void a_lane_has_elements_in_each_set(void **state)
{
	struct rules_lane lane = lane_of(4242);
	_auto_(freep) char *text = NULL;

	lane.device.alias.htb_class = 0x1a;
	write_table(NULL, 0);
	add(&lane, 1);
	text = list();
	assert_has_all(text, (const char *const[]){
				     "\"fl4242\" }",
				     "\"fl4242\" . 100.66.72.1 . 20001",
				     "\"fl4242\" . fd46:4c00:0:1092::1 . 20001",
				     "100.66.72.1 . \"fl4242\"",
				     "10.77.0.2 . 4789 . 0x1092",
				     "fd77::2 . 4789 . 0x1092",
				     "4789 . 0x1092 : goto class_low_latency",
				     "4789 . 0x1092 : 464c:401a",
				     "4789 . 0x1092 : 464c:801a", NULL });
}

/* Of all classes, with enough peers for several requests. */
static void what_is_added_is_what_the_table_would_have(void **state)
{
	_auto_(freep) struct ip_address *many = calloc(600, sizeof(*many));
	struct rules_lane lane = lane_of(4242);
	_auto_(freep) char *written = NULL;
	_auto_(freep) char *added = NULL;

	assert_non_null(many);
	for (int i = 0; i < 600; i++) {
		many[i] = i % 2 ? address("fd77::1:0") : address("10.78.0.0");
		many[i].bytes[i % 2 ? 14 : 2] += (uint8_t)(i / 256);
		many[i].bytes[i % 2 ? 15 : 3] = (uint8_t)i;
	}
	lane.peers = many;
	lane.peer_count = 600;
	lane.device.alias.classes = 15;
	lane.device.underlay_index = 1;
	lane.device.alias.htb_class = 0x1a;
	write_table(&lane, 1);
	written = list_sorted();
	write_table(NULL, 0);
	add(&lane, 1);
	added = list_sorted();
	assert_string_equal(added, written);
}

static void a_lane_that_is_there_can_be_added(void **state)
{
	struct rules_lane lane = lane_of(4242);
	_auto_(freep) char *before = NULL;
	_auto_(freep) char *after = NULL;

	write_table(&lane, 1);
	before = list();
	add(&lane, 1);
	after = list();
	assert_string_equal(after, before);
}

static void a_rewritten_table_forgets_what_was_there(void **state)
{
	struct rules_lane lanes[] = { lane_of(4242), lane_of(4243) };
	_auto_(freep) char *text = NULL;

	write_table(lanes, 2);
	write_table(&lanes[1], 1);
	text = list();
	assert_null(strstr(text, "fl4242"));
	assert_non_null(strstr(text, "fl4243"));
}

static void a_lane_in_a_namespace_is_known_by_its_vni_only(void **state)
{
	struct rules_lane lane = lane_of(4242);
	_auto_(freep) char *text = NULL;

	lane.is_netns = true;
	write_table(&lane, 1);
	text = list();
	assert_null(strstr(text, "fl4242"));
	assert_null(strstr(text, "20001"));
	assert_null(strstr(text, "100.66.72.1"));
	assert_non_null(strstr(text, "10.77.0.2 . 4789 . 0x1092"));
	assert_non_null(strstr(text, "4789 . 0x1092 : goto class_low_latency"));
}

static void what_nft_lists_can_be_loaded_again(void **state)
{
	static const char file[] = "/mnt/listed";
	struct rules_lane lane = lane_of(4242);
	_auto_(freep) char *before = NULL;
	_auto_(freep) char *after = NULL;

	write_table(&lane, 1);
	before = list();
	netns_run(NFT " list table inet " RULES_TABLE " >%s", file);
	netns_run(NFT " delete table inet " RULES_TABLE);
	netns_run(NFT " -f %s && rm %s", file, file);
	after = list();
	assert_string_equal(after, before);
}

static void many_lanes_are_one_transaction(void **state)
{
	_auto_(freep) struct rules_lane *lanes = calloc(LANES, sizeof(*lanes));
	_auto_(freep) char *text = NULL;

	assert_non_null(lanes);
	for (uint32_t i = 0; i < LANES; i++)
		lanes[i] = lane_of(1024 + i);
	write_table(lanes, LANES);
	text = list();
	assert_non_null(strstr(text, "\"fl1024\""));
	assert_non_null(strstr(text, "\"fl1523\""));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_table_without_lanes_has_no_elements),
		cmocka_unit_test(fragments_are_judged_before_all_else),
		cmocka_unit_test(nft_lists_the_table_as_its_own),
		cmocka_unit_test(a_lane_without_ipv4_needs_no_network),
		cmocka_unit_test(a_lane_has_elements_in_each_set),
		cmocka_unit_test(what_is_added_is_what_the_table_would_have),
		cmocka_unit_test(a_lane_that_is_there_can_be_added),
		cmocka_unit_test(a_rewritten_table_forgets_what_was_there),
		cmocka_unit_test(
			a_lane_in_a_namespace_is_known_by_its_vni_only),
		cmocka_unit_test(what_nft_lists_can_be_loaded_again),
		cmocka_unit_test(many_lanes_are_one_transaction),
	};

	if (!netns_enter())
		return 77;
	return cmocka_run_group_tests(tests, NULL, NULL);
}
