/* SPDX-License-Identifier: BSD-3-Clause */
/* cmocka wants the first ones first. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <arpa/inet.h>
#include <linux/rtnetlink.h>
#include <net/if.h>
#include <string.h>
#include <sys/socket.h>

#include "lanes/driver/test/netns.h"
#include "lanes/driver/test/shaper_world.h"

struct shaper_world world;

int world_group_setup(void **state)
{
	char lacking[256] = "";

	world.is_there = netns_enter();
	if (!world.is_there)
		return 0;
	netns_run("sysctl -qw net.ipv6.conf.default.disable_ipv6=1");
	netns_run("ip link set lo up");
	if (netlink_open(&world.netlink, NULL) < 0)
		return -1;
	if (shaper_probe(world.netlink, lacking) < 0)
		return -1;
	if (lacking[0]) {
		print_message("skipped: the kernel lacks %s\n", lacking);
		world.is_there = false;
	}
	return 0;
}

int world_group_teardown(void **state)
{
	netlink_close(world.netlink);
	return 0;
}

int world_setup(void **state)
{
	if (!world.is_there)
		skip();
	memset(&world.error, 0, sizeof(world.error));
	netns_run("ip link add nic0 type veth peer name peer0");
	netns_run("ip link set nic0 up && ip link set peer0 up");
	netns_run("ip addr add 10.77.0.1/24 dev nic0");
	netns_run("ip neigh add 10.77.0.2 lladdr 02:00:00:00:00:02 dev nic0");
	world.nic = (struct underlay){ .index = (int)if_nametoindex("nic0"),
				       .name = "nic0" };
	return 0;
}

int world_teardown(void **state)
{
	if (world.is_there)
		netns_holds("ip link del nic0");
	return 0;
}

void world_start(uint32_t mbit)
{
	assert_int_equal(
		shaper_start(world.netlink, &world.nic, mbit, &world.error), 0);
}

int world_add(uint16_t minor, uint32_t reserved_mbit, uint32_t max_mbit)
{
	struct shaper_class shaped = { .minor = minor,
				       .priority = ETHERNET_LOW_LATENCY,
				       .reserved_mbit = reserved_mbit,
				       .max_mbit = max_mbit };

	return shaper_add(world.netlink, &world.nic, &shaped, &world.error);
}

uint16_t world_choose(const uint16_t *taken, size_t count)
{
	uint16_t minor = 0;

	assert_int_equal(shaper_choose(world.netlink, &world.nic, taken, count,
				       &minor, &world.error),
			 0);
	return minor;
}

bool world_class(uint32_t minor, struct tc_item *ret_item)
{
	struct tc_list list = { 0 };
	bool is_found = false;

	assert_int_equal(tc_dump(world.netlink, RTM_GETTCLASS, &world.nic, 0,
				 &list, NULL),
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

void world_check_class(uint32_t minor, uint64_t mbit, uint64_t ceil_mbit)
{
	struct tc_item item;

	assert_true(world_class(minor, &item));
	assert_int_equal(item.rate, mbit * 125000);
	assert_int_equal(item.ceil, ceil_mbit * 125000);
}

uint64_t world_packets(uint32_t minor)
{
	struct tc_item item = { 0 };

	assert_true(world_class(minor, &item));
	return item.packets;
}

static void take(void *arg, const struct shaper_class *shaped)
{
	struct listing *listing = arg;

	assert_true(listing->count < CLASSES_MAX);
	listing->classes[listing->count++] = *shaped;
}

struct listing world_list(void)
{
	struct listing listing = { 0 };

	assert_int_equal(shaper_list(world.netlink, &world.nic, take, &listing,
				     &world.error),
			 0);
	return listing;
}

size_t world_lanes(void)
{
	return world_list().count;
}

void world_send(const char *address, const char *to, uint32_t priority,
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
