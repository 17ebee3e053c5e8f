/* SPDX-License-Identifier: BSD-3-Clause */
#include "driver/ethernet/shaper.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <arpa/inet.h>
#include <linux/pkt_sched.h>
#include <linux/rtnetlink.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>

#include "driver/ethernet/tc.h"
#include "driver/test/netns.h"

#define CLASSES_MAX 16

static bool is_there; /* the namespace, and HTB */
static struct netlink *netlink;
static struct underlay nic;
static struct fairlead_error error;

static int group_setup(void **state)
{
	char lacking[256] = "";

	is_there = netns_enter();
	if (!is_there)
		return 0;
	netns_run("sysctl -qw net.ipv6.conf.default.disable_ipv6=1");
	netns_run("ip link set lo up");
	if (netlink_open(&netlink, NULL) < 0)
		return -1;
	if (shaper_probe(netlink, lacking) < 0)
		return -1;
	if (lacking[0]) {
		print_message("skipped: the kernel lacks %s\n", lacking);
		is_there = false;
	}
	return 0;
}

static int group_teardown(void **state)
{
	netlink_close(netlink);
	return 0;
}

/* A NIC, behind which nobody is asked for anything. */
static int setup(void **state)
{
	memset(&error, 0, sizeof(error));
	if (!is_there)
		return 0;
	netns_run("ip link add nic0 type veth peer name peer0");
	netns_run("ip link set nic0 up && ip link set peer0 up");
	netns_run("ip addr add 10.77.0.1/24 dev nic0");
	netns_run("ip neigh add 10.77.0.2 lladdr 02:00:00:00:00:02 dev nic0");
	nic = (struct underlay){ .index = (int)if_nametoindex("nic0"),
				 .name = "nic0" };
	return 0;
}

static int teardown(void **state)
{
	if (is_there)
		netns_holds("ip link del nic0");
	return 0;
}

static void start(uint32_t mbit)
{
	assert_int_equal(shaper_start(netlink, &nic, mbit, &error), 0);
}

static int add(uint16_t minor, uint32_t reserved_mbit, uint32_t max_mbit)
{
	struct shaper_class shaped = { .minor = minor,
				       .priority = ETHERNET_LOW_LATENCY,
				       .reserved_mbit = reserved_mbit,
				       .max_mbit = max_mbit };

	return shaper_add(netlink, &nic, &shaped, &error);
}

static uint16_t choose(const uint16_t *taken, size_t count)
{
	uint16_t minor = 0;

	assert_int_equal(
		shaper_choose(netlink, &nic, taken, count, &minor, &error), 0);
	return minor;
}

/* What the kernel says of the class. False: it is not there. */
static bool class_read(uint32_t minor, struct tc_item *ret_item)
{
	struct tc_list list = { 0 };
	bool is_found = false;

	assert_int_equal(tc_dump(netlink, RTM_GETTCLASS, &nic, 0, &list, NULL),
			 0);
	for (size_t i = 0; i < list.count; i++) {
		if (list.items[i].handle == SHAPER_PRIORITY(minor)) {
			*ret_item = list.items[i];
			is_found = true;
		}
	}
	tc_list_fini(&list);
	return is_found;
}

static void check_class(uint32_t minor, uint64_t mbit, uint64_t ceil_mbit)
{
	struct tc_item item;

	assert_true(class_read(minor, &item));
	assert_int_equal(item.rate, mbit * 125000);
	assert_int_equal(item.ceil, ceil_mbit * 125000);
}

static uint64_t packets(uint32_t minor)
{
	struct tc_item item = { 0 };

	assert_true(class_read(minor, &item));
	return item.packets;
}

struct listing {
	size_t count;
	struct shaper_class classes[CLASSES_MAX];
};

static void take(void *arg, const struct shaper_class *shaped)
{
	struct listing *listing = arg;

	assert_true(listing->count < CLASSES_MAX);
	listing->classes[listing->count++] = *shaped;
}

static size_t count_lanes(void)
{
	struct listing listing = { 0 };

	assert_int_equal(shaper_list(netlink, &nic, take, &listing, &error), 0);
	return listing.count;
}

/* Datagrams of a root process that says where they belong. */
static void send_from(const char *address, const char *to, uint32_t priority,
		      int count)
{
	int fd = socket(AF_INET, SOCK_DGRAM, 0);
	struct sockaddr_in from = { .sin_family = AF_INET };
	struct sockaddr_in peer = { .sin_family = AF_INET,
				    .sin_port = htons(9) };

	inet_pton(AF_INET, address, &from.sin_addr);
	inet_pton(AF_INET, to, &peer.sin_addr);
	assert_int_equal(bind(fd, (struct sockaddr *)&from, sizeof(from)), 0);
	assert_int_equal(setsockopt(fd, SOL_SOCKET, SO_PRIORITY, &priority,
				    sizeof(priority)),
			 0);
	for (int i = 0; i < count; i++)
		assert_int_equal(sendto(fd, "x", 1, 0, (struct sockaddr *)&peer,
					sizeof(peer)),
				 1);
	close(fd);
}

static void a_probe_changes_nothing(void **state)
{
	char lacking[256] = "?";

	if (!is_there)
		skip();
	assert_int_equal(shaper_probe(netlink, lacking), 0);
	assert_string_equal(lacking, "");
	assert_true(netns_holds("tc qdisc show dev lo | grep -q noqueue"));
	/* Nor where the site has shaped loopback. */
	netns_run("tc qdisc add dev lo root handle 7: htb default 1");
	assert_int_equal(shaper_probe(netlink, lacking), 0);
	assert_true(netns_holds("tc qdisc show dev lo | grep -q 'htb 7:'"));
	netns_run("tc qdisc del dev lo root");
}

static void a_start_makes_the_link_and_a_class_for_the_rest(void **state)
{
	struct tc_item item;

	if (!is_there)
		skip();
	start(1000);
	check_class(1, 1000, 1000);
	assert_true(class_read(SHAPER_DEFAULT_MINOR, &item));
	assert_int_equal(item.rate, 100 * 125000);
	assert_int_equal(item.parent, SHAPER_PRIORITY(1));
	assert_int_equal(item.priority, ETHERNET_BEST_EFFORT);
	assert_int_equal(count_lanes(), 0);
}

static void a_second_start_keeps_lanes_and_sets_the_rate(void **state)
{
	if (!is_there)
		skip();
	start(1000);
	assert_int_equal(add(SHAPER_FIRST_MINOR, 300, 400), 0);
	start(1000);
	start(10000);
	check_class(1, 10000, 10000);
	check_class(SHAPER_FIRST_MINOR, 300, 400);
	assert_int_equal(count_lanes(), 1);
}

static void a_start_completes_what_a_crash_left(void **state)
{
	if (!is_there)
		skip();
	netns_run("tc qdisc add dev nic0 root handle 464c: htb default ffff");
	assert_int_equal(add(0x1f, 0, 0), -ENOENT);
	start(1000);
	check_class(1, 1000, 1000);
	assert_int_equal(add(SHAPER_FIRST_MINOR, 0, 0), 0);
}

static void a_link_of_unknown_rate_is_refused(void **state)
{
	if (!is_there)
		skip();
	assert_int_equal(shaper_start(netlink, &nic, 0, &error), -EINVAL);
	assert_non_null(strstr(error.text, "nic0"));
}

static void queueing_of_the_site_is_refused_and_left(void **state)
{
	if (!is_there)
		skip();
	netns_run("tc qdisc add dev nic0 root handle 1: htb default 1");
	assert_int_equal(shaper_start(netlink, &nic, 1000, &error), -EEXIST);
	assert_string_equal(error.text, "NIC nic0 has a queueing discipline "
					"already: htb 1:");
	assert_int_equal(shaper_stop(netlink, &nic, &error), 0);
	assert_int_equal(count_lanes(), 0);
	assert_int_equal(add(0x1f, 0, 0), -ENOENT);
	assert_int_equal(shaper_remove(netlink, &nic, 0x10, &error), 0);
	assert_true(netns_holds("tc qdisc show dev nic0 | grep -q 'htb 1:'"));
	netns_run("tc qdisc replace dev nic0 root tbf rate 1gbit burst 100k "
		  "latency 50ms");
	assert_int_equal(shaper_start(netlink, &nic, 1000, &error), -EEXIST);
	assert_non_null(strstr(error.text, "already: tbf"));
	assert_true(netns_holds("tc qdisc show dev nic0 | grep -q tbf"));
}

static void a_stop_takes_all_of_ours(void **state)
{
	if (!is_there)
		skip();
	start(1000);
	assert_int_equal(add(SHAPER_FIRST_MINOR, 100, 0), 0);
	assert_int_equal(shaper_stop(netlink, &nic, &error), 0);
	assert_true(netns_holds("tc qdisc show dev nic0 | grep -q noqueue"));
	assert_int_equal(shaper_stop(netlink, &nic, &error), 0);
}

static void a_stop_leaves_all_while_something_of_others_hangs_on_it(
	void **state)
{
	if (!is_there)
		skip();
	start(1000);
	netns_run("tc filter add dev nic0 parent 464c: protocol ip u32 match "
		  "u32 0 0 flowid 464c:ffff");
	assert_int_equal(shaper_stop(netlink, &nic, &error), -EBUSY);
	assert_string_equal(error.text, "NIC nic0: filter u32 of somebody "
					"else's hangs on its queueing");
	check_class(1, 1000, 1000);
	netns_run("tc filter del dev nic0 parent 464c:");
	netns_run("tc class add dev nic0 parent 464c:1 classid 464c:20 htb "
		  "rate 1mbit");
	assert_int_equal(shaper_stop(netlink, &nic, &error), -EBUSY);
	assert_non_null(strstr(error.text, "class 464c:20"));
	netns_run("tc class del dev nic0 classid 464c:20");
	assert_int_equal(shaper_stop(netlink, &nic, &error), 0);
}

static void the_lowest_class_that_is_free_is_chosen(void **state)
{
	const uint16_t taken[] = { 0, 0x13, 0xffff, 0x11 };

	if (!is_there)
		skip();
	assert_int_equal(choose(NULL, 0), 0x10);
	start(1000);
	assert_int_equal(choose(NULL, 0), 0x10);
	assert_int_equal(choose(taken, 4), 0x10);
	assert_int_equal(add(0x10, 0, 0), 0);
	assert_int_equal(add(0x12, 0, 0), 0);
	assert_int_equal(choose(NULL, 0), 0x11);
	assert_int_equal(choose(taken, 4), 0x14);
	assert_int_equal(shaper_remove(netlink, &nic, 0x10, &error), 0);
	assert_int_equal(choose(taken, 4), 0x10);
}

static void a_class_of_the_site_is_not_chosen(void **state)
{
	if (!is_there)
		skip();
	start(1000);
	netns_run("tc class add dev nic0 parent 464c:1 classid 464c:10 htb "
		  "rate 1mbit");
	assert_int_equal(choose(NULL, 0), 0x11);
}

static void a_NIC_without_a_free_class_says_so(void **state)
{
	static uint16_t taken[SHAPER_LAST_MINOR + 1];
	uint16_t minor = 7;

	if (!is_there)
		skip();
	for (size_t i = 0; i <= SHAPER_LAST_MINOR; i++)
		taken[i] = (uint16_t)i;
	assert_int_equal(choose(taken, SHAPER_LAST_MINOR), SHAPER_LAST_MINOR);
	assert_int_equal(shaper_choose(netlink, &nic, taken,
				       SHAPER_LAST_MINOR + 1, &minor, &error),
			 -ENOSPC);
	assert_string_equal(error.text, "NIC nic0 has no class left");
	assert_int_equal(minor, 7);
}

static void a_class_is_a_lanes_own(void **state)
{
	if (!is_there)
		skip();
	start(1000);
	assert_int_equal(add(0x12, 0, 0), 0);
	assert_int_equal(add(0x12, 0, 0), -EEXIST);
	assert_int_equal(add(0, 0, 0), -EINVAL);
	assert_int_equal(add(1, 0, 0), -EINVAL);
	assert_int_equal(add(0xffff, 0, 0), -EINVAL);
	assert_int_equal(add(SHAPER_LAST_MINOR + 1, 0, 0), -EINVAL);
	assert_int_equal(add(SHAPER_LAST_MINOR, 0, 0), 0);
	assert_int_equal(count_lanes(), 2);
}

static void a_class_is_listed_as_it_was_asked_for(void **state)
{
	const struct shaper_class asked[] = {
		{ 0x10, ETHERNET_DEDICATED_ACCESS, 0, 0 },
		{ 0x11, ETHERNET_LOW_LATENCY, 1, 1 },
		{ 0x12, ETHERNET_BULK_DATA, 25000, 100000 },
		{ 0x13, ETHERNET_BEST_EFFORT, 0, 10 },
		{ 0x14, ETHERNET_BEST_EFFORT, 200000, 0 },
	};
	struct listing listing = { 0 };

	if (!is_there)
		skip();
	start(400000);
	check_class(1, 400000, 400000);
	for (size_t i = 0; i < 5; i++) {
		struct shaper_class shaped = asked[i];

		assert_int_equal(shaper_add(netlink, &nic, &shaped, &error), 0);
	}
	assert_int_equal(shaper_list(netlink, &nic, take, &listing, &error), 0);
	assert_int_equal(listing.count, 5);
	for (size_t i = 0; i < 5; i++) {
		const struct shaper_class *listed = &listing.classes[i];
		const struct shaper_class *wanted =
			&asked[listed->minor - 0x10];

		assert_int_equal(listed->priority, wanted->priority);
		assert_int_equal(listed->reserved_mbit, wanted->reserved_mbit);
		assert_int_equal(listed->max_mbit, wanted->max_mbit);
	}
	check_class(0x12, 25000, 100000);
}

static void no_more_is_reserved_than_the_link_has(void **state)
{
	if (!is_there)
		skip();
	start(1000);
	assert_int_equal(add(0x1f, 900, 800), -EINVAL);
	assert_int_equal(add(0x1f, 901, 0), -ENOSPC);
	assert_int_equal(add(0x10, 600, 0), 0);
	assert_int_equal(add(0x1f, 301, 0), -ENOSPC);
	assert_string_equal(error.text, "NIC nic0 has 300 of 900 Mbit/s left "
					"to reserve, and 301 are asked for");
	assert_int_equal(add(0x11, 300, 0), 0);
	assert_int_equal(add(0x12, 0, 0), 0);
	assert_int_equal(add(0x1f, 1, 0), -ENOSPC);
	assert_int_equal(shaper_remove(netlink, &nic, 0x10, &error), 0);
	assert_int_equal(add(0x10, 600, 0), 0);
	/* A link that has become slower. */
	start(500);
	assert_int_equal(add(0x1f, 1, 0), -ENOSPC);
}

static void packets_go_to_the_class_of_their_priority(void **state)
{
	if (!is_there)
		skip();
	start(1000);
	assert_int_equal(add(0x10, 100, 0), 0);
	assert_int_equal(add(0x11, 0, 0), 0);
	send_from("10.77.0.1", "10.77.0.2", SHAPER_PRIORITY(0x10), 3);
	send_from("10.77.0.1", "10.77.0.2", SHAPER_PRIORITY(0x11), 5);
	assert_int_equal(packets(0x10), 3);
	assert_int_equal(packets(0x11), 5);
	/* No class, one that is gone, and one of another handle. */
	send_from("10.77.0.1", "10.77.0.2", 0, 1);
	send_from("10.77.0.1", "10.77.0.2", SHAPER_PRIORITY(0x99), 2);
	send_from("10.77.0.1", "10.77.0.2", 0x10010, 4);
	assert_int_equal(packets(SHAPER_DEFAULT_MINOR), 7);
	assert_int_equal(packets(0x10), 3);
	assert_int_equal(packets(1), 15);
}

static void a_packet_keeps_its_class_through_VXLAN(void **state)
{
	if (!is_there)
		skip();
	start(1000);
	assert_int_equal(add(0x10, 0, 0), 0);
	netns_run("ip link add fl7 type vxlan id 7 dev nic0 local 10.77.0.1 "
		  "dstport 4789 nolearning");
	netns_run("ip addr add 100.64.0.1/24 dev fl7 && ip link set fl7 up");
	netns_run("ip neigh add 100.64.0.2 lladdr 02:00:00:07:00:02 dev fl7");
	netns_run("bridge fdb append 02:00:00:07:00:02 dst 10.77.0.2 dev fl7");
	send_from("100.64.0.1", "100.64.0.2", SHAPER_PRIORITY(0x10), 6);
	assert_int_equal(packets(0x10), 6);
	netns_run("ip link del fl7");
}

#define BOTH (1u << ETHERNET_LOW_LATENCY | 1u << ETHERNET_BEST_EFFORT)
#define LOW  0x4010u /* leaves of 464c:10 */
#define BEST 0x8010u

static int add_with_leaves(void)
{
	const struct shaper_class shaped = { .minor = 0x10,
					     .reserved_mbit = 100,
					     .max_mbit = 200,
					     .classes = BOTH };

	return shaper_add(netlink, &nic, &shaped, &error);
}

static void a_lane_with_several_classes_has_a_leaf_for_each(void **state)
{
	struct listing listing = { 0 };
	struct tc_item leaf;

	if (!is_there)
		skip();
	start(1000);
	assert_int_equal(add_with_leaves(), 0);
	check_class(0x10, 100, 200);
	check_class(LOW, 50, 200);
	check_class(BEST, 50, 200);
	assert_true(class_read(LOW, &leaf));
	assert_int_equal(leaf.parent, SHAPER_PRIORITY(0x10));
	assert_int_equal(leaf.priority, ETHERNET_LOW_LATENCY);
	send_from("10.77.0.1", "10.77.0.2", SHAPER_PRIORITY(LOW), 3);
	send_from("10.77.0.1", "10.77.0.2", SHAPER_PRIORITY(BEST), 4);
	assert_int_equal(packets(LOW), 3);
	assert_int_equal(packets(BEST), 4);
	assert_int_equal(packets(0x10), 7);
	/* It is one lane, and 100 Mbit/s are reserved. */
	assert_int_equal(shaper_list(netlink, &nic, take, &listing, &error), 0);
	assert_int_equal(listing.count, 1);
	assert_int_equal(listing.classes[0].classes, BOTH);
	assert_int_equal(add(0x1f, 801, 0), -ENOSPC);
	assert_int_equal(shaper_remove(netlink, &nic, 0x10, &error), 0);
	assert_false(class_read(LOW, &leaf) || class_read(BEST, &leaf) ||
		     class_read(0x10, &leaf));
}

static void a_lane_whose_leaf_cannot_be_made_has_no_class(void **state)
{
	struct tc_item item;

	if (!is_there)
		skip();
	start(1000);
	netns_run("tc class add dev nic0 parent 464c:1 classid 464c:8010 htb "
		  "rate 1mbit");
	assert_int_equal(choose(NULL, 0), 0x11);
	assert_int_equal(add_with_leaves(), -EEXIST);
	assert_non_null(strstr(error.text, "464c:8010"));
	assert_false(class_read(LOW, &item) || class_read(0x10, &item));
	check_class(BEST, 1, 1);
}

static void a_lane_stays_while_something_of_others_hangs_on_a_leaf(void **state)
{
	if (!is_there)
		skip();
	start(1000);
	assert_int_equal(add_with_leaves(), 0);
	netns_run("tc filter add dev nic0 parent 464c: protocol ip u32 match "
		  "u32 0 0 flowid 464c:8010");
	assert_int_equal(shaper_remove(netlink, &nic, 0x10, &error), -EBUSY);
	assert_non_null(strstr(error.text, "class 464c:8010"));
	check_class(LOW, 50, 200);
	netns_run("tc filter del dev nic0 parent 464c:");
	netns_run("tc class add dev nic0 parent 464c:10 classid 464c:a010 htb "
		  "rate 1mbit");
	assert_int_equal(shaper_try_remove(netlink, &nic, 0x10, &error),
			 -EBUSY);
	netns_run("tc class del dev nic0 classid 464c:a010");
	assert_int_equal(shaper_remove(netlink, &nic, 0x10, &error), 0);
	assert_int_equal(count_lanes(), 0);
}

static void check_stays(const char *text)
{
	assert_int_equal(shaper_remove(netlink, &nic, 0x10, &error), -EBUSY);
	assert_string_equal(error.text, text);
	check_class(0x10, 100, 200);
}

static void a_class_stays_while_something_of_others_hangs_on_it(void **state)
{
	if (!is_there)
		skip();
	start(1000);
	assert_int_equal(add(0x10, 100, 200), 0);
	assert_int_equal(add(0x11, 100, 200), 0);
	netns_run("tc filter add dev nic0 parent 464c: protocol ip u32 match "
		  "u32 0 0 flowid 464c:10");
	check_stays("NIC nic0: filter u32 of somebody else's hangs on class "
		    "464c:10");
	assert_int_equal(shaper_remove(netlink, &nic, 0x11, &error), 0);
	netns_run("tc filter del dev nic0 parent 464c:");
	netns_run("tc qdisc add dev nic0 parent 464c:10 handle 20: tbf rate "
		  "1mbit burst 10k latency 50ms");
	check_stays("NIC nic0: tbf 20: of somebody else's hangs on class "
		    "464c:10");
	netns_run("tc qdisc del dev nic0 parent 464c:10");
	netns_run("tc class add dev nic0 parent 464c:10 classid 464c:20 htb "
		  "rate 1mbit");
	check_stays("NIC nic0: class 464c:20 of somebody else's hangs on class "
		    "464c:10");
	assert_int_equal(count_lanes(), 1);
	netns_run("tc class del dev nic0 classid 464c:20");
	assert_int_equal(shaper_remove(netlink, &nic, 0x10, &error), 0);
	assert_int_equal(count_lanes(), 0);
}

static void classes_of_others_are_not_listed_and_not_removed(void **state)
{
	if (!is_there)
		skip();
	start(1000);
	netns_run("tc class add dev nic0 parent 464c:1 classid 464c:10 htb "
		  "rate 1mbit");
	assert_int_equal(count_lanes(), 0);
	assert_int_equal(add(0x10, 0, 0), -EEXIST);
	assert_int_equal(add(0x11, 0, 0), 0);
	assert_int_equal(shaper_remove(netlink, &nic, 0x10, &error), 0);
	check_class(0x10, 1, 1);
	assert_int_equal(shaper_remove(netlink, &nic, 0xffff, &error), 0);
	assert_int_equal(shaper_remove(netlink, &nic, 1, &error), 0);
	check_class(1, 1000, 1000);
}

static void a_NIC_that_is_gone_has_nothing(void **state)
{
	if (!is_there)
		skip();
	start(1000);
	assert_int_equal(add(0x10, 0, 0), 0);
	netns_run("ip link del nic0");
	assert_int_equal(count_lanes(), 0);
	assert_int_equal(shaper_remove(netlink, &nic, 0x10, &error), 0);
	assert_int_equal(shaper_stop(netlink, &nic, &error), 0);
	assert_int_equal(add(0x1f, 0, 0), -ENOENT);
	assert_int_equal(shaper_start(netlink, &nic, 1000, &error), -ENODEV);
	assert_non_null(strstr(error.text, "nic0"));
}

static void try_without_privileges(void)
{
	struct netlink *poor;
	char lacking[256];

	prctl(PR_SET_KEEPCAPS, 0);
	if (setuid(65534) != 0 || netlink_open(&poor, NULL) < 0)
		_exit(2);
	_exit(shaper_probe(poor, lacking) == -EPERM &&
			      shaper_start(poor, &nic, 1000, &error) == -EPERM
		      ? 0
		      : 1);
}

static void without_privileges_it_says_so(void **state)
{
	int status;
	pid_t pid;

	if (!is_there)
		skip();
	pid = fork();
	if (pid == 0)
		try_without_privileges();
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_int_equal(status, 0);
}

#define one(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		one(a_probe_changes_nothing),
		one(a_start_makes_the_link_and_a_class_for_the_rest),
		one(a_second_start_keeps_lanes_and_sets_the_rate),
		one(a_start_completes_what_a_crash_left),
		one(a_link_of_unknown_rate_is_refused),
		one(queueing_of_the_site_is_refused_and_left),
		one(a_stop_takes_all_of_ours),
		one(a_stop_leaves_all_while_something_of_others_hangs_on_it),
		one(the_lowest_class_that_is_free_is_chosen),
		one(a_class_of_the_site_is_not_chosen),
		one(a_NIC_without_a_free_class_says_so),
		one(a_class_is_a_lanes_own),
		one(a_class_is_listed_as_it_was_asked_for),
		one(no_more_is_reserved_than_the_link_has),
		one(packets_go_to_the_class_of_their_priority),
		one(a_packet_keeps_its_class_through_VXLAN),
		one(a_lane_with_several_classes_has_a_leaf_for_each),
		one(a_lane_whose_leaf_cannot_be_made_has_no_class),
		one(a_lane_stays_while_something_of_others_hangs_on_a_leaf),
		one(a_class_stays_while_something_of_others_hangs_on_it),
		one(classes_of_others_are_not_listed_and_not_removed),
		one(a_NIC_that_is_gone_has_nothing),
		one(without_privileges_it_says_so),
	};

	return cmocka_run_group_tests(tests, group_setup, group_teardown);
}
