/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Names are cut so that none can clash: the VNI is whole in a device's name, in
 * its hardware address and in its IPv6 network. IPv4 has no room for 24 bits of
 * VNI, so there VNIs share networks, and a pool must not have two that do.
 *
 * IPv4 networks are numbered rail * lanes + VNI % lanes from the start of the
 * site's, where lanes is a quarter of what fits: a rail has a quarter each.
 */
#include "lanes/driver/ethernet/naming.h"

#include <assert.h>
#include <stdio.h>
#include <string.h>

#define CLASSES_ALL 0x0fu
#define JOB_CHARACTERS                                                         \
	"abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._:+=@" \
	"-"

const struct ethernet_networks ethernet_networks_default = {
	.ipv6 = { { 6, { 0xfd, 0x46, 0x4c } }, 32 },
	.ipv4 = { { 4, { 100, 64 } }, 10 },
	.ipv4_lane_size = 22,
	.port = ETHERNET_PORT,
};

uint32_t ethernet_ipv4_lanes(const struct ethernet_networks *networks)
{
	uint32_t bits;

	if (!networks->ipv4.address.family || networks->ipv4_lane_size > 30 ||
	    networks->ipv4_lane_size < networks->ipv4.prefix_size + 2)
		return 0;
	bits = networks->ipv4_lane_size - networks->ipv4.prefix_size;
	return UINT32_C(1) << (bits - 2);
}

uint32_t ethernet_ipv4_nodes(const struct ethernet_networks *networks)
{
	if (!ethernet_ipv4_lanes(networks))
		return 0;
	return (uint32_t)((UINT64_C(1) << (32 - networks->ipv4_lane_size)) - 2);
}

static struct ip_address ipv4_of(const struct ethernet_networks *networks,
				 uint32_t vni, uint32_t rail, uint32_t number)
{
	uint32_t lanes = ethernet_ipv4_lanes(networks);
	const uint8_t *start = networks->ipv4.address.bytes;
	uint32_t host;

	if (!lanes || number > ethernet_ipv4_nodes(networks))
		return (struct ip_address){ 0 };
	host = (uint32_t)start[0] << 24 | (uint32_t)start[1] << 16 |
	       (uint32_t)start[2] << 8 | start[3];
	host += ((rail * lanes + vni % lanes)
		 << (32 - networks->ipv4_lane_size)) +
		number;
	return (struct ip_address){
		.family = 4,
		.bytes = { (uint8_t)(host >> 24), (uint8_t)(host >> 16),
			   (uint8_t)(host >> 8), (uint8_t)host },
	};
}

static struct ip_address ipv6_of(const struct ethernet_networks *networks,
				 uint32_t vni, uint32_t rail, uint32_t number)
{
	struct ip_address address = networks->ipv6.address;

	address.family = 6;
	address.bytes[4] = (uint8_t)rail;
	address.bytes[5] = (uint8_t)(vni >> 16);
	address.bytes[6] = (uint8_t)(vni >> 8);
	address.bytes[7] = (uint8_t)vni;
	address.bytes[14] = (uint8_t)(number >> 8);
	address.bytes[15] = (uint8_t)number;
	return address;
}

uint16_t ethernet_port(uint16_t first, uint32_t rail)
{
	uint32_t port = first + rail;

	if (first < ETHERNET_PORT_ROCE && port >= ETHERNET_PORT_ROCE)
		port++;
	return (uint16_t)port;
}

uint32_t ethernet_rail(uint16_t first, uint16_t port)
{
	uint32_t rail = 0;

	while (rail < ETHERNET_RAILS_MAX && ethernet_port(first, rail) != port)
		rail++;
	return rail;
}

void ethernet_name(const struct ethernet_networks *networks, uint32_t vni,
		   uint32_t rail, uint32_t number,
		   struct ethernet_names *ret_names)
{
	struct ethernet_names names = {
		.mac = { 0x02, (uint8_t)(vni >> 16), (uint8_t)(vni >> 8),
			 (uint8_t)vni, (uint8_t)(number >> 8),
			 (uint8_t)number },
		.ipv6 = ipv6_of(networks, vni, rail, number),
		.ipv4 = ipv4_of(networks, vni, rail, number),
		.port = ethernet_port(networks->port, rail),
	};

	assert(vni > 0 && vni < ETHERNET_VNI_LIMIT);
	assert(rail < ETHERNET_RAILS_MAX);
	assert(number > 0 && number <= ETHERNET_NODES_MAX);
	if (names.ipv4.family)
		names.ipv4_prefix_size = networks->ipv4_lane_size;
	if (rail == 0)
		snprintf(names.device, sizeof(names.device), "fl%u", vni);
	else
		snprintf(names.device, sizeof(names.device), "fl%ur%u", vni,
			 rail);
	*ret_names = names;
}

/* Take a text that has to be there. */
static bool take(const char **text, const char *expected)
{
	size_t size = strlen(expected);

	if (strncmp(*text, expected, size) != 0)
		return false;
	*text += size;
	return true;
}

/* Take a decimal number as we write it: without a sign or leading zeros. */
static bool take_number(const char **text, uint64_t max, uint64_t *ret_number)
{
	const char *at = *text;
	uint64_t number = 0;

	if (*at < '0' || *at > '9' ||
	    (at[0] == '0' && at[1] >= '0' && at[1] <= '9'))
		return false;
	for (; *at >= '0' && *at <= '9'; at++) {
		uint64_t digit = (uint64_t)(*at - '0');

		if (digit > max || number > (max - digit) / 10)
			return false;
		number = number * 10 + digit;
	}
	*text = at;
	*ret_number = number;
	return true;
}

static bool take_vni(const char **text, uint32_t *ret_vni)
{
	uint64_t vni;

	if (!take_number(text, ETHERNET_VNI_LIMIT - 1, &vni) || vni == 0)
		return false;
	*ret_vni = (uint32_t)vni;
	return true;
}

bool ethernet_device_parse(const char *device, uint32_t *ret_vni,
			   uint32_t *ret_rail)
{
	uint64_t rail = 0;
	uint32_t vni;

	if (!take(&device, "fl") || !take_vni(&device, &vni))
		return false;
	if (take(&device, "r") &&
	    (!take_number(&device, ETHERNET_RAILS_MAX - 1, &rail) || rail == 0))
		return false;
	if (*device)
		return false;
	*ret_vni = vni;
	*ret_rail = (uint32_t)rail;
	return true;
}

bool ethernet_job_is_valid(const char *job)
{
	size_t size = strspn(job, JOB_CHARACTERS);

	return size > 0 && size <= FAIRLEAD_JOB_NAME_MAX && !job[size] &&
	       strcmp(job, ".") != 0 && strcmp(job, "..") != 0;
}

void ethernet_alias_format(const struct ethernet_alias *alias,
			   char text[ETHERNET_ALIAS_MAX])
{
	int size = snprintf(text, ETHERNET_ALIAS_MAX,
			    "fairlead:grant=%llu:uid=%u:gid=%u:tcs=0x%x:tc=%u:"
			    "class=%u:vnis=",
			    (unsigned long long)alias->grant_id, alias->uid,
			    alias->gid, alias->classes & CLASSES_ALL,
			    alias->first_class, alias->htb_class);

	for (uint32_t i = 0; i < alias->vni_count; i++)
		size += snprintf(text + size, ETHERNET_ALIAS_MAX - (size_t)size,
				 "%s%u", i ? "," : "", alias->vnis[i]);
	if (alias->job[0])
		size += snprintf(text + size, ETHERNET_ALIAS_MAX - (size_t)size,
				 ":job=%s", alias->job);
	assert(size < ETHERNET_ALIAS_MAX);
}

static bool take_classes(const char **text, struct ethernet_alias *alias)
{
	static const char digits[] = "0123456789abcdef";
	const char *digit;
	uint64_t first;

	if (!take(text, ":tcs=0x") || !**text)
		return false;
	digit = strchr(digits, **text);
	if (!digit || digit == digits)
		return false;
	alias->classes = (uint8_t)(digit - digits);
	(*text)++;
	if (!take(text, ":tc=") || !take_number(text, 3, &first))
		return false;
	alias->first_class = (uint8_t)first;
	return alias->classes & 1u << first;
}

static bool take_vnis(const char **text, struct ethernet_alias *alias)
{
	do {
		if (alias->vni_count == ETHERNET_VNIS_MAX ||
		    !take_vni(text, &alias->vnis[alias->vni_count]))
			return false;
		alias->vni_count++;
	} while (take(text, ","));
	return true;
}

/* It is the last field, since it may have a colon in it. */
static bool take_job(const char **text, struct ethernet_alias *alias)
{
	if (!**text)
		return true;
	if (!take(text, ":job=") || !ethernet_job_is_valid(*text))
		return false;
	strcpy(alias->job, *text);
	return true;
}

bool ethernet_alias_parse(const char *text, struct ethernet_alias *ret_alias)
{
	struct ethernet_alias alias = { 0 };
	uint64_t uid, gid, htb_class;

	if (!take(&text, "fairlead:grant=") ||
	    !take_number(&text, UINT64_MAX, &alias.grant_id) ||
	    !take(&text, ":uid=") || !take_number(&text, UINT32_MAX, &uid) ||
	    !take(&text, ":gid=") || !take_number(&text, UINT32_MAX, &gid) ||
	    !take_classes(&text, &alias) || !take(&text, ":class=") ||
	    !take_number(&text, UINT16_MAX, &htb_class) ||
	    !take(&text, ":vnis=") || !take_vnis(&text, &alias) ||
	    !take_job(&text, &alias))
		return false;
	alias.uid = (uint32_t)uid;
	alias.gid = (uint32_t)gid;
	alias.htb_class = (uint16_t)htb_class;
	*ret_alias = alias;
	return true;
}
