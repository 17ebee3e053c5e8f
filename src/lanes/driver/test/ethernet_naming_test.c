/* SPDX-License-Identifier: BSD-3-Clause */
#include "lanes/driver/ethernet/naming.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <errno.h>
#include <string.h>

static const struct ethernet_networks *const networks =
	&ethernet_networks_default;

static void assert_address(const struct ip_address *address,
			   const char *expected)
{
	char text[IP_ADDRESS_TEXT_MAX];

	ip_address_format(address, text);
	assert_string_equal(text, expected);
}

static struct ethernet_networks ipv4_of(const char *text, uint8_t lane_size)
{
	struct ethernet_networks cut = *networks;

	assert_int_equal(ip_network_parse(text, &cut.ipv4, NULL), 0);
	cut.ipv4_lane_size = lane_size;
	return cut;
}

static void names_follow_from_vni_rail_and_number(void **state)
{
	static const uint8_t mac[] = { 2, 0, 0x10, 0x92, 0, 1 };
	struct ethernet_names names;

	ethernet_name(networks, 4242, 0, 1, &names);
	assert_string_equal(names.device, "fl4242");
	assert_memory_equal(names.mac, mac, sizeof(mac));
	assert_address(&names.ipv6, "fd46:4c00:0:1092::1");
	/* VNI 4242 is the 147th of 1024, which have 1024 addresses each. */
	assert_address(&names.ipv4, "100.66.72.1");
	assert_int_equal(names.ipv4_prefix_size, 22);
	assert_int_equal(names.port, 4789);
}

static void the_largest_names_fit(void **state)
{
	static const uint8_t mac[] = { 2, 0xff, 0xff, 0xff, 0xff, 0xfe };
	struct ethernet_networks cut = ipv4_of("10.0.0.0/8", 16);
	struct ethernet_names names;

	ethernet_name(&cut, ETHERNET_VNI_LIMIT - 1, ETHERNET_RAILS_MAX - 1,
		      ETHERNET_NODES_MAX, &names);
	assert_string_equal(names.device, "fl16777215r3");
	assert_memory_equal(names.mac, mac, sizeof(mac));
	assert_address(&names.ipv6, "fd46:4c00:3ff:ffff::fffe");
	assert_address(&names.ipv4, "10.255.255.254");
	assert_int_equal(names.port, 4793);
}

static void no_rail_has_the_port_of_rocev2(void **state)
{
	static const uint16_t ports[][ETHERNET_RAILS_MAX + 1] = {
		{ 4789, 4789, 4790, 4792, 4793 },
		{ 4790, 4790, 4792, 4793, 4794 },
		{ 4788, 4788, 4789, 4790, 4792 },
		{ 4787, 4787, 4788, 4789, 4790 },
		{ 4792, 4792, 4793, 4794, 4795 },
		{ 8472, 8472, 8473, 8474, 8475 },
	};

	for (size_t i = 0; i < sizeof(ports) / sizeof(ports[0]); i++) {
		for (uint32_t rail = 0; rail < ETHERNET_RAILS_MAX; rail++) {
			uint16_t port = ethernet_port(ports[i][0], rail);

			assert_int_equal(port, ports[i][1 + rail]);
			assert_int_equal(ethernet_rail(ports[i][0], port),
					 rail);
		}
	}
	assert_int_equal(ethernet_rail(ETHERNET_PORT, ETHERNET_PORT_ROCE),
			 ETHERNET_RAILS_MAX);
}

static void rails_of_a_vni_have_networks_of_their_own(void **state)
{
	struct ethernet_names names;

	ethernet_name(networks, 4096, 0, 1, &names);
	assert_address(&names.ipv4, "100.64.0.1");
	ethernet_name(networks, 4096, 1, 1, &names);
	assert_string_equal(names.device, "fl4096r1");
	assert_address(&names.ipv4, "100.80.0.1");
	assert_address(&names.ipv6, "fd46:4c00:100:1000::1");
	ethernet_name(networks, 5119, 3, 1022, &names);
	assert_address(&names.ipv4, "100.127.255.254");
}

static void networks_of_a_whole_cut_are_apart(void **state)
{
	struct ethernet_networks cut = ipv4_of("10.0.0.0/24", 29);
	struct ip_network seen[32];
	uint32_t lanes = ethernet_ipv4_lanes(&cut);
	struct ethernet_names names;
	size_t count = 0;

	assert_int_equal(lanes, 8);
	assert_int_equal(ethernet_ipv4_nodes(&cut), 6);
	for (uint32_t rail = 0; rail < ETHERNET_RAILS_MAX; rail++) {
		for (uint32_t vni = 100; vni < 100 + lanes; vni++) {
			ethernet_name(&cut, vni, rail, 1, &names);
			names.ipv4.bytes[3]--;
			seen[count].address = names.ipv4;
			seen[count].prefix_size = 29;
			assert_true(ip_network_has(&cut.ipv4, &names.ipv4));
			for (size_t i = 0; i < count; i++)
				assert_false(ip_network_meets(&seen[i],
							      &seen[count]));
			count++;
		}
	}
	assert_int_equal(count, 32);
}

static void the_default_has_1024_lanes_of_1022_nodes(void **state)
{
	assert_int_equal(ethernet_ipv4_lanes(networks), 1024);
	assert_int_equal(ethernet_ipv4_nodes(networks), 1022);
}

static void without_ipv4_there_are_no_lanes_and_no_addresses(void **state)
{
	struct ethernet_networks none = *networks;
	struct ethernet_names names;

	none.ipv4 = (struct ip_network){ 0 };
	assert_int_equal(ethernet_ipv4_lanes(&none), 0);
	assert_int_equal(ethernet_ipv4_nodes(&none), 0);
	ethernet_name(&none, 4242, 0, 1, &names);
	assert_int_equal(names.ipv4.family, 0);
	assert_int_equal(names.ipv4_prefix_size, 0);
	assert_int_equal(names.ipv6.family, 6);
}

static void a_cut_without_room_for_each_rail_has_no_lanes(void **state)
{
	struct ethernet_networks cut = ipv4_of("10.0.0.0/24", 25);

	assert_int_equal(ethernet_ipv4_lanes(&cut), 0);
	cut.ipv4_lane_size = 26;
	assert_int_equal(ethernet_ipv4_lanes(&cut), 1);
	cut.ipv4_lane_size = 31;
	assert_int_equal(ethernet_ipv4_lanes(&cut), 0);
	cut.ipv4_lane_size = 8;
	assert_int_equal(ethernet_ipv4_lanes(&cut), 0);
}

static void a_node_beyond_the_network_has_no_ipv4_address(void **state)
{
	struct ethernet_names names;

	ethernet_name(networks, 4242, 0, 1022, &names);
	assert_address(&names.ipv4, "100.66.75.254");
	ethernet_name(networks, 4242, 0, 1023, &names);
	assert_int_equal(names.ipv4.family, 0);
}

static void device_names_are_read_back(void **state)
{
	static const uint32_t vnis[] = { 1, 4242, ETHERNET_VNI_LIMIT - 1 };
	struct ethernet_names names;
	uint32_t vni, rail;

	for (size_t i = 0; i < 3; i++) {
		for (uint32_t n = 0; n < ETHERNET_RAILS_MAX; n++) {
			ethernet_name(networks, vnis[i], n, 1, &names);
			assert_true(ethernet_device_parse(names.device, &vni,
							  &rail));
			assert_int_equal(vni, vnis[i]);
			assert_int_equal(rail, n);
		}
	}
}

static void other_device_names_are_not_ours(void **state)
{
	static const char *const texts[] = {
		"",     "fl",    "fl0",   "fl01",   "flannel.1", "fl16777216",
		"fl1r", "fl1r0", "fl1r4", "fl1r01", "fl1r1 ",    "fl1 ",
		"xfl1", "fl-1",  "fl+1",  "fl1.2",  "FL1",
	};
	uint32_t vni = 77, rail = 77;

	for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
		if (ethernet_device_parse(texts[i], &vni, &rail))
			fail_msg("'%s' was taken", texts[i]);
	}
	assert_int_equal(vni, 77);
	assert_int_equal(rail, 77);
}

static void an_alias_is_as_documented(void **state)
{
	struct ethernet_alias alias = {
		.grant_id = 9,
		.uid = 20001,
		.gid = 20002,
		.classes = 0xa,
		.first_class = 1,
		.htb_class = 17,
		.vni_count = 2,
		.vnis = { 4242, 4243 },
		.job = "77:a=b",
	};
	char text[ETHERNET_ALIAS_MAX];

	ethernet_alias_format(&alias, text);
	assert_string_equal(text,
			    "fairlead:grant=9:uid=20001:gid=20002:tcs=0xa:"
			    "tc=1:class=17:vnis=4242,4243:job=77:a=b");
}

static void the_longest_alias_is_read_back(void **state)
{
	struct ethernet_alias alias = {
		.grant_id = UINT64_MAX,
		.uid = UINT32_MAX,
		.gid = UINT32_MAX,
		.classes = 0xf,
		.first_class = 3,
		.htb_class = UINT16_MAX,
		.vni_count = 4,
		.vnis = { 16777215, 16777214, 16777213, 16777212 },
	};
	struct ethernet_alias again = { 0 };
	char text[ETHERNET_ALIAS_MAX];

	memset(alias.job, 'x', FAIRLEAD_JOB_NAME_MAX);
	ethernet_alias_format(&alias, text);
	assert_true(ethernet_alias_parse(text, &again));
	assert_memory_equal(&again, &alias, sizeof(alias));
}

#define ALIAS(classes, vnis) \
	"fairlead:grant=9:uid=1:gid=1:" classes ":class=0:vnis=" vnis

#define SIXTY_FIVE                                                     \
	"123456789012345678901234567890123456789012345678901234567890" \
	"12345"

static void other_aliases_are_not_ours(void **state)
{
	static const char *const texts[] = {
		"",
		"fairlead:job=9:uid=20001",
		ALIAS("tcs=0x1:tc=0", ""),
		ALIAS("tcs=0x1:tc=0", "0"),
		ALIAS("tcs=0x1:tc=0", "1,"),
		ALIAS("tcs=0x1:tc=0", "1,2,3,4,5"),
		ALIAS("tcs=0x1:tc=0", "16777216"),
		ALIAS("tcs=0x1:tc=0", "1 "),
		ALIAS("tcs=0x1:tc=0", "1:job="),
		ALIAS("tcs=0x1:tc=0", "1:job=.."),
		ALIAS("tcs=0x1:tc=0", "1:job=a/b"),
		ALIAS("tcs=0x1:tc=0", "1:job=" SIXTY_FIVE),
		ALIAS("tcs=0x1:tc=1", "1"),
		ALIAS("tcs=0x0:tc=0", "1"),
		ALIAS("tcs=0x1f:tc=0", "1"),
		ALIAS("tcs=0xA:tc=1", "1"),
		ALIAS("tcs=0x", "1"),
		"fairlead:grant=9:uid=1:gid=1:tcs=0x",
		"fairlead:grant=9:uid=1:gid=1:tcs=0x1:tc=4:class=0:vnis=1",
		"fairlead:grant=9:uid=1:gid=1:tcs=0x1:tc=0:class=65536:vnis=1",
		"fairlead:grant=9:uid=4294967296:gid=1:tcs=0x1:tc=0:class=0:"
		"vnis=1",
		"fairlead:grant=18446744073709551616:uid=1:gid=1:tcs=0x1:tc=0:"
		"class=0:vnis=1",
		"fairlead:grant=09:uid=1:gid=1:tcs=0x1:tc=0:class=0:vnis=1",
		"fairlead:grant=:uid=1:gid=1:tcs=0x1:tc=0:class=0:vnis=1",
	};
	struct ethernet_alias alias = { .uid = 77 };

	for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
		if (ethernet_alias_parse(texts[i], &alias))
			fail_msg("'%s' was taken", texts[i]);
	}
	assert_int_equal(alias.uid, 77);
	assert_true(ethernet_alias_parse(ALIAS("tcs=0x1:tc=0", "1"), &alias));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(names_follow_from_vni_rail_and_number),
		cmocka_unit_test(the_largest_names_fit),
		cmocka_unit_test(no_rail_has_the_port_of_rocev2),
		cmocka_unit_test(rails_of_a_vni_have_networks_of_their_own),
		cmocka_unit_test(networks_of_a_whole_cut_are_apart),
		cmocka_unit_test(the_default_has_1024_lanes_of_1022_nodes),
		cmocka_unit_test(
			without_ipv4_there_are_no_lanes_and_no_addresses),
		cmocka_unit_test(a_cut_without_room_for_each_rail_has_no_lanes),
		cmocka_unit_test(a_node_beyond_the_network_has_no_ipv4_address),
		cmocka_unit_test(device_names_are_read_back),
		cmocka_unit_test(other_device_names_are_not_ours),
		cmocka_unit_test(an_alias_is_as_documented),
		cmocka_unit_test(the_longest_alias_is_read_back),
		cmocka_unit_test(other_aliases_are_not_ours),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
