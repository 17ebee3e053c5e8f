/* SPDX-License-Identifier: BSD-3-Clause */
/* NICs are ends of veth pairs, in a namespace of the test's own. */
#include "lanes/driver/ethernet/underlay.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <errno.h>
#include <string.h>

#include "lanes/driver/test/netns.h"

static bool is_there; /* the namespace */
static struct netlink *netlink;
static struct fairlead_error error;
static struct underlays listed;
static struct underlay_names taken;

static int group_setup(void **state)
{
	is_there = netns_enter();
	if (is_there)
		netns_run("ip link set lo up");
	return 0;
}

static int setup(void **state)
{
	memset(&error, 0, sizeof(error));
	listed.count = taken.count = 0;
	return is_there ? netlink_open(&netlink, NULL) : 0;
}

static int teardown(void **state)
{
	if (!is_there)
		return 0;
	netlink_close(netlink);
	netlink = NULL;
	netns_run("ip -o link show | sed 's/[0-9]*: \\([^:@]*\\).*/\\1/' | "
		  "grep -v '^lo$' | while read nic; do "
		  "ip link del $nic 2>/dev/null; done; "
		  "ip route flush table all 2>/dev/null; ip link set lo down; "
		  "ip link set lo up");
	return 0;
}

/* A NIC that is up. */
static void add_nic(const char *name, const char *address)
{
	netns_run("ip link add %s type veth peer name p%s && "
		  "ip link set %s up && ip link set p%s up",
		  name, name, name, name);
	if (*address)
		netns_run("ip addr add %s dev %s %s", address, name,
			  strchr(address, ':') ? "nodad" : "");
}

static void read_list(const char *devices)
{
	if (underlay_list(netlink, devices, &taken, &listed, &error) != 0)
		fail_msg("%s", error.text);
}

static void assert_listed(size_t place, const char *name, const char *address)
{
	char text[IP_ADDRESS_TEXT_MAX];

	assert_in_range(place, 0, listed.count - 1);
	ip_address_format(&listed.list[place].address, text);
	assert_string_equal(listed.list[place].name, name);
	assert_string_equal(text, address);
	assert_string_equal(listed.list[place].flaw, "");
	assert_true(listed.list[place].is_usable);
	assert_int_equal(listed.list[place].index, if_nametoindex(name));
}

static void assert_flaw(size_t place, const char *name, const char *flaw)
{
	assert_in_range(place, 0, listed.count - 1);
	assert_string_equal(listed.list[place].name, name);
	assert_string_equal(listed.list[place].flaw, flaw);
	assert_false(listed.list[place].is_usable);
}

static void auto_takes_nics_with_an_address_in_the_order_of_names(void **state)
{
	if (!is_there)
		skip();
	add_nic("eth10", "10.10.0.1/16");
	add_nic("eth2", "10.2.0.1/16");
	netns_run("ip link set eth2 mtu 1400");
	read_list("auto");
	assert_int_equal(listed.count, 2);
	assert_listed(0, "eth2", "10.2.0.1");
	assert_listed(1, "eth10", "10.10.0.1");
	assert_int_equal(listed.list[0].mtu, 1400);
	assert_int_equal(listed.list[1].mtu, 1500);
}

static void auto_finds_nothing_where_nothing_can_be_used(void **state)
{
	if (!is_there)
		skip();
	read_list("auto");
	assert_int_equal(listed.count, 0);
}

static void auto_passes_by_what_cannot_or_should_not_carry_lanes(void **state)
{
	if (!is_there)
		skip();
	add_nic("eth0", "10.0.0.1/16");
	add_nic("down0", "10.1.0.1/16");
	add_nic("bare0", "");
	add_nic("local0", "169.254.3.4/16 scope link");
	add_nic("small0", "10.2.0.1/16");
	add_nic("port0", "10.3.0.1/16");
	netns_run("ip link set down0 down && ip link set small0 mtu 1329 && "
		  "ip link add br0 type bridge && ip link set port0 master br0 "
		  "&& ip addr add 10.4.0.1/16 dev br0 && ip link set br0 up && "
		  "ip tuntap add tap0 mode tap && ip link set tap0 up && "
		  "ip addr add 10.5.0.1/16 dev tap0 && "
		  "ip link add vx0 type vxlan id 7 dev eth0 dstport 4789 && "
		  "ip addr add 10.6.0.1/16 dev vx0 && ip link set vx0 up && "
		  "ip link add fl8 group 17996 type vxlan id 8 dev eth0 "
		  "dstport 4790 && ip addr add 10.7.0.1/16 dev fl8 && "
		  "ip link set fl8 up");
	read_list("auto");
	assert_int_equal(listed.count, 1);
	assert_listed(0, "eth0", "10.0.0.1");
}

static void nics_that_are_named_are_listed_in_their_order(void **state)
{
	if (!is_there)
		skip();
	add_nic("eth0", "10.0.0.1/16");
	add_nic("eth1", "10.1.0.1/16");
	netns_run("ip link add br0 type bridge && ip link set br0 up && "
		  "ip addr add 10.4.0.1/16 dev br0");
	read_list("eth1, br0 ,eth0");
	assert_int_equal(listed.count, 3);
	assert_listed(0, "eth1", "10.1.0.1");
	assert_listed(1, "br0", "10.4.0.1");
	assert_listed(2, "eth0", "10.0.0.1");
}

static void a_named_nic_that_cannot_be_used_says_why(void **state)
{
	if (!is_there)
		skip();
	add_nic("eth0", "");
	add_nic("eth1", "10.1.0.1/16");
	netns_run("ip link set eth1 down");
	read_list("eth7,lo,eth0,eth1");
	assert_int_equal(listed.count, 4);
	assert_flaw(0, "eth7", "there is no such NIC");
	assert_int_equal(listed.list[0].index, 0);
	assert_flaw(1, "lo", "it is loopback");
	assert_flaw(2, "eth0", "it has no global address");
	assert_flaw(3, "eth1", "it is down");
	netns_run("ip link set eth1 up && ip link add fl8 group 17996 type "
		  "vxlan id 8 dev eth1 dstport 4790");
	read_list("fl8");
	assert_flaw(0, "fl8", "it is a lane's own device");
}

static void an_mtu_that_is_too_small_says_what_it_takes(void **state)
{
	if (!is_there)
		skip();
	add_nic("eth4", "10.0.0.1/16");
	add_nic("eth6", "fd00:9::1/64");
	netns_run("ip link set eth4 mtu 1300 && ip link set eth6 mtu 1349");
	read_list("eth4,eth6");
	assert_flaw(0, "eth4",
		    "MTU 1300 leaves 1250 bytes, a lane needs 1280: set it to "
		    "1330 or more");
	assert_flaw(1, "eth6",
		    "MTU 1349 leaves 1279 bytes, a lane needs 1280: set it to "
		    "1350 or more");
	netns_run("ip link set eth4 mtu 1330 && ip link set eth6 mtu 1350");
	read_list("eth4,eth6");
	assert_listed(0, "eth4", "10.0.0.1");
	assert_listed(1, "eth6", "fd00:9::1");
}

static void ipv4_is_sent_from_where_there_are_both(void **state)
{
	if (!is_there)
		skip();
	add_nic("eth0", "fd00:9::1/64");
	netns_run("ip addr add 10.0.0.1/16 dev eth0 && "
		  "ip addr add 10.0.0.2/16 dev eth0");
	read_list("auto");
	assert_listed(0, "eth0", "10.0.0.1");
}

static void addresses_that_go_are_not_sent_from(void **state)
{
	if (!is_there)
		skip();
	add_nic("eth0", "fd00:9::1/64 preferred_lft 0");
	read_list("eth0");
	assert_flaw(0, "eth0", "it has no global address");
	netns_run("ip addr add fd00:9::2/64 dev eth0 nodad");
	read_list("eth0");
	assert_listed(0, "eth0", "fd00:9::2");
}

static void nics_beyond_the_rails_are_left_out_and_named(void **state)
{
	char name[8];

	if (!is_there)
		skip();
	for (int i = 2 * ETHERNET_RAILS_MAX; i-- > 0;) {
		snprintf(name, sizeof(name), "eth%d", i);
		add_nic(name, "");
		netns_run("ip addr add 10.%d.0.1/16 dev eth%d", i, i);
	}
	read_list("auto");
	assert_int_equal(listed.count, 4);
	for (size_t i = 0; i < 4; i++) {
		snprintf(name, sizeof(name), "eth%zu", i);
		assert_string_equal(listed.list[i].name, name);
	}
	assert_string_equal(listed.left_out, "eth4, eth5, eth6, eth7");
	read_list("eth7,eth1,eth0,eth3,eth2");
	assert_string_equal(listed.list[0].name, "eth7");
	assert_string_equal(listed.list[3].name, "eth3");
	assert_string_equal(listed.left_out, "eth2");
	/* No name is cut. */
	read_list("eth0,eth1,eth2,eth3,anothernic00001,anothernic00002,"
		  "anothernic00003,anothernic00004,x");
	assert_string_equal(listed.left_out, "anothernic00001, "
					     "anothernic00002, "
					     "anothernic00003, ...");
	netns_run("ip link set eth0 down");
	taken.count = 0;
	for (int i = 5; i < 2 * ETHERNET_RAILS_MAX; i++)
		netns_run("ip link set eth%d down", i);
	read_list("auto");
	assert_int_equal(listed.count, 4);
	assert_string_equal(listed.list[3].name, "eth4");
	assert_string_equal(listed.left_out, "");
}

static void a_nic_that_goes_keeps_its_rail_from_the_others(void **state)
{
	if (!is_there)
		skip();
	for (int i = 1; i <= 5; i++) {
		char name[8], address[16];

		snprintf(name, sizeof(name), "eth%d", i);
		snprintf(address, sizeof(address), "10.%d.0.1/16", i);
		add_nic(name, address);
	}
	read_list("auto");
	assert_listed(0, "eth1", "10.1.0.1");
	netns_run("ip link add fl4096 group 17996 type vxlan id 4096 "
		  "dstport 4790 local 10.2.0.1 dev eth2");
	netns_run("ip link set eth1 down; ip link del eth3");
	read_list("auto");
	assert_int_equal(listed.count, 4);
	assert_flaw(0, "eth1", "it is down");
	assert_listed(1, "eth2", "10.2.0.1");
	assert_flaw(2, "eth3", "there is no such NIC");
	assert_listed(3, "eth4", "10.4.0.1");
	assert_string_equal(listed.left_out, "eth5");
	netns_run("ip link set eth1 up");
	read_list("auto");
	assert_listed(0, "eth1", "10.1.0.1");
}

/* As that of a container. */
static void a_nic_that_was_there_for_a_moment_is_forgotten(void **state)
{
	if (!is_there)
		skip();
	add_nic("eth1", "10.1.0.1/16");
	add_nic("aaa0", "10.2.0.1/16");
	read_list("auto");
	assert_listed(0, "aaa0", "10.2.0.1");
	assert_listed(1, "eth1", "10.1.0.1");
	netns_run("ip link del aaa0");
	read_list("auto");
	assert_int_equal(listed.count, 1);
	assert_listed(0, "eth1", "10.1.0.1");
}

static void a_nic_that_comes_late_has_the_rail_of_its_name(void **state)
{
	if (!is_there)
		skip();
	add_nic("eth2", "10.2.0.1/16");
	read_list("auto");
	assert_listed(0, "eth2", "10.2.0.1");
	add_nic("eth1", "10.1.0.1/16");
	read_list("auto");
	assert_listed(0, "eth1", "10.1.0.1");
	assert_listed(1, "eth2", "10.2.0.1");
}

static void a_nic_that_becomes_part_of_another_gives_its_rail_up(void **state)
{
	if (!is_there)
		skip();
	add_nic("eth1", "10.1.0.1/16");
	add_nic("eth2", "10.2.0.1/16");
	read_list("auto");
	netns_run("ip link add br0 type bridge && ip link set eth1 master br0");
	read_list("auto");
	assert_int_equal(listed.count, 1);
	assert_listed(0, "eth2", "10.2.0.1");
}

static void lists_that_make_no_sense_are_refused(void **state)
{
	static const char *const lists[] = { "",
					     ",",
					     "eth0,",
					     ",eth0",
					     "eth0,,eth1",
					     "eth0 eth1",
					     "averylongnameofanic",
					     "eth0,eth0" };

	if (!is_there)
		skip();
	for (size_t i = 0; i < sizeof(lists) / sizeof(lists[0]); i++) {
		assert_int_equal(underlay_list(netlink, lists[i], &taken,
					       &listed, &error),
				 -EINVAL);
		assert_int_equal(listed.count, 0);
	}
	assert_string_equal(error.text, "NIC eth0 is named twice");
}

static void the_speed_is_what_the_nic_says(void **state)
{
	if (!is_there)
		skip();
	add_nic("eth0", "10.0.0.1/16");
	netns_run("ip link add br0 type bridge && ip link set br0 up && "
		  "ip addr add 10.4.0.1/16 dev br0");
	/* A veth pair says 10 Gbit/s, a bridge without ports nothing. */
	read_list("eth0,br0");
	assert_int_equal(listed.list[0].speed_mbit, 10000);
	assert_int_equal(listed.list[1].speed_mbit, 0);
}

static void assert_clash(const char *text)
{
	assert_int_equal(underlay_clash(netlink, &ethernet_networks_default,
					&error),
			 -EADDRINUSE);
	assert_int_equal(error.code, -EADDRINUSE);
	assert_string_equal(error.text, text);
}

static void assert_no_clash(void)
{
	if (underlay_clash(netlink, &ethernet_networks_default, &error) != 0)
		fail_msg("%s", error.text);
}

static void a_node_of_its_own_addresses_has_no_clash(void **state)
{
	if (!is_there)
		skip();
	add_nic("eth0", "10.0.0.1/16");
	netns_run("ip addr add fd00:9::1/64 dev eth0 nodad && "
		  "ip route add default via 10.0.0.2 && "
		  "ip route add default via fd00:9::2 && "
		  "ip route add 100.0.0.0/8 via 10.0.0.2 && "
		  "ip route add 192.168.0.0/16 via 10.0.0.2 && "
		  "ip route add fd00::/8 via fd00:9::2");
	assert_no_clash();
}

static void an_address_in_a_network_of_lanes_is_named(void **state)
{
	if (!is_there)
		skip();
	add_nic("eth0", "100.127.255.254/32");
	assert_clash("address 100.127.255.254 of eth0 lies in 100.64.0.0/10, "
		     "the network of lanes: give them another (ipv4_network)");
	netns_run("ip addr flush dev eth0 && "
		  "ip addr add fd46:4c00:9::1/64 dev eth0 nodad");
	assert_clash("address fd46:4c00:9::1 of eth0 lies in fd46:4c00::/32, "
		     "the network of lanes: give them another (ipv6_network)");
}

static void an_address_on_loopback_clashes_but_its_own(void **state)
{
	struct ethernet_networks networks = ethernet_networks_default;

	if (!is_there)
		skip();
	assert_int_equal(ip_network_parse("127.0.0.0/8", &networks.ipv4, NULL),
			 0);
	assert_int_equal(underlay_clash(netlink, &networks, &error), 0);
	netns_run("ip addr add 100.64.0.1/32 dev lo");
	assert_clash("address 100.64.0.1 of lo lies in 100.64.0.0/10, the "
		     "network of lanes: give them another (ipv4_network)");
	netns_run("ip addr del 100.64.0.1/32 dev lo");
}

static void a_route_in_a_network_of_lanes_is_named(void **state)
{
	if (!is_there)
		skip();
	add_nic("eth0", "10.0.0.1/16");
	netns_run("ip route add 100.80.0.0/12 via 10.0.0.2");
	assert_clash("the route to 100.80.0.0/12 by eth0 lies in "
		     "100.64.0.0/10, the network of lanes: give them another "
		     "(ipv4_network)");
	netns_run("ip route del 100.80.0.0/12 && "
		  "ip -6 route add fd46:4c00::/32 dev eth0");
	assert_clash("the route to fd46:4c00::/32 by eth0 lies in "
		     "fd46:4c00::/32, the network of lanes: give them another "
		     "(ipv6_network)");
}

static void routes_of_other_tables_and_without_a_device_clash(void **state)
{
	if (!is_there)
		skip();
	add_nic("eth0", "10.0.0.1/16");
	netns_run("ip route add 100.64.0.0/10 dev eth0 table 52");
	assert_clash("the route to 100.64.0.0/10 by eth0 lies in "
		     "100.64.0.0/10, the network of lanes: give them another "
		     "(ipv4_network)");
	netns_run("ip route del 100.64.0.0/10 dev eth0 table 52 && "
		  "ip route add blackhole 100.64.1.0/24");
	assert_clash("the route to 100.64.1.0/24 by (no device) lies in "
		     "100.64.0.0/10, the network of lanes: give them another "
		     "(ipv4_network)");
	netns_run("ip route del blackhole 100.64.1.0/24");
}

static void lanes_do_not_clash_with_themselves(void **state)
{
	if (!is_there)
		skip();
	add_nic("eth0", "10.0.0.1/16");
	netns_run("ip link add fl8 group 17996 type vxlan id 8 dev eth0 "
		  "dstport 4789 && ip addr add 100.64.32.1/22 dev fl8 && "
		  "ip addr add fd46:4c00:0:8::1/64 dev fl8 nodad && "
		  "ip link set fl8 up");
	assert_no_clash();
	/* The same on a device that only is called like one. */
	netns_run("ip link set fl8 group 0");
	assert_clash("address 100.64.32.1 of fl8 lies in 100.64.0.0/10, the "
		     "network of lanes: give them another (ipv4_network)");
}

static void without_ipv4_for_lanes_only_ipv6_clashes(void **state)
{
	struct ethernet_networks networks = ethernet_networks_default;

	if (!is_there)
		skip();
	add_nic("eth0", "100.64.0.1/10");
	networks.ipv4 = (struct ip_network){ 0 };
	assert_int_equal(underlay_clash(netlink, &networks, &error), 0);
}

#define one(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

/* What is said of the peer, the second of two with something in between. */
static int ask_way_with(uint8_t ttl, const char *peer)
{
	struct ip_address peers[4] = { 0 };
	size_t far = 77;
	int result;

	assert_true(ip_address_parse(peer, &peers[2]));
	result = underlay_ways_check(netlink, &listed.list[0], ttl, peers, 2, 2,
				     &far, &error);
	assert_int_equal(far, result == -EHOSTUNREACH || result == -ENETUNREACH
				      ? 1
				      : 77);
	return result;
}

static int ask_way(const char *peer)
{
	return ask_way_with(1, peer);
}

static void a_peer_behind_a_router_is_said(void **state)
{
	static const char *const ways[][3] = {
		{ "10.1.0.1/24", "10.1.0.254", "10.2.0.0/16" },
		{ "fd00:1::1/64", "fd00:1::fe", "fd00:2::/32" },
	};
	static const char *const peers[][3] = {
		{ "10.1.0.9", "10.2.0.9", "10.3.0.9" },
		{ "fd00:1::9", "fd00:2::9", "fd00:3::9" },
	};

	for (size_t i = 0; i < 2; i++) {
		add_nic("eth1", ways[i][0]);
		netns_run("ip route add %s via %s", ways[i][2], ways[i][1]);
		read_list("eth1");
		assert_int_equal(ask_way(peers[i][0]), 0);
		assert_int_equal(ask_way(peers[i][1]), -EHOSTUNREACH);
		assert_non_null(strstr(error.text, peers[i][1]));
		assert_non_null(strstr(error.text, "behind router"));
		assert_non_null(strstr(error.text, ways[i][1]));
		assert_int_equal(ask_way_with(2, peers[i][1]), 0);
		assert_int_equal(ask_way(peers[i][2]), -ENETUNREACH);
		assert_non_null(strstr(error.text, "there is no way to"));
		netns_run("ip link del eth1");
	}
}

/* VXLAN sends by its own NIC, whatever another one knows. */
static void a_way_by_another_nic_is_none(void **state)
{
	static const char *const routes[] = {
		"true",
		"ip route add default via 10.1.0.254",
		"ip route add default via fd00:1::fe",
	};
	static const char *const peers[] = { "10.2.0.9", "fd00:2::9" };

	if (!is_there)
		skip();
	add_nic("eth1", "10.1.0.1/24");
	netns_run("ip addr add fd00:1::1/64 dev eth1 nodad");
	add_nic("eth2", "10.2.0.1/24");
	netns_run("ip addr add fd00:2::1/64 dev eth2 nodad");
	for (size_t i = 0; i < 3 * 2; i++) {
		netns_run("%s", routes[i / 2]);
		read_list("eth1");
		if (i % 2)
			assert_true(ip_address_parse("fd00:1::1",
						     &listed.list[0].address));
		assert_int_equal(ask_way(peers[i % 2]), -ENETUNREACH);
		assert_non_null(strstr(error.text, " is reached by eth2"));
		assert_int_equal(ask_way_with(9, peers[i % 2]), -ENETUNREACH);
		netns_run("ip route del default 2>/dev/null; "
			  "ip -6 route del default 2>/dev/null; true");
	}
	/* By this one's router, since a narrower route says so. */
	netns_run("ip route add 10.2.0.8/29 via 10.1.0.254");
	read_list("eth1");
	assert_int_equal(ask_way("10.2.0.9"), -EHOSTUNREACH);
	assert_int_equal(ask_way_with(2, "10.2.0.9"), 0);
}

/* As where each host has an address of its own only. */
static void a_peer_that_a_route_has_on_the_link_is_beside(void **state)
{
	add_nic("eth1", "10.1.0.1/32");
	netns_run("ip route add 10.1.0.0/24 dev eth1");
	read_list("eth1");
	assert_int_equal(ask_way("10.1.0.9"), 0);
	netns_run("ip link set eth1 down");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		one(auto_takes_nics_with_an_address_in_the_order_of_names),
		one(auto_finds_nothing_where_nothing_can_be_used),
		one(auto_passes_by_what_cannot_or_should_not_carry_lanes),
		one(nics_that_are_named_are_listed_in_their_order),
		one(a_named_nic_that_cannot_be_used_says_why),
		one(an_mtu_that_is_too_small_says_what_it_takes),
		one(ipv4_is_sent_from_where_there_are_both),
		one(addresses_that_go_are_not_sent_from),
		one(nics_beyond_the_rails_are_left_out_and_named),
		one(a_nic_that_goes_keeps_its_rail_from_the_others),
		one(a_nic_that_was_there_for_a_moment_is_forgotten),
		one(a_nic_that_comes_late_has_the_rail_of_its_name),
		one(a_nic_that_becomes_part_of_another_gives_its_rail_up),
		one(lists_that_make_no_sense_are_refused),
		one(the_speed_is_what_the_nic_says),
		one(a_node_of_its_own_addresses_has_no_clash),
		one(an_address_in_a_network_of_lanes_is_named),
		one(an_address_on_loopback_clashes_but_its_own),
		one(a_route_in_a_network_of_lanes_is_named),
		one(routes_of_other_tables_and_without_a_device_clash),
		one(lanes_do_not_clash_with_themselves),
		one(without_ipv4_for_lanes_only_ipv6_clashes),
		one(a_peer_behind_a_router_is_said),
		one(a_peer_that_a_route_has_on_the_link_is_beside),
		one(a_way_by_another_nic_is_none),
	};

	return cmocka_run_group_tests(tests, group_setup, NULL);
}
