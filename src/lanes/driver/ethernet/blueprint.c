/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Rails are NICs in the order of the node's list, as it reported them to the
 * manager. A node that has another address by now would listen where nobody
 * sends. One that the members have no rails of is nobody's peer: it has nothing
 * of the lane.
 */
#include "lanes/driver/ethernet/blueprint.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/memory.h"

/* A lane of this node alone: a rail for each NIC. */
static void members_of_one(struct blueprint *blueprint,
			   const struct ethernet_node *node,
			   const struct underlays *list)
{
	struct ethernet_members *members = &blueprint->members;

	*members = (struct ethernet_members){
		.networks = node->networks,
		.node_count = 1,
		.addresses = memory_array(ETHERNET_RAILS_MAX,
					  sizeof(*members->addresses)),
	};
	for (uint8_t number = 0; number < list->count; number++) {
		const struct underlay *nic = &list->list[number];
		uint8_t i = members->rail_count;

		if (!nic->is_usable)
			continue;
		members->rails[i] = number;
		members->addresses[i] = nic->address;
		members->mtu[i] =
			(uint16_t)(nic->mtu -
				   ethernet_overhead(nic->address.family));
		members->rail_count++;
	}
}

/* Why there is no rail here. */
static int say_no_rail(const struct ethernet_node *node,
		       const struct underlays *list,
		       struct fairlead_error *ret_error)
{
	if (list->count > 0)
		return error_set(ret_error, -ENODEV,
				 "no NIC of this node can carry a lane: %s: %s",
				 list->list[0].name, list->list[0].flaw);
	return error_set(ret_error, -ENODEV,
			 "this node has no NIC for lanes (devices = '%s')",
			 node->devices);
}

static int address_check(const struct blueprint *blueprint, size_t rail,
			 struct fairlead_error *ret_error)
{
	const struct ip_address *reported = ethernet_members_at(
		&blueprint->members, blueprint->number - 1, rail);
	char manager_text[IP_ADDRESS_TEXT_MAX], text[IP_ADDRESS_TEXT_MAX];

	if (ip_address_equal(reported, &blueprint->rails[rail].address))
		return 0;
	ip_address_format(reported, manager_text);
	ip_address_format(&blueprint->rails[rail].address, text);
	return error_set(ret_error, -ESTALE,
			 "%s: the manager has address %s for it, and it has "
			 "%s; the node reports it within seconds: try again",
			 blueprint->rails[rail].name, manager_text, text);
}

static int network_check(const struct ip_network *manager,
			 const struct ip_network *own, const char *setting,
			 struct fairlead_error *ret_error)
{
	char manager_text[IP_NETWORK_TEXT_MAX], text[IP_NETWORK_TEXT_MAX];

	if (manager->prefix_size == own->prefix_size &&
	    ip_address_equal(&manager->address, &own->address))
		return 0;
	ip_network_format(manager, manager_text);
	ip_network_format(own, text);
	return error_set(ret_error, -ESTALE,
			 "the manager's %s is %s, and this node's is %s: give "
			 "both the same, and restart fairleadd on this node",
			 setting, *manager_text ? manager_text : "none",
			 *text ? text : "none");
}

/* Rules and gate are for the node's networks and ports, not for the lane's. */
static int networks_check(const struct ethernet_networks *manager,
			  const struct ethernet_networks *own,
			  struct fairlead_error *ret_error)
{
	int result = network_check(&manager->ipv6, &own->ipv6, "ipv6_network",
				   ret_error);

	if (result == 0)
		result = network_check(&manager->ipv4, &own->ipv4,
				       "ipv4_network", ret_error);
	if (result == 0 && manager->port != own->port)
		result = error_set(ret_error, -ESTALE,
				   "the manager's port is %u, and this node's "
				   "is %u: give both the same, and restart "
				   "fairleadd on this node",
				   manager->port, own->port);
	return result;
}

/* The members have no rails of this node, where there are some. */
static int absence_check(const struct ethernet_node *node,
			 struct fairlead_error *ret_error)
{
	if (!node->requires_devices)
		return 0;
	return error_set(
		ret_error, -ESTALE,
		"the manager does not know yet that this node has a "
		"NIC for lanes; the node reports it within seconds: try again");
}

/* The NICs of the lane's rails. */
static int rails_take(struct blueprint *blueprint, const struct underlays *list,
		      struct fairlead_error *ret_error)
{
	const struct ethernet_members *members = &blueprint->members;

	for (size_t i = 0; i < members->rail_count; i++) {
		uint8_t number = members->rails[i];

		if (number >= list->count)
			return error_set(ret_error, -ENODEV,
					 "the lane is on rail %u, and this "
					 "node has no NIC for it",
					 number);
		if (!list->list[number].is_usable)
			return error_set(ret_error, -ENODEV,
					 "the lane is on rail %u, and %s here "
					 "cannot carry it: %s",
					 number, list->list[number].name,
					 list->list[number].flaw);
		blueprint->rails[i] = list->list[number];
	}
	blueprint->rail_count = members->rail_count;
	return 0;
}

static void say_lacking(struct blueprint *blueprint, const char *nic,
			uint8_t number, const char *why)
{
	size_t used = strlen(blueprint->lacking);

	snprintf(blueprint->lacking + used, sizeof(blueprint->lacking) - used,
		 "%s%s: the lane is not on rail %u: %s", used ? "; " : "", nic,
		 number, why);
}

/* Rails that would be there, had each node the NICs that it should have. */
static void lacking_find(struct blueprint *blueprint,
			 const struct ethernet_node *node,
			 const struct underlays *list)
{
	struct fairlead_error taken;

	for (uint8_t number = 0; number < list->count; number++) {
		const struct underlay *nic = &list->list[number];

		if (!(blueprint->members.lacking & 1u << number))
			continue;
		if (!nic->is_usable)
			say_lacking(blueprint, nic->name, number, nic->flaw);
		else if (node_port_check(node, number, &taken) == -EADDRINUSE)
			say_lacking(blueprint, nic->name, number, taken.text);
		else
			say_lacking(blueprint, nic->name, number,
				    "another of its nodes cannot use it "
				    "(`fairlead node devices` there says why)");
	}
}

static int members_take(struct blueprint *blueprint,
			const struct ethernet_node *node,
			const struct underlays *list,
			const struct fairlead_lane *lane,
			struct fairlead_error *ret_error)
{
	int result = ethernet_members_decode(lane->members, lane->members_size,
					     &blueprint->members);

	if (result == -EPROTONOSUPPORT)
		return error_set(ret_error, result,
				 "the lane's members are in form %u, and this "
				 "node's is %d: update fairlead on %s",
				 lane->members[0], ETHERNET_MEMBERS_VERSION,
				 lane->members[0] < ETHERNET_MEMBERS_VERSION
					 ? "the manager's host"
					 : "this node");
	if (result < 0)
		return error_set(ret_error, result,
				 "the lane's members cannot be read");
	if (blueprint->members.node_count != lane->node_count ||
	    lane->index >= lane->node_count)
		return error_set(ret_error, -EBADMSG,
				 "the lane has %u nodes and its members %u",
				 lane->node_count,
				 blueprint->members.node_count);
	if (!ethernet_members_has(&blueprint->members, lane->index)) {
		blueprint->is_unreported = true;
		return absence_check(node, ret_error);
	}
	result = rails_take(blueprint, list, ret_error);
	if (result == 0)
		result = networks_check(&blueprint->members.networks,
					&node->networks, ret_error);
	if (result == 0)
		lacking_find(blueprint, node, list);
	for (size_t i = 0; i < blueprint->rail_count && result == 0; i++)
		result = address_check(blueprint, i, ret_error);
	return result;
}

static void blueprint_add_device(struct blueprint *blueprint,
				 const struct ethernet_node *node,
				 const struct fairlead_lane *lane, uint32_t vni,
				 size_t i)
{
	const struct ethernet_members *members = &blueprint->members;
	struct lane_device *device =
		&blueprint->devices[blueprint->device_count++];
	struct ethernet_names names;

	ethernet_name(&members->networks, vni, members->rails[i],
		      blueprint->number, &names);
	*device = (struct lane_device){
		.is_ours = true,
		.vni = vni,
		.rail = members->rails[i],
		.port = names.port,
		.mtu = members->mtu[i],
		.ttl = node->ttl,
		.underlay_index = blueprint->rails[i].index,
		.underlay = blueprint->rails[i].address,
		.ipv4 = names.ipv4,
		.ipv4_prefix_size = names.ipv4_prefix_size,
		.ipv6 = names.ipv6,
		.alias = {
			.grant_id = lane->grant_id,
			.uid = lane->uid,
			.gid = lane->gid,
			.classes = (uint8_t)blueprint->request.classes,
			.first_class = (uint8_t)blueprint->request.first_class,
			.vni_count = lane->id_count,
		},
	};
	memcpy(device->name, names.device, sizeof(device->name));
	memcpy(device->mac, names.mac, sizeof(device->mac));
	memcpy(device->alias.vnis, lane->ids,
	       lane->id_count * sizeof(lane->ids[0]));
	/* All users can read it. */
	if (lane->job && node->job_cgroup && strstr(node->job_cgroup, "%j"))
		strcpy(device->alias.job, lane->job);
}

static int lane_check(const struct fairlead_lane *lane,
		      struct fairlead_error *ret_error)
{
	if (lane->id_count > ETHERNET_VNIS_MAX)
		return error_set(ret_error, -EINVAL,
				 "a lane has at most %d VNIs, not %u",
				 ETHERNET_VNIS_MAX, lane->id_count);
	if (lane->job && !ethernet_job_is_valid(lane->job))
		return error_set(ret_error, -EINVAL,
				 "'%.80s' cannot be the name of a job",
				 lane->job);
	for (uint32_t i = 0; i < lane->id_count; i++) {
		if (lane->ids[i] == 0 || lane->ids[i] >= ETHERNET_VNI_LIMIT)
			return error_set(ret_error, -EINVAL, "%u is not a VNI",
					 lane->ids[i]);
	}
	return 0;
}

static int rails_find(struct blueprint *blueprint,
		      const struct ethernet_node *node,
		      const struct fairlead_lane *lane,
		      struct fairlead_error *ret_error)
{
	struct underlays list;
	int result = node_underlays(node, &list, ret_error);
	bool has_rail = result == 0 && underlays_rails(&list) > 0;

	if (result < 0)
		return result;
	if (!has_rail && node->requires_devices)
		return say_no_rail(node, &list, ret_error);
	if (lane->members_size > 0 && has_rail)
		return members_take(blueprint, node, &list, lane, ret_error);
	if (has_rail && (lane->node_count > 1 || lane->index > 0))
		return error_set(ret_error, -EBADMSG,
				 "the lane has %u nodes, and nobody says where "
				 "they are",
				 lane->node_count);
	members_of_one(blueprint, node, &list);
	return rails_take(blueprint, &list, ret_error);
}

int blueprint_init(struct blueprint *blueprint,
		   const struct ethernet_node *node,
		   const struct fairlead_lane *lane,
		   struct fairlead_error *ret_error)
{
	int result = lane_check(lane, ret_error);

	*blueprint = (struct blueprint){ .number = lane->index + 1 };
	if (result == 0)
		result = ethernet_request_parse(lane->options, NULL,
						lane->id_count,
						&blueprint->request, ret_error);
	if (result == 0 && lane->id_count > 0)
		result = rails_find(blueprint, node, lane, ret_error);
	if (result < 0) {
		blueprint_fini(blueprint);
		return result;
	}
	for (size_t i = 0; i < blueprint->rail_count; i++) {
		for (uint32_t k = 0; k < lane->id_count; k++)
			blueprint_add_device(blueprint, node, lane,
					     lane->ids[k], i);
	}
	return 0;
}

void blueprint_fini(struct blueprint *blueprint)
{
	ethernet_members_fini(&blueprint->members);
}

struct lane_peer *blueprint_peers(const struct blueprint *blueprint,
				  size_t index, size_t *ret_count)
{
	const struct lane_device *device = &blueprint->devices[index];
	const struct ethernet_members *members = &blueprint->members;
	struct lane_peer *peers =
		memory_array(members->node_count, sizeof(*peers));
	size_t rail = blueprint_rail(blueprint, index);
	size_t count = 0;

	for (uint32_t i = 0; i < members->node_count; i++) {
		struct ethernet_names names;

		if (i + 1 == blueprint->number ||
		    !ethernet_members_has(members, i))
			continue;
		ethernet_name(&members->networks, device->vni, device->rail,
			      i + 1, &names);
		peers[count] = (struct lane_peer){
			.underlay = *ethernet_members_at(members, i, rail),
			.ipv4 = names.ipv4,
			.ipv6 = names.ipv6,
		};
		memcpy(peers[count++].mac, names.mac, ETHERNET_MAC_SIZE);
	}
	*ret_count = count;
	return peers;
}
