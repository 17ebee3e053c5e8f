/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The gate of a node is opened by a start, or else by a later lease. Until then
 * the one that an earlier start has pinned stays for the lanes that it guards: it
 * cannot be told of others.
 */
#include <errno.h>

#include "lanes/driver/ethernet/enforce.h"

static int open_gate(struct ethernet_node *node, uint8_t rail_count,
		     struct fairlead_error *ret_error)
{
	const struct gate_options options = {
		.pins = node->bpf_pins,
		.cgroup = node->cgroup,
		.port = node->networks.port,
		.rail_count = rail_count,
	};
	struct fairlead_error flaw = { 0 };
	int result = gate_open(&options, &node->gate, &flaw);

	if (result == 0)
		result = enforce_networks(node, &flaw);
	if (result >= 0) {
		node->gate_flaw = (struct fairlead_error){ 0 };
		node->is_gate_left = false;
		return 0;
	}
	gate_close(node->gate);
	node->gate = NULL;
	flaw.code = result;
	node->gate_flaw = *ret_error = flaw;
	return result;
}

/* In a namespace of the job there is nobody to be refused. */
static bool guards_any(const struct found *found)
{
	for (size_t i = 0; i < found->count; i++) {
		if (found->list[i].device.is_ours && !found->list[i].is_netns)
			return true;
	}
	return false;
}

/* Where it guards no lane it would only refuse new ones. */
static int leave_gate(struct ethernet_node *node, const struct found *found,
		      struct fairlead_error *ret_error)
{
	int result =
		guards_any(found) ? gate_is_left(node->bpf_pins, ret_error) : 0;

	if (result < 0)
		return result;
	node->is_gate_left = result == 1;
	return node->is_gate_left ? 0 : gate_leave(node->bpf_pins, ret_error);
}

int enforce_start_gate(struct ethernet_node *node, const struct found *found,
		       uint8_t rail_count, struct fairlead_error *ret_error)
{
	int result;

	if (!node->wants_gate)
		return gate_leave(node->bpf_pins, ret_error);
	result = open_gate(node, rail_count, ret_error);
	if (result == 0 || node->requires_gate || result == -ENOMEM)
		return result;
	return leave_gate(node, found, ret_error);
}

static int retry(struct ethernet_node *node, const struct found *found,
		 struct fairlead_error *ret_error)
{
	struct underlays underlays;
	struct fairlead_error flaw;
	uint8_t rail_count;
	int result = node_underlays(node, &underlays, ret_error);

	if (result < 0)
		return result;
	rail_count = found_rails(found, &underlays);
	if (rail_count < node->tended->rail_count)
		rail_count = node->tended->rail_count;
	if (open_gate(node, rail_count, &flaw) < 0) {
		if (node->is_gate_left)
			result = leave_gate(node, found, ret_error);
		if (result == 0 && node->is_gate_left)
			result = error_set(ret_error, flaw.code,
					   "the gate: it cannot be opened, and "
					   "that of an earlier start stays: %s",
					   flaw.text);
		return result;
	}
	result = enforce_found(node, found, rail_count, ret_error);
	return result < 0 ? result : 1;
}

int enforce_retry_gate(struct ethernet_node *node,
		       struct fairlead_error *ret_error)
{
	struct found found = { 0 };
	int result;

	/* What the kernel lacks it still does. */
	if (node->gate || !node->wants_gate ||
	    (node->gate_flaw.code == -EOPNOTSUPP && !node->is_gate_left))
		return 0;
	result = found_read(node, &found, ret_error);
	if (result == 0)
		result = retry(node, &found, ret_error);
	found_fini(&found);
	return result;
}
