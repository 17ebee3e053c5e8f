/* SPDX-License-Identifier: BSD-3-Clause */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <arpa/inet.h>
#include <fcntl.h>
#include <string.h>
#include <sys/socket.h>

#include "lanes/driver/test/device_world.h"
#include "lanes/driver/test/netns.h"

static void count_peer(void *arg, int index, const struct ip_address *underlay)
{
	assert_int_equal(underlay->family, 4);
	++*(size_t *)arg;
}

static size_t peers_of(const struct lane_device *device)
{
	size_t count = 0;

	assert_int_equal(devices_peers(world.netlink, device->index, count_peer,
				       &count, &world.error),
			 0);
	return count;
}

static void count_peer_of(void *arg, int index,
			  const struct ip_address *underlay)
{
	const struct lane_device *device = arg;

	assert_int_equal(underlay->family, 4);
	assert_true(index == device[0].index || index == device[1].index);
	((struct lane_device *)arg)[index == device[1].index].mtu++;
}

static void peers_of_all_devices_say_whose_they_are(void **state)
{
	struct lane_device devices[2];

	if (!world.is_there)
		skip();
	for (int i = 0; i < 2; i++) {
		devices[i] = device_world_make(4242 + i);
		devices[i].mtu = 0;
	}
	assert_int_equal(devices_peers(world.netlink, 0, count_peer_of, devices,
				       &world.error),
			 0);
	for (int i = 0; i < 2; i++)
		assert_int_equal(devices[i].mtu, peers_of(&devices[i]));
}

static void a_device_is_listed_as_it_was_made(void **state)
{
	struct lane_device device;
	struct device_list listed;

	if (!world.is_there)
		skip();
	device = device_world_make(4242);
	listed = device_world_list();
	assert_int_equal(listed.count, 1);
	device_world_assert_same(&listed.devices[0], &device);
	assert_int_equal(peers_of(&device), 1);
	assert_int_equal(device_up(world.netlink, &device, &world.error), 0);
	device.is_up = true;
	listed = device_world_list();
	device_world_assert_same(&listed.devices[0], &device);
}

static void a_device_has_fixed_peers_only(void **state)
{
	if (!world.is_there)
		skip();
	device_world_make(4242);
	netns_run("ip -d link show fl4242 | tr '\\n' ' ' | grep -q "
		  "'NOARP.* group 17996 .*link/ether 02:00:10:92:00:01 "
		  ".*vxlan id 4242 local 10.9.0.1 dev u0 .*dstport 4789 "
		  "nolearning tos inherit ttl 1 .*udp6zerocsumrx "
		  ".*addrgenmode none.*alias fairlead:grant=9:'");
	netns_run("bridge fdb show dev fl4242 | grep -qx "
		  "'02:00:10:92:00:02 dst 10.9.0.2 self permanent *'");
	netns_run("ip neigh show dev fl4242 nud permanent | grep -q "
		  "'^100.66.72.2 lladdr 02:00:10:92:00:02 PERMANENT'");
	netns_run("ip neigh show dev fl4242 nud permanent | grep -q "
		  "'^fd46:4c00:0:1092::2 lladdr 02:00:10:92:00:02 PERMANENT'");
}

static void a_device_has_the_ttl_that_the_site_wants(void **state)
{
	struct lane_device device;

	if (!world.is_there)
		skip();
	device = device_world_device(4243, 0);
	device.ttl = 255;
	assert_int_equal(device_create(world.netlink, &device, NULL, 0,
				       &world.error),
			 0);
	netns_run("ip -d link show fl4243 | grep -q ' ttl 255 '");
}

static void a_device_that_is_up_has_no_link_local_address(void **state)
{
	struct lane_device device;

	if (!world.is_there)
		skip();
	device = device_world_make(4242);
	assert_int_equal(device_up(world.netlink, &device, &world.error), 0);
	assert_false(netns_holds("ip addr show dev fl4242 | grep fe80"));
	netns_run("ip -6 addr show dev fl4242 | grep -q "
		  "'fd46:4c00:0:1092::1/64 scope global'");
	assert_false(netns_holds("ip addr show dev fl4242 | grep tentative"));
}

static void devices_work_over_ipv6(void **state)
{
	struct lane_device device;
	struct device_list listed;

	if (!world.is_there)
		skip();
	device = device_world_device(4242, 0);
	device.underlay = device_world_address("fd00:9::1");
	device.mtu = 1430;
	device_world_peers(4242, 0, 1);
	world.peers[0].underlay = device_world_address("fd00:9::2");
	assert_int_equal(device_create(world.netlink, &device, world.peers, 1,
				       &world.error),
			 0);
	assert_int_equal(device_up(world.netlink, &device, &world.error), 0);
	device.is_up = true;
	listed = device_world_list();
	device_world_assert_same(&listed.devices[0], &device);
	netns_run("bridge fdb show dev fl4242 | grep -q 'dst fd00:9::2 self'");
}

static void all_of_many_peers_are_there(void **state)
{
	struct lane_device device;

	if (!world.is_there)
		skip();
	device = device_world_device(4242, 0);
	device_world_peers(4242, 0, DEVICE_WORLD_PEERS);
	assert_int_equal(device_create(world.netlink, &device, world.peers,
				       DEVICE_WORLD_PEERS, &world.error),
			 0);
	/* Another one's are not taken for them. */
	device_world_make(4243);
	assert_int_equal(peers_of(&device), DEVICE_WORLD_PEERS);
	netns_run("test $(ip -4 neigh show dev fl4242 nud permanent | wc -l) = "
		  "%d",
		  DEVICE_WORLD_PEERS);
	netns_run("test $(ip -6 neigh show dev fl4242 nud permanent | wc -l) = "
		  "%d",
		  DEVICE_WORLD_PEERS);
}

static void dressing_again_changes_nothing(void **state)
{
	struct lane_device device;
	struct lane_device again;
	struct device_list listed;

	if (!world.is_there)
		skip();
	device = device_world_make(4242);
	again = device;
	again.index = 0;
	assert_int_equal(device_dress(world.netlink, &again, world.peers, 1,
				      &world.error),
			 0);
	assert_int_equal(again.index, device.index);
	listed = device_world_list();
	device_world_assert_same(&listed.devices[0], &device);
	assert_int_equal(peers_of(&device), 1);
}

static void a_device_can_be_dressed_in_another_namespace(void **state)
{
	struct netlink *outside;
	struct lane_device device;
	struct device_list listed;
	int own = open("/proc/self/ns/net", O_RDONLY | O_CLOEXEC);

	if (!world.is_there)
		skip();
	device = device_world_make(4242);
	outside = world.netlink;
	assert_int_equal(unshare(CLONE_NEWNET), 0);
	assert_int_equal(netlink_open(&world.netlink, &world.error), 0);
	netns_run("nsenter --net=/proc/%d/fd/%d ip link set fl4242 netns %d",
		  getpid(), own, getpid());
	assert_int_equal(device_dress(world.netlink, &device, world.peers, 1,
				      &world.error),
			 0);
	assert_int_equal(device_up(world.netlink, &device, &world.error), 0);
	device.is_up = true;
	listed = device_world_list();
	assert_int_equal(listed.count, 1);
	device_world_assert_same(&listed.devices[0], &device);
	assert_int_equal(peers_of(&device), 1);
	assert_false(netns_holds("ip addr show dev fl4242 | grep fe80"));
	netns_run("test $(ip neigh show dev fl4242 nud permanent | wc -l) = 2");
	netlink_close(world.netlink);
	world.netlink = outside;
	assert_int_equal(setns(own, CLONE_NEWNET), 0);
	close(own);
}

static void nobody_dresses_what_is_not_there(void **state)
{
	struct lane_device device;

	if (!world.is_there)
		skip();
	device = device_world_device(4242, 0);
	assert_int_equal(device_dress(world.netlink, &device, NULL, 0,
				      &world.error),
			 -ENODEV);
	assert_string_equal(world.error.text,
			    "fl4242: cannot look at it: No such device");
}

static void a_device_without_an_alias_is_ours_by_group_and_name(void **state)
{
	struct device_list listed;

	if (!world.is_there)
		skip();
	/* What a crash leaves between creation and alias. */
	netns_run("ip link add fl77r1 group 17996 type vxlan id 77 dev u0 "
		  "dstport 4790");
	listed = device_world_list();
	assert_int_equal(listed.count, 1);
	assert_true(listed.devices[0].is_ours);
	assert_int_equal(listed.devices[0].vni, 77);
	assert_int_equal(listed.devices[0].alias.grant_id, 0);
}

static void a_device_is_ours_by_its_alias_whatever_its_name_and_group(
	void **state)
{
	struct device_list listed;

	if (!world.is_there)
		skip();
	netns_run(
		"ip link add my78 type vxlan id 78 dev u0 dstport 4789 && "
		"ip link set my78 alias "
		"fairlead:grant=9:uid=1:gid=1:tcs=0xa:tc=1:class=0:vnis=77,78");
	listed = device_world_list();
	assert_int_equal(listed.count, 1);
	assert_true(listed.devices[0].is_ours);
	assert_int_equal(listed.devices[0].alias.grant_id, 9);
}

static void what_is_not_ours_is_listed_as_such(void **state)
{
	struct device_list listed;

	if (!world.is_there)
		skip();
	netns_run("ip link add fl78 type vxlan id 78 dev u0 dstport 4789 && "
		  "ip link add my79 group 17996 type vxlan id 79 dev u0 "
		  "dstport 4789 && "
		  "ip link add fl80 group 17996 type vxlan id 81 dev u0 "
		  "dstport 4789 && "
		  "ip link set fl78 alias "
		  "fairlead:grant=9:uid=1:gid=1:tcs=0xa:tc=1:class=0:vnis=79 "
		  "&& ip link set u1 group 17996");
	listed = device_world_list();
	assert_int_equal(listed.count, 3);
	for (size_t i = 0; i < listed.count; i++) {
		assert_false(listed.devices[i].is_ours);
		assert_int_equal(listed.devices[i].alias.grant_id, 0);
		assert_int_equal(listed.devices[i].port, 4789);
	}
	assert_int_equal(listed.devices[2].vni, 81);
}

static void devices_are_deleted_together(void **state)
{
	struct lane_device devices[5];
	bool is_left[5];

	if (!world.is_there)
		skip();
	for (uint32_t i = 0; i < 5; i++)
		devices[i] = device_world_make(4242 + i);
	assert_int_equal(devices_delete(world.netlink, devices, 4, is_left,
					&world.error),
			 0);
	for (int i = 0; i < 4; i++)
		assert_false(is_left[i]);
	assert_int_equal(device_world_list().count, 1);
	/* Once more, and among one that is there. */
	assert_int_equal(devices_delete(world.netlink, devices, 5, is_left,
					&world.error),
			 0);
	assert_int_equal(device_world_list().count, 0);
	assert_int_equal(devices_delete(world.netlink, devices, 1, is_left,
					&world.error),
			 0);
	assert_int_equal(devices_delete(world.netlink, devices, 0, is_left,
					&world.error),
			 0);
}

static void anothers_in_the_same_place_is_not_deleted(void **state)
{
	struct lane_device devices[3];
	bool is_left[3] = { true, true, true };

	if (!world.is_there)
		skip();
	for (uint32_t i = 0; i < 3; i++)
		devices[i] = device_world_make(4242 + i);
	devices[0].vni = 7;
	strcpy(devices[1].name, "fl7");
	devices[2].index = (int)if_nametoindex("u1");
	assert_int_equal(devices_delete(world.netlink, devices, 3, is_left,
					&world.error),
			 0);
	assert_false(is_left[0]);
	assert_int_equal(device_world_list().count, 3);
	netns_run("ip link show u1 >/dev/null");
}

static void a_deletion_that_was_interrupted_is_gone_on_with(void **state)
{
	struct lane_device devices[3];
	struct device_list listed;
	bool is_left[3];

	if (!world.is_there)
		skip();
	for (uint32_t i = 0; i < 3; i++)
		devices[i] = device_world_make(4242 + i);
	netns_run("ip link set fl4244 group %d", ETHERNET_LINK_GROUP_ENDING);
	listed = device_world_list();
	assert_int_equal(listed.count, 3);
	assert_true(listed.devices[2].is_ours);
	assert_int_equal(listed.devices[2].alias.grant_id, 9);
	assert_int_equal(devices_delete(world.netlink, devices, 2, is_left,
					&world.error),
			 0);
	assert_int_equal(device_world_list().count, 0);
}

static void a_foreign_device_in_the_group_is_not_deleted(void **state)
{
	struct lane_device devices[2];
	bool is_left[2];

	if (!world.is_there)
		skip();
	devices[0] = device_world_make(4242);
	devices[1] = device_world_make(4243);
	netns_run("ip link set u1 group %d", ETHERNET_LINK_GROUP_ENDING);
	assert_int_equal(devices_delete(world.netlink, devices, 2, is_left,
					&world.error),
			 0);
	assert_int_equal(device_world_list().count, 0);
	netns_run("ip link show u1 >/dev/null");
}

static void a_lane_in_use_that_somebody_put_into_the_group_stays(void **state)
{
	struct lane_device devices[3];
	bool is_left[2];

	if (!world.is_there)
		skip();
	for (uint32_t i = 0; i < 3; i++)
		devices[i] = device_world_make(4242 + i);
	netns_run("ip link set fl4244 up group %d", ETHERNET_LINK_GROUP_ENDING);
	assert_int_equal(devices_delete(world.netlink, devices, 2, is_left,
					&world.error),
			 0);
	assert_int_equal(device_world_list().count, 1);
	assert_string_equal(device_world_list().devices[0].name, "fl4244");
}

static void devices_go_with_their_underlay(void **state)
{
	struct lane_device devices[2];
	bool is_left[2] = { true, true };

	if (!world.is_there)
		skip();
	devices[0] = device_world_make(4242);
	devices[1] = device_world_make(4243);
	netns_run("ip link del u0");
	assert_int_equal(device_world_list().count, 0);
	assert_int_equal(devices_delete(world.netlink, devices, 2, is_left,
					&world.error),
			 0);
	assert_false(is_left[0] || is_left[1]);
}

static socklen_t to_socket(const struct ip_address *address, in_port_t port,
			   struct sockaddr_storage *ret_address)
{
	struct sockaddr_in *ipv4 = (struct sockaddr_in *)ret_address;
	struct sockaddr_in6 *ipv6 = (struct sockaddr_in6 *)ret_address;

	memset(ret_address, 0, sizeof(*ret_address));
	if (address->family == 4) {
		ipv4->sin_family = AF_INET;
		ipv4->sin_port = port;
		memcpy(&ipv4->sin_addr, address->bytes, 4);
		return sizeof(*ipv4);
	}
	ipv6->sin6_family = AF_INET6;
	ipv6->sin6_port = port;
	memcpy(&ipv6->sin6_addr, address->bytes, 16);
	return sizeof(*ipv6);
}

static int bound_to(const struct ip_address *address, in_port_t port)
{
	struct sockaddr_storage own;
	socklen_t size = to_socket(address, port, &own);
	int fd = socket(own.ss_family, SOCK_DGRAM | SOCK_CLOEXEC, 0);

	assert_int_equal(bind(fd, (struct sockaddr *)&own, size), 0);
	return fd;
}

static void send_until_there(int sender, int receiver,
			     const struct ip_address *address, in_port_t port)
{
	struct sockaddr_storage target;
	socklen_t size = to_socket(address, port, &target);
	char byte = 0;

	/* The veth pair needs a moment until it takes packets. */
	while (recv(receiver, &byte, 1, MSG_DONTWAIT) != 1) {
		assert_int_equal(sendto(sender, "!", 1, 0,
					(struct sockaddr *)&target, size),
				 1);
		sched_yield();
	}
	assert_int_equal(byte, '!');
	close(sender);
	close(receiver);
}

/* The other node, number 2, in this thread's namespace. */
static struct lane_device make_other(uint32_t vni)
{
	struct lane_device device = device_world_device(vni, 0);
	struct ethernet_names own;
	struct lane_peer peer;

	device_world_peers(vni, 0, 1);
	ethernet_name(&ethernet_networks_default, vni, 0, 1, &own);
	memcpy(device.mac, world.peers[0].mac, sizeof(device.mac));
	device.ipv4 = world.peers[0].ipv4;
	device.ipv6 = world.peers[0].ipv6;
	device.underlay = device_world_address("10.9.0.2");
	device.underlay_index = (int)if_nametoindex("u1");
	peer = (struct lane_peer){ .underlay = device_world_address("10.9.0.1"),
				   .ipv4 = own.ipv4,
				   .ipv6 = own.ipv6 };
	memcpy(peer.mac, own.mac, sizeof(peer.mac));
	if (device_create(world.netlink, &device, &peer, 1, &world.error) != 0)
		fail_msg("%s", world.error.text);
	assert_int_equal(device_up(world.netlink, &device, &world.error), 0);
	return device;
}

static void a_lane_carries_packets_of_both_families(void **state)
{
	const in_port_t port = htons(4242);
	struct netlink *outside = world.netlink;
	struct lane_device device;
	struct lane_device other;
	int own = open("/proc/self/ns/net", O_RDONLY | O_CLOEXEC);
	int senders[2];

	if (!world.is_there)
		skip();
	device = device_world_make(4242);
	assert_int_equal(device_up(world.netlink, &device, &world.error), 0);
	senders[0] = bound_to(&device.ipv4, port);
	senders[1] = bound_to(&device.ipv6, port);
	assert_int_equal(unshare(CLONE_NEWNET), 0);
	netns_run("nsenter --net=/proc/%d/fd/%d ip link set u1 netns %d && "
		  "ip addr add 10.9.0.2/16 dev u1 && ip link set u1 up",
		  getpid(), own, getpid());
	assert_int_equal(netlink_open(&world.netlink, &world.error), 0);
	other = make_other(4242);
	send_until_there(senders[0], bound_to(&other.ipv4, port), &other.ipv4,
			 port);
	send_until_there(senders[1], bound_to(&other.ipv6, port), &other.ipv6,
			 port);
	netlink_close(world.netlink);
	world.netlink = outside;
	/* A namespace that is gone takes it along, and its other end, sometime. */
	netns_run("ip link set u1 netns /proc/%d/fd/%d", getpid(), own);
	assert_int_equal(setns(own, CLONE_NEWNET), 0);
	close(own);
}

#define one(name)                                                 \
	cmocka_unit_test_setup_teardown(name, device_world_setup, \
					device_world_teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		one(a_device_is_listed_as_it_was_made),
		one(peers_of_all_devices_say_whose_they_are),
		one(a_device_has_fixed_peers_only),
		one(a_device_has_the_ttl_that_the_site_wants),
		one(a_device_that_is_up_has_no_link_local_address),
		one(devices_work_over_ipv6),
		one(all_of_many_peers_are_there),
		one(dressing_again_changes_nothing),
		one(a_device_can_be_dressed_in_another_namespace),
		one(nobody_dresses_what_is_not_there),
		one(a_device_without_an_alias_is_ours_by_group_and_name),
		one(a_device_is_ours_by_its_alias_whatever_its_name_and_group),
		one(what_is_not_ours_is_listed_as_such),
		one(devices_are_deleted_together),
		one(anothers_in_the_same_place_is_not_deleted),
		one(a_deletion_that_was_interrupted_is_gone_on_with),
		one(a_foreign_device_in_the_group_is_not_deleted),
		one(a_lane_in_use_that_somebody_put_into_the_group_stays),
		one(devices_go_with_their_underlay),
		one(a_lane_carries_packets_of_both_families),
	};

	return cmocka_run_group_tests(tests, device_world_group_setup, NULL);
}
