/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Settings, what the node has, and the table of operations. A start rewrites
 * rules and gates for the devices that are there: what a crash left in between
 * is right then, and a table that somebody flushed is back. A process that
 * cannot do that only looks.
 */
#include "lanes/driver/ethernet/node.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/capability.h>

#include "base/memory.h"
#include "lanes/driver/ethernet/check.h"
#include "lanes/driver/ethernet/device.h"
#include "lanes/driver/ethernet/enforce.h"
#include "lanes/driver/ethernet/ethernet.h"
#include "lanes/driver/ethernet/members.h"
#include "lanes/driver/ethernet/namespace.h"
#include "lanes/driver/ethernet/rail_ports.h"
#include "lanes/driver/ethernet/settings.h"
#include "lanes/driver/ethernet/sweep.h"
#include "lanes/driver/ethernet/table.h"

/* --- settings --- */

/* There a start would take away what is called by a number and is no job's. */
static void namespaces_check(const struct settings *settings, const char *value)
{
	char real[PATH_MAX];
	const char *path = realpath(value, real) ? real : value;

	if (strcmp(path, "/run/netns") == 0 ||
	    strcmp(path, "/var/run/netns") == 0)
		settings_fail(settings, "namespaces",
			      "'%s' is for those of `ip netns`", value);
}

static int settings_take(struct ethernet_node *node,
			 const struct fairlead_setting *list, size_t count,
			 struct fairlead_error *ret_error)
{
	struct settings_errors errors = { 0 };
	const struct settings settings = { list, count, &errors };
	struct ethernet_settings values;

	ethernet_settings_read(&settings, &values);
	namespaces_check(&settings, values.namespaces);
	node->networks = values.networks;
	for (size_t i = 0; i < ETHERNET_CLASS_COUNT; i++)
		node->dscp[i] = (uint8_t)values.dscp[i];
	node->devices = values.devices;
	node->namespaces = values.namespaces;
	node->bpf_pins = values.bpf_pins;
	node->cgroup = *values.cgroup ? values.cgroup : NULL;
	node->job_cgroup = *values.job_cgroup ? values.job_cgroup : NULL;
	/* Jobs may ask for one: what a node lacks for that is missed. */
	node->wants_namespaces =
		(values.policy.isolations & 1u << ETHERNET_NETNS) != 0;
	node->is_shaping = values.is_shaping;
	node->link_mbit = values.link_mbit;
	node->requires_devices = values.requires_devices;
	node->ttl = (uint8_t)values.ttl;
	return settings_finish(&errors, ret_error);
}

/* --- open and close --- */

static void close_node(void *state)
{
	struct ethernet_node *node = state;

	if (!node)
		return;
	netlink_close(node->netlink);
	netlink_close(node->filter);
	if (node->guard)
		gate_close(node->guard->gate);
	free(node->guard);
	free(node->taken);
	free(node);
}

static void close_nodep(struct ethernet_node **node)
{
	close_node(*node);
}

static void cap_freep(cap_t *capabilities)
{
	if (*capabilities)
		cap_free(*capabilities);
}

/* Not root, and may not change the network: the agent. */
static bool may_look_only(void)
{
	_auto_(cap_freep) cap_t capabilities = cap_get_proc();
	cap_flag_value_t has = CAP_CLEAR;

	return geteuid() != 0 && capabilities &&
	       cap_get_flag(capabilities, CAP_NET_ADMIN, CAP_EFFECTIVE, &has) ==
		       0 &&
	       has == CAP_CLEAR;
}

/*
 * Lanes that are there can be taken back without their guard: what cannot be
 * written is said by ethernet_tend, and no lane is made until it is.
 */
static int start_rules(const struct ethernet_node *node,
		       const struct found *found,
		       struct fairlead_error *ret_error)
{
	int result = enforce_found(node, found, ret_error);

	if (result == 0 || !found_has_lanes(found))
		return result;
	node->guard->has_leftovers = true;
	return 0;
}

/* What only one who may change the network does. */
static int start(struct ethernet_node *node, struct fairlead_error *ret_error)
{
	struct underlays underlays;
	struct fairlead_error ignored;
	struct found found = { 0 };
	int result = device_probe(node->netlink, "vxlan", ret_error);

	node->guard = memory_alloc(sizeof(*node->guard));
	if (result == 0)
		result = table_open(&node->filter, ret_error);
	if (result == 0)
		result = node_underlays(node, &underlays, ret_error);
	if (result == 0)
		result = found_read(node, &found, ret_error);
	if (result == 0)
		result =
			check_networks(node, &found, node->bpf_pins, ret_error);
	if (result == 0)
		result = check_lanes(node, &found, ret_error);
	/* Where it matters that they cannot be, the node says that it lacks it. */
	if (result == 0)
		(void)rail_ports_reserve(node->networks.port, &ignored);
	if (result == 0)
		result = start_rules(node, &found, ret_error);
	if (result == 0)
		(void)sweep(node, &underlays, &found, &ignored);
	found_fini(&found);
	return result;
}

static int open_node(const struct fairlead_setting *list, size_t count,
		     void **ret_state, struct fairlead_error *ret_error)
{
	_auto_(close_nodep) struct ethernet_node *node = NULL;
	int result;

	node = memory_alloc(sizeof(*node));
	node->taken = memory_alloc(sizeof(*node->taken));
	result = settings_take(node, list, count, ret_error);
	if (result == 0)
		result = netlink_open(&node->netlink, ret_error);
	node->is_looking = may_look_only();
	if (result == 0 && !node->is_looking)
		result = start(node, ret_error);
	if (result == 0)
		*ret_state = take_ptr(node);
	return result;
}

/* --- underlays --- */

int node_underlays(const struct ethernet_node *node, struct underlays *ret_list,
		   struct fairlead_error *ret_error)
{
	return underlay_list(node->netlink, node->devices, node->taken,
			     ret_list, ret_error);
}

uint8_t underlays_rails(const struct underlays *list)
{
	size_t count = list->count;

	while (count > 0 && !list->list[count - 1].is_usable)
		count--;
	return (uint8_t)count;
}

const struct underlay *underlays_find(const struct underlays *list, int index)
{
	for (size_t i = 0; i < list->count; i++) {
		if (list->list[i].index == index && index != 0)
			return &list->list[i];
	}
	return NULL;
}

/* Lanes that have a device on the NIC. */
static uint32_t lanes_on(const struct found *found,
			 const struct underlay *underlay)
{
	uint32_t count = 0;

	for (size_t i = 0; i < found->count; i++) {
		const struct lane_device *device = &found->list[i].device;

		if (device->is_ours &&
		    device->underlay_index == underlay->index &&
		    found_is_first(found, i))
			count++;
	}
	return count;
}

static void describe(const struct ethernet_node *node,
		     const struct underlay *underlay, const struct found *found,
		     const char *other_flaw, struct fairlead_device *device)
{
	char address[IP_ADDRESS_TEXT_MAX];
	const char *flaw = underlay->is_usable ? other_flaw : underlay->flaw;

	snprintf(device->name, sizeof(device->name), "%s", underlay->name);
	device->is_usable = !flaw;
	ip_address_format(&underlay->address, address);
	if (flaw)
		snprintf(device->detail, sizeof(device->detail), "%.*s",
			 (int)sizeof(device->detail) - 1, flaw);
	else
		snprintf(device->detail, sizeof(device->detail), "%s, MTU %u",
			 address, underlay->mtu);
	device->resource_count = 1;
	strcpy(device->resources[0].name, "lanes");
	device->resources[0].total = NODE_LANES_MAX;
	device->resources[0].reserved = lanes_on(found, underlay);
}

static void namespace_seen(void *arg, uint64_t grant_id)
{
	*(bool *)arg = true;
}

/*
 * The socket of a device that was moved into a job's namespace stays behind.
 * Who only looks does not see the device, and takes the port for its.
 */
static bool is_inside(const struct ethernet_node *node,
		      const struct found *found, uint16_t port)
{
	struct fairlead_error ignored;
	bool is_any = false;

	if (node->is_looking)
		(void)namespace_list(node->namespaces, namespace_seen, &is_any,
				     &ignored);
	for (size_t i = 0; i < found->count; i++)
		is_any |= found->list[i].is_netns &&
			  found->list[i].device.is_up &&
			  found->list[i].device.port == port;
	return is_any;
}

static int port_check(const struct ethernet_node *node,
		      const struct found *found, size_t rail,
		      struct fairlead_error *ret_error)
{
	uint16_t port = ethernet_port(node->networks.port, (uint32_t)rail);

	return underlay_port_check(node->netlink, port,
				   is_inside(node, found, port), ret_error);
}

/* Then it may as well be another program's. */
static void say_doubt(const struct ethernet_node *node, size_t rail,
		      struct fairlead_device *device)
{
	uint16_t port = ethernet_port(node->networks.port, (uint32_t)rail);
	size_t used = strlen(device->detail);
	struct fairlead_error ignored;

	if (node->is_looking && device->is_usable &&
	    underlay_port_check(node->netlink, port, false, &ignored) < 0)
		snprintf(device->detail + used, sizeof(device->detail) - used,
			 "; only root sees who has UDP port %u", port);
}

static int probe(void *state,
		 void (*emit)(void *arg, const struct fairlead_device *device),
		 void *arg, struct fairlead_error *ret_error)
{
	const struct ethernet_node *node = state;
	struct fairlead_error clash = { 0 }, taken;
	struct found found = { 0 };
	struct underlays list;
	int result = node_underlays(node, &list, ret_error);

	if (result == 0)
		result = found_read(node, &found, ret_error);
	if (result < 0)
		return result;
	result = underlay_clash(node->netlink, &node->networks, &clash);
	for (uint32_t i = 0; i < list.count; i++) {
		struct fairlead_device device = { 0 };
		const char *flaw = result < 0 ? clash.text : NULL;

		if (list.list[i].is_usable && !flaw &&
		    port_check(node, &found, i, &taken) < 0)
			flaw = taken.text;
		describe(node, &list.list[i], &found, flaw, &device);
		say_doubt(node, i, &device);
		emit(arg, &device);
	}
	found_fini(&found);
	return 0;
}

int node_port_check(const struct ethernet_node *node, size_t rail,
		    struct fairlead_error *ret_error)
{
	uint16_t port = ethernet_port(node->networks.port, (uint32_t)rail);
	struct found found = { 0 };
	int result = underlay_port_check(node->netlink, port, false, ret_error);

	/* Our own, in a namespace? */
	if (result == -EADDRINUSE) {
		result = found_read(node, &found, ret_error);
		if (result == 0)
			result = port_check(node, &found, rail, ret_error);
		found_fini(&found);
	}
	return result;
}

/*
 * Rails that can carry lanes, as bits. One whose port another program has would
 * fail each apply; without any other it is reported, and the apply says why.
 */
static unsigned int rails_to_report(const struct ethernet_node *node,
				    const struct underlays *list)
{
	struct fairlead_error ignored;
	unsigned int usable = 0, taken = 0;

	for (size_t i = 0; i < list->count; i++) {
		if (!list->list[i].is_usable)
			continue;
		usable |= 1u << i;
		if (node_port_check(node, i, &ignored) == -EADDRINUSE)
			taken |= 1u << i;
	}
	return usable == taken ? usable : usable & ~taken;
}

static int place(void *state, struct fairlead_place *ret_place,
		 struct fairlead_error *ret_error)
{
	const struct ethernet_node *node = state;
	struct ethernet_place own = { 0 };
	unsigned int rails;
	struct writer writer = { .limit = FAIRLEAD_PLACE_MAX };
	struct underlays list;
	int result = node_underlays(node, &list, ret_error);

	if (result < 0)
		return result;
	/* One that cannot be used leaves its rail empty. */
	rails = rails_to_report(node, &list);
	if (rails)
		own.rail_count = (uint8_t)list.count;
	for (size_t i = 0; i < list.count; i++) {
		const struct underlay *underlay = &list.list[i];

		if (!(rails & 1u << i))
			continue;
		own.rails[i] = (struct ethernet_rail){
			.address = underlay->address,
			.mtu = (uint16_t)(underlay->mtu > UINT16_MAX
						  ? UINT16_MAX
						  : underlay->mtu),
		};
	}
	ret_place->size = 0;
	/* A node that has to have a NIC, and has none, reports no place. */
	if (own.rail_count == 0 && node->requires_devices)
		return 0;
	result = ethernet_place_encode(&own, &writer);
	if (result == 0) {
		memcpy(ret_place->bytes, writer.data, writer.size);
		ret_place->size = writer.size;
	} else {
		error_set(ret_error, result, "out of memory");
	}
	writer_fini(&writer);
	return result;
}

const struct fairlead_node_ops ethernet_node_ops = {
	.open = open_node,
	.close = close_node,
	.probe = probe,
	.place = place,
	.tend = ethernet_tend,
	.apply = ethernet_apply,
	.revoke = ethernet_revoke,
	.revoke_all = ethernet_revoke_all,
	.env = ethernet_env,
	.inherit = ethernet_inherit,
	.list = ethernet_list,
	.destroy = ethernet_destroy,
	.summarize = ethernet_summarize,
};
