/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Rails are the usable NICs in their order, as they were told to the manager. A
 * node that has another address by now would listen where nobody sends. One that
 * the members have no rails of is nobody's peer: it has nothing of the lane.
 */
#include "driver/ethernet/blueprint.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

/* A lane of this node alone: as many rails as it has NICs. */
static int members_of_one(struct blueprint *blueprint,
			  const struct ethernet_node *node,
			  struct fairlead_error *ret_error)
{
	struct ethernet_members *members = &blueprint->members;

	*members = (struct ethernet_members){
		.networks = node->networks,
		.node_count = 1,
		.rail_count = (uint8_t)blueprint->rail_count,
		.addresses = calloc(blueprint->rail_count + 1,
				    sizeof(*members->addresses)),
	};
	if (!members->addresses)
		return error_set(ret_error, -ENOMEM, "out of memory");
	for (size_t i = 0; i < blueprint->rail_count; i++) {
		const struct underlay *rail = &blueprint->rails[i];

		members->addresses[i] = rail->address;
		members->mtu[i] =
			(uint16_t)(rail->mtu -
				   ethernet_overhead(rail->address.family));
	}
	return 0;
}

static void rails_take(struct blueprint *blueprint,
		       const struct underlays *list)
{
	for (size_t i = 0; i < list->count; i++) {
		if (list->list[i].is_usable)
			blueprint->rails[blueprint->rail_count++] =
				list->list[i];
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
	const struct ip_address *told = ethernet_members_at(
		&blueprint->members, blueprint->number - 1, rail);
	char told_text[IP_ADDRESS_TEXT_MAX], text[IP_ADDRESS_TEXT_MAX];

	if (ip_address_equal(told, &blueprint->rails[rail].address))
		return 0;
	ip_address_format(told, told_text);
	ip_address_format(&blueprint->rails[rail].address, text);
	return error_set(ret_error, -ESTALE,
			 "%s: the manager has address %s for it, and it has "
			 "%s; restart fairleadd on this node",
			 blueprint->rails[rail].name, told_text, text);
}

static int network_check(const struct ip_network *told,
			 const struct ip_network *own, const char *setting,
			 struct fairlead_error *ret_error)
{
	char told_text[IP_NETWORK_TEXT_MAX], text[IP_NETWORK_TEXT_MAX];

	if (told->prefix_size == own->prefix_size &&
	    ip_address_equal(&told->address, &own->address))
		return 0;
	ip_network_format(told, told_text);
	ip_network_format(own, text);
	return error_set(ret_error, -ESTALE,
			 "the manager's %s is %s, and this node's is %s: give "
			 "both the same, and restart fairleadd on this node",
			 setting, *told_text ? told_text : "none",
			 *text ? text : "none");
}

/* Rules and gate are for the node's networks and ports, not for the lane's. */
static int networks_check(const struct ethernet_networks *told,
			  const struct ethernet_networks *own,
			  struct fairlead_error *ret_error)
{
	int result = network_check(&told->ipv6, &own->ipv6, "ipv6_network",
				   ret_error);

	if (result == 0)
		result = network_check(&told->ipv4, &own->ipv4, "ipv4_network",
				       ret_error);
	if (result == 0 && told->port != own->port)
		result = error_set(ret_error, -ESTALE,
				   "the manager's port is %u, and this node's "
				   "is %u: give both the same, and restart "
				   "fairleadd on this node",
				   told->port, own->port);
	return result;
}

/* The members have no rails of this node, where there are some. */
static int absence_check(const struct ethernet_node *node,
			 struct fairlead_error *ret_error)
{
	if (!node->requires_devices)
		return 0;
	return error_set(ret_error, -ESTALE,
			 "the manager knows of no NIC for lanes of this node, "
			 "which has one; restart fairleadd on this node");
}

static int members_take(struct blueprint *blueprint,
			const struct ethernet_node *node,
			const struct fairlead_lane *lane,
			struct fairlead_error *ret_error)
{
	int result = ethernet_members_decode(lane->members, lane->members_size,
					     &blueprint->members);

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
		blueprint->rail_count = 0;
		return absence_check(node, ret_error);
	}
	if (blueprint->members.rail_count > blueprint->rail_count)
		return error_set(ret_error, -ENODEV,
				 "the lane has %u rails, and this node has %zu "
				 "NICs that can carry one",
				 blueprint->members.rail_count,
				 blueprint->rail_count);
	blueprint->rail_count = blueprint->members.rail_count;
	result = networks_check(&blueprint->members.networks, &node->networks,
				ret_error);
	for (size_t i = 0; i < blueprint->rail_count && result == 0; i++)
		result = address_check(blueprint, i, ret_error);
	return result;
}

static void blueprint_add_device(struct blueprint *blueprint,
				 const struct ethernet_node *node,
				 const struct fairlead_lane *lane, uint32_t vni,
				 uint32_t rail)
{
	struct lane_device *device =
		&blueprint->devices[blueprint->device_count++];
	struct ethernet_names names;

	ethernet_name(&blueprint->members.networks, vni, rail,
		      blueprint->number, &names);
	*device = (struct lane_device){
		.is_ours = true,
		.vni = vni,
		.rail = rail,
		.port = names.port,
		.mtu = blueprint->members.mtu[rail],
		.ttl = node->ttl,
		.underlay_index = blueprint->rails[rail].index,
		.underlay = blueprint->rails[rail].address,
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
	if (lane->job)
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

	if (result < 0)
		return result;
	rails_take(blueprint, &list);
	if (blueprint->rail_count == 0 && node->requires_devices)
		return say_no_rail(node, &list, ret_error);
	if (lane->members_size > 0 && blueprint->rail_count > 0)
		return members_take(blueprint, node, lane, ret_error);
	if (blueprint->rail_count > 0 &&
	    (lane->node_count > 1 || lane->index > 0))
		return error_set(ret_error, -EBADMSG,
				 "the lane has %u nodes, and nobody says where "
				 "they are",
				 lane->node_count);
	return members_of_one(blueprint, node, ret_error);
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
	for (uint32_t rail = 0; rail < blueprint->rail_count; rail++) {
		for (uint32_t i = 0; i < lane->id_count; i++)
			blueprint_add_device(blueprint, node, lane,
					     lane->ids[i], rail);
	}
	return 0;
}

void blueprint_fini(struct blueprint *blueprint)
{
	ethernet_members_fini(&blueprint->members);
}

int blueprint_peers(const struct blueprint *blueprint, size_t index,
		    struct lane_peer **ret_peers, size_t *ret_count)
{
	const struct lane_device *device = &blueprint->devices[index];
	const struct ethernet_members *members = &blueprint->members;
	struct lane_peer *peers = calloc(members->node_count, sizeof(*peers));
	size_t count = 0;

	if (!peers)
		return -ENOMEM;
	for (uint32_t i = 0; i < members->node_count; i++) {
		struct ethernet_names names;

		if (i + 1 == blueprint->number ||
		    !ethernet_members_has(members, i))
			continue;
		ethernet_name(&members->networks, device->vni, device->rail,
			      i + 1, &names);
		peers[count] = (struct lane_peer){
			.underlay =
				*ethernet_members_at(members, i, device->rail),
			.ipv4 = names.ipv4,
			.ipv6 = names.ipv6,
		};
		memcpy(peers[count++].mac, names.mac, ETHERNET_MAC_SIZE);
	}
	*ret_peers = peers;
	*ret_count = count;
	return 0;
}
