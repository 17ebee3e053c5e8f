/* SPDX-License-Identifier: BSD-3-Clause */
#include "lanes/driver/test/device_world.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <string.h>

#include "lanes/driver/test/netns.h"

struct device_world world;

struct ip_address device_world_address(const char *text)
{
	struct ip_address address;

	assert_true(ip_address_parse(text, &address));
	return address;
}

struct lane_device device_world_device(uint32_t vni, uint32_t rail)
{
	struct lane_device device = {
		.vni = vni,
		.rail = rail,
		.mtu = 1450,
		.is_ours = true,
		.underlay_index = (int)if_nametoindex("u0"),
		.underlay = device_world_address("10.9.0.1"),
		.alias = { .grant_id = 9,
			   .uid = 20001,
			   .gid = 20001,
			   .classes = 0xa,
			   .first_class = 1,
			   .htb_class = 17,
			   .vni_count = 1,
			   .vnis = { vni } },
	};
	struct ethernet_names names;

	ethernet_name(&ethernet_networks_default, vni, rail, 1, &names);
	memcpy(device.name, names.device, sizeof(device.name));
	memcpy(device.mac, names.mac, sizeof(device.mac));
	device.ipv4 = names.ipv4;
	device.ipv4_prefix_size = names.ipv4_prefix_size;
	device.ipv6 = names.ipv6;
	device.port = names.port;
	return device;
}

void device_world_peers(uint32_t vni, uint32_t rail, size_t count)
{
	for (uint32_t i = 0; i < count; i++) {
		struct ethernet_names names;

		ethernet_name(&ethernet_networks_default, vni, rail, i + 2,
			      &names);
		memcpy(world.peers[i].mac, names.mac,
		       sizeof(world.peers[i].mac));
		world.peers[i].ipv4 = names.ipv4;
		world.peers[i].ipv6 = names.ipv6;
		world.peers[i].underlay = (struct ip_address){
			4, { 10, 9, (uint8_t)((i + 2) >> 8), (uint8_t)(i + 2) }
		};
	}
}

struct lane_device device_world_make(uint32_t vni)
{
	struct lane_device device = device_world_device(vni, 0);

	device_world_peers(vni, 0, 1);
	if (device_create(world.netlink, &device, world.peers, 1,
			  &world.error) != 0)
		fail_msg("%s", world.error.text);
	assert_int_not_equal(device.index, 0);
	return device;
}

void device_world_take(void *arg, const struct lane_device *device)
{
	struct device_list *listed = arg;

	assert_in_range(listed->count, 0, 63);
	listed->devices[listed->count++] = *device;
}

struct device_list device_world_list(void)
{
	struct device_list listed = { 0 };

	assert_int_equal(devices_list(world.netlink, &ethernet_networks_default,
				      device_world_take, &listed, &world.error),
			 0);
	return listed;
}

int device_world_group_setup(void **state)
{
	world.is_there = netns_enter();
	return 0;
}

int device_world_setup(void **state)
{
	memset(&world.error, 0, sizeof(world.error));
	if (!world.is_there)
		return 0;
	netns_run("ip link add u0 type veth peer name u1 && "
		  "ip addr add 10.9.0.1/16 dev u0 && "
		  "ip addr add fd00:9::1/64 dev u0 nodad && "
		  "ip link set u0 up && ip link set u1 up && "
		  "ip link set lo up");
	return netlink_open(&world.netlink, NULL);
}

int device_world_teardown(void **state)
{
	if (!world.is_there)
		return 0;
	netlink_close(world.netlink);
	world.netlink = NULL;
	/* Devices on it go, too. */
	if (netns_holds("ip link show u0"))
		netns_run("ip link del u0");
	return 0;
}

static void assert_same_address(const struct ip_address *a,
				const struct ip_address *b)
{
	assert_int_equal(a->family, b->family);
	assert_memory_equal(a->bytes, b->bytes, sizeof(a->bytes));
}

void device_world_assert_same(const struct lane_device *a,
			      const struct lane_device *b)
{
	char aliases[2][ETHERNET_ALIAS_MAX];

	assert_int_equal(a->index, b->index);
	assert_string_equal(a->name, b->name);
	assert_int_equal(a->is_ours, b->is_ours);
	assert_int_equal(a->is_up, b->is_up);
	assert_int_equal(a->vni, b->vni);
	assert_int_equal(a->port, b->port);
	assert_int_equal(a->mtu, b->mtu);
	assert_memory_equal(a->mac, b->mac, sizeof(a->mac));
	assert_int_equal(a->underlay_index, b->underlay_index);
	assert_same_address(&a->underlay, &b->underlay);
	assert_same_address(&a->ipv4, &b->ipv4);
	assert_int_equal(a->ipv4_prefix_size, b->ipv4_prefix_size);
	assert_same_address(&a->ipv6, &b->ipv6);
	ethernet_alias_format(&a->alias, aliases[0]);
	ethernet_alias_format(&b->alias, aliases[1]);
	assert_string_equal(aliases[0], aliases[1]);
}
