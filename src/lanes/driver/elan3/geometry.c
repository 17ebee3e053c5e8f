/* SPDX-License-Identifier: BSD-3-Clause */
#include "lanes/driver/elan3/geometry.h"

#include <inttypes.h>
#include <string.h>

#include "base/hostlist.h"
#include "base/memory.h"
#include "elan/capability.h"

#define BAD_NODES_MAX 64 /* named in an error */

void elan3_geometry_fini(struct elan3_geometry *geometry)
{
	free(geometry->ids);
	geometry->ids = NULL;
}

static int strange_refuse(const struct elan_hosts *hosts,
			  const char *const *nodes, size_t count,
			  struct fairlead_error *ret_error)
{
	const char *names[BAD_NODES_MAX] = { NULL };
	_auto_(freep) char *list = NULL;
	size_t named = 0, strange = 0;

	for (size_t i = 0; i < count; i++) {
		if (elan_hosts_find(hosts, nodes[i]) >= 0)
			continue;
		if (named < BAD_NODES_MAX)
			names[named++] = nodes[i];
		strange++;
	}
	list = memory_have(hostlist_format(names, named));
	return error_set(ret_error, -EINVAL, "%zu node%s without an ElanID: %s",
			 strange, strange == 1 ? "" : "s", list);
}

static int by_id(const void *left, const void *right)
{
	const uint32_t *a = left, *b = right;

	return *a < *b ? -1 : *a > *b;
}

/* Two names can be one node: over the Elan, and over Ethernet. */
static int twice_check(const struct elan_hosts *hosts, const char *const *nodes,
		       const uint32_t *ids, size_t count,
		       struct fairlead_error *ret_error)
{
	_auto_(freep) uint32_t *sorted =
		memory_copy(ids, count * sizeof(*sorted));
	const char *names[2] = { NULL };
	size_t at = 1, found = 0;

	qsort(sorted, count, sizeof(*sorted), by_id);
	while (at < count && sorted[at] != sorted[at - 1])
		at++;
	if (at >= count)
		return 0;
	for (size_t i = 0; i < count && found < 2; i++)
		if (ids[i] == sorted[at])
			names[found++] = nodes[i];
	return error_set(ret_error, -EINVAL,
			 "nodes '%s' and '%s' are one: both have ElanID %u",
			 names[0], names[1], sorted[at]);
}

int elan3_geometry_make(const struct elan_hosts *hosts,
			const char *const *nodes, const uint32_t *tasks,
			size_t count, struct elan3_geometry *ret_geometry,
			struct fairlead_error *ret_error)
{
	struct elan3_geometry geometry = { .count = count,
					   .tasks = tasks,
					   .low = UINT32_MAX };
	_auto_(freep) uint32_t *ids = memory_array(count, sizeof(*ids));
	int result;

	if (count == 0)
		return error_set(ret_error, -EINVAL, "the job has no nodes");
	for (size_t i = 0; i < count; i++) {
		int id = elan_hosts_find(hosts, nodes[i]);

		if (id < 0)
			return strange_refuse(hosts, nodes, count, ret_error);
		ids[i] = (uint32_t)id;
		if (ids[i] < geometry.low)
			geometry.low = ids[i];
		if (ids[i] > geometry.high)
			geometry.high = ids[i];
		if (tasks[i] > geometry.most)
			geometry.most = tasks[i];
	}
	result = twice_check(hosts, nodes, ids, count, ret_error);
	if (result < 0)
		return result;
	geometry.ids = take_ptr(ids);
	*ret_geometry = geometry;
	return 0;
}

bool elan3_geometry_is_contiguous(const struct elan3_geometry *geometry)
{
	return geometry->high - geometry->low + 1 == geometry->count;
}

int elan3_geometry_check(const struct elan3_geometry *geometry,
			 uint32_t contexts, struct fairlead_error *ret_error)
{
	uint64_t span = geometry->high - geometry->low + 1;

	if (geometry->most > contexts)
		return error_set(ret_error, -EINVAL,
				 "a node has %u tasks, which are more than "
				 "the job's %u contexts a node",
				 geometry->most, contexts);
	if (span * contexts > ELAN_MAX_VPS)
		return error_set(ret_error, -EINVAL,
				 "%u contexts on each of the ElanIDs %u-%u are "
				 "%" PRIu64 " virtual processes, and the most "
				 "are %d",
				 contexts, geometry->low, geometry->high,
				 span * contexts, ELAN_MAX_VPS);
	return 0;
}

static void bitmap_fill(const struct elan3_geometry *geometry,
			uint32_t contexts, bool is_cyclic,
			struct elan_capability *cap)
{
	uint32_t span = geometry->high - geometry->low + 1;

	for (size_t i = 0; i < geometry->count; i++) {
		uint32_t node = geometry->ids[i] - geometry->low;

		for (uint32_t task = 0; task < geometry->tasks[i]; task++) {
			uint32_t bit = is_cyclic ? node + task * span
						 : task + node * contexts;

			cap->cap_bitmap[bit / 32] |= 1u << bit % 32;
		}
	}
}

void elan3_capability_make(const struct elan3_geometry *geometry,
			   uint32_t first, uint32_t last, bool is_cyclic,
			   uint32_t rails, const uint8_t key[ELAN3_KEY_SIZE],
			   struct elan_capability *ret_cap)
{
	struct reader reader = reader_of(key, ELAN3_KEY_SIZE);
	struct elan_capability *cap = ret_cap;

	capability_init(cap);
	for (size_t i = 0; i < 4; i++)
		cap->cap_userkey.key_values[i] = read_u32(&reader);
	cap->cap_type = is_cyclic ? ELAN_CAP_TYPE_CYCLIC : ELAN_CAP_TYPE_BLOCK;
	/* Without the flag it is rail 0, whatever the mask says. */
	if (rails != 1)
		cap->cap_type |= ELAN_CAP_TYPE_MULTI_RAIL;
	if (elan3_geometry_is_contiguous(geometry))
		cap->cap_type |= ELAN_CAP_TYPE_BROADCASTABLE;
	cap->cap_lowcontext = (int32_t)first;
	cap->cap_highcontext = (int32_t)last;
	cap->cap_lownode = (int32_t)geometry->low;
	cap->cap_highnode = (int32_t)geometry->high;
	cap->cap_railmask = rails;
	bitmap_fill(geometry, last - first + 1, is_cyclic, cap);
}
