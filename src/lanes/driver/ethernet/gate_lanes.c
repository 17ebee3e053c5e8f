/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Where a lane's network is the site's whole network, both are one element of
 * the trie: hence the flags.
 */
#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/memory.h"
#include "lanes/driver/ethernet/gate.h"
#include "lanes/driver/ethernet/gate_internal.h"

static int make_key(const struct ip_address *address, uint8_t prefix_size,
		    struct gate_key *ret_key, struct fairlead_error *error)
{
	static const uint8_t ipv4_prefix[12] = { [10] = 0xff, [11] = 0xff };
	bool is_ipv4 = address->family == 4;
	struct gate_key key = { .prefix_size = prefix_size };

	if ((!is_ipv4 && address->family != 6) || prefix_size == 0 ||
	    prefix_size > (is_ipv4 ? 32 : 128))
		return error_set(error, -EINVAL,
				 "gate: not a network: family %d, prefix %d",
				 address->family, prefix_size);
	if (is_ipv4) {
		key.prefix_size += 96;
		memcpy(key.address, ipv4_prefix, sizeof(ipv4_prefix));
		memcpy(key.address + sizeof(ipv4_prefix), address->bytes, 4);
	} else {
		memcpy(key.address, address->bytes, sizeof(key.address));
	}
	for (uint32_t bit = key.prefix_size; bit < 128; bit++)
		key.address[bit / 8] &= (uint8_t) ~(0x80u >> bit % 8);
	*ret_key = key;
	return 0;
}

/* The element of exactly this prefix; no flags: there is none. */
static struct gate_value get_value(const struct ethernet_gate *gate,
				   const struct gate_key *key)
{
	struct gate_value value;

	if (bpf_map_lookup_elem(gate->set.lanes, key, &value) < 0 ||
	    value.prefix_size != key->prefix_size)
		return (struct gate_value){ .prefix_size = key->prefix_size };
	return value;
}

static int set_value(const struct ethernet_gate *gate,
		     const struct gate_key *key, const struct gate_value *value,
		     struct fairlead_error *error)
{
	int result;

	if (value->flags)
		result = bpf_map_update_elem(gate->set.lanes, key, value,
					     BPF_ANY);
	else
		result = bpf_map_delete_elem(gate->set.lanes, key);
	if (result < 0 && errno != ENOENT)
		return error_set(error, -errno, "gate: map of lanes: %s",
				 errno == ENOSPC ? "full" : strerror(errno));
	return 0;
}

/* The cgroup by which the entry goes from now on. */
static uint64_t choose_cgroup(const struct gate_entry *entry,
			      const struct gate_value *before)
{
	bool was_same =
		(before->flags & GATE_HAS_OWNER) && before->uid == entry->uid;

	if (entry->cgroup_id == GATE_CGROUP_UNKNOWN && was_same &&
	    before->cgroup_id != 0)
		return before->cgroup_id;
	return entry->cgroup_id;
}

/* entry NULL: the network has no owner. 1: it was otherwise, and not only in its cgroup. */
static int set_owner(const struct ethernet_gate *gate,
		     const struct gate_key *key, const struct gate_entry *entry,
		     struct fairlead_error *error)
{
	struct gate_value before = get_value(gate, key);
	struct gate_value value = { .flags = before.flags & GATE_IS_NETWORK,
				    .prefix_size = key->prefix_size };
	int result;

	if (entry) {
		value.flags |= GATE_HAS_OWNER;
		value.uid = entry->uid;
		value.cgroup_id = choose_cgroup(entry, &before);
	}
	if (memcmp(&before, &value, sizeof(value)) == 0)
		return 0;
	result = set_value(gate, key, &value, error);
	before.cgroup_id = value.cgroup_id;
	return result < 0 ? result
			  : memcmp(&before, &value, sizeof(value)) != 0;
}

/* 1: it was otherwise. */
static int set_network(const struct ethernet_gate *gate,
		       const struct gate_key *key, bool is_network,
		       struct fairlead_error *error)
{
	struct gate_value value = get_value(gate, key);
	uint32_t before = value.flags;
	int result;

	value.flags &= ~GATE_IS_NETWORK;
	if (is_network)
		value.flags |= GATE_IS_NETWORK;
	if (value.flags == before)
		return 0;
	result = set_value(gate, key, &value, error);
	return result < 0 ? result : 1;
}

int gate_add(struct ethernet_gate *gate, const struct gate_entry *entry,
	     struct fairlead_error *ret_error)
{
	struct gate_key key;
	int result =
		make_key(&entry->address, entry->prefix_size, &key, ret_error);

	if (result == 0)
		result = set_owner(gate, &key, entry, ret_error);
	return result < 0 ? result : 0;
}

/* All keys, since a walk does not outlive changes. The caller frees. */
static int list_keys(const struct ethernet_gate *gate,
		     struct gate_key **ret_keys, size_t *ret_count,
		     struct fairlead_error *error)
{
	_auto_(freep) struct gate_key *keys =
		memory_array(GATE_LANES_MAX, sizeof(*keys));
	size_t count = 0;

	while (count < GATE_LANES_MAX &&
	       bpf_map_get_next_key(gate->set.lanes,
				    count ? &keys[count - 1] : NULL,
				    &keys[count]) == 0)
		count++;
	if (count < GATE_LANES_MAX && errno != ENOENT)
		return error_set(error, -errno, "gate: map of lanes: %s",
				 strerror(errno));
	*ret_keys = take_ptr(keys);
	*ret_count = count;
	return 0;
}

static int compare_keys(const void *a, const void *b)
{
	return memcmp(a, b, sizeof(struct gate_key));
}

/* What is no element of ours at all goes by either flag. */
static int remove_flag(const struct ethernet_gate *gate,
		       const struct gate_key *key, uint32_t flag,
		       struct fairlead_error *error)
{
	struct gate_value value = get_value(gate, key);
	int result;

	if (value.flags & (GATE_HAS_OWNER | GATE_IS_NETWORK)) {
		if (!(value.flags & flag))
			return 0;
		return flag == GATE_HAS_OWNER
			       ? set_owner(gate, key, NULL, error)
			       : set_network(gate, key, false, error);
	}
	value.flags = 0;
	result = set_value(gate, key, &value, error);
	return result < 0 ? result : 1;
}

/*
 * Take the flag from all elements whose keys are not among the wanted; 1: there
 * were some.
 */
static int remove_others(const struct ethernet_gate *gate,
			 struct gate_key *wanted, size_t wanted_count,
			 uint32_t flag, struct fairlead_error *error)
{
	_auto_(freep) struct gate_key *keys = NULL;
	size_t count = 0;
	int result = list_keys(gate, &keys, &count, error);
	int changed = 0;

	if (result == 0 && wanted_count > 0)
		qsort(wanted, wanted_count, sizeof(*wanted), compare_keys);
	for (size_t i = 0; result >= 0 && i < count; i++) {
		if (wanted_count > 0 && bsearch(&keys[i], wanted, wanted_count,
						sizeof(*wanted), compare_keys))
			continue;
		result = remove_flag(gate, &keys[i], flag, error);
		changed |= result == 1;
	}
	return result < 0 ? result : changed;
}

/* 1: some had it not; entries: of the keys where it is that of owners. */
static int set_all(const struct ethernet_gate *gate,
		   const struct gate_key *keys, size_t count,
		   const struct gate_entry *entries,
		   struct fairlead_error *error)
{
	int changed = 0;
	int result = 0;

	for (size_t i = 0; result >= 0 && i < count; i++) {
		result = entries ? set_owner(gate, &keys[i], &entries[i], error)
				 : set_network(gate, &keys[i], true, error);
		changed |= result == 1;
	}
	return result < 0 ? result : changed;
}

/* Exactly these have the flag. What is not ours may have filled the map. */
static int replace(const struct ethernet_gate *gate, struct gate_key *keys,
		   size_t count, uint32_t flag,
		   const struct gate_entry *entries,
		   struct fairlead_error *error)
{
	/* The search wants them sorted, and entries are in the keys' order. */
	_auto_(freep) struct gate_key *sorted =
		memory_copy(keys, count * sizeof(*keys));
	int changed, others;

	changed = set_all(gate, keys, count, entries, error);
	if (changed < 0 && changed != -ENOSPC)
		return changed;
	others = remove_others(gate, sorted, count, flag, error);
	if (changed == -ENOSPC && others > 0)
		changed = set_all(gate, keys, count, entries, error);
	if (changed < 0 || others < 0)
		return changed < 0 ? changed : others;
	return changed | others;
}

int gate_replace(struct ethernet_gate *gate, const struct gate_entry *entries,
		 size_t count, struct fairlead_error *ret_error)
{
	_auto_(freep) struct gate_key *keys =
		memory_array(count, sizeof(*keys));
	int changed = 0;
	int result = 0;

	for (size_t i = 0; result == 0 && i < count; i++)
		result = make_key(&entries[i].address, entries[i].prefix_size,
				  &keys[i], ret_error);
	if (result == 0)
		result = changed = replace(gate, keys, count, GATE_HAS_OWNER,
					   entries, ret_error);
	return result < 0 ? result : changed;
}

int gate_networks(struct ethernet_gate *gate, const struct ip_network *networks,
		  size_t count, struct fairlead_error *ret_error)
{
	_auto_(freep) struct gate_key *keys =
		memory_array(count, sizeof(*keys));
	int result = 0;

	for (size_t i = 0; result == 0 && i < count; i++)
		result = make_key(&networks[i].address, networks[i].prefix_size,
				  &keys[i], ret_error);
	return result < 0 ? result
			  : replace(gate, keys, count, GATE_IS_NETWORK, NULL,
				    ret_error);
}

static int sum_counter(const struct ethernet_gate *gate,
		       enum gate_counter which, uint64_t *ret_sum)
{
	int cpus = libbpf_num_possible_cpus();
	_auto_(freep) uint64_t *values = NULL;
	uint32_t key = which;
	uint64_t sum = 0;

	if (cpus < 0)
		return cpus;
	values = memory_array((size_t)cpus, sizeof(*values));
	if (bpf_map_lookup_elem(gate->set.counters, &key, values) < 0)
		return -errno;
	for (int i = 0; i < cpus; i++)
		sum += values[i];
	*ret_sum = sum;
	return 0;
}

int gate_counters(const struct ethernet_gate *gate,
		  struct gate_counters *ret_counters)
{
	struct gate_counters counters;
	int result =
		sum_counter(gate, GATE_REFUSED_BIND, &counters.refused_bind);

	if (result == 0)
		result = sum_counter(gate, GATE_REFUSED_SEND,
				     &counters.refused_send);
	if (result == 0)
		result = sum_counter(gate, GATE_REFUSED_RECEIVE,
				     &counters.refused_receive);
	if (result == 0)
		result = sum_counter(gate, GATE_REFUSED_RAW,
				     &counters.refused_raw);
	if (result == 0)
		*ret_counters = counters;
	return result;
}
