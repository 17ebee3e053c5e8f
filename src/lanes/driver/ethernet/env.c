/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The environment by which libfabric, OpenMPI and UCX find the lane: its
 * devices, and how it is isolated, which a launcher has to know.
 *
 *	FAIRLEAD_INTERFACES  fl4242,fl4242r1: devices, rail after rail
 *	FAIRLEAD_ADDRESSES   100.64.16.1,...: of each of them, IPv4 or else IPv6
 *	FAIRLEAD_ISOLATION   host, or netns:PATH: to be entered before exec
 *
 * The rest are others' names for the same. Where a program takes one device only
 * it gets the first. A lane on a node without a NIC has none: all are unset.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "lanes/driver/ethernet/ethernet.h"
#include "lanes/driver/ethernet/found.h"
#include "lanes/driver/ethernet/namespace.h"
#include "lanes/driver/ethernet/record.h"

#define LIST_TEXT_MAX (ETHERNET_DEVICES_MAX * IP_ADDRESS_TEXT_MAX)

static void append(char text[LIST_TEXT_MAX], const char *item)
{
	size_t used = strlen(text);

	snprintf(text + used, LIST_TEXT_MAX - used, "%s%s", used ? "," : "",
		 item);
}

struct variables {
	char devices[LIST_TEXT_MAX];
	char addresses[LIST_TEXT_MAX];
	char first[IFNAMSIZ];
	char isolation[NAMESPACE_PATH_MAX + 8];
};

static void variables_read(const struct ethernet_node *node,
			   const struct fairlead_lane *lane,
			   const struct ethernet_made *made,
			   struct variables *variables)
{
	char path[NAMESPACE_PATH_MAX];

	for (uint32_t i = 0; i < made->count; i++) {
		char address[IP_ADDRESS_TEXT_MAX];

		ip_address_format(made->devices[i].ipv4.family != 0
					  ? &made->devices[i].ipv4
					  : &made->devices[i].ipv6,
				  address);
		append(variables->devices, made->devices[i].name);
		append(variables->addresses, address);
	}
	memcpy(variables->first, made->devices[0].name, IFNAMSIZ);
	if (made->isolation == ETHERNET_NETNS) {
		namespace_path(node->namespaces, lane->grant_id, path);
		snprintf(variables->isolation, sizeof(variables->isolation),
			 "netns:%s", path);
	} else {
		strcpy(variables->isolation, "host");
	}
}

int ethernet_env(void *state, const struct fairlead_lane *lane,
		 const struct fairlead_record *record,
		 void (*emit)(void *arg, const char *name, const char *value),
		 void *arg, struct fairlead_error *ret_error)
{
	struct variables variables = { 0 };
	struct ethernet_made made = { 0 };
	bool has_lane;
	int result = 0;

	if (lane && lane->id_count > 0)
		result = ethernet_record_decode(record, &made, ret_error);
	if (result < 0)
		return result;
	has_lane = made.count > 0;
	if (has_lane)
		variables_read(state, lane, &made, &variables);
	emit(arg, "FAIRLEAD_INTERFACES", has_lane ? variables.devices : NULL);
	emit(arg, "FAIRLEAD_ADDRESSES", has_lane ? variables.addresses : NULL);
	emit(arg, "FAIRLEAD_ISOLATION", has_lane ? variables.isolation : NULL);
	emit(arg, "FI_TCP_IFACE", has_lane ? variables.first : NULL);
	emit(arg, "FI_NET_IFACE", has_lane ? variables.first : NULL);
	emit(arg, "FI_SOCKETS_IFACE", has_lane ? variables.first : NULL);
	emit(arg, "FI_UDP_IFACE", has_lane ? variables.first : NULL);
	emit(arg, "OMPI_MCA_btl_tcp_if_include",
	     has_lane ? variables.devices : NULL);
	emit(arg, "UCX_NET_DEVICES", has_lane ? variables.devices : NULL);
	return 0;
}

/* --- inherited --- */

struct namesake {
	const struct ethernet_node *node;
	const char *path;
	bool is_there;
};

static void namespace_compare(void *arg, uint64_t grant_id)
{
	struct namesake *namesake = arg;
	char path[NAMESPACE_PATH_MAX];

	namespace_path(namesake->node->namespaces, grant_id, path);
	namesake->is_there |= strcmp(path, namesake->path) == 0;
}

/* Who only looks does not see what is in a job's namespace, but that it is there. */
static int check_namespace(const struct ethernet_node *node, const char *path,
			   struct fairlead_error *ret_error)
{
	struct namesake namesake = { .node = node, .path = path };
	int result = namespace_list(node->namespaces, namespace_compare,
				    &namesake, ret_error);

	if (result == 0 && !namesake.is_there)
		result = error_set(ret_error, -ENODEV,
				   "inherited namespace '%.100s' is not there "
				   "any more",
				   path);
	return result;
}

/* The item of a list with commas; *list: what is behind it, or NULL. */
static void take_item(const char **list, size_t capacity, char *ret_item)
{
	size_t size = strcspn(*list, ",");

	ret_item[0] = 0;
	if (size < capacity) {
		memcpy(ret_item, *list, size);
		ret_item[size] = 0;
	}
	*list = (*list)[size] ? *list + size + 1 : NULL;
}

static int check_device(const struct lane_device *device, uid_t uid,
			const char *address, struct fairlead_error *ret_error)
{
	char own[IP_ADDRESS_TEXT_MAX];

	ip_address_format(device->ipv4.family ? &device->ipv4 : &device->ipv6,
			  own);
	if (device->alias.grant_id == 0 || device->alias.uid != uid)
		return error_set(ret_error, -ENODEV,
				 "inherited device %s is not for uid %u",
				 device->name, uid);
	if (strcmp(own, address) != 0)
		return error_set(ret_error, -ENODEV,
				 "inherited address '%s' is not that of %s",
				 address, device->name);
	return 0;
}

static int check_item(const struct found *found, const char *name, uid_t uid,
		      const char *address, struct fairlead_error *ret_error)
{
	for (size_t i = 0; i < found->count; i++) {
		const struct lane_device *device = &found->list[i].device;

		if (device->is_ours && strcmp(device->name, name) == 0)
			return check_device(device, uid, address, ret_error);
	}
	return error_set(ret_error, -ENODEV,
			 "inherited device '%.20s' is not there any more",
			 name);
}

int ethernet_inherit(void *state, uid_t uid,
		     const char *(*get)(void *arg, const char *name), void *arg,
		     struct fairlead_error *ret_error)
{
	static const char inside[] = "netns:";
	const struct ethernet_node *node = state;
	const char *devices = get(arg, "FAIRLEAD_INTERFACES");
	const char *addresses = get(arg, "FAIRLEAD_ADDRESSES");
	const char *isolation = get(arg, "FAIRLEAD_ISOLATION");
	struct found found = { 0 };
	int result;

	if (!devices && !addresses && !isolation)
		return 0;
	if (!devices || !addresses || !isolation)
		return error_set(ret_error, -ENODEV,
				 "only some of FAIRLEAD_INTERFACES, "
				 "FAIRLEAD_ADDRESSES and FAIRLEAD_ISOLATION "
				 "are inherited");
	if (node->is_looking && strncmp(isolation, inside, strlen(inside)) == 0)
		return check_namespace(node, isolation + strlen(inside),
				       ret_error);
	result = found_read(state, &found, ret_error);
	while (result == 0 && devices) {
		char name[IFNAMSIZ];
		char address[IP_ADDRESS_TEXT_MAX] = "";

		take_item(&devices, sizeof(name), name);
		if (addresses)
			take_item(&addresses, sizeof(address), address);
		result = check_item(&found, name, uid, address, ret_error);
	}
	if (result == 0 && addresses)
		result = error_set(ret_error, -ENODEV,
				   "inherited address '%.100s' is of no device",
				   addresses);
	found_fini(&found);
	return result;
}
