/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A NIC that is named may be of any kind but loopback and a lane's device: the
 * site knows. Those that nobody named are chosen so that nothing surprises:
 * nothing that stands for other NICs but bonds, nothing that leads to no wire.
 * A NIC that comes before one that was taken gets its place in the order of
 * names, as at a start, so that nodes agree in whatever order their NICs came
 * up.
 */
#include "lanes/driver/ethernet/underlay.h"

#include <linux/ethtool.h>
#include <linux/if_addr.h>
#include <linux/rtnetlink.h>
#include <linux/sockios.h>
#include <net/if_arp.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>

#include "base/cleanup.h"
#include "base/memory.h"
#include "lanes/driver/ethernet/links.h"

#define MASK_WORDS_MAX 127     /* of ethtool, by the field's size */
#define MORE           ", ..." /* names that do not fit */

/* Kinds that auto passes by. */
static const char *const passed_kinds[] = {
	"bareudp", "bridge",    "dummy",     "erspan",      "geneve", "gretap",
	"ifb",     "ip6erspan", "ip6gretap", "openvswitch", "tun",    "vxlan",
};

/*
 * Asked of the netlink socket, whose namespace counts, and not of /sys, which
 * may be another's.
 */
static uint32_t read_speed(struct netlink *netlink, const char *name)
{
	union {
		struct ethtool_link_settings settings;
		char buffer[sizeof(struct ethtool_link_settings) +
			    3 * MASK_WORDS_MAX * sizeof(uint32_t)];
	} answer = { .settings.cmd = ETHTOOL_GLINKSETTINGS };
	struct ethtool_link_settings *settings = &answer.settings;
	struct ifreq request = { .ifr_data = (void *)&answer };
	int fd = netlink->fd;

	snprintf(request.ifr_name, sizeof(request.ifr_name), "%s", name);
	/* The kernel first says how many words it needs. */
	if (ioctl(fd, SIOCETHTOOL, &request) < 0 ||
	    settings->link_mode_masks_nwords >= 0)
		return 0;
	settings->cmd = ETHTOOL_GLINKSETTINGS;
	settings->link_mode_masks_nwords =
		(int8_t)-settings->link_mode_masks_nwords;
	if (ioctl(fd, SIOCETHTOOL, &request) < 0 ||
	    settings->speed == (uint32_t)SPEED_UNKNOWN)
		return 0;
	return settings->speed;
}

/* IPv4 before IPv6, the first of each, and none that will go or is not sure. */
static struct ip_address choose_address(const struct links_held *view,
					int index)
{
	const uint32_t unfit = IFA_F_TEMPORARY | IFA_F_DEPRECATED |
			       IFA_F_TENTATIVE | IFA_F_DADFAILED;
	struct ip_address chosen = { 0 };

	for (size_t i = 0; i < view->addresses.count; i++) {
		const struct ethernet_link_address *own =
			&view->addresses.addresses[i];

		if (own->index != index || own->scope != RT_SCOPE_UNIVERSE ||
		    own->flags & unfit)
			continue;
		if (own->address.family == 4)
			return own->address;
		if (!chosen.family)
			chosen = own->address;
	}
	return chosen;
}

static void find_flaw(struct underlay *underlay,
		      const struct ethernet_link *link)
{
	uint32_t overhead = ethernet_overhead(underlay->address.family);
	size_t size = sizeof(underlay->flaw);

	if (link->flags & IFF_LOOPBACK)
		snprintf(underlay->flaw, size, "it is loopback");
	else if (link_is_ours(link))
		snprintf(underlay->flaw, size, "it is a lane's own device");
	else if (!(link->flags & IFF_UP))
		snprintf(underlay->flaw, size, "it is down");
	else if (!underlay->address.family)
		snprintf(underlay->flaw, size, "it has no global address");
	else if (link->mtu < ETHERNET_MTU_MIN + overhead)
		snprintf(underlay->flaw, size,
			 "MTU %u leaves %u bytes, a lane needs %u: set it to "
			 "%u or more",
			 link->mtu,
			 link->mtu > overhead ? link->mtu - overhead : 0,
			 ETHERNET_MTU_MIN, ETHERNET_MTU_MIN + overhead);
	underlay->is_usable = !underlay->flaw[0];
}

static void fill(struct netlink *netlink, const struct links_held *view,
		 const struct ethernet_link *link,
		 struct underlay *ret_underlay)
{
	*ret_underlay = (struct underlay){
		.index = link->index,
		.address = choose_address(view, link->index),
		.mtu = link->mtu,
		.speed_mbit = read_speed(netlink, link->name),
	};
	memcpy(ret_underlay->name, link->name, sizeof(ret_underlay->name));
	find_flaw(ret_underlay, link);
}

static bool is_passed(const struct ethernet_link *link)
{
	if (link->type != ARPHRD_ETHER || link->master != 0)
		return true;
	for (size_t i = 0; i < sizeof(passed_kinds) / sizeof(passed_kinds[0]);
	     i++) {
		if (strcmp(link->kind, passed_kinds[i]) == 0)
			return true;
	}
	return false;
}

/* eth2 comes before eth10. */
static int compare_names(const void *a, const void *b)
{
	return strverscmp(((const struct underlay *)a)->name,
			  ((const struct underlay *)b)->name);
}

/* Into the next place that is free, if there is one. */
static void take(struct underlays *list, const struct underlay *underlay)
{
	size_t used = strlen(list->left_out);
	size_t left = sizeof(list->left_out) - used;

	if (list->count < ETHERNET_RAILS_MAX)
		list->list[list->count++] = *underlay;
	else if (strstr(list->left_out, MORE))
		return;
	else if (left > sizeof(", ") + strlen(underlay->name) + sizeof(MORE))
		snprintf(list->left_out + used, left, "%s%s", used ? ", " : "",
			 underlay->name);
	else
		strcpy(list->left_out + used, MORE);
}

static void fill_name(struct netlink *netlink, const struct links_held *view,
		      const char *name, struct underlay *ret_underlay)
{
	const struct ethernet_link *link = link_find_name(&view->links, name);

	*ret_underlay = (struct underlay){ .flaw = "there is no such NIC" };
	snprintf(ret_underlay->name, sizeof(ret_underlay->name), "%s", name);
	if (link)
		fill(netlink, view, link, ret_underlay);
}

static bool is_taken(const struct underlay_names *taken, const char *name)
{
	for (size_t i = 0; i < taken->count; i++) {
		if (strcmp(taken->names[i], name) == 0)
			return true;
	}
	return false;
}

static bool has_lanes(const struct links_held *view)
{
	for (size_t i = 0; i < view->links.count; i++) {
		if (link_is_ours(&view->links.links[i]))
			return true;
	}
	return false;
}

/*
 * Those that were taken before, and others that fit. One that is gone keeps its
 * rail for the lanes that are on the others.
 */
static void choose(struct netlink *netlink, const struct links_held *view,
		   struct underlay_names *taken, struct underlays *list)
{
	_auto_(freep) struct underlay *fit =
		memory_array(view->links.count + taken->count, sizeof(*fit));
	bool is_kept = has_lanes(view);
	size_t count = 0;

	for (size_t i = 0; i < taken->count; i++) {
		const char *name = taken->names[i];
		const struct ethernet_link *link =
			link_find_name(&view->links, name);

		if (link ? !is_passed(link) : is_kept)
			fill_name(netlink, view, name, &fit[count++]);
	}
	for (size_t i = 0; i < view->links.count; i++) {
		const struct ethernet_link *link = &view->links.links[i];

		if (is_passed(link) || is_taken(taken, link->name))
			continue;
		fill(netlink, view, link, &fit[count]);
		count += fit[count].is_usable;
	}
	qsort(fit, count, sizeof(fit[0]), compare_names);
	for (size_t i = 0; i < count; i++)
		take(list, &fit[i]);
	taken->count = list->count;
	for (size_t i = 0; i < list->count; i++)
		memcpy(taken->names[i], list->list[i].name, IFNAMSIZ);
}

void underlay_flaws(struct netlink *netlink, struct fairlead_error *error)
{
	struct fairlead_error ignored;
	struct links_held view;
	size_t used = 0;

	if (links_held_read(netlink, &view, &ignored) < 0)
		return;
	for (size_t i = 0; i < view.links.count; i++) {
		struct underlay underlay;

		if (is_passed(&view.links.links[i]))
			continue;
		fill(netlink, &view, &view.links.links[i], &underlay);
		if (underlay.is_usable || used >= sizeof(error->text))
			continue;
		used += (size_t)snprintf(error->text + used,
					 sizeof(error->text) - used, "%s%s: %s",
					 used ? "; " : "", underlay.name,
					 underlay.flaw);
	}
	links_held_fini(&view);
}

static int take_name(struct netlink *netlink, const struct links_held *view,
		     const char *name, struct underlays *list,
		     struct fairlead_error *ret_error)
{
	struct underlay underlay;

	for (size_t i = 0; i < list->count; i++) {
		if (strcmp(list->list[i].name, name) == 0)
			return error_set(ret_error, -EINVAL,
					 "NIC %s is named twice", name);
	}
	fill_name(netlink, view, name, &underlay);
	take(list, &underlay);
	return 0;
}

static int take_names(struct netlink *netlink, const struct links_held *view,
		      const char *devices, struct underlays *list,
		      struct fairlead_error *ret_error)
{
	const char *rest = devices;
	int result = 0;

	do {
		char name[IFNAMSIZ];
		size_t blank = strspn(rest, " \t");
		size_t size = strcspn(rest + blank, " \t,");
		size_t after =
			blank + size + strspn(rest + blank + size, " \t");

		if (size == 0 || size >= sizeof(name) ||
		    (rest[after] != ',' && rest[after] != '\0'))
			return error_set(ret_error, -EINVAL,
					 "\"%s\" is not a list of NICs with "
					 "commas",
					 devices);
		snprintf(name, sizeof(name), "%.*s", (int)size, rest + blank);
		result = take_name(netlink, view, name, list, ret_error);
		rest += after;
	} while (result == 0 && *rest++ == ',');
	return result;
}

int underlay_list(struct netlink *netlink, const char *devices,
		  struct underlay_names *taken, struct underlays *ret_list,
		  struct fairlead_error *ret_error)
{
	struct underlays list = { 0 };
	struct links_held view;
	int result = links_held_read(netlink, &view, ret_error);

	if (result < 0)
		return result;
	if (strcmp(devices, "auto") == 0)
		choose(netlink, &view, taken, &list);
	else
		result = take_names(netlink, &view, devices, &list, ret_error);
	links_held_fini(&view);
	if (result == 0)
		*ret_list = list;
	return result;
}
