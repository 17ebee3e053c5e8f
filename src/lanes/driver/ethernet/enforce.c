/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A device that is there has its rules: whoever makes one adds them before it
 * is up, and whoever takes one away removes them after it is gone. A failure
 * in between is mended by writing all anew.
 */
#include "lanes/driver/ethernet/enforce.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "lanes/driver/ethernet/job_cgroup.h"
#include "lanes/driver/ethernet/namespace.h"
#include "lanes/driver/ethernet/nft.h"
#include "lanes/driver/ethernet/table.h"

/* --- what follows from devices --- */

void enforcement_fini(struct enforcement *enforcement)
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
	bool is_out;       /* of memory */
};

static void peer_add(struct enforce_peers *peers,
		     const struct ip_address *underlay, bool *is_out)
{
	if (peers->count == peers->capacity) {
		size_t capacity = peers->capacity * 2 + 4;
		struct ip_address *list =
			realloc(peers->list, capacity * sizeof(*list));

		if (!list) {
			*is_out = true;
			return;
		}
		peers->list = list;
		peers->capacity = capacity;
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
	peer_add(&enforcement->peers[i], underlay, &reading->is_out);
}

/* Of the rules' devices from `first` to `end`, in the one namespace that they are in. */
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
	if (result == 0 && reading.is_out)
		result = error_set(ret_error, -ENOMEM, "out of memory");
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
	char path[PATH_MAX];
	int result = 0;

	*ret_id = 0;
	if (!node->job_cgroup)
		return 0;
	if (!node->gate && !node->is_looking)
		return error_set(ret_error, -EOPNOTSUPP,
				 "job_cgroup needs BPF: %s",
				 node->gate_flaw.code < 0 ? node->gate_flaw.text
							  : "it is off");
	result = job_cgroup_format(node->job_cgroup, alias, path, ret_error);
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

int enforcement_init(struct enforcement *enforcement,
		     const struct ethernet_node *node,
		     const struct found_device *devices, size_t count,
		     struct fairlead_error *ret_error)
{
	int result = 0;

	*enforcement = (struct enforcement){
		.rules = calloc(count + 1, sizeof(*enforcement->rules)),
		.peers = calloc(count + 1, sizeof(*enforcement->peers)),
		.gates = calloc(2 * count + 1, sizeof(*enforcement->gates)),
	};
	if (!enforcement->rules || !enforcement->peers || !enforcement->gates)
		result = error_set(ret_error, -ENOMEM, "out of memory");
	for (size_t i = 0; i < count && result == 0; i++) {
		const struct found_device own =
			with_own_addresses(node, &devices[i]);

		if (!has_owner(&own))
			continue;
		gates_take(enforcement, node, &own);
		rules_take(enforcement, &own);
	}
	if (result == 0)
		result = all_peers_read(enforcement, node, ret_error);
	if (result < 0)
		enforcement_fini(enforcement);
	return result;
}

/* --- what rules were made from --- */

static uint64_t digest(uint64_t before, const void *bytes, size_t size)
{
	for (const uint8_t *at = bytes; size > 0; at++, size--)
		before = (before ^ *at) * 0x100000001b3u;
	return before;
}

static uint64_t address_digest(uint64_t before,
			       const struct ip_address *address)
{
	return digest(before, address, sizeof(*address));
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
	uint64_t result =
		digest(0xcbf29ce484222325u, device->name, strlen(device->name));
	uint64_t peers = 0;

	result = digest(result, numbers, sizeof(numbers));
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

/* Room for what written_add() adds. */
static int written_reserve(struct tended *tended,
			   const struct enforcement *enforcement,
			   struct fairlead_error *ret_error)
{
	size_t count = tended->written_count + enforcement->rule_count + 1;
	uint64_t *written = realloc(tended->written, count * sizeof(*written));

	if (!written)
		return error_set(ret_error, -ENOMEM, "out of memory");
	tended->written = written;
	return 0;
}

static void written_add(struct tended *tended,
			const struct enforcement *enforcement)
{
	tended->lanes += lanes_digest(enforcement);
	for (size_t i = 0; i < enforcement->rule_count; i++)
		tended->written[tended->written_count++] =
			lane_digest(&enforcement->rules[i]);
}

/* False: rules were made from something else, such as a peer that is gone. */
static bool written_remove(struct tended *tended,
			   const struct enforcement *enforcement)
{
	bool is_known = true;

	tended->lanes -= lanes_digest(enforcement);
	for (size_t i = 0; i < enforcement->rule_count; i++) {
		uint64_t wanted = lane_digest(&enforcement->rules[i]);
		size_t k = 0;

		while (k < tended->written_count &&
		       tended->written[k] != wanted)
			k++;
		if (k == tended->written_count)
			is_known = false;
		else
			tended->written[k] =
				tended->written[--tended->written_count];
	}
	return is_known;
}

/* --- all, or one lane --- */

/*
 * We have changed rules, once: the number of all changes was `before`, and has risen
 * by one where nobody else has changed any meanwhile. The table is right then if it
 * was. is_whole: we have written all of it.
 */
static void remember_change(const struct ethernet_node *node, uint32_t before,
			    bool is_whole)
{
	struct tended *tended = node->tended;

	if (is_whole || before == tended->generation)
		tended->generation = before + 1;
}

static int rules_run(const struct ethernet_node *node, struct writer *text,
		     struct fairlead_error *ret_error)
{
	uint32_t before = 0;
	int result = text->result;

	if (result < 0)
		error_set(ret_error, result, "out of memory");
	else
		result = table_generation(node->filter, &before, ret_error);
	if (result == 0)
		result =
			nft_apply(node->nft, text->data, text->size, ret_error);
	if (result == 0)
		remember_change(node, before, true);
	writer_fini(text);
	return result;
}

static int elements_change(const struct ethernet_node *node,
			   struct writer *requests,
			   struct fairlead_error *ret_error)
{
	uint32_t before;
	int result = table_generation(node->filter, &before, ret_error);

	if (result == 0)
		result = table_change(node->filter, requests, ret_error);
	if (result == 0 && requests->size > 0)
		remember_change(node, before, false);
	writer_fini(requests);
	return result;
}

static int table_check(const struct ethernet_node *node,
		       struct nft_counters *ret_refused,
		       struct fairlead_error *ret_error)
{
	enum nft_table table;
	int result = nft_table(node->nft, &table, ret_refused, ret_error);

	if (result == 0 && table == NFT_TABLE_FOREIGN)
		result =
			error_set(ret_error, -EEXIST,
				  "there is a table 'inet " RULES_TABLE
				  "' that this version has not made; look "
				  "at it with `nft list table inet " RULES_TABLE
				  "`, and delete it");
	return result;
}

static int table_write(const struct ethernet_node *node,
		       const struct enforcement *all, uint8_t rail_count,
		       struct fairlead_error *ret_error)
{
	struct nft_counters refused;
	struct writer text = { 0 };
	int result = table_check(node, &refused, ret_error);

	if (result == 0)
		result = written_reserve(node->tended, all, ret_error);
	if (result < 0)
		return result;
	rules_write_table(&node->networks, rail_count, node->dscp, &refused,
			  all->rules, all->rule_count, &text);
	result = rules_run(node, &text, ret_error);
	if (result == 0) {
		node->tended->lanes = 0;
		node->tended->written_count = 0;
		written_add(node->tended, all);
		node->tended->rail_count = rail_count;
	}
	return result;
}

static int gate_write(const struct ethernet_node *node,
		      const struct enforcement *all, uint8_t rail_count,
		      struct fairlead_error *ret_error)
{
	struct fairlead_error ignored;
	int result;

	if (!node->gate)
		return 0;
	/*
	 * Programs that cannot be replaced now: gate_tend tries again, and no
	 * lane is made that requires them.
	 */
	(void)gate_rails(node->gate, rail_count, &ignored);
	result = gate_replace(node->gate, all->gates, all->gate_count,
			      ret_error);
	return result < 0 ? result : 0;
}

/* Where one cannot be written the other is all the same. */
int enforce_found(const struct ethernet_node *node, const struct found *found,
		  uint8_t rail_count, struct fairlead_error *ret_error)
{
	struct enforcement all = { 0 };
	struct fairlead_error error;
	int result = enforcement_init(&all, node, found->list, found->count,
				      ret_error);
	int gate;

	if (result < 0)
		return result;
	/* A NIC that is away would find its port with somebody else. */
	if (rail_count < node->tended->rail_count)
		rail_count = node->tended->rail_count;
	gate = gate_write(node, &all, rail_count, &error);
	result = table_write(node, &all, rail_count, ret_error);
	enforcement_fini(&all);
	if (result == 0 && gate < 0)
		*ret_error = error;
	if (result == 0 && gate == 0)
		node->tended->has_leftovers = false;
	return result < 0 ? result : gate;
}

int enforce_all(const struct ethernet_node *node,
		struct fairlead_error *ret_error)
{
	struct underlays underlays;
	struct found found = { 0 };
	int result = node_underlays(node, &underlays, ret_error);

	if (result == 0)
		result = found_read(node, &found, ret_error);
	if (result == 0)
		result = enforce_found(node, &found,
				       found_rails(&found, &underlays),
				       ret_error);
	found_fini(&found);
	return result;
}

int enforce_networks(const struct ethernet_node *node,
		     struct fairlead_error *ret_error)
{
	const struct ip_network networks[] = { node->networks.ipv6,
					       node->networks.ipv4 };

	return gate_networks(node->gate, networks,
			     networks[1].address.family == 0 ? 1 : 2,
			     ret_error);
}

/* Cgroups of jobs come and go, which is no change of somebody's. */
static int gate_again(const struct ethernet_node *node,
		      const struct enforcement *all,
		      struct fairlead_error *ret_error)
{
	int lanes, networks = 0;

	lanes = gate_replace(node->gate, all->gates, all->gate_count,
			     ret_error);
	if (lanes >= 0)
		networks = enforce_networks(node, ret_error);
	if (lanes < 0 || networks < 0)
		return lanes < 0 ? lanes : networks;
	return lanes || networks ? LANES_GATE_CHANGED : LANES_SAME;
}

int enforce_tend_lanes(const struct ethernet_node *node,
		       struct fairlead_error *ret_error)
{
	const bool had_leftovers = node->tended->has_leftovers;
	struct enforcement all = { 0 };
	struct fairlead_error flaw;
	struct found found = { 0 };
	bool is_same = false;
	int result = found_read(node, &found, ret_error);

	if (result == 0)
		result = enforcement_init(&all, node, found.list, found.count,
					  ret_error);
	if (result == 0)
		is_same = lanes_digest(&all) == node->tended->lanes &&
			  !had_leftovers;
	if (is_same && node->gate)
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

/* One that is not open cannot be told of the lane. */
static int gate_lack(const struct ethernet_node *node,
		     struct fairlead_error *ret_error)
{
	if (node->gate || !node->is_gate_left)
		return 0;
	return error_set(
		ret_error, node->gate_flaw.code,
		"the gate of an earlier start, which would refuse this "
		"lane, stays for those that it guards, since none can "
		"be opened: %s",
		node->gate_flaw.text);
}

/* Whether a lane may be made; what is missing is put back first. */
static int gate_require(const struct ethernet_node *node,
			const struct enforcement *enforcement,
			struct fairlead_error *ret_error)
{
	struct fairlead_error error;
	struct fairlead_error flaw;
	int result =
		enforcement->gate_count > 0 ? gate_lack(node, ret_error) : 0;

	if (result < 0)
		return result;
	result = enforce_tend_gate(node, &error);
	if (result == 0 || !node->requires_gate ||
	    gate_check(node->gate, &flaw) == -ENOENT)
		return 0;
	return error_set(ret_error, result, "bpf is required: %s", error.text);
}

/* Is a lane on a rail that came since the rules were written? */
static bool needs_rails(const struct ethernet_node *node,
			const struct enforcement *enforcement)
{
	for (size_t i = 0; i < enforcement->rule_count; i++) {
		if (enforcement->rules[i].device.rail >=
		    node->tended->rail_count)
			return true;
	}
	return false;
}

int enforce_add(const struct ethernet_node *node,
		const struct enforcement *enforcement,
		struct fairlead_error *ret_error)
{
	struct writer requests = { 0 };
	int result = gate_require(node, enforcement, ret_error);

	if (result < 0)
		return result;
	/* What is left of another lane with this VNI would let its users in. */
	if (node->tended->has_leftovers || needs_rails(node, enforcement)) {
		result = enforce_all(node, ret_error);
		return result < 0 ? result
				  : gate_require(node, enforcement, ret_error);
	}
	result = written_reserve(node->tended, enforcement, ret_error);
	if (result < 0)
		return result;
	rules_write_add(enforcement->rules, enforcement->rule_count, &requests);
	result = elements_change(node, &requests, ret_error);
	/* The table may have been flushed, or have something of a crash. */
	if (result == -ENOENT || result == -EEXIST)
		return enforce_all(node, ret_error);
	if (result == 0)
		written_add(node->tended, enforcement);
	for (size_t i = 0;
	     result == 0 && node->gate && i < enforcement->gate_count; i++)
		result =
			gate_add(node->gate, &enforcement->gates[i], ret_error);
	return result;
}

void enforce_mend(const struct ethernet_node *node)
{
	struct fairlead_error ignored;

	if (enforce_all(node, &ignored) < 0)
		node->tended->has_leftovers = true;
}

void enforce_remove(const struct ethernet_node *node,
		    const struct enforcement *enforcement)
{
	struct fairlead_error ignored;
	struct writer requests = { 0 };
	int result;

	rules_write_remove(enforcement->rules, enforcement->rule_count,
			   &requests);
	result = elements_change(node, &requests, &ignored);
	if (result == 0 && !written_remove(node->tended, enforcement))
		result = -ESTALE;
	for (size_t i = 0;
	     result == 0 && node->gate && i < enforcement->gate_count; i++)
		result = gate_remove(node->gate, &enforcement->gates[i].address,
				     enforcement->gates[i].prefix_size,
				     &ignored);
	if (result < 0)
		enforce_mend(node);
}
