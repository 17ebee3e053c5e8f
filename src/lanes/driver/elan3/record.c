/* SPDX-License-Identifier: BSD-3-Clause */
/* What a node needs to say to tasks, from a capability, and its bytes. */
#include "lanes/driver/elan3/record.h"

#include <assert.h>
#include <stdbool.h>

#include "base/bytes.h"
#include "elan/capability.h"

#define RECORD_VERSION 1
#define RECORD_SIZE    13

static_assert(RECORD_SIZE <= FAIRLEAD_RECORD_MAX, "it fits");

static bool has_node(const struct elan_capability *cap, uint32_t node)
{
	for (uint32_t i = 0; i < capability_context_count(cap); i++)
		if (capability_has_process(cap, node, i))
			return true;
	return false;
}

int elan3_share_of(const struct elan_capability *cap, uint32_t elan_id,
		   struct elan3_share *ret_share)
{
	struct elan3_share share = {
		.processes = capability_process_count(cap),
	};
	uint32_t low = (uint32_t)cap->cap_lownode;
	bool is_found = false;

	for (uint32_t i = 0; i < capability_node_count(cap); i++) {
		if (!has_node(cap, i))
			continue;
		if (low + i == elan_id) {
			share.node = share.nodes;
			is_found = true;
		}
		share.nodes++;
	}
	if (!is_found)
		return -EINVAL;
	*ret_share = share;
	return 0;
}

void elan3_record_encode(const struct elan3_share *share,
			 struct fairlead_record *ret_record)
{
	const uint32_t numbers[] = { share->nodes, share->processes,
				     share->node };
	uint8_t *at = ret_record->bytes;

	*at++ = RECORD_VERSION;
	for (size_t i = 0; i < 3; i++)
		for (int shift = 0; shift < 32; shift += 8)
			*at++ = (uint8_t)(numbers[i] >> shift);
	ret_record->size = RECORD_SIZE;
}

int elan3_record_decode(const struct fairlead_record *record,
			struct elan3_share *ret_share,
			struct fairlead_error *ret_error)
{
	struct elan3_share share = { 0 };
	struct reader reader;
	uint8_t version;

	if (record->size == 0) {
		*ret_share = share;
		return 0;
	}
	reader = reader_of(record->bytes, record->size < FAIRLEAD_RECORD_MAX
						  ? record->size
						  : FAIRLEAD_RECORD_MAX);
	version = read_u8(&reader);
	share.nodes = read_u32(&reader);
	share.processes = read_u32(&reader);
	share.node = read_u32(&reader);
	if (!reader_is_done(&reader) || version != RECORD_VERSION ||
	    share.nodes == 0 || share.node >= share.nodes ||
	    share.processes < share.nodes || share.processes > ELAN_MAX_VPS)
		return error_set(ret_error, -EBADMSG,
				 "the record of the lane is damaged");
	*ret_share = share;
	return 0;
}
