/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Where a lane's network is the site's whole network, its element is the
 * owner's.
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

/* A key and what is to be there. */
struct element {
	struct gate_key key;
	struct gate_value value;
};

static int element_make(const struct gate_entry *entry,
			struct element *ret_element,
			struct fairlead_error *error)
{
	struct element element = { .value.flags = GATE_IS_NETWORK };
	int result = make_key(&entry->address, entry->prefix_size, &element.key,
			      error);

	if (!entry->is_network)
		element.value = (struct gate_value){
			.flags = GATE_HAS_OWNER,
			.uid = entry->uid,
			.cgroup_id = entry->cgroup_id,
		};
	element.value.prefix_size = element.key.prefix_size;
	if (result == 0)
		*ret_element = element;
	return result;
}

/* 1: it was otherwise, and not only in its cgroup. */
static int element_set(const struct ethernet_gate *gate,
		       const struct element *element,
		       struct fairlead_error *error)
{
	struct gate_value before = get_value(gate, &element->key);
	struct gate_value value = element->value;
	bool was_same =
		(before.flags & GATE_HAS_OWNER) && before.uid == value.uid;
	int result;

	/* One that is not known is the one by which it goes, if by any. */
	if (value.cgroup_id == GATE_CGROUP_UNKNOWN && was_same &&
	    before.cgroup_id != 0)
		value.cgroup_id = before.cgroup_id;
	if (memcmp(&before, &value, sizeof(value)) == 0)
		return 0;
	result = set_value(gate, &element->key, &value, error);
	before.cgroup_id = value.cgroup_id;
	return result < 0 ? result
			  : memcmp(&before, &value, sizeof(value)) != 0;
}

int gate_add(struct ethernet_gate *gate, const struct gate_entry *entry,
	     struct fairlead_error *ret_error)
{
	struct element element;
	int result = element_make(entry, &element, ret_error);

	if (result == 0)
		result = element_set(gate, &element, ret_error);
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

/* Also of elements, which begin with them. */
static int compare_keys(const void *a, const void *b)
{
	return memcmp(a, b, sizeof(struct gate_key));
}

/* 1: there were some. */
static int remove_others(const struct ethernet_gate *gate,
			 const struct element *wanted, size_t wanted_count,
			 struct fairlead_error *error)
{
	const struct gate_value none = { .flags = 0 };
	_auto_(freep) struct gate_key *keys = NULL;
	size_t count = 0;
	int result = list_keys(gate, &keys, &count, error);
	int changed = 0;

	for (size_t i = 0; result == 0 && i < count; i++) {
		if (wanted_count > 0 && bsearch(&keys[i], wanted, wanted_count,
						sizeof(*wanted), compare_keys))
			continue;
		result = set_value(gate, &keys[i], &none, error);
		changed = 1;
	}
	return result < 0 ? result : changed;
}

/* 1: some were otherwise. */
static int set_all(const struct ethernet_gate *gate,
		   const struct element *elements, size_t count,
		   struct fairlead_error *error)
{
	int changed = 0;
	int result = 0;

	for (size_t i = 0; result >= 0 && i < count; i++) {
		result = element_set(gate, &elements[i], error);
		changed |= result == 1;
	}
	return result < 0 ? result : changed;
}

/* Sorted, of one key the owner's. */
static size_t elements_merge(struct element *elements, size_t count)
{
	size_t kept = 0;

	if (count > 0)
		qsort(elements, count, sizeof(*elements), compare_keys);
	for (size_t i = 0; i < count; i++) {
		if (kept == 0 ||
		    compare_keys(&elements[kept - 1], &elements[i]) != 0)
			elements[kept++] = elements[i];
		else if (elements[i].value.flags & GATE_HAS_OWNER)
			elements[kept - 1] = elements[i];
	}
	return kept;
}

int gate_replace(struct ethernet_gate *gate, const struct gate_entry *entries,
		 size_t count, struct fairlead_error *ret_error)
{
	_auto_(freep) struct element *elements =
		memory_array(count, sizeof(*elements));
	int changed, others, result = 0;

	for (size_t i = 0; result == 0 && i < count; i++)
		result = element_make(&entries[i], &elements[i], ret_error);
	if (result < 0)
		return result;
	count = elements_merge(elements, count);
	changed = set_all(gate, elements, count, ret_error);
	if (changed < 0 && changed != -ENOSPC)
		return changed;
	others = remove_others(gate, elements, count, ret_error);
	/* What is not ours may have filled the map. */
	if (changed == -ENOSPC && others > 0)
		changed = set_all(gate, elements, count, ret_error);
	if (changed < 0 || others < 0)
		return changed < 0 ? changed : others;
	return changed | others;
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
	const struct {
		enum gate_counter which;
		uint64_t *sum;
	} sums[] = {
		{ GATE_REFUSED_BIND, &counters.refused_bind },
		{ GATE_REFUSED_SEND, &counters.refused_send },
		{ GATE_REFUSED_RECEIVE, &counters.refused_receive },
		{ GATE_REFUSED_RAW, &counters.refused_raw },
	};
	int result = 0;

	for (size_t i = 0; i < GATE_COUNTER_COUNT && result == 0; i++)
		result = sum_counter(gate, sums[i].which, sums[i].sum);
	if (result == 0)
		*ret_counters = counters;
	return result;
}
