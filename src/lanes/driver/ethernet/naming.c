/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Names are cut so that none can clash: the VNI is whole in a device's name, in
 * its hardware address and in its IPv6 network. IPv4 is too small for 24 bits
 * of VNI, so there VNIs share networks, and a pool must not have two that do.
 *
 * IPv4 networks are numbered rail * lanes + VNI % lanes from the start of the
 * site's, where lanes is a quarter of what fits: a rail has a quarter each.
 */
#include "lanes/driver/ethernet/naming.h"

#include <assert.h>
#include <inttypes.h>
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

static void device_format(uint32_t vni, uint32_t rail, char device[IFNAMSIZ])
{
	if (rail == 0)
		snprintf(device, IFNAMSIZ, "fl%u", vni);
	else
		snprintf(device, IFNAMSIZ, "fl%ur%u", vni, rail);
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
	device_format(vni, rail, names.device);
	*ret_names = names;
}

static bool vni_is_valid(uint32_t vni)
{
	return vni > 0 && vni < ETHERNET_VNI_LIMIT;
}

/* What is not written again as it was is not ours. */
bool ethernet_device_parse(const char *device, uint32_t *ret_vni,
			   uint32_t *ret_rail)
{
	uint32_t vni, rail = 0;
	char again[IFNAMSIZ];

	if (sscanf(device, "fl%ur%u", &vni, &rail) < 1 || !vni_is_valid(vni) ||
	    rail >= ETHERNET_RAILS_MAX)
		return false;
	device_format(vni, rail, again);
	if (strcmp(device, again) != 0)
		return false;
	*ret_vni = vni;
	*ret_rail = rail;
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

static bool vnis_read(const char *text, struct ethernet_alias *alias)
{
	int size;

	while (alias->vni_count < ETHERNET_VNIS_MAX &&
	       sscanf(text, "%u%n", &alias->vnis[alias->vni_count], &size) ==
		       1) {
		if (!vni_is_valid(alias->vnis[alias->vni_count++]))
			return false;
		text += size + (text[size] == ',');
	}
	return alias->vni_count > 0;
}

bool ethernet_alias_parse(const char *text, struct ethernet_alias *ret_alias)
{
	struct ethernet_alias alias = { 0 };
	char again[ETHERNET_ALIAS_MAX];
	const char *job;
	int vnis = 0;

	if (sscanf(text,
		   "fairlead:grant=%" SCNu64 ":uid=%u:gid=%u:tcs=0x%hhx:"
		   "tc=%hhu:class=%hu:vnis=%n",
		   &alias.grant_id, &alias.uid, &alias.gid, &alias.classes,
		   &alias.first_class, &alias.htb_class, &vnis) < 6 ||
	    vnis == 0 || !vnis_read(text + vnis, &alias) ||
	    alias.first_class > 3 || !(alias.classes & 1u << alias.first_class))
		return false;
	/* It is the last field, since it may have a colon in it. */
	job = strstr(text + vnis, ":job=");
	if (job && ethernet_job_is_valid(job + 5))
		strcpy(alias.job, job + 5);
	ethernet_alias_format(&alias, again);
	if (strcmp(text, again) != 0)
		return false;
	*ret_alias = alias;
	return true;
}
