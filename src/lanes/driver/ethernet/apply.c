/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A device for each VNI on each rail, or none:
 *
 *	namespace | device (down), which names its class | class | rules, gates | up
 *
 * What fails takes back what was made, in the other order. A VNI that any other
 * device has is refused: two devices with one VNI are one lane, and one of this
 * very lane that is left from an earlier try has to be revoked first.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/memory.h"
#include "lanes/driver/ethernet/blueprint.h"
#include "lanes/driver/ethernet/enforce.h"
#include "lanes/driver/ethernet/links.h"
#include "lanes/driver/ethernet/namespace.h"
#include "lanes/driver/ethernet/shaper.h"
#include "lanes/driver/ethernet/take_back.h"

/* --- what is there already --- */

static int say_present(const struct lane_device *other,
		       const struct fairlead_lane *lane, bool is_of_lane,
		       struct fairlead_error *ret_error)
{
	if (is_of_lane)
		return error_set(ret_error, -EEXIST,
				 "device %s is this lane's already (VNI %u, "
				 "uid %u)",
				 other->name, other->vni, lane->uid);
	if (other->is_ours)
		return error_set(ret_error, -EEXIST,
				 "VNI %u is in use by device %s of grant "
				 "%" PRIu64,
				 other->vni, other->name,
				 other->alias.grant_id);
	return error_set(
		ret_error, -EEXIST,
		"VNI %u is in use by device %s, which has no sign of a "
		"lane: if it was one, delete it by `ip link delete %s`",
		other->vni, other->name, other->name);
}

/* Have they IPv4 addresses in common? */
static bool has_overlap(const struct lane_device *one,
			const struct lane_device *other)
{
	struct ip_network a = ip_network_of(&one->ipv4, one->ipv4_prefix_size);
	struct ip_network b =
		ip_network_of(&other->ipv4, other->ipv4_prefix_size);

	return ip_network_meets(&a, &b);
}

static int device_check(const struct lane_device *wanted,
			const struct found_device *found,
			const struct fairlead_lane *lane,
			struct fairlead_error *ret_error)
{
	const struct lane_device *other = &found->device;

	if (wanted->vni == other->vni && wanted->port == other->port)
		return say_present(other, lane, found_is_of(found, lane),
				   ret_error);
	if (other->is_ours && has_overlap(wanted, other))
		return error_set(ret_error, -EADDRINUSE,
				 "the IPv4 network of VNI %u overlaps that of "
				 "device %s, since the site's networks have "
				 "been changed; wait until older jobs have "
				 "ended",
				 wanted->vni, other->name);
	return 0;
}

static int present_check(const struct found *found,
			 const struct blueprint *blueprint,
			 const struct fairlead_lane *lane,
			 struct fairlead_error *ret_error)
{
	int result = 0;

	for (size_t i = 0; i < found->count; i++) {
		for (size_t k = 0; k < blueprint->device_count && result == 0;
		     k++)
			result = device_check(&blueprint->devices[k],
					      &found->list[i], lane, ret_error);
	}
	return result;
}

static const char *isolation_text(const struct blueprint *blueprint)
{
	return blueprint->request.isolation == ETHERNET_NETNS
		       ? " in a namespace"
		       : "";
}

static void report_dry_run(const struct blueprint *blueprint,
			   const struct fairlead_lane *lane,
			   struct fairlead_warnings *warnings)
{
	for (size_t i = 0; i < blueprint->device_count; i++) {
		const struct lane_device *device = &blueprint->devices[i];
		char ipv4[IP_ADDRESS_TEXT_MAX], ipv6[IP_ADDRESS_TEXT_MAX];

		ip_address_format(&device->ipv4, ipv4);
		ip_address_format(&device->ipv6, ipv6);
		warnings_add(
			warnings,
			"%s: would make device %s uid=%u vni=%u mtu=%u "
			"addresses=%s%s%s peers=%u%s",
			blueprint->rails[blueprint_rail(blueprint, i)].name,
			device->name, lane->uid, device->vni, device->mtu, ipv4,
			*ipv4 ? "," : "", ipv6,
			ethernet_members_count(&blueprint->members) - 1,
			isolation_text(blueprint));
	}
}

static void warn_of_rails(const struct blueprint *blueprint,
			  const struct fairlead_lane *lane,
			  struct fairlead_warnings *warnings)
{
	if (lane->id_count > 0 && blueprint->rail_count == 0)
		warnings_add(warnings,
			     "%s: the job's tasks here have no interface of "
			     "its lane",
			     blueprint->is_unreported
				     ? "the manager does not know yet that "
				       "this node has a NIC for lanes"
				     : "this node has no NIC for lanes");
	if (blueprint->lacking[0])
		warnings_add(warnings, "%s", blueprint->lacking);
}

/* The site wants its jobs kept apart, and they are not. */
static void warn_of_cgroup(const struct ethernet_node *node,
			   const struct blueprint *blueprint,
			   struct fairlead_warnings *warnings)
{
	struct fairlead_error why;
	uint64_t id;

	if (blueprint->request.isolation == ETHERNET_NETNS ||
	    blueprint->device_count == 0 ||
	    enforce_cgroup(node, &blueprint->devices[0].alias, &id, &why) == 0)
		return;
	if (id == GATE_CGROUP_UNKNOWN)
		warnings_add(warnings,
			     "the lane is for nobody before the node can look "
			     "for the job's cgroup: %s",
			     why.text);
	else
		warnings_add(warnings,
			     "the lane is for all processes of uid %u, and not "
			     "only for those in the job's cgroup: %s",
			     blueprint->devices[0].alias.uid, why.text);
}

/* Peers that what the rail carries does not get to. */
static void warn_of_way(const struct ethernet_node *node,
			const struct blueprint *blueprint, size_t rail,
			struct fairlead_warnings *warnings)
{
	const struct ethernet_members *members = &blueprint->members;
	struct fairlead_error why;
	size_t far;
	int result = underlay_ways_check(node->netlink, &blueprint->rails[rail],
					 node->ttl, members->addresses + rail,
					 members->node_count,
					 members->rail_count, &far, &why);

	if (result != -EHOSTUNREACH && result != -ENETUNREACH)
		return;
	if (result == -EHOSTUNREACH)
		warnings_add(warnings,
			     "%s: %s, and what lanes carry is not routed: set "
			     "ttl on all nodes to more than there are routers "
			     "on the way",
			     blueprint->rails[rail].name, why.text);
	else
		warnings_add(warnings,
			     "%s: %s, so that rail %u of the lane carries "
			     "nothing there: a rail has to be one network on "
			     "all nodes; name their NICs in 'devices' in one "
			     "order",
			     blueprint->rails[rail].name, why.text,
			     members->rails[rail]);
	if (node->guard)
		node->guard->far_peers[members->rails[rail]] =
			*ethernet_members_at(members, (uint32_t)far, rail);
}

/* --- making --- */

struct making {
	const struct ethernet_node *node;
	const struct fairlead_lane *lane;
	struct blueprint *blueprint;
	const struct found *found; /* before */
	struct found_device made[ETHERNET_DEVICES_MAX];
	size_t made_count;
	bool has_rules;         /* they were to be added */
	struct netlink *inside; /* of the job's namespace, when it has one */
	struct fairlead_warnings *warnings;
	struct fairlead_error *error;
};

static int namespace_make(struct making *making)
{
	const struct ethernet_node *node = making->node;
	uint64_t grant_id = making->lane->grant_id;
	int result;

	if (making->blueprint->request.isolation != ETHERNET_NETNS ||
	    making->blueprint->device_count == 0)
		return 0;
	result = namespace_create(node->namespaces, grant_id, making->error);
	if (result == 0)
		result = namespace_netlink(node->namespaces, grant_id,
					   &making->inside, making->error);
	return result;
}

static void go_without_class(const struct making *making, size_t rail,
			     const struct fairlead_error *why)
{
	warnings_add(making->warnings,
		     "%s: traffic is not shaped, and rates are not kept: %s",
		     making->blueprint->rails[rail].name, why->text);
}

/*
 * A minor number that neither a class nor a device has: the class of a device
 * that is there may be missing.
 */
static int minor_choose(const struct making *making,
			const struct underlay *underlay, uint16_t *ret_minor,
			struct fairlead_error *ret_error)
{
	const struct found *found = making->found;
	_auto_(freep) uint16_t *taken =
		memory_array(found->count, sizeof(*taken));
	size_t count = 0;

	for (size_t i = 0; i < found->count; i++) {
		const struct lane_device *device = &found->list[i].device;

		if (device->is_ours &&
		    device->underlay_index == underlay->index)
			taken[count++] = device->alias.htb_class;
	}
	return shaper_choose(making->node->netlink, underlay, taken, count,
			     ret_minor, ret_error);
}

/* The class that the lane is to have on the rail; none is a warning. */
static void class_plan(struct making *making, size_t rail)
{
	const struct ethernet_node *node = making->node;
	const struct underlay *underlay = &making->blueprint->rails[rail];
	const struct ethernet_request *request = &making->blueprint->request;
	uint32_t rate =
		node->link_mbit ? node->link_mbit : underlay->speed_mbit;
	struct fairlead_error error = { 0 };
	uint16_t minor = 0;
	int result;

	if (!node->is_shaping && !request->reserved_mbit && !request->max_mbit)
		return;
	if (!node->is_shaping)
		result = error_set(&error, -EOPNOTSUPP,
				   "shaping is off on this node");
	else if (rate == 0)
		result = error_set(&error, -EOPNOTSUPP,
				   "the NIC does not say how fast it is; set "
				   "link_rate");
	else
		result = shaper_start(node->netlink, underlay, rate, &error);
	if (result == 0)
		result = minor_choose(making, underlay, &minor, &error);
	if (result < 0)
		go_without_class(making, rail, &error);
	for (size_t i = 0; i < making->blueprint->device_count; i++) {
		if (blueprint_rail(making->blueprint, i) == rail)
			making->blueprint->devices[i].alias.htb_class = minor;
	}
}

/* Nor do its devices name a class then, which would be the next lane's. */
static int class_forget(struct making *making, size_t rail)
{
	struct netlink *netlink =
		making->inside ? making->inside : making->node->netlink;
	int result = 0;

	for (size_t i = 0; i < making->made_count && result == 0; i++) {
		struct lane_device *device = &making->made[i].device;

		if (blueprint_rail(making->blueprint, i) != rail)
			continue;
		device->alias.htb_class = 0;
		result = device_set_alias(netlink, device, making->error);
	}
	return result;
}

static int class_make(struct making *making, size_t rail)
{
	const struct blueprint *blueprint = making->blueprint;
	const struct lane_device *device =
		&blueprint->devices[rail * making->lane->id_count];
	struct shaper_class shaped = {
		.minor = device->alias.htb_class,
		.priority = blueprint->request.first_class,
		.reserved_mbit = blueprint->request.reserved_mbit,
		.max_mbit = blueprint->request.max_mbit,
		.classes = (uint8_t)blueprint->request.classes,
	};
	struct fairlead_error error = { 0 };

	if (shaped.minor == 0 ||
	    shaper_add(making->node->netlink, &blueprint->rails[rail], &shaped,
		       &error) == 0)
		return 0;
	go_without_class(making, rail, &error);
	return class_forget(making, rail);
}

static int device_make(struct making *making, size_t index)
{
	struct lane_device *device = &making->blueprint->devices[index];
	size_t count;
	_auto_(freep) struct lane_peer *peers =
		blueprint_peers(making->blueprint, index, &count);
	struct found_device *made = &making->made[making->made_count];
	int result = device_create(making->node->netlink, device,
				   making->inside ? NULL : peers,
				   making->inside ? 0 : count, making->error);

	if (result < 0)
		return result;
	made->device = *device;
	making->made_count++;
	if (!making->inside)
		return 0;
	result = namespace_take(making->node->netlink, making->node->namespaces,
				making->lane->grant_id, device, making->error);
	if (result == 0) {
		made->is_netns = true;
		made->namespace_id = making->lane->grant_id;
		result = device_dress(making->inside, device, peers, count,
				      making->error);
		made->device = *device;
	}
	return result;
}

static int devices_raise(struct making *making)
{
	struct netlink *netlink =
		making->inside ? making->inside : making->node->netlink;
	int result = 0;

	for (size_t i = 0; i < making->made_count && result == 0; i++)
		result = device_up(netlink, &making->made[i].device,
				   making->error);
	return result;
}

static int all_make(struct making *making)
{
	struct blueprint *blueprint = making->blueprint;
	int result = 0;

	if (blueprint->device_count > 0)
		result = enforce_tend_table(making->node, making->error);
	if (result == 0)
		result = namespace_make(making);
	for (size_t i = 0; i < blueprint->rail_count && result == 0; i++)
		class_plan(making, i);
	for (size_t i = 0; i < blueprint->device_count && result == 0; i++)
		result = device_make(making, i);
	for (size_t i = 0; i < blueprint->rail_count && result == 0; i++)
		result = class_make(making, i);
	making->has_rules = result == 0 && making->made_count > 0;
	if (making->has_rules)
		result = enforce_add(making->node, making->made,
				     making->made_count, making->error);
	return result == 0 ? devices_raise(making) : result;
}

/* Adds to the error what cannot be taken back yet. */
static void undo(struct making *making)
{
	struct fairlead_error before = *making->error;
	struct fairlead_error why = { 0 };
	struct take_back made = { .devices = making->made,
				  .count = making->made_count,
				  .has_no_rules = !making->has_rules };
	int result = 0;

	if (making->made_count > 0) {
		take_back_all(making->node, &made, 1);
		why = made.error;
		result = why.code;
	}
	if (result == 0 && making->inside)
		result = namespace_delete(making->node->namespaces,
					  making->lane->grant_id, &why);
	if (result < 0)
		error_set(making->error, before.code,
			  "%s; what was made before cannot be taken back yet: "
			  "%s",
			  before.text, why.text);
}

static int make(struct making *making, struct fairlead_record *ret_record)
{
	int result = all_make(making);

	if (result == 0)
		ethernet_record(making->node, making->made, making->made_count,
				ret_record);
	else
		undo(making);
	netlink_close(making->inside);
	return result;
}

/* Changes nothing. What it sets is the caller's, also on a failure. */
static int plan(struct making *making, struct found *found)
{
	const struct ethernet_node *node = making->node;
	struct blueprint *blueprint = making->blueprint;
	int result =
		blueprint_init(blueprint, node, making->lane, making->error);

	if (result < 0)
		return result;
	warn_of_rails(blueprint, making->lane, making->warnings);
	result = found_read(node, found, making->error);
	if (result == 0)
		result = present_check(found, blueprint, making->lane,
				       making->error);
	/* After that: what is left of a lane has addresses of lanes. */
	if (result == 0 && blueprint->rail_count > 0)
		result = underlay_clash(node->netlink,
					&blueprint->members.networks,
					making->error);
	if (result < 0)
		return result;
	warn_of_cgroup(node, blueprint, making->warnings);
	for (size_t i = 0; i < blueprint->rail_count; i++)
		warn_of_way(node, blueprint, i, making->warnings);
	return 0;
}

int ethernet_apply(void *state, const struct fairlead_lane *lane,
		   bool is_dry_run, struct fairlead_record *ret_record,
		   struct fairlead_warnings *warnings,
		   struct fairlead_error *ret_error)
{
	const struct ethernet_node *node = state;
	struct found found = { 0 };
	struct links_held held;
	struct blueprint blueprint = { 0 };
	struct making making = {
		.node = node,
		.lane = lane,
		.blueprint = &blueprint,
		.found = &found,
		.warnings = warnings,
		.error = ret_error,
	};
	int result = links_hold(node->netlink, &held, ret_error);

	if (result < 0)
		return result;
	result = plan(&making, &found);
	links_let_go(node->netlink, &held);
	if (result == 0 && is_dry_run)
		report_dry_run(&blueprint, lane, warnings);
	else if (result == 0)
		result = make(&making, ret_record);
	found_fini(&found);
	blueprint_fini(&blueprint);
	return result;
}
