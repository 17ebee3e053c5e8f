/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Nodes of a job with fewer rails than others, or none: each is seen by itself,
 * the others are only places.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <arpa/inet.h>
#include <errno.h>
#include <string.h>
#include <sys/socket.h>

#include "base/cleanup.h"
#include "lanes/driver/ethernet/members.h"
#include "lanes/driver/test/netns.h"
#include "lanes/driver/test/node_world.h"

#define NODES 3

static const struct fairlead_setting not_required[] = {
	{ .name = "require_devices", .value = "false" },
};

static struct ethernet_place place_of(uint8_t rail_count, uint8_t host)
{
	struct ethernet_place place = { .rail_count = rail_count };

	for (uint8_t i = 0; i < rail_count; i++)
		place.rails[i] = (struct ethernet_rail){
			.address = { 4, { 10, (uint8_t)(204 + i), 0, host } },
			.mtu = 1500,
		};
	return place;
}

static struct fairlead_place bytes_of(const struct ethernet_place *place)
{
	struct writer writer = { .limit = FAIRLEAD_PLACE_MAX };
	struct fairlead_place bytes = { 0 };

	assert_int_equal(ethernet_place_encode(place, &writer), 0);
	memcpy(bytes.bytes, writer.data, writer.size);
	bytes.size = writer.size;
	writer_fini(&writer);
	return bytes;
}

/* What the node reports now. */
static struct fairlead_place place_now(void)
{
	struct fairlead_place place = { .size = 77 };

	if (ethernet_node_ops.place(world.state, &place, &world.error) < 0)
		fail_msg("%s", world.error.text);
	return place;
}

static struct fairlead_lane lane_of(const char *isolation)
{
	struct fairlead_lane lane = node_world_lane(9, isolation);

	lane.node_count = NODES;
	return lane;
}

/* Make the lane here, on the first node of those with these places. */
static int apply(struct fairlead_lane *lane,
		 const struct fairlead_place places[NODES])
{
	static const char *const names[NODES] = { "n0", "n1", "n2" };
	_auto_(freep) uint8_t *members = NULL;
	void *manager;
	int result;

	world.warning_count = 0;
	assert_int_equal(ethernet_manager_ops.configure(NULL, 0, &manager,
							&world.error),
			 0);
	if (ethernet_manager_ops.assemble(manager, lane, names, places, NODES,
					  &members, &lane->members_size,
					  &world.error) < 0)
		fail_msg("%s", world.error.text);
	ethernet_manager_ops.destroy(manager);
	lane->members = members;
	result =
		ethernet_node_ops.apply(world.state, lane, false, &world.record,
					&node_world_warnings, &world.error);
	lane->members = NULL;
	lane->members_size = 0;
	return result;
}

static int apply_beside(struct fairlead_lane *lane,
			const struct ethernet_place *n1,
			const struct ethernet_place *n2)
{
	const struct fairlead_place places[NODES] = { place_now(), bytes_of(n1),
						      bytes_of(n2) };

	return apply(lane, places);
}

static void take_back(const struct fairlead_lane *lane)
{
	if (ethernet_node_ops.revoke(world.state, lane, &world.record, false,
				     &node_world_warnings, &world.error) < 0)
		fail_msg("%s", world.error.text);
	assert_false(netns_holds("ip -o link show type vxlan | grep -q ."));
}

static void assert_unset(void *arg, const char *name, const char *value)
{
	size_t *count = arg;

	(*count)++;
	assert_null(value);
}

static void assert_no_lane_since(const struct fairlead_lane *lane,
				 const char *reason)
{
	char warning[200];
	size_t count = 0;

	snprintf(warning, sizeof(warning),
		 "%s: the job's tasks here have no interface of its lane",
		 reason);
	assert_int_equal(world.warning_count, 1);
	assert_string_equal(world.warning, warning);
	assert_false(netns_holds("ip -o link show type vxlan | grep -q ."));
	assert_int_not_equal(access("/mnt/netns/9", F_OK), 0);
	assert_int_equal(ethernet_node_ops.env(world.state, lane, &world.record,
					       assert_unset, &count,
					       &world.error),
			 0);
	assert_int_equal(count, 9);
}

static void assert_no_lane(const struct fairlead_lane *lane)
{
	assert_no_lane_since(lane, "this node has no NIC for lanes");
}

static void a_node_without_a_nic_tells_a_place_without_rails(void **state)
{
	struct fairlead_place place;
	struct ethernet_place decoded;

	netns_run("ip link set eth1 down");
	node_world_open(not_required, 1);
	place = place_now();
	assert_int_equal(
		ethernet_place_decode(place.bytes, place.size, &decoded), 0);
	assert_int_equal(decoded.rail_count, 0);
	node_world_close();
	node_world_open_bare();
	assert_int_equal(place_now().size, 0);
}

static void a_node_without_a_nic_has_nothing_of_the_lane(void **state)
{
	const struct ethernet_place others[] = { place_of(1, 2),
						 place_of(2, 3) };
	static const char *const isolations[] = { "host", "netns" };

	netns_run("ip link set eth1 down");
	node_world_open(not_required, 1);
	for (size_t i = 0; i < 2; i++) {
		struct fairlead_lane lane = lane_of(isolations[i]);

		assert_int_equal(apply_beside(&lane, &others[0], &others[1]),
				 0);
		assert_no_lane(&lane);
		take_back(&lane);
	}
}

static void nodes_that_have_none_at_all_have_no_lane(void **state)
{
	const struct ethernet_place none = place_of(0, 0);
	struct fairlead_lane lane = lane_of("host");

	netns_run("ip link set eth1 down");
	node_world_open(not_required, 1);
	assert_int_equal(apply_beside(&lane, &none, &none), 0);
	assert_no_lane(&lane);
	take_back(&lane);
}

static void a_node_without_rails_is_nobody_s_peer(void **state)
{
	const struct ethernet_place none = place_of(0, 0);
	const struct ethernet_place other = place_of(1, 3);
	struct fairlead_lane lane = lane_of("host");

	node_world_open_bare();
	assert_int_equal(apply_beside(&lane, &none, &other), 0);
	assert_int_equal(world.warning_count, 0);
	assert_true(netns_holds("bridge fdb show dev fl%d | grep -q "
				"'dst 10.204.0.3'",
				NODE_WORLD_VNI));
	assert_true(netns_holds("[ $(bridge fdb show dev fl%d | wc -l) = 1 ]",
				NODE_WORLD_VNI));
	/* Numbers are those of the host list all the same. */
	assert_true(netns_holds("ip neigh show dev fl%d | grep -q '100.64.0.3 "
				"lladdr 02:00:10:00:00:03'",
				NODE_WORLD_VNI));
	assert_false(netns_holds("ip neigh show dev fl%d | grep -q 100.64.0.2",
				 NODE_WORLD_VNI));
	take_back(&lane);
	assert_int_equal(apply_beside(&lane, &none, &none), 0);
	assert_true(netns_holds("[ -z \"$(bridge fdb show dev fl%d)\" ]",
				NODE_WORLD_VNI));
	take_back(&lane);
}

static void a_nic_that_came_or_went_since_is_no_error(void **state)
{
	const struct ethernet_place none = place_of(0, 0);
	const struct ethernet_place others[] = { place_of(1, 2),
						 place_of(1, 3) };
	const struct fairlead_place without[] = { bytes_of(&none),
						  bytes_of(&others[0]),
						  bytes_of(&others[1]) };
	struct fairlead_lane lane = lane_of("host");
	struct fairlead_place with[NODES];

	node_world_open(not_required, 1);
	memcpy(with, without, sizeof(with));
	with[0] = place_now();
	assert_int_equal(apply(&lane, without), 0);
	assert_no_lane_since(&lane, "the manager does not know yet that this "
				    "node has a NIC for lanes");
	netns_run("ip link set eth1 down");
	assert_int_equal(apply(&lane, with), 0);
	assert_no_lane(&lane);
	netns_run("ip link set eth1 up");
	node_world_close();
	/* Who has to have one says that the manager does not know it. */
	node_world_open_bare();
	assert_int_equal(apply(&lane, without), -ESTALE);
	assert_non_null(strstr(world.error.text, "does not know yet"));
}

/* Another NIC, eth2, and both named. */
static void open_two_rails(void)
{
	static const struct fairlead_setting settings[] = {
		{ .name = "devices", .value = "eth1,eth2" },
	};

	netns_run("ip link add eth2 type veth peer name p2; "
		  "ip addr add 10.205.0.1/16 dev eth2; "
		  "ip link set p2 up; ip link set eth2 up");
	node_world_open(settings, 1);
}

static void assert_on_second_rail_only(void)
{
	assert_true(netns_holds("bridge fdb show dev fl%dr1 | grep -q "
				"'dst 10.205.0.2'",
				NODE_WORLD_VNI));
	assert_true(netns_holds("ip -d link show fl%dr1 | grep -q 'local "
				"10.205.0.1 dev eth2.* dstport 4790'",
				NODE_WORLD_VNI));
	assert_true(netns_holds("ip neigh show dev fl%dr1 | grep -q "
				"'100.80.0.2'",
				NODE_WORLD_VNI));
	assert_false(netns_holds("ip link show fl%d", NODE_WORLD_VNI));
}

static void a_nic_that_goes_leaves_the_others_their_rails(void **state)
{
	const struct ethernet_place both = place_of(2, 2),
				    third = place_of(2, 3);
	struct fairlead_lane lane = lane_of("host");

	open_two_rails();
	netns_run("ip link set eth1 down");
	assert_int_equal(apply_beside(&lane, &both, &third), 0);
	assert_on_second_rail_only();
	assert_int_equal(world.warning_count, 1);
	assert_string_equal(world.warning,
			    "eth1: the lane is not on rail 0: it is down");
	take_back(&lane);
}

static bool tells(size_t rail)
{
	struct fairlead_place place = place_now();
	struct ethernet_place decoded;

	assert_int_equal(
		ethernet_place_decode(place.bytes, place.size, &decoded), 0);
	return rail < decoded.rail_count &&
	       decoded.rails[rail].address.family != 0;
}

static int take_port(uint16_t port)
{
	const struct sockaddr_in any = { .sin_family = AF_INET,
					 .sin_port = htons(port) };
	int fd = socket(AF_INET, SOCK_DGRAM, 0);

	assert_int_equal(bind(fd, (const struct sockaddr *)&any, sizeof(any)),
			 0);
	return fd;
}

/* It would fail each apply with the node else. */
static void a_rail_whose_port_somebody_has_is_left_out(void **state)
{
	const struct ethernet_place both = place_of(2, 2),
				    third = place_of(2, 3);
	struct fairlead_lane lane = lane_of("host");
	int first, second;

	open_two_rails();
	first = take_port(4789);
	assert_int_equal(apply_beside(&lane, &both, &third), 0);
	assert_on_second_rail_only();
	assert_int_equal(world.warning_count, 1);
	assert_string_equal(world.warning,
			    "eth1: the lane is not on rail 0: UDP port 4789 is "
			    "in use by another program: end it, or set 'port'");
	/* The port of the rail that it is on is its own. */
	assert_true(tells(1));
	assert_false(tells(0));
	take_back(&lane);
	/* Without any rail the apply says so. */
	second = take_port(4790);
	assert_true(apply_beside(&lane, &both, &third) < 0);
	assert_non_null(strstr(world.error.text, "UDP port 4789 is in use"));
	close(first);
	close(second);
	assert_int_equal(apply_beside(&lane, &both, &third), 0);
	assert_int_equal(world.warning_count, 0);
	take_back(&lane);
}

static void the_others_use_the_rails_that_are_left_and_say_why(void **state)
{
	const struct ethernet_place both = place_of(2, 3);
	struct ethernet_place other = place_of(2, 2);
	struct fairlead_lane lane = lane_of("host");

	other.rails[0] = (struct ethernet_rail){ 0 };
	open_two_rails();
	assert_int_equal(apply_beside(&lane, &other, &both), 0);
	assert_on_second_rail_only();
	assert_int_equal(world.warning_count, 1);
	assert_string_equal(world.warning,
			    "eth1: the lane is not on rail 0: another of its "
			    "nodes cannot use it (`fairlead node devices` "
			    "there says why)");
	take_back(&lane);
}

static void nodes_that_never_had_a_second_nic_are_no_loss(void **state)
{
	const struct ethernet_place one = place_of(1, 2), both = place_of(2, 3);
	struct fairlead_lane lane = lane_of("host");

	open_two_rails();
	assert_int_equal(apply_beside(&lane, &one, &both), 0);
	assert_int_equal(world.warning_count, 0);
	assert_false(netns_holds("ip link show fl%dr1", NODE_WORLD_VNI));
	take_back(&lane);
}

/* As after a start while the first NIC was away. */
static void nodes_that_count_their_nics_otherwise_both_say_so(void **state)
{
	const struct ethernet_place both = place_of(2, 3);
	struct ethernet_place shifted = place_of(1, 2);
	struct fairlead_lane lane = lane_of("host");
	const struct fairlead_setting settings[] = {
		{ .name = "devices", .value = "eth2" },
	};

	shifted.rails[0].address.bytes[1] = 205;
	open_two_rails();
	assert_int_equal(apply_beside(&lane, &shifted, &both), 0);
	assert_int_equal(world.warning_count, 1);
	assert_string_equal(world.warning,
			    "eth1: 10.205.0.2 is reached by eth2, so that rail "
			    "0 of the lane carries nothing there: a rail has "
			    "to be one network on all nodes; name their NICs "
			    "in 'devices' in one order");
	take_back(&lane);
	node_world_close();
	netns_run("ip link del eth1");
	node_world_open(settings, 1);
	assert_int_equal(apply_beside(&lane, &shifted, &both), 0);
	assert_int_equal(world.warning_count, 1);
	assert_non_null(
		strstr(world.warning, "eth2: there is no way to 10.204.0.3"));
	assert_non_null(strstr(world.warning, "name their NICs"));
	take_back(&lane);
}

static void a_lane_on_a_rail_whose_nic_went_since_is_refused(void **state)
{
	const struct ethernet_place others[] = { place_of(2, 2),
						 place_of(2, 3) };
	struct fairlead_lane lane = lane_of("host");
	struct fairlead_place places[NODES] = { { 0 },
						bytes_of(&others[0]),
						bytes_of(&others[1]) };

	open_two_rails();
	places[0] = place_now();
	netns_run("ip link set eth1 down");
	assert_int_equal(apply(&lane, places), -ENODEV);
	assert_string_equal(world.error.text,
			    "the lane is on rail 0, and eth1 here cannot carry "
			    "it: it is down");
}

static void a_fifth_nic_is_left_out_and_said_to_be(void **state)
{
	char line[FAIRLEAD_SUMMARY_MAX + 1];
	struct fairlead_place place;
	struct ethernet_place decoded;

	for (int i = 2; i <= 5; i++)
		netns_run("ip link add eth%d type veth peer name p%d; "
			  "ip addr add 10.%d.0.1/16 dev eth%d; "
			  "ip link set p%d up; ip link set eth%d up",
			  i, i, 203 + i, i, i, i);
	node_world_open_bare();
	place = place_now();
	assert_int_equal(
		ethernet_place_decode(place.bytes, place.size, &decoded), 0);
	assert_int_equal(decoded.rail_count, 4);
	assert_int_equal(decoded.rails[3].address.bytes[1], 207);
	assert_int_equal(node_world_look(), 0);
	assert_int_equal(world.device_count, 4);
	assert_int_equal(world.object_count, 4);
	ethernet_node_ops.summarize(world.state, line);
	assert_non_null(strstr(line, "; lacks rails for eth5 (a node has at "
				     "most 4; name those NICs in devices)"));
	node_world_apply(9, "host");
	assert_true(netns_holds("ip link show fl%dr3", NODE_WORLD_VNI));
}

int main(void)
{
#define TEST(name)                                              \
	cmocka_unit_test_setup_teardown(name, node_world_setup, \
					node_world_teardown)
	const struct CMUnitTest tests[] = {
		TEST(a_node_without_a_nic_tells_a_place_without_rails),
		TEST(a_node_without_a_nic_has_nothing_of_the_lane),
		TEST(nodes_that_have_none_at_all_have_no_lane),
		TEST(a_node_without_rails_is_nobody_s_peer),
		TEST(a_nic_that_came_or_went_since_is_no_error),
		TEST(a_nic_that_goes_leaves_the_others_their_rails),
		TEST(a_rail_whose_port_somebody_has_is_left_out),
		TEST(the_others_use_the_rails_that_are_left_and_say_why),
		TEST(nodes_that_never_had_a_second_nic_are_no_loss),
		TEST(nodes_that_count_their_nics_otherwise_both_say_so),
		TEST(a_lane_on_a_rail_whose_nic_went_since_is_refused),
		TEST(a_fifth_nic_is_left_out_and_said_to_be),
	};

	return cmocka_run_group_tests(tests, node_world_group_setup, NULL);
}
