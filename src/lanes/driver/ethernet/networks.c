/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The site's networks and what a class is on the wire, as the settings say them.
 * A network that the whole machine needs for something else is refused here;
 * what only one node uses is found by that node.
 */
#include <string.h>

#include "lanes/driver/ethernet/policy.h"

/* A rail has at least two networks, so that they alternate. */
#define CUT_BITS_MIN 3

const uint8_t ethernet_dscp_default[ETHERNET_CLASS_COUNT] = {
	[ETHERNET_DEDICATED_ACCESS] = 46,
	[ETHERNET_LOW_LATENCY] = 32,
	[ETHERNET_BULK_DATA] = 8,
};

static const struct {
	struct ip_network network;
	const char *use;
} taken_ipv4[] = {
	{ { { 4, { 0 } }, 8 }, "0.0.0.0/8, which no host can have" },
	{ { { 4, { 127 } }, 8 }, "127.0.0.0/8, which is loopback" },
	{ { { 4, { 169, 254 } }, 16 }, "169.254.0.0/16, which is link-local" },
	{ { { 4, { 224 } }, 3 },
	  "224.0.0.0/3, which is multicast and reserved" },
};

static const struct ip_network unique_local = { { 6, { 0xfc } }, 7 };

static void read_ipv6(struct ethernet_networks *networks,
		      struct settings *settings)
{
	const struct fairlead_setting *setting =
		settings_find(settings, "ipv6_network");
	struct ip_network network;
	struct fairlead_error error;

	if (!setting)
		return;
	if (ip_network_parse(setting->value, &network, &error) < 0)
		settings_fail(settings, setting, "%s", error.text);
	else if (network.prefix_size != 32 ||
		 !ip_network_has(&unique_local, &network.address))
		settings_fail(settings, setting,
			      "'%s' is no /32 within fc00::/7", setting->value);
	else
		networks->ipv6 = network;
}

/* What is to blame is a setting that is there, the network's if both are. */
static bool is_cut(const struct ethernet_networks *networks,
		   struct settings *settings)
{
	const struct fairlead_setting *setting =
		settings_find(settings, "ipv4_network");

	if (networks->ipv4_lane_size >=
	    networks->ipv4.prefix_size + CUT_BITS_MIN)
		return true;
	if (!setting)
		setting = settings_find(settings, "ipv4_lane_size");
	settings_fail(settings, setting,
		      "a /%u has no room for two lanes of /%u on %d rails; "
		      "ipv4_lane_size is at least the prefix of ipv4_network "
		      "and %d",
		      networks->ipv4.prefix_size, networks->ipv4_lane_size,
		      ETHERNET_RAILS_MAX, CUT_BITS_MIN);
	return false;
}

static int parse_ipv4(const char *text, struct ip_network *ret_network,
		      struct fairlead_error *ret_error)
{
	struct ip_network network = { 0 };
	int result = 0;

	if (strcmp(text, "none") != 0)
		result = ip_network_parse(text, &network, ret_error);
	if (result < 0)
		return result;
	if (network.address.family == 6)
		return error_set(ret_error, -EINVAL, "'%s' is not IPv4", text);
	for (size_t i = 0; i < sizeof(taken_ipv4) / sizeof(taken_ipv4[0]); i++)
		if (ip_network_meets(&network, &taken_ipv4[i].network))
			return error_set(ret_error, -EINVAL, "'%s' meets %s",
					 text, taken_ipv4[i].use);
	*ret_network = network;
	return 0;
}

static void read_ipv4(struct ethernet_networks *networks,
		      struct settings *settings)
{
	const struct fairlead_setting *setting =
		settings_find(settings, "ipv4_network");
	struct ethernet_networks cut = *networks;
	struct fairlead_error error;
	uint32_t lane_size = 0;

	if (!settings_find(settings, "ipv4_lane_size"))
		lane_size = networks->ipv4_lane_size;
	settings_number(settings, "ipv4_lane_size", 8, 30, &lane_size);
	if (setting && parse_ipv4(setting->value, &cut.ipv4, &error) < 0) {
		settings_fail(settings, setting, "%s", error.text);
		return;
	}
	if (!lane_size)
		return; /* it is wrong, and has been said to be */
	cut.ipv4_lane_size = (uint8_t)lane_size;
	if (cut.ipv4.address.family && !is_cut(&cut, settings))
		return;
	networks->ipv4 = cut.ipv4;
	networks->ipv4_lane_size = cut.ipv4_lane_size;
}

void ethernet_networks_read(struct ethernet_networks *networks,
			    struct settings *settings)
{
	uint32_t port = networks->port;

	read_ipv6(networks, settings);
	read_ipv4(networks, settings);
	settings_number(settings, "port", ETHERNET_PORT_MIN, ETHERNET_PORT_MAX,
			&port);
	if (port == ETHERNET_PORT_ROCE)
		settings_fail(settings, settings_find(settings, "port"),
			      "%u is RoCEv2's", port);
	else
		networks->port = (uint16_t)port;
}

void ethernet_dscp_read(uint8_t dscp[ETHERNET_CLASS_COUNT],
			struct settings *settings)
{
	static const char *const names[ETHERNET_CLASS_COUNT] = {
		[ETHERNET_DEDICATED_ACCESS] = "dscp_dedicated_access",
		[ETHERNET_LOW_LATENCY] = "dscp_low_latency",
		[ETHERNET_BULK_DATA] = "dscp_bulk_data",
		[ETHERNET_BEST_EFFORT] = "dscp_best_effort",
	};

	for (size_t i = 0; i < ETHERNET_CLASS_COUNT; i++) {
		uint32_t value = dscp[i];

		settings_number(settings, names[i], 0, ETHERNET_DSCP_MAX,
				&value);
		dscp[i] = (uint8_t)value;
	}
}
