/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Two rails of unequal speed, on devices. By the first argument:
 *	speed  the kernel says that one has three times the speed of the other
 *	load   it says that both have the same, but one is held up
 * What counts is how many bytes went by which.
 */
#include <fcntl.h>
#include <linux/ethtool.h>
#include <linux/if.h>
#include <linux/if_tun.h>
#include <linux/sockios.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include "link/test/cables.h"

#define SPEED    30000     /* Mbit/s; a veth says 10000 */
#define PIECES   (1 << 20) /* four pieces, which go at once */
#define MESSAGES 12
#define LARGE    (32 << 20) /* far more than a rail has under way */

static uint8_t out[LARGE], in[LARGE];

/* --- devices --- */

static bool ask_device(const char *name, struct ethtool_cmd *command)
{
	struct ifreq request = { .ifr_data = (char *)command };
	int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	bool is_well;

	snprintf(request.ifr_name, sizeof(request.ifr_name), "%s", name);
	is_well = fd >= 0 && ioctl(fd, SIOCETHTOOL, &request) == 0;
	close(fd);
	return is_well;
}

static uint32_t speed_of(const char *name)
{
	struct ethtool_cmd command = { .cmd = ETHTOOL_GSET };

	return ask_device(name, &command) ? ethtool_cmd_speed(&command) : 0;
}

/* A device whose speed can be set. It is there until the process ends. */
static bool tap_make(const char *name, uint32_t speed)
{
	struct ifreq request = { .ifr_flags = IFF_TAP | IFF_NO_PI };
	struct ethtool_cmd command = { .cmd = ETHTOOL_GSET };
	int fd = open("/dev/net/tun", O_RDWR | O_CLOEXEC);

	snprintf(request.ifr_name, sizeof(request.ifr_name), "%s", name);
	if (fd < 0 || ioctl(fd, TUNSETIFF, &request) != 0 ||
	    !ask_device(name, &command))
		return false;
	command.cmd = ETHTOOL_SSET;
	ethtool_cmd_speed_set(&command, speed);
	return ask_device(name, &command);
}

/* A bridge is as fast as the fastest device in it. */
static bool speeds_differ(struct pair *pair)
{
	bool is_well =
		cables_make(pair, 2) && tap_make("t0", SPEED) &&
		shell("ip link add b0 type bridge && ip addr flush dev e0 && "
		      "ip link set e0 master b0 && ip link set t0 master b0 && "
		      "ip link set t0 up && ip addr add 10.9.0.%d/24 dev b0 && "
		      "ip link set b0 up",
		      pair->is_first ? 1 : 2);

	/* Ports are in when the kernel has seen their carrier. */
	while (is_well && !shell("ip link show b0 | grep -q 'state UP'"))
		;
	pair_meet(pair);
	return is_well && speed_of("b0") == SPEED && speed_of("e1") == 10000;
}

static bool one_is_held_up(struct pair *pair)
{
	return cables_make(pair, 2) && speed_of("e0") == speed_of("e1") &&
	       shell("tc qdisc add dev e1 root tbf rate 16mbit burst 64kb "
		     "limit 1mb");
}

/* --- messages --- */

static void one_goes(struct pair *pair, size_t size, unsigned int seed)
{
	if (pair->is_first) {
		pair_fill(out, size, seed);
		pair_retry(pair, fi_tsend(pair->ep, out, size, NULL, pair->peer,
					  seed, NULL));
		pair_wait(pair, pair->send_cq, NULL);
	} else {
		pair_do(fi_trecv(pair->ep, in, size, NULL, pair->peer, seed, 0,
				 NULL));
		pair_check(pair_wait(pair, pair->receive_cq, NULL).len == size);
		pair_check(pair_is_filled(in, size, seed));
	}
	pair_meet(pair);
}

/* By the first cable, and by the second. Connections are there before. */
static void many_go(struct pair *pair, unsigned int count, size_t size,
		    uint64_t ret_bytes[2])
{
	one_goes(pair, PIECES, 0);
	for (int i = 0; i < 2; i++)
		ret_bytes[i] = cable_bytes(i);
	for (unsigned int i = 1; i <= count; i++)
		one_goes(pair, size, i);
	for (int i = 0; i < 2; i++)
		ret_bytes[i] = cable_bytes(i) - ret_bytes[i];
	if (pair->is_first)
		printf("  %llu and %llu bytes\n",
		       (unsigned long long)ret_bytes[0],
		       (unsigned long long)ret_bytes[1]);
	pair_check(!pair->is_first ||
		   ret_bytes[0] + ret_bytes[1] >= count * size);
}

/* Three pieces of four, each time. */
static void a_slow_rail_has_its_part_by_what_the_kernel_says(struct pair *pair)
{
	uint64_t went[2];

	many_go(pair, MESSAGES, PIECES, went);
	pair_check(!pair->is_first ||
		   (went[1] < went[0] / 2 && went[1] >= MESSAGES * PIECES / 5));
}

/* It gets no more before it is done with what it has. */
static void a_slow_rail_has_its_part_by_what_it_does(struct pair *pair)
{
	uint64_t went[2];

	many_go(pair, 1, LARGE, went);
	pair_check(!pair->is_first ||
		   (went[1] < went[0] / 2 && went[1] >= PIECES));
}

int main(int argc, char **argv)
{
	static const struct pair_case by_speed[] = {
		pair_case(a_slow_rail_has_its_part_by_what_the_kernel_says),
	};
	static const struct pair_case by_load[] = {
		pair_case(a_slow_rail_has_its_part_by_what_it_does),
	};
	bool is_speed = argc == 2 && strcmp(argv[1], "speed") == 0;
	const struct pair_setting setting = {
		.caps = FI_MSG | FI_TAGGED | FI_DIRECTED_RECV | FI_SOURCE,
		.prepare = is_speed ? speeds_differ : one_is_held_up,
	};

	/* What other tests say of the interface is not true here. */
	unsetenv("FI_TCP_IFACE");
	unsetenv("FI_NET_IFACE");
	return pair_run(&setting, is_speed ? by_speed : by_load, 1);
}
