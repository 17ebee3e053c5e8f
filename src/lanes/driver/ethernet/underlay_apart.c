/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The kernel answers ARP for all of its addresses at all NICs, so that peers
 * send to one of two NICs in a network what is for the other, where the rules
 * refuse it. IPv6 answers for the NIC's own. Settings count for a NIC as the
 * greater of its own and that of all.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/cleanup.h"
#include "lanes/driver/ethernet/links.h"
#include "lanes/driver/ethernet/underlay.h"

/* -1: it cannot be known. */
static int read_setting(const char *nic, const char *name)
{
	char path[64 + IFNAMSIZ];
	_auto_(fclosep) FILE *file = NULL;
	int value = -1;

	snprintf(path, sizeof(path), "/proc/sys/net/ipv4/conf/%s/%s", nic,
		 name);
	file = fopen(path, "re");
	if (!file || fscanf(file, "%d", &value) != 1)
		return -1;
	return value;
}

static int setting_of(const struct underlay *nic, const char *name)
{
	int all = read_setting("all", name);
	int own = read_setting(nic->name, name);

	return all > own ? all : own;
}

static uint8_t prefix_of(const struct link_address_list *own,
			 const struct underlay *nic)
{
	for (size_t i = 0; i < own->count; i++) {
		const struct ethernet_link_address *address =
			&own->addresses[i];

		if (address->index == nic->index &&
		    ip_address_equal(&address->address, &nic->address))
			return address->prefix_size;
	}
	return 32;
}

static int check_pair(const struct link_address_list *own,
		      const struct underlay *a, const struct underlay *b,
		      struct fairlead_error *ret_error)
{
	struct ip_network of_a = ip_network_of(&a->address, prefix_of(own, a));
	struct ip_network of_b = ip_network_of(&b->address, prefix_of(own, b));
	char text[IP_NETWORK_TEXT_MAX];
	const char *advice = NULL;

	if (a->address.family != 4 || !ip_network_meets(&of_a, &of_b))
		return 0;
	if (setting_of(a, "arp_ignore") == 0 ||
	    setting_of(b, "arp_ignore") == 0)
		advice = "arp_ignore to 1";
	else if (setting_of(a, "rp_filter") == 1 ||
		 setting_of(b, "rp_filter") == 1)
		advice = "rp_filter to 2";
	if (!advice)
		return 0;
	ip_network_format(&of_a, text);
	return error_set(ret_error, -EADDRINUSE,
			 "%s and %s are both in %s: set net.ipv4.conf.all.%s",
			 a->name, b->name, text, advice);
}

int underlay_apart_check(struct netlink *netlink, const struct underlays *list,
			 struct fairlead_error *ret_error)
{
	struct link_address_list own = { 0 };
	int result = link_addresses_read(netlink, &own, ret_error);

	for (size_t i = 0; i < list->count; i++) {
		for (size_t k = i + 1; k < list->count && result == 0; k++) {
			if (list->list[i].is_usable && list->list[k].is_usable)
				result = check_pair(&own, &list->list[i],
						    &list->list[k], ret_error);
		}
	}
	link_addresses_fini(&own);
	return result;
}
