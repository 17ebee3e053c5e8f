/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A device that is there has its rules: whoever makes one adds them before it
 * is up, and whoever takes one away has all rewritten after it is gone: so
 * nothing is left, whatever the rules were made from. That, too, mends a
 * failure.
 */
#include "lanes/driver/ethernet/enforce.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/memory.h"
#include "lanes/driver/common/job_path.h"
#include "lanes/driver/ethernet/namespace.h"
#include "lanes/driver/ethernet/table.h"

/* --- what follows from devices --- */

/* What follows from some devices; read while they are there. */
struct enforcement {
	size_t rule_count;
	struct rules_lane *rules;
	struct enforce_peers {
		struct ip_address *list;
		size_t count, capacity;
	} * peers; /* of each of them */
	size_t gate_count;
	struct gate_entry *gates;
	/* Why the cgroup of a job is not known, but for one that is not there. */
	struct fairlead_error cgroup_flaw; /* code 0: all are */
};

static void enforcement_fini(struct enforcement *enforcement)
{
	for (size_t i = 0; i < enforcement->rule_count; i++)
		free(enforcement->peers[i].list);
	free(enforcement->peers);
	free(enforcement->rules);
	free(enforcement->gates);
	*enforcement = (struct enforcement){ 0 };
}

/* Of the devices of one namespace. */
struct peers_reading {
	struct enforcement *enforcement;
	size_t first, end; /* their rules */
	size_t last;       /* whose peers come */
};

static void peer_add(struct enforce_peers *peers,
		     const struct ip_address *underlay)
{
	if (peers->count == peers->capacity) {
		peers->capacity = peers->capacity * 2 + 4;
		peers->list = memory_resize(peers->list, peers->capacity,
					    sizeof(*peers->list));
	}
	peers->list[peers->count++] = *underlay;
}

static void peer_take(void *arg, int index, const struct ip_address *underlay)
{
	struct peers_reading *reading = arg;
	const struct enforcement *enforcement = reading->enforcement;
	size_t i = reading->last;

	if (enforcement->rules[i].device.index != index) {
		for (i = reading->first; i < reading->end; i++) {
			if (enforcement->rules[i].device.index == index)
				break;
		}
	}
	if (i == reading->end)
		return; /* a device of somebody else's */
	reading->last = i;
	peer_add(&enforcement->peers[i], underlay);
}

/*
 * Of the rules' devices from `first` to `end`, in the one namespace that they
 * are in.
 */
static int peers_read(struct enforcement *enforcement,
		      const struct ethernet_node *node, size_t first,
		      size_t end, struct fairlead_error *ret_error)
{
	const struct rules_lane *lane = &enforcement->rules[first];
	_auto_(netlink_closep) struct netlink *inside = NULL;
	struct peers_reading reading = {
		.enforcement = enforcement,
		.first = first,
		.end = end,
		.last = first,
	};
	int index = end - first == 1 ? lane->device.index : 0;
	int result = 0;

	if (lane->is_netns)
		result = namespace_netlink(node->namespaces, lane->namespace_id,
					   &inside, ret_error);
	if (result == 0)
		result = devices_peers(inside ? inside : node->netlink, index,
				       peer_take, &reading, ret_error);
	return result;
}

static bool is_beside(const struct rules_lane *a, const struct rules_lane *b)
{
	return a->is_netns == b->is_netns &&
	       (!a->is_netns || a->namespace_id == b->namespace_id);
}

/* Devices of one namespace follow each other, the host's first. */
static int all_peers_read(struct enforcement *enforcement,
			  const struct ethernet_node *node,
			  struct fairlead_error *ret_error)
{
	size_t end;
	int result = 0;

	for (size_t first = 0; first < enforcement->rule_count && result == 0;
	     first = end) {
		end = first + 1;
		while (end < enforcement->rule_count &&
		       is_beside(&enforcement->rules[first],
				 &enforcement->rules[end]))
			end++;
		result = peers_read(enforcement, node, first, end, ret_error);
	}
	for (size_t i = 0; i < enforcement->rule_count; i++) {
		enforcement->rules[i].peers = enforcement->peers[i].list;
		enforcement->rules[i].peer_count = enforcement->peers[i].count;
	}
	return result;
}

static void rules_take(struct enforcement *enforcement,
		       const struct found_device *found)
{
	enforcement->rules[enforcement->rule_count++] = (struct rules_lane){
		.device = found->device,
		.is_netns = found->is_netns,
		.namespace_id = found->namespace_id,
	};
}

int enforce_cgroup(const struct ethernet_node *node,
		   const struct ethernet_alias *alias, uint64_t *ret_id,
		   struct fairlead_error *ret_error)
{
	const struct job_names names = { alias->grant_id, alias->uid,
					 alias->job };
	char path[PATH_MAX];
	int result = 0;

	*ret_id = 0;
	if (!node->job_cgroup)
		return 0;
	result = job_path_format(node->job_cgroup, &names, path, ret_error);
	if (result == 0)
		result = gate_cgroup_id(path, ret_id, ret_error);
	/* Else whoever can keep us from looking would be let in. */
	if (result < 0 && result != -ENOENT)
		*ret_id = GATE_CGROUP_UNKNOWN;
	return result;
}

/* In a namespace of the job nobody else is there to be refused. */
static void gates_take(struct enforcement *enforcement,
		       const struct ethernet_node *node,
		       const struct found_device *found)
{
	const struct lane_device *device = &found->device;
	struct gate_entry entry = { .uid = device->alias.uid };
	struct fairlead_error why;

	if (found->is_netns)
		return;
	(void)enforce_cgroup(node, &device->alias, &entry.cgroup_id, &why);
	if (entry.cgroup_id == GATE_CGROUP_UNKNOWN)
		enforcement->cgroup_flaw = why;
	if (device->ipv4.family != 0) {
		entry.address = device->ipv4;
		entry.prefix_size = device->ipv4_prefix_size;
		enforcement->gates[enforcement->gate_count++] = entry;
	}
	if (device->ipv6.family != 0) {
		entry.address = device->ipv6;
		entry.prefix_size = ETHERNET_IPV6_PREFIX_SIZE;
		enforcement->gates[enforcement->gate_count++] = entry;
	}
}

/* What somebody added by hand is not the lane's. */
static struct found_device with_own_addresses(const struct ethernet_node *node,
					      const struct found_device *found)
{
	struct found_device own = *found;

	if (!ip_network_has(&node->networks.ipv4, &own.device.ipv4))
		own.device.ipv4 = (struct ip_address){ 0 };
	if (!ip_network_has(&node->networks.ipv6, &own.device.ipv6))
		own.device.ipv6 = (struct ip_address){ 0 };
	return own;
}

/* Who does not say whose it is has no rules: it is nobody's. */
static bool has_owner(const struct found_device *found)
{
	return found->device.is_ours && found->device.alias.grant_id != 0;
}

/* An error as of devices_peers. */
static int enforcement_init(struct enforcement *enforcement,
			    const struct ethernet_node *node,
			    const struct found_device *devices, size_t count,
			    struct fairlead_error *ret_error)
{
	int result;

	*enforcement = (struct enforcement){
		.rules = memory_array(count, sizeof(*enforcement->rules)),
		.peers = memory_array(count, sizeof(*enforcement->peers)),
		.gates = memory_array(2 * count + 2,
				      sizeof(*enforcement->gates)),
	};
	for (size_t i = 0; i < count; i++) {
		const struct found_device own =
			with_own_addresses(node, &devices[i]);

		if (!has_owner(&own))
			continue;
		gates_take(enforcement, node, &own);
		rules_take(enforcement, &own);
	}
	result = all_peers_read(enforcement, node, ret_error);
	if (result < 0)
		enforcement_fini(enforcement);
	return result;
}

/* --- what rules were made from --- */

static uint64_t address_digest(uint64_t before,
			       const struct ip_address *address)
{
	return ethernet_digest(before, address, sizeof(*address));
}

/* Peers count in any order. */
static uint64_t lane_digest(const struct rules_lane *lane)
{
	const struct lane_device *device = &lane->device;
	const uint32_t numbers[] = {
		(uint32_t)device->underlay_index,
		device->vni,
		device->port,
		device->alias.uid,
		device->alias.htb_class,
		device->alias.classes,
		device->alias.first_class,
		device->ipv4_prefix_size,
		lane->is_netns,
	};
	uint64_t result = ethernet_digest(ETHERNET_DIGEST_START, device->name,
					  strlen(device->name));
	uint64_t peers = 0;

	result = ethernet_digest(result, numbers, sizeof(numbers));
	result = address_digest(result, &device->ipv4);
	result = address_digest(result, &device->ipv6);
	for (size_t i = 0; i < lane->peer_count; i++)
		peers += address_digest(result, &lane->peers[i]);
	return result + peers;
}

/* Lanes come and go in any order, too. */
static uint64_t lanes_digest(const struct enforcement *enforcement)
{
	uint64_t sum = 0;

	for (size_t i = 0; i < enforcement->rule_count; i++)
		sum += lane_digest(&enforcement->rules[i]);
	return sum;
}

/* --- all --- */

/*
 * The batch is freed. The number of all changes rises by one, where nobody else
 * has changed any rules meanwhile: the table is right then if it was, or
 * is_whole.
 */
static int rules_change(const struct ethernet_node *node, struct writer *batch,
			bool is_whole, struct fairlead_error *ret_error)
{
	bool is_any = batch->size > 0;
	uint32_t before;
	int result = table_generation(node->filter, &before, ret_error);

	if (result < 0)
		writer_fini(batch);
	else
		result = table_change(node->filter, batch, ret_error);
	if (result == 0 && is_any &&
	    (is_whole || before == node->guard->generation))
		node->guard->generation = before + 1;
	return result;
}

static int table_check(const struct ethernet_node *node,
		       struct rules_counters *ret_refused,
		       struct fairlead_error *ret_error)
{
	int result = table_read(node->filter, ret_refused, ret_error);

	if (result == TABLE_FOREIGN)
		return error_set(ret_error, -EEXIST,
				 "there is a table 'inet " RULES_TABLE
				 "' that this version has not made; look "
				 "at it with `nft list table inet " RULES_TABLE
				 "`, and delete it");
	return result < 0 ? result : 0;
}

static int table_write(const struct ethernet_node *node,
		       const struct enforcement *all,
		       struct fairlead_error *ret_error)
{
	struct rules_counters refused;
	struct writer batch = { 0 };
	int result = table_check(node, &refused, ret_error);

	if (result < 0)
		return result;
	rules_write_table(&node->networks, node->dscp, &refused, all->rules,
			  all->rule_count, &batch);
	result = rules_change(node, &batch, true, ret_error);
	if (result == 0)
		node->guard->lanes = lanes_digest(all);
	return result;
}

/* Lanes, and the networks that they are cut from. 1: as by gate_replace. */
static int gate_fill(const struct ethernet_node *node, struct enforcement *all,
		     struct fairlead_error *ret_error)
{
	const struct ip_network *const networks[] = { &node->networks.ipv6,
						      &node->networks.ipv4 };

	for (size_t i = 0; i < 2; i++) {
		if (networks[i]->address.family != 0)
			all->gates[all->gate_count++] = (struct gate_entry){
				.address = networks[i]->address,
				.prefix_size = networks[i]->prefix_size,
				.is_network = true,
			};
	}
	return gate_replace(node->guard->gate, all->gates, all->gate_count,
			    ret_error);
}

static int gate_start(const struct ethernet_node *node,
		      struct fairlead_error *ret_error)
{
	const struct ethernet_gate_options options = {
		.pins = node->bpf_pins,
		.cgroup = node->cgroup,
		.port = node->networks.port,
	};

	if (node->guard->gate)
		return 0;
	return gate_open(&options, &node->guard->gate, ret_error);
}

static int gate_write(const struct ethernet_node *node, struct enforcement *all,
		      struct fairlead_error *ret_error)
{
	int result = gate_start(node, ret_error);

	node->guard->gate_flaw = (struct fairlead_error){ 0 };
	if (result < 0)
		node->guard->gate_flaw = *ret_error;
	else
		result = gate_fill(node, all, ret_error);
	return result < 0 ? result : 0;
}

/* Where one cannot be written the other is all the same. */
int enforce_found(const struct ethernet_node *node, const struct found *found,
		  struct fairlead_error *ret_error)
{
	struct enforcement all = { 0 };
	struct fairlead_error error;
	int result = enforcement_init(&all, node, found->list, found->count,
				      ret_error);
	int gate;

	if (result < 0)
		return result;
	gate = gate_write(node, &all, &error);
	result = table_write(node, &all, ret_error);
	enforcement_fini(&all);
	if (result == 0 && gate < 0)
		*ret_error = error;
	if (result == 0 && gate == 0)
		node->guard->has_leftovers = false;
	return result < 0 ? result : gate;
}

int enforce_all(const struct ethernet_node *node,
		struct fairlead_error *ret_error)
{
	struct found found = { 0 };
	int result = found_read(node, &found, ret_error);

	if (result == 0)
		result = enforce_found(node, &found, ret_error);
	found_fini(&found);
	return result;
}

/* Cgroups of jobs come and go, which is no change of somebody's. */
static int gate_again(const struct ethernet_node *node, struct enforcement *all,
		      struct fairlead_error *ret_error)
{
	int result = gate_fill(node, all, ret_error);

	return result > 0 ? LANES_GATE_CHANGED : result;
}

int enforce_tend_lanes(const struct ethernet_node *node,
		       struct fairlead_error *ret_error)
{
	const bool had_leftovers = node->guard->has_leftovers;
	struct enforcement all = { 0 };
	struct fairlead_error flaw;
	struct found found = { 0 };
	bool is_same = false;
	int result = found_read(node, &found, ret_error);

	if (result == 0)
		result = enforcement_init(&all, node, found.list, found.count,
					  ret_error);
	if (result == 0)
		is_same = lanes_digest(&all) == node->guard->lanes &&
			  !had_leftovers;
	if (is_same)
		result = gate_again(node, &all, ret_error);
	flaw = all.cgroup_flaw;
	enforcement_fini(&all);
	found_fini(&found);
	if (result == 0 && !is_same) {
		result = enforce_all(node, ret_error);
		/* What we have not written was changed by nobody. */
		if (result == 0 && !had_leftovers)
			result = LANES_CHANGED;
	}
	/* All is done but for those lanes. */
	if (result == LANES_SAME && flaw.code < 0) {
		*ret_error = flaw;
		result = flaw.code;
	}
	return result;
}

/* What is missing of the gate is put back first. */
static int gate_require(const struct ethernet_node *node,
			struct fairlead_error *ret_error)
{
	struct fairlead_error flaw;
	int result = enforce_tend_gate(node, ret_error);

	/* In force without its pins. */
	if (result < 0 && gate_check(node->guard->gate, &flaw) == -ENOENT)
		return 0;
	return result;
}

static int added_write(const struct ethernet_node *node,
		       const struct enforcement *added,
		       struct fairlead_error *ret_error)
{
	struct writer batch = { 0 };
	int result;

	rules_write_add(added->rules, added->rule_count, &batch);
	result = rules_change(node, &batch, false, ret_error);
	/* The table may have been flushed, or have something of a crash. */
	if (result == -ENOENT || result == -EEXIST)
		return enforce_all(node, ret_error);
	if (result == 0)
		node->guard->lanes += lanes_digest(added);
	for (size_t i = 0; result == 0 && i < added->gate_count; i++)
		result = gate_add(node->guard->gate, &added->gates[i],
				  ret_error);
	return result;
}

int enforce_add(const struct ethernet_node *node,
		const struct found_device *made, size_t count,
		struct fairlead_error *ret_error)
{
	struct enforcement added;
	int result;

	/* What is left of another lane with this VNI would let its users in. */
	if (node->guard->has_leftovers)
		return enforce_all(node, ret_error);
	result = gate_require(node, ret_error);
	if (result == 0)
		result = enforcement_init(&added, node, made, count, ret_error);
	if (result < 0)
		return result;
	result = added_write(node, &added, ret_error);
	enforcement_fini(&added);
	return result;
}

void enforce_mend(const struct ethernet_node *node)
{
	struct fairlead_error ignored;

	if (enforce_all(node, &ignored) < 0)
		node->guard->has_leftovers = true;
}
