/* SPDX-License-Identifier: BSD-3-Clause */
/* What a node needs to say to tasks, from a capability. */
#include "lanes/driver/elan3/record.h"

#include <stdbool.h>
#include <stdio.h>

#include "lanes/driver/common/options.h"
#include "lanes/driver/common/variables.h"
#include "elan/capability.h"

const char *const elan3_variables[] = {
	"FAIRLEAD_RMS_PROGRAM", "RMS_NNODES", "RMS_NPROCS", "RMS_NODEID", NULL,
};

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

void elan3_record_encode(const struct elan3_share *share, uint32_t program,
			 struct fairlead_record *ret_record)
{
	const uint32_t numbers[] = { program, share->nodes, share->processes,
				     share->node };
	char text[16];

	ret_record->size = 0;
	for (size_t i = 0; elan3_variables[i]; i++) {
		snprintf(text, sizeof(text), "%u", numbers[i]);
		variables_add(ret_record, elan3_variables[i], text);
	}
}

static bool number_get(const struct fairlead_record *record, const char *name,
		       uint32_t *ret_number)
{
	return number_parse(variables_get(record, name), 0, UINT32_MAX,
			    ret_number);
}

int elan3_record_decode(const struct fairlead_record *record,
			struct elan3_share *ret_share,
			struct fairlead_error *ret_error)
{
	struct elan3_share share = { 0 };
	int result = variables_check(record, elan3_variables, ret_error);

	if (result < 0)
		return result;
	if (record->size > 0 &&
	    (!number_get(record, "RMS_NNODES", &share.nodes) ||
	     !number_get(record, "RMS_NPROCS", &share.processes) ||
	     !number_get(record, "RMS_NODEID", &share.node) ||
	     share.node >= share.nodes || share.processes < share.nodes ||
	     share.processes > ELAN_MAX_VPS))
		return error_set(ret_error, -EBADMSG,
				 "the record of the lane is damaged");
	*ret_share = share;
	return 0;
}
