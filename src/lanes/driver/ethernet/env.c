/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The environment by which libfabric, OpenMPI and UCX find the lane: its
 * devices, and how it is isolated, which a launcher has to know.
 *
 *	FAIRLEAD_INTERFACES  fl4242,fl4242r1: devices, rail after rail
 *	FAIRLEAD_ADDRESSES   100.64.16.1,...: of each of them, IPv4 or else IPv6
 *	FAIRLEAD_ISOLATION   host, or netns:PATH: to be entered before exec
 *
 * The rest are others' names for the same. Where a program takes one device
 * only it gets the first. A lane on a node without a NIC has none: all are
 * unset.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "lanes/driver/common/variables.h"
#include "lanes/driver/ethernet/ethernet.h"
#include "lanes/driver/ethernet/found.h"
#include "lanes/driver/ethernet/namespace.h"

#define LIST_TEXT_MAX (ETHERNET_DEVICES_MAX * IP_ADDRESS_TEXT_MAX)

void ethernet_record(const struct ethernet_node *node,
		     const struct found_device *made, size_t count,
		     struct fairlead_record *ret_record)
{
	char devices[LIST_TEXT_MAX] = "", addresses[LIST_TEXT_MAX] = "";
	char path[NAMESPACE_PATH_MAX];
	char isolation[NAMESPACE_PATH_MAX + 8] = "host";

	ret_record->size = 0;
	if (count == 0)
		return;
	for (size_t i = 0; i < count; i++) {
		const struct lane_device *device = &made[i].device;
		char address[IP_ADDRESS_TEXT_MAX];

		ip_address_format(device->ipv4.family != 0 ? &device->ipv4
							   : &device->ipv6,
				  address);
		variables_append(devices, sizeof(devices), "%s", device->name);
		variables_append(addresses, sizeof(addresses), "%s", address);
	}
	if (made[0].is_netns) {
		namespace_path(node->namespaces, made[0].namespace_id, path);
		snprintf(isolation, sizeof(isolation), "netns:%s", path);
	}
	variables_add(ret_record, "FAIRLEAD_INTERFACES", devices);
	variables_add(ret_record, "FAIRLEAD_ADDRESSES", addresses);
	variables_add(ret_record, "FAIRLEAD_ISOLATION", isolation);
	variables_add(ret_record, "FI_TCP_IFACE", made[0].device.name);
	variables_add(ret_record, "FI_NET_IFACE", made[0].device.name);
	variables_add(ret_record, "FI_SOCKETS_IFACE", made[0].device.name);
	variables_add(ret_record, "FI_UDP_IFACE", made[0].device.name);
	variables_add(ret_record, "OMPI_MCA_btl_tcp_if_include", devices);
	variables_add(ret_record, "UCX_NET_DEVICES", devices);
}

int ethernet_env(void *state, const struct fairlead_lane *lane,
		 const struct fairlead_record *record,
		 void (*emit)(void *arg, const char *name, const char *value),
		 void *arg, struct fairlead_error *ret_error)
{
	return variables_env(ethernet_variables, lane, record, emit, arg,
			     ret_error);
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

/*
 * Who only looks does not see what is in a job's namespace, but that it is
 * there.
 */
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

		if (!variables_next(&devices, name, sizeof(name)))
			strcpy(name, "?");
		if (!variables_next(&addresses, address, sizeof(address)))
			address[0] = '\0';
		result = check_item(&found, name, uid, address, ret_error);
	}
	if (result == 0 && addresses)
		result = error_set(ret_error, -ENODEV,
				   "inherited address '%.100s' is of no device",
				   addresses);
	found_fini(&found);
	return result;
}
