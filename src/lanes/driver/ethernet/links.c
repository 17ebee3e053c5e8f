/* SPDX-License-Identifier: BSD-3-Clause */
/* What the kernel says of a device is taken once; what it leaves out is 0. */
#include "lanes/driver/ethernet/links.h"

#include <linux/if_link.h>
#include <linux/rtnetlink.h>
#include <string.h>

#include "base/memory.h"
#include "lanes/driver/ethernet/device.h"

#define EXT_SKIP_STATS (1u << 3) /* RTEXT_FILTER_SKIP_STATS */

/* A list that grows while answers come. */
struct rows {
	void *rows;
	size_t row_size;
	size_t count;
	size_t capacity;
};

static void add_row(struct rows *list, const void *row)
{
	if (list->count == list->capacity) {
		list->capacity = list->capacity ? 2 * list->capacity : 16;
		list->rows = memory_resize(list->rows, list->capacity,
					   list->row_size);
	}
	memcpy((char *)list->rows + list->count * list->row_size, row,
	       list->row_size);
	list->count++;
}

static uint32_t take_u32(const struct nlattr *attribute)
{
	return attribute ? nla_get_u32((struct nlattr *)attribute) : 0;
}

static bool take_bool(const struct nlattr *attribute)
{
	return attribute && nla_get_u8((struct nlattr *)attribute) != 0;
}

struct ip_address link_address_of(const struct nlattr *attribute)
{
	struct ip_address address = { 0 };

	if (attribute && nla_len(attribute) == 4)
		address.family = 4;
	else if (attribute && nla_len(attribute) == 16)
		address.family = 6;
	else
		return address;
	memcpy(address.bytes, nla_data(attribute), (size_t)nla_len(attribute));
	return address;
}

static void parse_vxlan(struct nlattr *data, struct ethernet_link *link)
{
	/* Flags that a socket has, and so all devices of a port. */
	static const int others[] = { IFLA_VXLAN_GBP, IFLA_VXLAN_GPE,
				      IFLA_VXLAN_REMCSUM_RX,
				      IFLA_VXLAN_COLLECT_METADATA };
	struct nlattr *attributes[IFLA_VXLAN_MAX + 1];

	if (nla_parse_nested(attributes, IFLA_VXLAN_MAX, data, NULL) < 0)
		return;
	link->vxlan.vni = take_u32(attributes[IFLA_VXLAN_ID]);
	link->vxlan.underlay_index = (int)take_u32(attributes[IFLA_VXLAN_LINK]);
	link->vxlan.local = link_address_of(
		attributes[IFLA_VXLAN_LOCAL] ? attributes[IFLA_VXLAN_LOCAL]
					     : attributes[IFLA_VXLAN_LOCAL6]);
	if (attributes[IFLA_VXLAN_PORT])
		link->vxlan.port =
			ntohs(nla_get_u16(attributes[IFLA_VXLAN_PORT]));
	link->vxlan.is_alike =
		take_bool(attributes[IFLA_VXLAN_UDP_ZERO_CSUM6_RX]);
	for (size_t i = 0; i < sizeof(others) / sizeof(others[0]); i++) {
		struct nlattr *other = attributes[others[i]];

		/* Some are flags by being there. */
		if (other && (nla_len(other) == 0 || take_bool(other)))
			link->vxlan.is_alike = false;
	}
}

static void parse_kind(struct nlattr *info, struct ethernet_link *link)
{
	struct nlattr *attributes[IFLA_INFO_MAX + 1];

	if (nla_parse_nested(attributes, IFLA_INFO_MAX, info, NULL) < 0 ||
	    !attributes[IFLA_INFO_KIND])
		return;
	nla_strlcpy(link->kind, attributes[IFLA_INFO_KIND], sizeof(link->kind));
	if (strcmp(link->kind, "vxlan") == 0 && attributes[IFLA_INFO_DATA])
		parse_vxlan(attributes[IFLA_INFO_DATA], link);
}

static bool parse_link(const struct nlmsghdr *header,
		       struct ethernet_link *ret_link)
{
	struct nlattr *attributes[IFLA_MAX + 1];
	const struct ifinfomsg *info = nlmsg_data(header);
	struct ethernet_link link = { 0 };

	if (header->nlmsg_type != RTM_NEWLINK ||
	    nlmsg_parse((struct nlmsghdr *)header, sizeof(*info), attributes,
			IFLA_MAX, NULL) < 0 ||
	    !attributes[IFLA_IFNAME])
		return false;
	link.index = info->ifi_index;
	link.flags = info->ifi_flags;
	link.type = info->ifi_type;
	link.master = (int)take_u32(attributes[IFLA_MASTER]);
	link.mtu = take_u32(attributes[IFLA_MTU]);
	link.group = take_u32(attributes[IFLA_GROUP]);
	nla_strlcpy(link.name, attributes[IFLA_IFNAME], sizeof(link.name));
	if (attributes[IFLA_IFALIAS])
		nla_strlcpy(link.alias, attributes[IFLA_IFALIAS],
			    sizeof(link.alias));
	if (attributes[IFLA_ADDRESS] &&
	    nla_len(attributes[IFLA_ADDRESS]) == sizeof(link.mac))
		memcpy(link.mac, nla_data(attributes[IFLA_ADDRESS]),
		       sizeof(link.mac));
	if (attributes[IFLA_LINKINFO])
		parse_kind(attributes[IFLA_LINKINFO], &link);
	*ret_link = link;
	return true;
}

static void take_link(void *arg, const struct nlmsghdr *header)
{
	struct ethernet_link link;

	if (parse_link(header, &link))
		add_row(arg, &link);
}

/* Both kinds of rows begin with it. */
static int compare_indexes(const void *a, const void *b)
{
	const int *x = a;
	const int *y = b;

	return (*x > *y) - (*x < *y);
}

static struct nl_msg *ask_links(int index, const char *name, int flags)
{
	const struct ifinfomsg info = { .ifi_index = index };
	struct nl_msg *message =
		netlink_message(RTM_GETLINK, flags, &info, sizeof(info));

	nla_put_u32(message, IFLA_EXT_MASK, EXT_SKIP_STATS);
	if (name)
		nla_put_string(message, IFLA_IFNAME, name);
	return message;
}

static void add_rows(struct rows *list, const void *rows, size_t count)
{
	for (size_t i = 0; i < count; i++)
		add_row(list, (const char *)rows + i * list->row_size);
}

static int list_links(struct netlink *netlink, const char *kind,
		      struct rows *rows, struct fairlead_error *ret_error)
{
	struct nl_msg *message = ask_links(0, NULL, NLM_F_DUMP);

	/* Kernels before 4.6 list all kinds all the same. */
	if (kind) {
		struct nlattr *nest = nla_nest_start(message, IFLA_LINKINFO);

		nla_put_string(message, IFLA_INFO_KIND, kind);
		nla_nest_end(message, nest);
	}
	return netlink_get(netlink, message, take_link, rows, ret_error,
			   "cannot list network devices");
}

int links_read(struct netlink *netlink, const char *kind,
	       struct link_list *ret_list, struct fairlead_error *ret_error)
{
	const struct links_held *held = netlink->held;
	struct rows rows = { .row_size = sizeof(struct ethernet_link) };
	size_t kept = 0;
	int result = 0;

	if (held)
		add_rows(&rows, held->links.links, held->links.count);
	else
		result = list_links(netlink, kind, &rows, ret_error);
	if (result < 0) {
		free(rows.rows);
		return result;
	}
	*ret_list = (struct link_list){ .links = rows.rows };
	for (size_t i = 0; i < rows.count; i++) {
		if (!kind || strcmp(ret_list->links[i].kind, kind) == 0)
			ret_list->links[kept++] = ret_list->links[i];
	}
	ret_list->count = kept;
	if (kept > 1)
		qsort(ret_list->links, kept, sizeof(struct ethernet_link),
		      compare_indexes);
	return 0;
}

void links_fini(struct link_list *list)
{
	free(list->links);
	*list = (struct link_list){ 0 };
}

const struct ethernet_link *link_find(const struct link_list *list, int index)
{
	struct ethernet_link key = { .index = index };

	if (list->count == 0)
		return NULL;
	return bsearch(&key, list->links, list->count, sizeof(key),
		       compare_indexes);
}

const struct ethernet_link *link_find_name(const struct link_list *list,
					   const char *name)
{
	for (size_t i = 0; i < list->count; i++) {
		if (strcmp(list->links[i].name, name) == 0)
			return &list->links[i];
	}
	return NULL;
}

static bool has_alias(const struct ethernet_link *link)
{
	struct ethernet_alias alias;

	if (!ethernet_alias_parse(link->alias, &alias) || alias.grant_id == 0)
		return false;
	for (uint32_t i = 0; i < alias.vni_count; i++) {
		if (alias.vnis[i] == link->vxlan.vni)
			return true;
	}
	return false;
}

bool link_is_ours(const struct ethernet_link *link)
{
	uint32_t vni;
	uint32_t rail;

	if (strcmp(link->kind, "vxlan") != 0)
		return false;
	if (has_alias(link))
		return true;
	return (link->group == ETHERNET_LINK_GROUP ||
		link->group == ETHERNET_LINK_GROUP_ENDING) &&
	       ethernet_device_parse(link->name, &vni, &rail) &&
	       vni == link->vxlan.vni;
}

int link_read(struct netlink *netlink, const char *name, int index,
	      struct ethernet_link *ret_link, struct fairlead_error *ret_error)
{
	struct rows rows = { .row_size = sizeof(struct ethernet_link) };
	struct nl_msg *message = ask_links(name ? 0 : index, name, 0);
	char text[IFNAMSIZ + 16];
	int result;

	if (name)
		snprintf(text, sizeof(text), "%s", name);
	else
		snprintf(text, sizeof(text), "device %d", index);
	result = netlink_get(netlink, message, take_link, &rows, ret_error,
			     "%s: cannot look at it", text);
	if (result == 0 && rows.count != 1)
		result = error_set(ret_error, -EIO,
				   "%s: the kernel's answer makes no sense",
				   text);
	if (result == 0)
		*ret_link = *(const struct ethernet_link *)rows.rows;
	free(rows.rows);
	return result;
}

static void take_address(void *arg, const struct nlmsghdr *header)
{
	struct nlattr *attributes[IFA_MAX + 1];
	const struct ifaddrmsg *info = nlmsg_data(header);
	struct ethernet_link_address row = { 0 };

	if (header->nlmsg_type != RTM_NEWADDR ||
	    nlmsg_parse((struct nlmsghdr *)header, sizeof(*info), attributes,
			IFA_MAX, NULL) < 0)
		return;
	row.index = (int)info->ifa_index;
	row.prefix_size = info->ifa_prefixlen;
	row.scope = info->ifa_scope;
	row.flags = attributes[IFA_FLAGS] ? take_u32(attributes[IFA_FLAGS])
					  : info->ifa_flags;
	/* IFA_ADDRESS is the other end's where there is an IFA_LOCAL. */
	row.address = link_address_of(attributes[IFA_LOCAL]
					      ? attributes[IFA_LOCAL]
					      : attributes[IFA_ADDRESS]);
	if (row.address.family)
		add_row(arg, &row);
}

static int list_addresses(struct netlink *netlink, struct rows *rows,
			  struct fairlead_error *ret_error)
{
	const struct ifaddrmsg info = { .ifa_family = AF_UNSPEC };

	return netlink_get(
		netlink,
		netlink_message(RTM_GETADDR, NLM_F_DUMP, &info, sizeof(info)),
		take_address, rows, ret_error, "cannot list addresses");
}

int link_addresses_read(struct netlink *netlink,
			struct link_address_list *ret_list,
			struct fairlead_error *ret_error)
{
	const struct links_held *held = netlink->held;
	struct rows rows = { .row_size = sizeof(struct ethernet_link_address) };
	int result = 0;

	if (held)
		add_rows(&rows, held->addresses.addresses,
			 held->addresses.count);
	else
		result = list_addresses(netlink, &rows, ret_error);
	if (result < 0) {
		free(rows.rows);
		return result;
	}
	ret_list->addresses = rows.rows;
	ret_list->count = rows.count;
	if (rows.count > 1 && !held)
		qsort(rows.rows, rows.count,
		      sizeof(struct ethernet_link_address), compare_indexes);
	return 0;
}

void link_addresses_fini(struct link_address_list *list)
{
	free(list->addresses);
	*list = (struct link_address_list){ 0 };
}

int links_held_read(struct netlink *netlink, struct links_held *held,
		    struct fairlead_error *ret_error)
{
	int result;

	*held = (struct links_held){ 0 };
	result = links_read(netlink, NULL, &held->links, ret_error);
	if (result == 0)
		result = link_addresses_read(netlink, &held->addresses,
					     ret_error);
	if (result < 0)
		links_held_fini(held);
	return result;
}

void links_held_fini(struct links_held *held)
{
	links_fini(&held->links);
	link_addresses_fini(&held->addresses);
}

int links_hold(struct netlink *netlink, struct links_held *held,
	       struct fairlead_error *ret_error)
{
	int result = links_held_read(netlink, held, ret_error);

	if (result == 0)
		netlink->held = held;
	return result;
}

void links_let_go(struct netlink *netlink, struct links_held *held)
{
	netlink->held = NULL;
	links_held_fini(held);
}
